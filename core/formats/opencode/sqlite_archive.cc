#include "core/formats/opencode/sqlite_archive.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/json_faults.h"
#include "core/formats/opencode/row_files.h"
#include "core/formats/opencode/sqlite_faults.h"
#include "core/formats/opencode/sqlite_rows.h"
#include "core/sqlite/database.h"

namespace arborfs::opencode {
namespace {

/// Coarser than the clock tick of any file system in use: a file that was read this soon after its mtime may change
/// unnoticed.
constexpr std::int64_t kRacyNanos = 50'000'000;

/// Messages of a session together with the session's row.
Stamp joined(const Stamp& head, const Stamp& content) {
  return {std::max(head.time_ns, content.time_ns), head.version * 31 + content.version};
}

Result<Stamps> stamps_in(const SqliteRows& rows, const std::string& session, Covers covers) {
  ASSIGN_OR_RETURN(const auto head, rows.head(session, false));
  if (covers == Covers::head) {
    return Stamps{head.stamp, {}};
  }
  ASSIGN_OR_RETURN(const auto content, rows.stamp_of_content(session));
  return Stamps{head.stamp, joined(head.stamp, content)};
}

class SqliteArchive final : public SessionArchive {
 public:
  SqliteArchive(std::string path, Disk& disk) : database_(std::move(path), tables_read(), disk) {}

  [[nodiscard]] Result<std::vector<std::string>> folders() const override {
    ASSIGN_OR_RETURN(const auto now, changes());
    const std::lock_guard lock(mutex_);
    if (now != probed_) {
      RETURN_IF_ERROR(read([](const SqliteRows&) -> Result<void> { return {}; }));
      probed_ = now;
    }
    return std::vector{name()};
  }

