// All sessions of the stores of a mount, found by project, id, recency or terminal. Thread-safe.
// Readers take an immutable view; the watcher and freshness checks make new ones. Lock: mutex_ (never held over I/O; of
// a session's locks only its mutex_, a leaf, is taken under it).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/hanging_work.h"
#include "core/os/state_dir.h"
#include "core/os/submounts.h"
#include "core/session/catalog_view.h"
#include "core/session/change_feed.h"
#include "core/session/notes.h"
#include "core/session/operations.h"
#include "core/session/session.h"
#include "core/session/store_state.h"
#include "core/store/blob_store.h"
#include "core/store/store_set.h"

namespace arborfs {

/// A session and the name of a link to it.
struct NamedSession {
  std::string name;
  SessionPtr session;
};

/// Parts of the stores that do not answer now.
struct Hanging {
  std::map<LogFolder, std::string> submounts;  // with a sentence for each: which store, and what does not answer
  /// The numbers of the stores of which nothing answers.
  [[nodiscard]] std::set<std::uint8_t> stores() const;
};

class Catalog {
 public:
  /// Does not read the disk yet; call rescan().
  /// `state` is the folder for data that is not part of a log (store_state.h), "" for none.
  /// `most_index_bytes` bounds the memory of unused indexes (loaded_indexes.h); nothing for no bound.
  Catalog(StoreSet stores, std::string home, const std::string& state,
          std::optional<std::size_t> most_index_bytes = std::nullopt);
  /// A catalog of one store.
  Catalog(std::shared_ptr<Store> store, std::string home, const std::string& state,
          std::optional<std::size_t> most_index_bytes = std::nullopt)
      : Catalog(StoreSet(std::move(store)), std::move(home), state, most_index_bytes) {}
  Catalog(std::shared_ptr<Store> store, std::string home)
      : Catalog(std::move(store), std::move(home), state_path("")) {}
  ~Catalog();

  [[nodiscard]] CatalogViewPtr view() const;
  /// From now on sessions have the names that people read (SessionNames); until then they are named after their logs.
  /// Reads the start of each log without a title, also of logs that appear or change later. Errors: interrupted.
  Result<void> read_names();
  /// The same for these sessions, those that might get one of their names, and logs that appear later; others without a
  /// title keep the names of their logs.
  Result<void> read_names_of(const std::vector<SessionPtr>& sessions);
  /// Shows a session at once where it belongs after a change of it: its name and its folder follow its title and its
  /// log. Without it they do when the watcher notices the change.
  void place_anew(const SessionPtr& session);
  /// Scans every folder of the stores that is not a submount for new, vanished, moved and changed logs. Publishes
  /// changes. If nothing changed, this costs one listing per folder and one stat per log. Errors are kept for
  /// status.json; an unreadable store or folder does not hide the others.
  void rescan();
  /// The same for some folders. A log that moved from one of them to another of the same store keeps its session.
  void rescan_folders(const std::set<LogFolder>& folders);
  void rescan_folder(const LogFolder& folder) { rescan_folders({folder}); }

  /// The submounts: folders of the stores that are or contain mount points, and whole stores (kWholeStore) on file
  /// systems that another process or machine serves. They may hang while the other folders respond. A request for a
  /// file in one of them may have to wait; a request for other folders never does.
  [[nodiscard]] std::vector<LogFolder> submounts() const;
  /// The submount to which a folder belongs.
  [[nodiscard]] std::optional<LogFolder> submount_of(const LogFolder& folder) const;
  [[nodiscard]] bool is_submount(const LogFolder& folder) const { return submount_of(folder).has_value(); }
  [[nodiscard]] bool is_submount(std::size_t store) const {
    return is_submount({static_cast<std::uint8_t>(store), std::string(kWholeStore)});
  }
  [[nodiscard]] bool has_submounts() const { return has_submounts_; }
  /// Finds the submounts again; until the first call there are none. Does not wait for any of them.
  void find_submounts();
  /// Does for one submount what rescan(), age_tails(), leaves_changed() and look_for_blobs() do for the other folders.
  void rescan_submount(const LogFolder& submount);
  /// The submounts that do not answer now. Waits for FolderPulse::kPatience at most.
  [[nodiscard]] Hanging hanging() const;
  [[nodiscard]] bool is_in(const Session& session, const Hanging& hanging) const;
  /// Runs `work`, which reads sessions or other files of all stores but of those that hang. If there are submounts, on
  /// a thread of its own: once one of them stops answering, that thread is left behind, and the work begins again
  /// without it. So `work` owns what it uses, or that outlives wait_for_left_behind(). Errors: those of `work`;
  /// interrupted once cancelled or no longer Wanted.
  template <class T>
  Result<T> beside_hanging(std::function<Result<T>(const Hanging&)> work);
  /// Waits until the submounts that hung have answered what was asked of them. For the end of the daemon.
  void wait_for_left_behind() { left_behind_.wait(); }

