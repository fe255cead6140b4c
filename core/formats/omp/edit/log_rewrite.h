// Copies logs with changes and keeps every other byte: entries of versions 1 and 2 become those of version 3 by edits
// of their text (omp/FORMAT.md E9, E10, CONTRACT.md 6.5), and a rewrite has another header or title slot. Reads one
// state of a session; the caller checks afterwards that no other program changed the log meanwhile (LogWriter::verify).
// Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/log/log_source.h"
#include "core/session/catalog.h"
#include "core/store/effect.h"
#include "core/store/log_writer.h"

namespace arborfs::omp {

/// The changes to one entry. The defaults change nothing; values that are not objects stay unchanged.
struct EntryChange {
  EntryType type = EntryType::none;
  std::string id_json = {};      // "" keeps the id; else the entry is of version 1, and also its references change
  std::string parent_json = {};  // "" keeps the parent
  bool renames_roles = false;    // hookMessage becomes custom
};

/// What the entries of one state of a log need to become those of version 3. `index` must outlive this object and must
/// not change meanwhile. The ids are those that the index assigned.
class LogMigration {
 public:
  explicit LogMigration(const LogIndex& index);
  [[nodiscard]] EntryChange of(Ordinal ordinal) const;

 private:
  const LogIndex& index_;
  bool gives_ids_ = false;
  bool renames_roles_ = false;
};

/// The id (JSON text) of the entry that is value number `value` of the log, the header being 0; "" if that is not an
/// entry.
using IdOfValue = std::function<std::string(std::uint64_t value)>;
/// Looks up ids in the session's index as it is at the time of each lookup.
IdOfValue ids_of(const Session& session);

/// Passes the entry at `offset` to `write`, changed. Errors: as copy_bytes; too_large if an entry longer than
/// kLongestHeld (context.h) must be changed.
Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write);

/// Succeeds if arborfs may write to the log. Errors: read_only, with the reason in words (CONTRACT.md 6.3): no header,
/// a version above 3, UTF-16.
Result<void> check_writable(const Session::Guard& guard);

/// Longer headers are not changed; the agents' own have some hundred bytes.
inline constexpr std::uint64_t kLongestHeader = 16 << 20;

/// Makes the header's new text (JSON without line feed) from the present one.
using HeaderChange = std::function<Result<std::string>(std::string_view present)>;

/// The changes that a rewrite makes. The defaults change nothing.
struct LogChanges {
  HeaderChange header;
  std::string_view slot;  // replaces the title slot, whatever its length
  std::string_view tail;  // whole lines to append
};

/// The state of the log that a draft was copied from.
struct CopiedLog {
  FileStat stat;
  bool may_grow = false;  // bytes appended to the log later may be copied to the draft unchanged
  /// What the draft has that the log does not; nothing if entries became those of version 3.
  std::optional<std::vector<WrittenRun>> runs = std::nullopt;
  std::uint64_t size = 0;  // of the draft
};

/// Writes the session's log to `draft` with these changes; migrates a log of version 1 or 2. Errors: stale if the log
/// was replaced meanwhile or no longer has a slot to change, read_only, too_large (header), io, no_space.
Result<CopiedLog> write_log_anew(const Session& session, const LogChanges& changes, TempFile& draft);

/// True if `slot` can overwrite the log's first line, because that is a title slot of the same length. Reads the log.
/// Errors: io.
Result<bool> fits_in_place(const LogSource& log, std::string_view slot);

/// Replaces the bytes from `offset` up to `end` with `text`, or with themselves as an entry that is changed.
struct LogEdit {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::string text;
  std::optional<EntryChange> entry = std::nullopt;
};

/// Writes the session's log to `draft` with these edits, which are in order and do not overlap, and keeps every other
/// byte. Errors: stale if the log was replaced meanwhile, io, no_space.
Result<CopiedLog> write_log_edited(const Session& session, const std::vector<LogEdit>& edits, TempFile& draft);

/// The text to write between a log's end and the next line: nothing, a line feed, or a line feed and a line that ends
/// an open bracket, which would swallow the following lines (omp/FORMAT.md A5, B1). Errors: io.
Result<std::string> lead_for(const LogSource& log, const std::vector<Damage>& damage, std::uint64_t size);

/// The facts about a log that the Writer needs before it writes to it.
struct WritableState {
  Dialect dialect = Dialect::omp13;
  bool has_slot = false;
  std::string title;
  std::string title_source;  // "" if unknown
};

/// The source of the title: "user", "auto", or "" if the header does not say.
std::string title_source_of(const Header& header);

/// Refreshes the session. Errors: those of refreshing, and of check_writable.
Result<WritableState> writable_state_of(const SessionPtr& session);

}  // namespace arborfs::omp
