#include "core/formats/omp/writer/log_rewrite.h"

#include <algorithm>
#include <optional>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/header.h"
#include "core/formats/omp/write/header_text.h"
#include "core/formats/omp/writer/entry_copy.h"
#include "core/json/scan.h"
#include "core/log/log_window.h"

namespace arborfs {

namespace {

/// Longer headers are not changed; the agents' own have some hundred bytes.
constexpr std::uint64_t kLongestHeader = 16 << 20;
/// No JSON value continues after this, whatever was open.
constexpr std::string_view kEndOfBrackets = "?\n";

struct Span {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::optional<EntryMigration> entry;  // not set: the header
};

/// One state of a log: everything that is needed to copy it.
struct Original {
  std::shared_ptr<const LogSource> log;
  Header header;
  FileStat stat;
  std::uint32_t generation = 0;
  std::vector<Span> spans;  // to be replaced, in order
  std::vector<Damage> damage;
};

Result<Original> original_of(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  RETURN_IF_ERROR(check_writable(guard));
  const LogIndex& index = guard.index();
  Original original{guard.log(), index.header(), guard.stat(), guard.generation(), {}, index.damage()};
  original.spans.push_back({original.header.offset, original.header.offset + original.header.length, std::nullopt});
  if (original.header.migrated) {
    const LogMigration migration(index);
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      const std::uint64_t offset = index.entry(ordinal).offset;
      original.spans.push_back({offset, offset + index.length(ordinal), migration.of(ordinal)});
    }
  }
  std::sort(original.spans.begin(), original.spans.end(),
            [](const Span& a, const Span& b) { return a.offset < b.offset; });
  return original;
}

Result<void> copy_range(const LogSource& log, std::uint64_t from, std::uint64_t end, LogDraft& draft) {
  return copy_bytes(log, from, end, [&](std::string_view bytes) { return draft.write(bytes); });
}

/// Copies the bytes from `from` to `begin`, then adds the text.
Result<void> copy_and_put(const LogSource& log, std::uint64_t from, std::uint64_t begin, std::string_view text,
                          LogDraft& draft) {
  auto copied = copy_range(log, from, begin, draft);
  return copied && !text.empty() ? draft.write(text) : copied;
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
    auto bytes = original.log->read(original.header.offset, original.header.length);
    if (!bytes) {
      return bytes;
    }
    present = std::move(*bytes);
  } else if (original.header.is_named) {
    ASSIGN_OR_RETURN(present, with_member(present, "title", std::nullopt));
  }
  return change ? change(present) : Result<std::string>(std::move(present));
}

Result<void> put_migrated(const Original& original, const Span& span, const IdOfValue& id_of, LogDraft& draft) {
  return copy_entry(*original.log, span.offset, span.end - span.offset, {span.entry, ""}, id_of,
                    [&](std::string_view bytes) { return draft.write(bytes); });
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

Result<CopiedLog> write_log_anew(const Session& session, const LogChanges& changes, LogDraft& draft) {
  auto original = original_of(session);
  if (!original) {
    return original.error();
  }
  const IdOfValue id_of = ids_of(session);
  std::uint64_t at = 0;
  if (!changes.slot.empty()) {
    const auto end = end_of_slot(*original);
    RETURN_IF_ERROR(end ? draft.write(changes.slot) : Result<void>(end.error()));
    at = *end;
  }
  for (const Span& span : original->spans) {
    std::string header;
    if (!span.entry) {
      ASSIGN_OR_RETURN(header, new_header(*original, changes.header));
    }
    RETURN_IF_ERROR(copy_and_put(*original->log, at, span.offset, header, draft));
    if (span.entry) {
      RETURN_IF_ERROR(put_migrated(*original, span, id_of, draft));
    }
    at = span.end;
  }
  RETURN_IF_ERROR(copy_range(*original->log, at, original->stat.size, draft));
  if (changes.tail.empty()) {
    return CopiedLog{original->stat, !original->header.migrated};
  }
  ASSIGN_OR_RETURN(auto lead, lead_for(*original->log, original->damage, original->stat.size));
  if (!lead.empty()) {
    RETURN_IF_ERROR(draft.write(lead));
  }
  RETURN_IF_ERROR(draft.write(changes.tail));
  return CopiedLog{original->stat, false};
}

Result<CopiedLog> write_log_edited(const Session& session, const std::vector<LogEdit>& edits, LogDraft& draft) {
  std::shared_ptr<const LogSource> log;
  FileStat stat;
  if (const auto guard = session.read()) {
    log = guard->log();
    stat = guard->stat();
  } else {
    return session_changed();
  }
  std::uint64_t at = 0;
  for (const LogEdit& edit : edits) {
    RETURN_IF_ERROR(copy_and_put(*log, at, edit.offset, edit.text, draft));
    at = edit.end;
  }
  RETURN_IF_ERROR(copy_range(*log, at, stat.size, draft));
  return CopiedLog{stat, false};
}

}  // namespace arborfs