  /// Refreshes the sessions whose unterminated end has become old enough to count as damage.
  void age_tails();
  /// Refreshes the sessions to which a link leads and whose files have changed: no folder of the store reports that.
  void look_at_links();
  /// Keeps loaded indexes within their memory bound; call it from time to time.
  void tidy();
  /// A process moved a leaf: reloads the moved leaves of all indexed sessions.
  void leaves_changed();
  /// A process changed notes: all sessions show what is noted now.
  void notes_changed();
  /// Treats a session as rewritten if a blob that one of its contexts lacked has reappeared, or a blob that it had is
  /// lost.
  void look_for_blobs();
  /// A log was written: refreshes its session to its present depth, or scans the folder for a new session. If the log
  /// is gone meanwhile, scans all folders for it.
  void touch(const LogPlace& place);

  /// The cwd of a project that any view has shown.
  [[nodiscard]] std::optional<std::string> cwd_of_project(std::uint32_t number) const;

  /// Newest first by the log's mtime, at most `limit`, without those in children/.
  [[nodiscard]] std::vector<SessionPtr> recent(std::size_t limit = 50) const { return view()->recent(limit); }
  /// Without those of stores that hang.
  [[nodiscard]] std::vector<NamedSession> terminals(const Hanging& hanging) const;

  /// Finds the session that a user names by a path (in the store or in a mount), an id, a unique prefix, its name in
  /// projects/, the name of its log, or `latest`; all but a path may follow the agent and a colon. Errors: not_found,
  /// invalid_argument (several sessions match).
  [[nodiscard]] Result<SessionPtr> find(const std::string& spelled) const { return view()->find(spelled, stores_); }

  /// This process has just moved the session's log to `to`.
  void relocate(const SessionPtr& session, const LogPlace& to);
  /// The session of the log at `place`; null if it is not known (yet).
  [[nodiscard]] SessionPtr at(const LogPlace& place) const;

  [[nodiscard]] const StoreSet& stores() const { return stores_; }
  /// The data that arborfs keeps for the sessions of a store.
  [[nodiscard]] StoreState& state(std::uint8_t store) const;
  [[nodiscard]] StoreState& state_of(const Session& session) const { return state(session.store_number()); }
  /// What users noted about sessions, kept in $XDG_DATA_HOME/arborfs/notes/; in memory without a state folder.
  [[nodiscard]] Notes& notes() const { return *notes_; }
  [[nodiscard]] Result<NotedPtr> noted_of(const Session& session) const { return notes_->of(Notes::key_of(session)); }
  /// What arborfs changed, in the state folder; in memory without one.
  [[nodiscard]] Operations& operations() const { return *operations_; }
  [[nodiscard]] const std::string& home() const { return home_; }
  [[nodiscard]] ChangeFeed& feed() { return feed_; }
  /// Projects, terminals or recent changed, but no single session.
  void publish_catalog_changed();
  [[nodiscard]] ViewCache& documents() const { return *documents_; }
  /// What the last scans left out of the stores, in the order of stores, folders and names.
  [[nodiscard]] std::vector<LeftOut> left_out() const;
  /// The last few failures, in words, without content.
  [[nodiscard]] std::vector<std::string> last_errors() const;
  void note_error(std::string text);

