// Blocks of a message that a provider checks byte for byte when they are replayed to it, and how the younger generation
// changes them on their way to disk. Pure; any thread.
#pragma once

#include "core/json/document.h"

namespace arborfs {

/// True for signed thinking, text and tool calls, redacted thinking, encrypted reasoning and history of server tools:
/// such an object is never changed (omp/FORMAT.md H2).
bool is_bound_to_its_bytes(const json::Value& object);

/// Removes the `thinkingSignature` of an assistant's thinking block if it is the text of a reasoning item that is also
/// in the message's OpenAI `providerPayload` [w18-provider-payload]. Changes `entry`, a whole entry, in place. Call it
/// before persist(), and only for omp18.
void drop_replayed_signatures(json::Value& entry);

}  // namespace arborfs
