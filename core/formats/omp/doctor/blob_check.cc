#include "core/formats/omp/doctor/blob_check.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

namespace arborfs {
namespace {

constexpr std::string_view kOpening = "\"blob:sha256:";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kReference = kOpening.size() + kDigits + 1;
constexpr std::size_t kPiece = 1 << 20;

using Report = std::function<void(std::string_view hash, std::size_t at)>;

/// Reports the references that begin and end in `text`.
void each_reference(std::string_view text, const Report& report) {
  for (std::size_t at = text.find(kOpening); at != std::string_view::npos; at = text.find(kOpening, at + 1)) {
    if (at + kReference > text.size()) {
      return;
    }
    const std::string_view hash = text.substr(at + kOpening.size(), kDigits);
    if (text[at + kReference - 1] == '"' && BlobStore::is_blob_name(hash)) {
      report(hash, at);
    }
  }
}

}  // namespace

std::vector<BadBlob> bad_blobs(const LogSource& log, std::uint64_t size, const BlobStore& blobs) {
  std::vector<BadBlob> bad;
  std::set<std::string, std::less<>> seen;
  for (std::uint64_t start = 0; start < size; start += kPiece) {
    // Pieces overlap by one reference, so that none is cut in two.
    const auto piece = log.read(start, std::min<std::uint64_t>(kPiece + kReference, size - start));
    if (!piece) {
      continue;
    }
    each_reference(*piece, [&](std::string_view hash, std::size_t at) {
      if (!seen.insert(std::string(hash)).second) {
        return;
      }
      if (const auto blob = blobs.open(hash); !blob) {
        bad.push_back({std::string(hash), start + at, blob.error().code});
      }
    });
  }
  return bad;
}

}  // namespace arborfs
