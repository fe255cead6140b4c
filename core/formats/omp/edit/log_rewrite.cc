#include "core/formats/omp/edit/log_rewrite.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/log/header.h"
#include "core/json/change_member.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"

namespace arborfs::omp {

namespace {

/// No JSON value continues after this, whatever was open.
constexpr std::string_view kEndOfBrackets = "?\n";

/// Of a valid object.
std::string changed(std::string object, std::string_view key, std::optional<std::string_view> value) {
  auto with = json::change_member(object, key, value);
  return with ? std::move(*with) : std::move(object);
}

/// Replaces `firstKeptEntryIndex` of a compaction with the id that it refers to (omp/FORMAT.md E9).
std::string with_kept_id(std::string entry, const IdOfValue& id_of) {
  json::Document value;
  const std::string_view literal = skim::member(entry, "firstKeptEntryIndex");
  if (literal.empty() || !json::parse(literal, value) || !value.IsNumber()) {
    return entry;
  }
  const double index = value.GetDouble();
  const bool is_place = index >= 1 && index < 4294967296.0 && std::floor(index) == index;
  const std::string id = is_place ? id_of(static_cast<std::uint64_t>(index)) : "";
  if (!id.empty()) {
    entry = changed(std::move(entry), "firstKeptEntryId", id);
  }
  return changed(std::move(entry), "firstKeptEntryIndex", std::nullopt);
}

std::string with_renamed_role(std::string entry) {
  const std::string_view message = skim::member(entry, "message");
  if (!message.starts_with('{') || !skim::is_string(skim::member(message, "role"), "hookMessage")) {
    return entry;
  }
  const std::string renamed = changed(std::string(message), "role", "\"custom\"");
  return changed(std::move(entry), "message", renamed);
}

std::string changed_entry(std::string text, const EntryChange& change, const IdOfValue& id_of) {
  if (!text.starts_with('{')) {
    return text;
  }
  if (!change.id_json.empty()) {
    text = changed(std::move(text), "id", change.id_json);
  }
  if (!change.parent_json.empty()) {
    text = changed(std::move(text), "parentId", change.parent_json);
  }
  if (!change.id_json.empty() && change.type == EntryType::compaction) {
    text = with_kept_id(std::move(text), id_of);
  }
  return change.renames_roles ? with_renamed_role(std::move(text)) : text;
}

/// One state of a log: everything that is needed to copy it.
struct Original {
  std::shared_ptr<const LogSource> log;
  Header header;
  FileStat stat;
  std::vector<LogEdit> edits;  // of its entries
  std::vector<Damage> damage;
};

Result<Original> original_of(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  RETURN_IF_ERROR(check_writable(guard));
  const LogIndex& index = guard.index();
  Original original{guard.log(), index.header(), guard.stat(), {}, index.damage()};
  if (original.header.migrated) {
    const LogMigration migration(index);
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      const std::uint64_t offset = index.entry(ordinal).offset;
      original.edits.push_back({offset, offset + index.length(ordinal), "", migration.of(ordinal)});
    }
  }
  return original;
}

/// Copies the log up to the size in `copied` with these edits, which are in order, and appends `tail`. Sets runs and
/// size.
Result<void> copy_edited(const LogSource& log, const std::vector<LogEdit>& edits, const IdOfValue& id_of,
                         std::string_view tail, TempFile& draft, CopiedLog& copied) {
  const ByteSink write = [&](std::string_view bytes) {
    copied.size += bytes.size();
    return draft.write(bytes);
  };
  const auto put = [&](std::string_view bytes, std::string before) -> Result<void> {
    if (copied.runs && bytes != before) {
      copied.runs->push_back({copied.size, bytes.size(), xxh64(bytes), std::move(before)});
    }
    return write(bytes);
  };
  copied.runs.emplace();
  std::uint64_t at = 0;
  for (const LogEdit& edit : edits) {
    RETURN_IF_ERROR(copy_bytes(log, at, edit.offset, write));
    if (edit.entry) {
      copied.runs.reset();
      RETURN_IF_ERROR(copy_entry(log, edit.offset, edit.end - edit.offset, *edit.entry, id_of, write));
    } else {
      ASSIGN_OR_RETURN(auto before, log.read(edit.offset, edit.end - edit.offset));
      RETURN_IF_ERROR(put(edit.text, std::move(before)));
    }
    at = edit.end;
  }
  RETURN_IF_ERROR(copy_bytes(log, at, copied.stat.size, write));
  return tail.empty() ? Result<void>() : put(tail, "");
}

/// The offset after the line feed of the title slot.
Result<std::uint64_t> end_of_slot(const Original& original) {
  LogWindow window(*original.log, original.stat.size);
  ASSIGN_OR_RETURN(const auto head, read_head(window, std::nullopt));
  return head.slot ? Result<std::uint64_t>(head.slot_end)
                   : Result<std::uint64_t>(Errc::stale, "the log no longer has a title slot; try again");
}

Result<std::string> new_header(const Original& original, const HeaderChange& change) {
  std::string present = original.header.json;
  if (original.header.length > kLongestHeader) {
    return Error{Errc::too_large, "the log's header has more than 16 MiB"};
  }
  if (!original.header.migrated) {
    ASSIGN_OR_RETURN(present, original.log->read(original.header.offset, original.header.length));
  } else if (original.header.is_named) {
    ASSIGN_OR_RETURN(present, json::change_member(present, "title", std::nullopt));
  }
  return change ? change(present) : Result<std::string>(std::move(present));
}

/// True if an open value at `from` takes the rest of the log and `lead` as its own.
Result<bool> swallows(const LogSource& log, std::uint64_t from, std::uint64_t end, std::string_view lead) {
  using Verdict = json::ValueScanner::Verdict;
  LogWindow window(log, end);
  json::ValueScanner scanner;
  bool is_inside = false;
  Verdict verdict = Verdict::need_more;
  const auto feed = [&](std::string_view bytes) {
    const std::size_t begin = is_inside ? 0 : bytes.find_first_not_of(" \t\r\n");
    if (begin != std::string_view::npos) {
      is_inside = true;
      std::size_t used = 0;
      verdict = scanner.feed(bytes.substr(begin), used);
    }
  };
  while (from < end && verdict == Verdict::need_more) {
    ASSIGN_OR_RETURN(const auto bytes, window.view(from, 1));
    if (bytes.empty()) {
      return Error{Errc::stale, "the log was truncated during the read; try again"};
    }
    feed(bytes);
    from += bytes.size();
  }
  if (verdict == Verdict::need_more) {
    feed(lead);
  }
  return is_inside && verdict == Verdict::need_more && scanner.finish() == Verdict::unfinished;
}

}  // namespace

