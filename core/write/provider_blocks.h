// Blocks of a message that a provider checks byte for byte when they are replayed to it, as the younger generation
// treats them on their way to disk. Pure; any thread.
#pragma once

#include "core/json/document.h"

namespace arborfs {

/// Signed thinking, text and tool calls, redacted thinking, encrypted reasoning, history of server tools: such an
/// object is never touched (omp/FORMAT.md H2).
bool is_bound_to_its_bytes(const json::Value& object);

/// An assistant's thinking block whose `thinkingSignature` is the text of a reasoning item that also stands in the
/// message's OpenAI `providerPayload` loses the signature on disk [w18-provider-payload]. Changes `entry`, a whole
/// entry, in place; done before persist(), and only for omp18.
void drop_replayed_signatures(json::Value& entry);

}  // namespace arborfs