 private:
  struct Known;
  struct Placing;
  struct OfStore;
  [[nodiscard]] std::vector<std::unique_ptr<OfStore>> states_in(const std::string& folder);
  [[nodiscard]] std::set<LogFolder> folders_to_scan(const std::vector<SessionPtr>& known,
                                                    std::optional<std::uint8_t> only = std::nullopt);
  void rescan_all(const std::vector<SessionPtr>& known, std::optional<std::uint8_t> only);
  void rescan_store(std::uint8_t store);
  void look_for_blobs_of(const OfStore& of);
  void rescan_folder_locked(const LogFolder& folder, Placing& placing);
  void forget_left_out(const LogFolder& folder);
  void leave_out(const LogFolder& folder, const Error& error);
  void forget_other_folders(const std::set<LogFolder>& folders, std::optional<std::uint8_t> only);
  void leave_out_second_names(Placing& placing);
  [[nodiscard]] bool is_still(const Session& session, const FileStat& file) const;
  void give_way(const SessionPtr& session, Placing& placing);
  [[nodiscard]] bool gives_way(const Session& session, const FoundLog& better) const;
  void rescan_locked(const std::set<LogFolder>& folders, Placing& placing);
  void rescan_in_turn(std::mutex& turn, const std::set<LogFolder>& folders);
  [[nodiscard]] std::mutex& turn_of(const LogFolder& folder);
  void finish(Placing& placing);
  void settle(Placing& placing, std::vector<SessionPtr>& added, std::vector<SessionPtr>& removed);
  void read_heads(const std::vector<SessionPtr>& added);
  [[nodiscard]] Result<void> read_words(const std::vector<SessionPtr>& sessions);
  void reload_notes(const std::vector<SessionPtr>& sessions);
  void refresh_known(const std::vector<SessionPtr>& sessions);
  [[nodiscard]] bool is_misplaced(const SessionPtr& session);
  void place_anew(const std::vector<SessionPtr>& misplaced);
  /// True if there is no log at `place` any more.
  [[nodiscard]] bool has_left(const LogPlace& place) const;
  void publish(const SessionPtr& session, Change::Kind kind, const CatalogView& seen);
  void publish_move(const CatalogView& before, const MovedSession& moved);
  [[nodiscard]] static bool is_rename(const CatalogView& before, const CatalogView& now, const MovedSession& moved);
  void rebuild_view();
  [[nodiscard]] std::uint32_t project_number(const std::string& cwd);
  [[nodiscard]] std::vector<SessionPtr> all_sessions() const;
  const StoreSet stores_;
  const std::string home_;
  ChangeFeed feed_;
  const std::unique_ptr<ViewCache> documents_;
  const std::unique_ptr<LoadedIndexes> loaded_;  // null: no bound
  std::atomic<std::uint32_t> generations_{0};    // the last number given
  const std::unique_ptr<Notes> notes_;
  const std::vector<std::unique_ptr<OfStore>> states_;  // by the store's number
  const std::unique_ptr<Operations> operations_;
  std::mutex rescan_mutex_;  // one rescan at a time of the folders that are not submounts; held over I/O
  std::mutex naming_mutex_;  // one rebuild of the view at a time; locked after the rescan mutexes, before mutex_
  enum class Words : std::uint8_t { not_read, of_some, of_all };  // the opening words of sessions
  std::atomic<Words> words_{Words::not_read};
  const std::shared_ptr<SessionNames> names_ = std::make_shared<SessionNames>();
  std::atomic<bool> has_submounts_{false};
  mutable FolderPulse pulse_;  // of the submounts
  mutable std::mutex mutex_;
  std::unique_ptr<Known> known_;     // guarded by mutex_
  CatalogViewPtr view_;              // guarded by mutex_
  std::vector<std::string> errors_;  // guarded by mutex_
  LeftBehind left_behind_;           // last: its threads use the others
};

template <class T>
Result<T> Catalog::beside_hanging(std::function<Result<T>(const Hanging&)> work) {
  if (!has_submounts()) {
    return work({});
  }
  const auto wanted = Wanted::here();
  const auto is_over = [&] { return !wanted() || Cancellation::is_requested(); };
  for (Hanging left_out = hanging(); !is_over();) {
    Hanging now = left_out;
    const auto goes_on = [&] {
      now = hanging();
      return !is_over() && std::all_of(now.submounts.begin(), now.submounts.end(),
                                       [&](const auto& row) { return left_out.submounts.contains(row.first); });
    };
    auto done = left_behind_.run<Result<T>>([work, left_out] { return work(left_out); }, goes_on);
    if (done) {
      return std::move(*done);
    }
    left_out = std::move(now);
  }
  return Error{Errc::interrupted, "the answer is no longer needed"};
}

}  // namespace arborfs
