// One session: its log, the index of it, and derived data. The same object lives as long as the session is known,
// through appends, rewrites and renames of its folder.
//
// Threads: any. Locks, in order: refresh_mutex_ (one refresher at a time; held over I/O) -> mutex_ (leaf, readers share
// it, never held over I/O). Nothing here calls FUSE.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/log/log_index.h"
#include "core/render/text_sizes.h"
#include "core/session/change_feed.h"
#include "core/session/content_fingerprint.h"
#include "core/session/index_fingerprint.h"
#include "core/session/store_state.h"
#include "core/session/view_cache.h"
#include "core/store/session_store.h"

namespace arborfs {

class LoadedIndexes;

/// The error if a session changed between two reads of one request: stale.
Error session_changed();

/// How much of a session a caller needs.
enum class Depth : std::uint8_t {
  head,     // stat and header: a few KiB read; up to 4 MiB for the title of a log of pi
  raw,      // the log open, and a fingerprint of its bytes: a few KiB more
  index,    // every entry's place: the log read once
  details,  // sizes of texts, images, usage: the log read a second time, unless details are gathered with the index
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// Facts known without reading the whole log.
  struct Head {
    FileStat stat;
    Header header;
    std::string problem;  // "" or why the log cannot be read, in words
  };

  /// The header fields that its place and its names in the tree come from.
  struct Standing {
    std::string cwd;
    std::string id;          // "" when the log has none
    std::string_view agent;  // Session::agent
    std::string started_by;  // Header::started_by
    bool operator==(const Standing&) const = default;
  };

  /// What a list of sessions shows of it.
  struct Outline {
    std::string title;       // Session::title
    std::string_view agent;  // Session::agent
    std::int64_t mtime_ns = 0;
  };

  /// State that the sessions of one store share; outlives them.
  struct Shared {
    std::shared_ptr<SessionStore> store;
    ChangeFeed* feed = nullptr;               // may be null
    LeafStore* leaves = nullptr;              // may be null
    ErasedEntries* erased = nullptr;          // may be null
    ViewCache* documents = nullptr;           // may be null
    LoadedIndexes* loaded = nullptr;          // may be null: nothing is evicted
    std::atomic<std::uint32_t>& generations;  // the last number given in the catalog; see Guard::generation
  };
  Session(std::uint32_t number, FoundLog found, Shared& shared);

  /// Never reused in the life of a catalog, from 1.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] LogPlace place() const;
  /// The store that its log is in. A session never changes its store.
  [[nodiscard]] SessionStore& store() const { return *shared_.store; }
  [[nodiscard]] std::uint8_t store_number() const { return store_number_; }
  /// The log's name on disk without its ending.
  [[nodiscard]] std::string stem() const;
  /// How its agent's records are read and rendered. Never changes.
  [[nodiscard]] const Format& format() const { return format_; }
  /// The agent that it belongs to: its format's, but for logs of omp and pi that of the agent whose log it is. The
  /// log's index decides that; until it is read, the header does.
  [[nodiscard]] std::string_view agent() const;
  /// The format of that agent's files, as session.json has it (Format::name). The generation of omp is not part of it,
  /// because the header does not always show it.
  [[nodiscard]] std::string_view format_name() const;
  [[nodiscard]] Head head() const;
  /// The title in its head; "" if it has none.
  [[nodiscard]] std::string title() const;
  [[nodiscard]] Standing standing() const;
  [[nodiscard]] Outline outline() const;
  /// True if the head was read, by the scan that found the log or since.
  [[nodiscard]] bool has_head() const;
  [[nodiscard]] std::int64_t mtime_ns() const;
  /// The log's stat when it was last read.
  [[nodiscard]] FileStat stat() const;
  /// True if `st` differs from the stat at the last read, if the log's age alone may change its state, or if it is
  /// misplaced.
  [[nodiscard]] bool looks_changed(const FileStat& st) const;

