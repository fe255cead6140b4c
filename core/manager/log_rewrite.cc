#include "core/manager/log_rewrite.h"

#include <algorithm>
#include <optional>

#include "core/json/scan.h"
#include "core/manager/migration.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kStep = 1 << 20;
/// No JSON goes on with it, whatever was open.
constexpr std::string_view kEndOfBrackets = "?\n";

struct Span {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::optional<EntryMigration> entry;  // nothing: the header
};

/// One state of a log, all that is needed to copy it.
struct Original {
  std::shared_ptr<const LogFile> log;
  Header header;
  std::uint64_t size = 0;
  std::uint32_t generation = 0;
  std::vector<Span> spans;  // what is written otherwise, in order
  std::vector<Damage> damage;
};

Result<Original> original_of(const Session& session) {
  const auto guard = session.read();
  if (!guard) {
    return Error{Errc::stale, "the session changed while it was read"};
  }
  if (auto may = check_writable(*guard); !may) {
    return may.error();
  }
  const LogIndex& index = guard->index();
  Original original{guard->log(), index.header(), guard->stat().size, guard->generation(), {}, index.damage()};
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

Result<void> copy_range(const LogFile& log, std::uint64_t from, std::uint64_t end, LogDraft& draft) {
  while (from < end) {
    auto bytes = log.read(from, std::min(kStep, end - from));
    if (!bytes) {
      return bytes.error();
    }
    if (auto written = draft.write(*bytes); !written) {
      return written;
    }
    from += bytes->size();
  }
  return {};
}

/// Everything from `from` to `begin`, then the text.
Result<void> copy_and_put(const LogFile& log, std::uint64_t from, std::uint64_t begin, std::string_view text,
                          LogDraft& draft) {
  auto copied = copy_range(log, from, begin, draft);
  return copied && !text.empty() ? draft.write(text) : copied;
}

Result<std::string> new_header(const Original& original, const HeaderChange& change) {
  std::string present = original.header.json;
  if (!original.header.migrated) {
    auto bytes = original.log->read(original.header.offset, original.header.length);
    if (!bytes) {
      return bytes;
    }
    present = std::move(*bytes);
  }
  return change ? change(present) : Result<std::string>(std::move(present));
}

Result<std::string> migrated(const Original& original, const Span& span, const IdOfValue& id_of) {
  auto bytes = original.log->read(span.offset, span.end - span.offset);
  return bytes ? Result<std::string>(migrate_entry(*bytes, *span.entry, id_of)) : bytes;
}

bool swallows(std::string_view tail) {
  const std::size_t begin = tail.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos &&
         json::scan_value(tail, begin).verdict == json::ValueScanner::Verdict::unfinished;
}

}  // namespace

Result<void> check_writable(const Session::Guard& guard) {
  const Header& header = guard.index().header();
  if (!header.valid) {
    return Error{Errc::read_only, "a log without a valid header is not written to; see arborfs doctor"};
  }
  if (!header.writable_version) {
    return Error{Errc::read_only, "the log is of a version that this arborfs does not know"};
  }
  if (guard.log()->is_decoded()) {
    return Error{Errc::read_only, "a log in UTF-16 is not written to"};
  }
  return {};
}

Result<std::string> lead_for(const LogFile& log, const std::vector<Damage>& damage, std::uint64_t size) {
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
  auto tail = log.read(damage.back().offset, size - damage.back().offset);
  if (!tail) {
    return tail;
  }
  if (swallows(*tail + lead)) {
    lead += kEndOfBrackets;
  }
  return lead;
}

Result<void> write_log_anew(const Session& session, const HeaderChange& change, std::string_view tail,
                            LogDraft& draft) {
  auto original = original_of(session);
  if (!original) {
    return original.error();
  }
  const IdOfValue id_of = ids_of(session);
  std::uint64_t at = 0;
  for (const Span& span : original->spans) {
    auto bytes = span.entry ? migrated(*original, span, id_of) : new_header(*original, change);
    if (!bytes) {
      return bytes.error();
    }
    if (auto written = copy_and_put(*original->log, at, span.offset, *bytes, draft); !written) {
      return written;
    }
    at = span.end;
  }
  if (auto copied = copy_range(*original->log, at, original->size, draft); !copied || tail.empty()) {
    return copied;
  }
  auto lead = lead_for(*original->log, original->damage, original->size);
  return lead ? draft.write(*lead + std::string(tail)) : lead.error();
}

Result<void> write_log_edited(const Session& session, const std::vector<LogEdit>& edits, LogDraft& draft) {
  std::shared_ptr<const LogFile> log;
  std::uint64_t size = 0;
  if (const auto guard = session.read()) {
    log = guard->log();
    size = guard->stat().size;
  } else {
    return Error{Errc::stale, "the session changed while it was read"};
  }
  std::uint64_t at = 0;
  for (const LogEdit& edit : edits) {
    if (auto written = copy_and_put(*log, at, edit.offset, edit.text, draft); !written) {
      return written;
    }
    at = edit.end;
  }
  return copy_range(*log, at, size, draft);
}

}  // namespace arborfs
