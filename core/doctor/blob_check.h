// The blobs that a log refers to, looked up in the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/log/log_file.h"
#include "core/store/blob_store.h"

namespace arborfs {

struct BadBlob {
  std::string hash;
  std::uint64_t offset = 0;  // of the first reference to it
  Errc problem = Errc::not_found;
};

/// Every blob named by a JSON string of its own ("blob:sha256:<64 digits>") in the first `size` bytes of the log that
/// is missing or has other bytes than its name says, once each. Reads the log in pieces; what cannot be read is
/// passed over.
std::vector<BadBlob> bad_blobs(const LogFile& log, std::uint64_t size, const BlobStore& blobs);

}  // namespace arborfs