  [[nodiscard]] Result<std::vector<SessionHead>> heads(const std::string& folder, const Wants& wants) const override {
    RETURN_IF_ERROR(check(folder));
    std::vector<SessionHead> found;
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      ASSIGN_OR_RETURN(found, rows.heads(wants));
      return {};
    }));
    return found;
  }

  [[nodiscard]] Result<SessionHead> head(const SessionName& session) const override {
    RETURN_IF_ERROR(check(session.folder));
    SessionHead found;
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      ASSIGN_OR_RETURN(found, rows.head(session.id, true));
      return {};
    }));
    return found;
  }

  [[nodiscard]] Result<Stamps> stamps(const SessionName& session, Covers covers) const override {
    RETURN_IF_ERROR(check(session.folder));
    Stamps found;
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      ASSIGN_OR_RETURN(found, stamps_in(rows, session.id, covers));
      return {};
    }));
    return found;
  }

  [[nodiscard]] Result<std::map<std::string, Stamps>> whole_stamps(const std::string& folder,
                                                                   const std::vector<std::string>& ids) const override {
    RETURN_IF_ERROR(check(folder));
    std::map<std::string, Stamps> found;
    if (ids.empty()) {
      return found;
    }
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      for (const std::string& id : ids) {
        auto now = stamps_in(rows, id, Covers::whole);
        if (!now && now.error().code != Errc::not_found) {
          return now.error();
        }
        if (now) {
          found[id] = *now;
        }
      }
      return {};
    }));
    return found;
  }

  [[nodiscard]] Result<WholeSession> whole(const SessionName& session) const override {
    RETURN_IF_ERROR(check(session.folder));
    WholeSession found;
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      found = {};
      ASSIGN_OR_RETURN(auto head, rows.head(session.id, true));
      ASSIGN_OR_RETURN(const auto content, rows.stamp_of_content(session.id));
      ASSIGN_OR_RETURN(auto ids, rows.message_ids(session.id));
      ASSIGN_OR_RETURN(const auto others, rows.rows_not_shown(session.id));
      if (!others.empty()) {
        ids.emplace_back();
      }
      found.stamps = {head.stamp, joined(head.stamp, content)};
      found.metadata = std::move(head.metadata);
      return rows.read(session.id, ids, [&](std::string_view id, const std::string& text) {
        add_piece(found, id, text);
        return true;
      });
    }));
    return found;
  }

  Result<void> read(const SessionName& session, std::span<const Piece> pieces, const Take& take) const override {
    std::vector<std::string> texts;
    RETURN_IF_ERROR(check(session.folder));
    // A read may turn out to be unreliable, so its result is handed over only afterwards.
    RETURN_IF_ERROR(read([&](const SqliteRows& rows) -> Result<void> {
      texts.clear();
      std::size_t bytes = 0;
      std::vector<std::string> ids;
      for (const Piece& piece : pieces) {
        ids.push_back(piece.id);
        if (piece.end - pieces.front().end > kAtOnce) {
          break;
        }
      }
      return rows.read(session.id, ids, [&](std::string_view, std::string&& text) {
        bytes += text.size();
        texts.push_back(std::move(text));
        return bytes < kAtOnce;
      });
    }));
    for (std::string& text : texts) {
      if (!take(std::move(text))) {
        break;
      }
    }
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> files(const SessionName& session) const override {
    RETURN_IF_ERROR(check(session.folder));
    return std::unique_ptr<const ShownFiles>(std::make_unique<const RowFiles>(database_, session.id));
  }

  /// Checks all sessions at once, and again only after a change.
  [[nodiscard]] bool is_answering(const SessionName& session) const override {
    const auto now = changes();
    const std::lock_guard lock(answers_mutex_);
    if (now && *now != answers_at_) {
      answers_.clear();
      const auto done = read([&](const SqliteRows& rows) -> Result<void> {
        ASSIGN_OR_RETURN(answers_, rows.unfinished_answers());
        return {};
      });
      answers_at_ = done ? *now : 0;
    }
    const auto found = answers_.find(session.id);
    return found != answers_.end() && found->second > now_ms() - kAnswerAbandonedMs;
  }

  [[nodiscard]] std::vector<Finding> faults_of(const SessionName& session) const override {
    return faults_of_rows(database_, session.id);
  }
  [[nodiscard]] std::vector<FileFinding> faults() const override {
    auto found = faults_of_database(database_);
    auto left = leftovers_in((place().parent_path() / "storage").string());
    std::move(left.begin(), left.end(), std::back_inserter(found));
    return found;
  }

  [[nodiscard]] Result<std::uint64_t> changes() const override {
    ASSIGN_OR_RETURN(const auto state, database_.state());
    const bool is_racy = now_ns() - state.mtime_ns() < kRacyNanos;
    const std::lock_guard lock(state_mutex_);
    if (!(state == state_) || was_racy_) {
      state_ = state;
      was_racy_ = is_racy;
      ++changes_;
    }
    return changes_;
  }

  [[nodiscard]] std::vector<WatchedDir> watched(const std::vector<SessionName>& /*hot*/) const override {
    std::string folder = place().parent_path().string();
    return Dir::open_root(folder) ? std::vector{WatchedDir{std::move(folder), name(), false}}
                                  : std::vector<WatchedDir>();
  }
  /// A change to the database may concern any session, so the place belongs to none.
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override {
    return file == name() || file == name() + "-wal" ? std::optional(LogPlace{folder, file}) : std::nullopt;
  }
  [[nodiscard]] bool changes_show_late() const override { return true; }
  [[nodiscard]] std::string path_of(const SessionName& /*session*/) const override { return database_.path(); }
  [[nodiscard]] Result<Dir> dir_of(const std::string& folder) const override {
    RETURN_IF_ERROR(check(folder));
    return Dir::open_root(place().parent_path());
  }

 private:
  /// How much is read from the database at a time, unless one message is longer.
  static constexpr std::size_t kAtOnce = std::size_t{256} << 10U;

  template <class Reading>
  Result<void> read(const Reading& reading) const {
    return database_.read([&](const sqlite::Connection& connection) -> Result<void> {
      ASSIGN_OR_RETURN(const auto rows, SqliteRows::of(connection));
      return reading(rows);
    });
  }
  [[nodiscard]] std::filesystem::path place() const { return database_.path(); }
  [[nodiscard]] std::string name() const { return place().filename().string(); }
  [[nodiscard]] Result<void> check(const std::string& folder) const {
    return folder == name() ? Result<void>() : Result<void>(Errc::not_found, "no sessions folder");
  }

  const sqlite::Database database_;
  mutable std::mutex mutex_;
  mutable std::uint64_t probed_ = 0;  // changes() when the tables were last looked at; guarded by mutex_
  mutable std::mutex answers_mutex_;
  mutable std::map<std::string, std::int64_t> answers_;  // SqliteRows::unfinished_answers; guarded by answers_mutex_
  mutable std::uint64_t answers_at_ = 0;                 // changes() then; 0: not known. Guarded by answers_mutex_
  mutable std::mutex state_mutex_;
  mutable sqlite::DatabaseState state_;  // these are guarded by state_mutex_
  mutable bool was_racy_ = true;
  mutable std::uint64_t changes_ = 0;
};

}  // namespace

std::unique_ptr<SessionArchive> make_sqlite_archive(std::string path, Disk& disk) {
  return std::make_unique<SqliteArchive>(std::move(path), disk);
}

}  // namespace arborfs::opencode
