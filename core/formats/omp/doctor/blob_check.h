// Checks the blobs that a log refers to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/log/log_source.h"
#include "core/store/blob_store.h"

namespace arborfs {

struct BadBlob {
  std::string hash;
  std::uint64_t offset = 0;  // of the first reference to it
  Errc problem = Errc::not_found;
};

/// Finds the blobs named by a JSON string of their own ("blob:sha256:<64 digits>") in the first `size` bytes of the log
/// that are missing or whose bytes do not match the name, once each. Reads the log in pieces and skips those that
/// cannot be read.
std::vector<BadBlob> bad_blobs(const LogSource& log, std::uint64_t size, const BlobStore& blobs);

}  // namespace arborfs