  /// Stats the log and reads the changes, to at least `depth` and never less than the loaded depth. Publishes changes.
  /// Errors: not_found (gone), permission, corrupt, io, interrupted (`cancelled` became true).
  Result<void> refresh(Depth depth, const std::atomic<bool>* cancelled = nullptr);
  /// The same for a caller that has the log's folder open: `stat` returns the log's current stat.
  using Look = std::function<Result<FileStat>()>;
  Result<void> refresh(Depth depth, const Look& stat);
  /// The same for a caller that knows of a write to the log: to the loaded depth, or to the index if that was let go.
  Result<void> follow();
  /// True if the log was checked since `when`, the session has not changed since that check, and `depth` is loaded.
  [[nodiscard]] bool is_known_since(std::chrono::steady_clock::time_point when, Depth depth) const;
  /// Discards the result of the last check: the log has been written to.
  void forget_look() { looked_ = kNever; }
  /// This process is about to replace the log by a file with this stat, which has all entries that it acknowledged.
  void expect_own_log(const FileStat& stat);
  /// This process has written to the log, and the session has been refreshed since.
  void note_own_write() { written_ = std::chrono::steady_clock::now(); }
  [[nodiscard]] bool was_written_since(std::chrono::steady_clock::time_point when) const {
    return written_.load() >= when;
  }
  /// True if refresh(depth) has little to read (`kQuickBytes` at most) and no other thread does longer work on the
  /// session. Costs at most one stat (none for a head).
  [[nodiscard]] bool is_quick(Depth depth) const;
  /// The same for a caller that has just called stat: `now`.
  [[nodiscard]] bool is_quick(Depth depth, const FileStat& now) const;
  static constexpr std::uint64_t kQuickBytes = 4 << 20;

  /// One state of the session, readable while the guard lives. Do no I/O meanwhile, and take no lock except a leaf.
  class Guard {
   public:
    [[nodiscard]] const LogIndex& index() const { return *session_->index_; }
    [[nodiscard]] const TextSizes& details() const { return *session_->details_; }
    [[nodiscard]] bool has_details() const {
      return session_->details_ && session_->details_->size() == index().size();
    }
    [[nodiscard]] const std::shared_ptr<const LogSource>& log() const { return session_->log_; }
    /// The leaf, which becomes the parent of the next append: the log's last entry, or the one to which the leaf was
    /// moved (CONTRACT.md 6.7); kNoEntry for the root.
    [[nodiscard]] Ordinal leaf() const { return session_->moved_leaf_.value_or(index().leaf()); }
    /// Changes when earlier entries may read differently; unique among all sessions of a catalog, from 1.
    [[nodiscard]] std::uint32_t generation() const { return session_->generation_; }
    /// The same for an entry and those before it: generation(), unless it was changed since among the last ones. That
    /// of kNoEntry is generation(), that of kLastEntry changes with any entry.
    [[nodiscard]] std::uint32_t generation_of(Ordinal entry) const;
    static constexpr Ordinal kLastEntry = UINT32_MAX;
    /// True if an entry, and those before it, will not change within this generation().
    [[nodiscard]] bool is_settled(Ordinal entry) const { return entry <= index().settled(); }
    /// Changes when anything visible in the session changes.
    [[nodiscard]] std::uint32_t epoch() const { return session_->epoch_; }
    /// Changes when earlier raw bytes may read differently.
    [[nodiscard]] std::uint32_t raw_generation() const { return session_->raw_generation_; }
    [[nodiscard]] const FileStat& stat() const { return session_->head_.stat; }
    [[nodiscard]] const Format& format() const { return session_->format(); }
    [[nodiscard]] std::string_view agent() const { return session_->agent_locked(); }
    /// The log's unterminated end has not changed for 2 s: it is damage now, not a write in progress (CONTRACT.md 3.3).
    [[nodiscard]] bool tail_aged() const { return session_->tail_aged_; }

   private:
    friend class Session;
    Guard(const Session& session, std::shared_lock<std::shared_mutex> lock)
        : session_(&session), lock_(std::move(lock)) {}
    const Session* session_;
    std::shared_lock<std::shared_mutex> lock_;
  };
  /// Needs an earlier refresh(Depth::index); nothing if there was none, the log is gone, or the index was let go since,
  /// which a Use prevents.
  [[nodiscard]] std::optional<Guard> read() const;
  /// The same as a Result. Errors: stale (session_changed).
  [[nodiscard]] Result<Guard> read_index() const;

  /// One state of the log's raw bytes.
  struct Raw {
    std::shared_ptr<const LogSource> log;
    FileStat stat;
    std::string slot_bytes;        // of a title slot at that time (it is overwritten in place), "" without one
    std::uint32_t generation = 0;  // Guard::raw_generation
    std::uint32_t epoch = 0;
    std::uint32_t bytes = 0;    // changes when bytes after the slot may read differently
    std::uint32_t entries = 0;  // Guard::generation, 0 if no index was read or entries may move within the log
  };
  /// Needs an earlier refresh(Depth::raw); nothing if there was none or the log is gone.
  [[nodiscard]] std::optional<Raw> raw() const;

