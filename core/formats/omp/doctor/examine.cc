#include "core/formats/omp/doctor/examine.h"

#include <fmt/format.h>

#include "core/base/number_format.h"
#include "core/doctor/examine.h"
#include "core/formats/omp/doctor/blob_check.h"
#include "core/formats/omp/doctor/reference_findings.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

/// Agents of the older generation append their next record to a last line without a newline, and lose it.
void find_in_end(const Reading& reading, std::vector<Finding>& found) {
  const bool torn =
      !reading.damage.empty() && reading.damage.back().offset + reading.damage.back().length >= reading.size;
  if (torn || reading.is_young || reading.size == 0) {
    return;
  }
  const auto last = reading.log->read(reading.size - 1, 1);
  if (last && *last != "\n") {
    found.push_back({"no_final_newline",
                     "the last record has no newline after it, so an agent's next record may be lost", reading.size - 1,
                     1, reading.entry_before(reading.size)});
  }
}

std::string corrupt_words(const std::string& hash, const BlobStore& blobs) {
  const auto st = blobs.stat(hash);
  return st ? fmt::format("does not match the hash in its name: its {} were truncated or changed",
                          counted(st->size, "byte"))
            : "cannot be read: " + st.error().message;
}

void find_in_blobs(const Reading& reading, const BlobStore& blobs, std::vector<Finding>& found) {
  for (const auto& bad : bad_blobs(*reading.log, reading.size, blobs)) {
    const Ordinal entry = reading.entry_before(bad.offset);
    const bool missing = bad.problem == Errc::not_found;
    found.push_back({missing ? "missing_blob" : "corrupt_blob",
                     fmt::format("entry #{} refers to blob {}, which {}", entry, bad.hash,
                                 missing ? "is missing" : corrupt_words(bad.hash, blobs)),
                     bad.offset, bad.hash.size(), entry});
  }
}

}  // namespace

std::vector<Finding> examine_omp_session(Session& session, const Catalog& catalog) {
  std::vector<Finding> found;
  if (const auto reading = read_for_doctor(session, found)) {
    find_dead_end(session, catalog, found);
    find_in_references(session, *reading->log, found);
    find_in_bytes(*reading, found);
    find_in_end(*reading, found);
    find_in_blobs(*reading, *session.store().blobs(), found);
    find_erased(session, catalog, found);
  }
  return found;
}

}  // namespace arborfs
