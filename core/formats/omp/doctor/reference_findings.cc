#include "core/formats/omp/doctor/reference_findings.h"

#include <fmt/format.h>

#include "core/doctor/tree_findings.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

constexpr std::size_t kNameLength = 80;
constexpr std::uint64_t kLongestSummary = 16 << 20;

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

}  // namespace arborfs