LogMigration::LogMigration(const LogIndex& index) : index_(index) {
  json::Document header;
  if (!index.header().migrated || !json::parse(index.header().json, header)) {
    return;
  }
  const json::Value* version = json::member(header, "version");
  renames_roles_ = version != nullptr && version->IsNumber();
  gives_ids_ = index.gives_ids();
}

EntryChange LogMigration::of(Ordinal ordinal) const {
  EntryChange change;
  change.type = index_.entry(ordinal).type;
  change.renames_roles = renames_roles_ && change.type == EntryType::message;
  if (gives_ids_ && change.type != EntryType::session) {
    change.id_json = id_json(index_.id(ordinal));
    change.parent_json = id_json(index_.parent_id(ordinal));
  }
  return change;
}

IdOfValue ids_of(const Session& session) {
  return [&session](std::uint64_t value) -> std::string {
    const auto guard = session.read();
    const Ordinal ordinal = guard ? guard->index().entry_at_value(value) : kNoEntry;
    if (ordinal == kNoEntry || guard->index().entry(ordinal).type == EntryType::session) {
      return "";
    }
    return id_json(guard->index().id(ordinal));
  };
}

Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write) {
  if (change.id_json.empty() && change.parent_json.empty() && !change.renames_roles) {
    return copy_bytes(log, offset, offset + length, write);
  }
  if (length > kLongestHeld) {
    return entry_too_long(length);
  }
  ASSIGN_OR_RETURN(auto bytes, log.read(offset, length));
  return write(changed_entry(std::move(bytes), change, id_of));
}

