#include "core/formats/omp/edit/log_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/words.h"
#include "core/doctor/examine.h"
#include "core/entry/text.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/store/blob_store.h"

namespace arborfs::omp {
namespace {

constexpr std::size_t kNameLength = 80;
constexpr std::uint64_t kLongestSummary = 16 << 20;
constexpr std::string_view kOpening = "\"blob:sha256:";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kReference = kOpening.size() + kDigits + 1;
constexpr std::size_t kPiece = 1 << 20;

bool is_content(EntryType type) {
  return type == EntryType::message || type == EntryType::custom_message || type == EntryType::compaction ||
         type == EntryType::branch_summary;
}

/// Programs write these by themselves, without a user who chose the place in the tree.
bool is_bookkeeping(EntryType type) {
  return type == EntryType::custom || type == EntryType::title_change || type == EntryType::model_usage ||
         type == EntryType::credential_pin || is_pi_type(type) || type == EntryType::other || type == EntryType::none;
}

/// The member that refers to another entry; "" for types without one.
std::string_view reference_member(EntryType type) {
  return type == EntryType::compaction ? "firstKeptEntryId" : type == EntryType::branch_summary ? "fromId" : "";
}

struct Referring {
  Ordinal ordinal = kNoEntry;
  Entry entry;
  std::string words;
};

std::vector<Referring> referring_entries(const Session& session) {
  std::vector<Referring> referring;
  const auto guard = session.read();
  for (Ordinal ordinal = 1; guard && ordinal <= guard->index().size(); ++ordinal) {
    const LogIndex& index = guard->index();
    if (!reference_member(index.entry(ordinal).type).empty() && index.length(ordinal) <= kLongestSummary) {
      referring.push_back({ordinal, index.entry(ordinal), entry_words(index, ordinal)});
    }
  }
  return referring;
}

bool has_entry(const Session& session, std::string_view id) {
  const auto guard = session.read();
  return !guard || guard->index().find(id) != kNoEntry;
}

/// Finds a leaf at a dead end.
void find_dead_end(const Session& session, const Catalog& catalog, std::vector<Finding>& found) {
  const Ordinal message = message_behind_dead_end(session, catalog);
  const auto guard = session.read();
  if (message == kNoEntry || !guard || message > guard->index().size()) {
    return;
  }
  const LogIndex& index = guard->index();
  const Ordinal leaf = index.leaf();
  found.push_back(
      finding_about(index, leaf, "dead_end_leaf",
                    fmt::format("the log ends with {}, which is not a descendant of the newest message, {}: agents "
                                "continue without that message",
                                entry_words(index, leaf), entry_words(index, message))));
}

/// Finds compactions and branch summaries whose content refers to an entry that the log does not have.
void find_in_references(const Session& session, const LogSource& log, std::vector<Finding>& found) {
  for (const Referring& referring : referring_entries(session)) {
    const auto bytes = log.read(referring.entry.offset, referring.entry.length);
    json::Document document;
    const auto id = bytes && json::parse(*bytes, document)
                        ? json::string_member(document, reference_member(referring.entry.type))
                        : std::nullopt;
    if (id && !id->empty() && *id != "root" && !has_entry(session, *id)) {
      found.push_back({"dangling_reference",
                       fmt::format("{} refers to the entry '{}', which is not in the log", referring.words,
                                   visible_line(*id, kNameLength)),
                       referring.entry.offset, referring.entry.length, referring.ordinal});
    }
  }
}

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

std::string blob_words(std::string_view hash, Errc problem, const BlobStore& blobs) {
  if (problem == Errc::not_found) {
    return "is missing";
  }
  const auto st = blobs.stat(hash);
  return st ? fmt::format("does not match the hash in its name: its {} were truncated or changed",
                          counted(st->size, "byte"))
            : "cannot be read: " + st.error().message;
}

/// Finds the blobs named by a JSON string of their own ("blob:sha256:<64 digits>") that are missing or whose bytes do
/// not match the name, once each. Reads the log in pieces and skips those that cannot be read.
void find_in_blobs(const Reading& reading, const BlobStore& blobs, std::vector<Finding>& found) {
  std::set<std::string, std::less<>> seen;
  for (std::uint64_t start = 0; start < reading.size; start += kPiece) {
    // Pieces overlap by one reference, so that none is cut in two.
    const auto read = reading.log->read(start, std::min<std::uint64_t>(kPiece + kReference, reading.size - start));
    const std::string_view piece = read ? std::string_view(*read) : std::string_view();
    for (std::size_t at = piece.find(kOpening); at != std::string_view::npos && at + kReference <= piece.size();
         at = piece.find(kOpening, at + 1)) {
      const std::string_view hash = piece.substr(at + kOpening.size(), kDigits);
      const bool is_new =
          piece[at + kReference - 1] == '"' && BlobStore::is_blob_name(hash) && seen.insert(std::string(hash)).second;
      const auto blob = is_new ? blobs.open(hash) : Result<std::shared_ptr<const File>>(nullptr);
      if (!blob) {
        const Errc problem = blob.error().code;
        const Ordinal entry = reading.entry_before(start + at);
        found.push_back(
            {problem == Errc::not_found ? "missing_blob" : "corrupt_blob",
             fmt::format("entry #{} refers to blob {}, which {}", entry, hash, blob_words(hash, problem, blobs)),
             start + at, hash.size(), entry});
      }
    }
  }
}

}  // namespace

Ordinal message_behind_dead_end(const LogIndex& index) {
  if (index.size() == kNoEntry || !is_bookkeeping(index.entry(index.leaf()).type)) {
    return kNoEntry;
  }
  Ordinal newest = index.size();
  while (newest != kNoEntry && !is_content(index.entry(newest).type)) {
    --newest;
  }
  Ordinal at = index.leaf();
  for (Ordinal steps = 0; at != kNoEntry && at != newest && steps < index.size(); ++steps) {
    at = index.parent(at);
  }
  return at == newest ? kNoEntry : newest;
}

Ordinal message_behind_dead_end(const Session& session, const Catalog& catalog) {
  Ordinal message = kNoEntry;
  std::string leaf;
  {
    const auto guard = session.read();
    message = guard ? message_behind_dead_end(guard->index()) : kNoEntry;
    leaf = message == kNoEntry ? "" : guard->index().id(guard->index().leaf()).text;
  }
  return message != kNoEntry && catalog.state_of(session).erased.has_written(session.place().file, leaf) ? kNoEntry
                                                                                                         : message;
}

std::vector<Finding> examine(Session& session, const Catalog& catalog) {
  std::vector<Finding> found;
  if (const auto reading = read_for_doctor(session, found)) {
    find_dead_end(session, catalog, found);
    find_in_references(session, *reading->log, found);
    find_in_bytes(*reading, found);
    find_in_end(*reading, found);
    find_in_pairs(session, catalog, found);
    find_in_blobs(*reading, *session.store().blobs(), found);
    find_erased(session, catalog, found);
  }
  return found;
}

}  // namespace arborfs::omp
