// The agents' persistence filter: the changes that they make to an entry on its way to disk (omp/FORMAT.md H1 to H4, D2
// to D4). Long texts are cut, transient fields dropped, images moved to blobs. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"

namespace arborfs::omp {

/// Bytes that must be in the blob store before the line that names them is written.
struct PendingBlob {
  std::string hash;  // 64 lower-case hex digits, SHA-256 of the bytes
  std::string bytes;
};

/// Changes `value`, a whole entry that was made in `owner`, in place. Blobs are appended to `blobs`, each hash once.
void persist(json::Value& value, json::Document& owner, Dialect dialect, std::vector<PendingBlob>& blobs);

/// Removes the `thinkingSignature` of an assistant's thinking block if it is the text of a reasoning item that is also
/// in the message's OpenAI `providerPayload` [w18-provider-payload]. Changes `entry`, a whole entry, in place. Call it
/// before persist(), and only for omp18.
void drop_replayed_signatures(json::Value& entry);

}  // namespace arborfs::omp