  /// Numbers of the last state that was read, even if the index was let go since; 0 if there was none.
  struct Generations {
    std::uint32_t entries = 0;  // Guard::generation
    std::uint32_t raw = 0;      // Guard::raw_generation
  };
  [[nodiscard]] Generations generations() const;

  /// While one lives, loaded data stays loaded.
  class Use {
   public:
    Use() = default;
    explicit Use(std::shared_ptr<const Session> session) : session_(std::move(session)) { begin(); }
    Use(const Use& other) : session_(other.session_) { begin(); }
    Use(Use&&) noexcept = default;
    Use& operator=(Use other) noexcept {
      std::swap(session_, other.session_);
      return *this;
    }
    ~Use() {
      if (session_) {
        --session_->uses_;
      }
    }

   private:
    void begin() const {
      if (session_) {
        ++session_->uses_;
        session_->note_used();
      }
    }
    std::shared_ptr<const Session> session_;
  };
  [[nodiscard]] bool is_in_use() const { return uses_ != 0; }
  /// When the last Use began or the last refresh ran.
  [[nodiscard]] std::chrono::steady_clock::time_point last_used() const {
    return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(last_used_.load()));
  }
  /// True if this much is loaded.
  [[nodiscard]] bool has(Depth depth) const;
  /// Evicts index and details; the next refresh that needs them reads them again. If the log has only grown meanwhile,
  /// all numbers stay the same. Returns false and does nothing while the session is in use or its log is not at rest.
  bool let_go();

  /// Invalidates everything made from its entries, as if the log had been rewritten, for a reason outside the log.
  /// Publishes a change.
  void begin_anew();
  /// Reads again where the leaf was moved to (LeafStore). Publishes a change.
  void reload_leaf();
  /// Why the last write to it failed, in words; "" if it did not.
  void set_write_error(std::string text);
  [[nodiscard]] std::string write_error() const;

  /// For liveness.cc, whose first check of a live session takes long: true if it was found live within the last few
  /// seconds.
  void note_live() const { live_ns_ = now_ns(); }
  [[nodiscard]] bool was_live_lately() const { return now_ns() - live_ns_ < kLiveRememberedNs; }

  /// The log was found elsewhere (its folder was renamed).
  void moved_to(const LogPlace& place);
  /// The log is gone: drops the index; head().problem says so.
  void mark_gone();
  [[nodiscard]] bool is_gone() const;
  /// Heap held by index and details.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Where the catalog shows it, and the facts that determined the place. Set by the catalog; events use the path.
  void set_shown_path(std::string path, const Standing& by);
  /// True if the header no longer has the fields by which the catalog placed it, or if it belongs to another agent.
  [[nodiscard]] bool is_misplaced() const;
  /// True if its cwd or id has changed.
  [[nodiscard]] bool is_renamed() const;
  [[nodiscard]] std::string shown_path() const;