Result<void> check_writable(const Session::Guard& guard) {
  RETURN_IF_ERROR(check_writable(guard.format()));
  const Header& header = guard.index().header();
  if (!header.valid) {
    return Error{Errc::read_only, "the log has no valid header, so arborfs does not write to it; see arborfs doctor"};
  }
  if (!header.writable_version) {
    return Error{Errc::read_only,
                 header.problem.empty() ? "the log has a version that this arborfs does not know" : header.problem};
  }
  if (guard.log()->is_decoded()) {
    return Error{Errc::read_only, "the log is in UTF-16, which arborfs does not write"};
  }
  return {};
}

Result<std::string> lead_for(const LogSource& log, const std::vector<Damage>& damage, std::uint64_t size) {
  if (size == 0) {
    return std::string();
  }
  auto last = log.read(size - 1, 1);
  if (!last) {
    return last;
  }
  std::string lead = *last == "\n" ? "" : "\n";
  if (damage.empty() || damage.back().offset + damage.back().length < size - (lead.empty() ? 1 : 0)) {
    return lead;
  }
  ASSIGN_OR_RETURN(const auto is_open, swallows(log, damage.back().offset, size, lead));
  if (is_open) {
    lead += kEndOfBrackets;
  }
  return lead;
}

Result<bool> fits_in_place(const LogSource& log, std::string_view slot) {
  ASSIGN_OR_RETURN(const auto bytes, log.read(0, slot.size()));
  return bytes.size() == slot.size() && bytes.find('\n') == slot.size() - 1 &&
         parse_title_slot_line(std::string_view(bytes).substr(0, slot.size() - 1)).has_value();
}

Result<CopiedLog> write_log_anew(const Session& session, const LogChanges& changes, TempFile& draft) {
  ASSIGN_OR_RETURN(auto original, original_of(session));
  const Header& header = original.header;
  std::vector<LogEdit>& edits = original.edits;
  if (!changes.slot.empty()) {
    ASSIGN_OR_RETURN(const auto end, end_of_slot(original));
    edits.push_back({0, end, std::string(changes.slot)});
  }
  ASSIGN_OR_RETURN(auto text, new_header(original, changes.header));
  edits.push_back({header.offset, header.offset + header.length, std::move(text)});
  std::stable_sort(edits.begin(), edits.end(), [](const LogEdit& a, const LogEdit& b) { return a.offset < b.offset; });
  std::string tail(changes.tail);
  if (!tail.empty()) {
    ASSIGN_OR_RETURN(const auto lead, lead_for(*original.log, original.damage, original.stat.size));
    tail.insert(0, lead);
  }
  CopiedLog copied{original.stat, tail.empty() && !header.migrated};
  RETURN_IF_ERROR(copy_edited(*original.log, edits, ids_of(session), tail, draft, copied));
  return copied;
}

Result<CopiedLog> write_log_edited(const Session& session, const std::vector<LogEdit>& edits, TempFile& draft) {
  std::shared_ptr<const LogSource> log;
  FileStat stat;
  if (const auto guard = session.read()) {
    log = guard->log();
    stat = guard->stat();
  } else {
    return session_changed();
  }
  CopiedLog copied{stat};
  RETURN_IF_ERROR(copy_edited(*log, edits, nullptr, "", draft, copied));
  return copied;
}

std::string title_source_of(const Header& header) {
  json::Document parsed;
  json::parse(header.json, parsed);
  return json::text_member(parsed, "titleSource");
}

Result<WritableState> writable_state_of(const SessionPtr& session) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  RETURN_IF_ERROR(check_writable(guard));
  const Header& header = guard.index().header();
  return WritableState{dialect_of(guard.index()), header.has_slot, header.title, title_source_of(header)};
}

}  // namespace arborfs::omp