 private:
  [[nodiscard]] bool is_misplaced_locked() const;
  [[nodiscard]] bool is_renamed_locked() const;
  [[nodiscard]] const Format& format_locked() const;
  [[nodiscard]] std::string_view agent_locked() const;
  Result<void> refresh_as(const Look& stat, Depth depth, const std::atomic<bool>* cancelled);
  Result<void> refresh_locked(Depth depth, const Result<FileStat>& now, const std::atomic<bool>* cancelled);
  Result<void> note_look(std::chrono::steady_clock::time_point start, Result<void> outcome);
  Result<void> take_in(const FileStat& st, Depth depth, const std::atomic<bool>* cancelled);
  Result<void> load_head(const FileStat& st);
  Result<void> load_raw(const FileStat& st);
  [[nodiscard]] bool is_at_rest() const;
  [[nodiscard]] Result<bool> keeps_bytes(const LogSource& log, const FileStat& st, const std::string& slot) const;
  void note_used() const { last_used_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
  void note_loaded();
  void keep_findings(const FileStat& st, Header& header) const;
  void keep_head(const FileStat& st, const Header& header);
  Result<void> load_index(const FileStat& st, Depth depth, const std::atomic<bool>* cancelled);
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> log_to_grow() const;
  struct Grown;
  [[nodiscard]] bool is_written_within(const Grown& grown) const;
  Result<bool> read_growth(Grown& grown) const;
  [[nodiscard]] Result<std::optional<Grown>> read_grown(const FileStat& looked) const;
  bool apply_growth(Grown grown, std::optional<TextSizes::Delta> delta);
  Result<bool> grow_index(const FileStat& looked);
  [[nodiscard]] Result<std::string> current_slot() const;
  Result<void> load_details(const std::atomic<bool>* cancelled);
  [[nodiscard]] Result<std::unique_ptr<TextSizes>> read_details(const LogSource& log, const LogIndex& index,
                                                                const std::atomic<bool>* cancelled) const;
  Result<void> fail(const Error& error);
  void age_tail(const FileStat& st);
  [[nodiscard]] bool has_locked(Depth depth) const;
  [[nodiscard]] bool is_current(const FileStat& st, Depth depth) const;
  [[nodiscard]] bool is_same_after_all(const FileStat& st, Depth depth) const;
  void forget_documents(std::uint32_t generation);
  void look_for_erased(const LogSource& log, const LogIndex& index);
  [[nodiscard]] std::optional<Ordinal> entries_kept(const LogIndex& loaded, bool keeps_bytes) const;
  [[nodiscard]] bool is_revised(std::optional<Ordinal> kept) const;
  void number_entries(const LogIndex& loaded, std::optional<Ordinal> kept);
  [[nodiscard]] std::optional<Change> news_of(const LogIndex& loaded, std::optional<Ordinal> kept, bool is_same) const;
  void publish(Change change);
  void publish(Change::Kind kind, std::uint32_t old_generation, Ordinal first, Ordinal last);

  void settle_leaf();
  static constexpr std::int64_t kLiveRememberedNs = 5'000'000'000;
  mutable std::atomic<std::int64_t> live_ns_{0};

  const std::uint32_t number_;
  const std::uint8_t store_number_;
  Shared& shared_;
  const Format& format_;

  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::min();
  std::atomic<Clock::time_point> looked_{kNever};  // start of the last completed check of the log
  std::atomic<Clock::time_point> written_{kNever};

  std::mutex refresh_mutex_;
  bool may_lack_entries_ = false;        // our entries, not compared yet; guarded by refresh_mutex_
  std::optional<FileStat> own_log_;      // guarded by refresh_mutex_
  std::atomic<bool> works_long_{false};  // a thread holds refresh_mutex_ for long
  std::atomic<bool> has_loaded_{false};  // loaded data changed, LoadedIndexes is not notified yet
  mutable std::atomic<std::uint32_t> uses_{0};
  mutable std::atomic<std::chrono::steady_clock::rep> last_used_{0};

  mutable std::shared_mutex mutex_;  // guards everything below
  LogPlace place_;
  Head head_;
  bool head_loaded_ = false;
  bool gone_ = false;
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
  std::unique_ptr<TextSizes> details_;
  std::optional<ContentFingerprint>
      whole_mark_;  // of all that index_ was read from, after the slot, if the log is short
  // Both only without index_:
  std::optional<ContentFingerprint> log_mark_;  // of the log at head_.stat, if it is open
  struct LetGo {
    IndexFingerprint mark;
    FileStat stat;  // of the log at that time
  };
  std::optional<LetGo> let_go_;   // to compare with the index when it is read again
  std::uint32_t generation_ = 0;  // of the index that is loaded or was let go
  struct Revision {
    Ordinal first = kNoEntry;  // the first entry that was changed
    std::uint32_t generation = 0;
  };
  std::vector<Revision> revisions_;  // of entries within generation_, by `first`
  Ordinal settled_ = 0;              // the most entries that were settled within generation_
  std::uint32_t raw_generation_ = 0;
  std::uint32_t bytes_generation_ = 0;  // like raw_generation_, but ignores the slot
  std::uint32_t epoch_ = 0;
  std::string slot_bytes_;
  std::optional<KeptLeaf> kept_leaf_;
  std::optional<Ordinal> moved_leaf_;  // kept_leaf_ resolved in this state
  std::string write_error_;
  std::string shown_path_;
  Standing shown_by_;
  bool tail_aged_ = false;
  std::atomic<bool> racy_{
      false};  // the log was so young when it was read that a later write may leave its times unchanged
};

using SessionPtr = std::shared_ptr<Session>;

}  // namespace arborfs
