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
#include <type_traits>
#include <utility>

#include "core/base/clock.h"
#include "core/session/change_feed.h"
#include "core/session/log_state.h"
#include "core/session/store_state.h"
#include "core/session/view_cache.h"
#include "core/store/store.h"

namespace arborfs {

class LoadedIndexes;

/// The error if a session changed between two reads of one request: stale.
Error session_changed();

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Head = LogState::Head;

  /// The header fields that its place and its names in the tree come from.
  struct Identity {
    std::string cwd;
    std::string id;                            // "" when the log has none
    std::string_view agent;                    // Session::agent
    std::string started_by;                    // Header::started_by
    std::optional<std::uint64_t> naming = {};  // a hash of what its name is made of (NameParts); nothing without them
    bool operator==(const Identity&) const = default;
  };

  /// What people name it by (CONTRACT.md 2.15).
  struct NameParts {
    std::string timestamp;  // Header::timestamp
    std::string words;      // the title, else the slug of the opening words (session_name.h)
  };

  /// What a list of sessions shows of it.
  struct Summary {
    std::string title;       // Session::title
    std::string_view agent;  // Session::agent
    std::int64_t mtime_ns = 0;
  };

  /// State that the sessions of one store share; outlives them.
  struct Shared {
    std::shared_ptr<Store> store;
    std::uint8_t number = 0;                  // of the store
    ChangeFeed* feed = nullptr;               // may be null
    StoreState* state = nullptr;              // may be null
    ViewCache* documents = nullptr;           // may be null
    LoadedIndexes* loaded = nullptr;          // may be null: nothing is evicted
    const Notes* notes = nullptr;             // may be null
    std::atomic<std::uint32_t>& generations;  // the last version given in the catalog (Versions)
  };
  using Clock = std::chrono::steady_clock;
  Session(std::uint32_t number, FoundLog found, Shared& shared);

  /// Never reused in the life of a catalog, from 1.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] LogPlace place() const {
    return locked([&] { return place_; });
  }
  /// The store that its log is in. A session never changes its store.
  [[nodiscard]] Store& store() const { return *shared_.store; }
  [[nodiscard]] std::uint8_t store_number() const { return shared_.number; }
  /// The log's name on disk without its ending.
  [[nodiscard]] std::string stem() const {
    return locked([&] { return std::string(place_.stem()); });
  }
  /// The same as it is shown, for a session that has no other name or id.
  [[nodiscard]] std::string shown_stem() const {
    return locked([&] { return shown_stem_.value_or(std::string(place_.stem())); });
  }
  /// How its agent's records are read and rendered. Never changes.
  [[nodiscard]] const Format& format() const { return state_.format; }
  /// The agent that it belongs to: its format's, but for logs of omp and pi that of the agent whose log it is. The
  /// log's index decides that; until it is read, the header does.
  [[nodiscard]] std::string_view agent() const {
    return locked([&] { return state_.owner().agent; });
  }
  /// The format of that agent's files, as session.json has it (Format::name). The generation of omp is not part of it,
  /// because the header does not always show it.
  [[nodiscard]] std::string_view format_name() const {
    return locked([&] { return state_.owner().name; });
  }
  [[nodiscard]] Head head() const {
    return locked([&] { return state_.head; });
  }
  /// The id in its head; "" if it has none.
  [[nodiscard]] std::string id() const {
    return locked([&] { return state_.head.header.id; });
  }
  /// True if its head could be read.
  [[nodiscard]] bool is_readable() const {
    return locked([&] { return state_.head.problem.empty(); });
  }
  /// The title in its head; "" if it has none.
  [[nodiscard]] std::string title() const {
    return locked([&] { return state_.head.header.title; });
  }
  /// The tag in its head; "" if it has none.
  [[nodiscard]] std::string tag() const {
    return locked([&] { return state_.head.header.tag; });
  }
  [[nodiscard]] Identity identity() const {
    const auto& header = state_.head.header;
    return locked([&] { return Identity{header.cwd, header.id, state_.owner().agent, header.started_by, naming()}; });
  }
  /// Nothing while it has no title and its opening words were never read.
  [[nodiscard]] std::optional<NameParts> name_parts() const;
  /// True if it has no title, and its opening words were not read or may be others by now.
  [[nodiscard]] bool needs_words() const {
    return locked([&] { return lacks_words(); });
  }
  /// Reads its opening words from the start of the log. Errors: interrupted (by the thread's Cancellation).
  Result<void> read_words();
  [[nodiscard]] Summary summary() const {
    const auto& head = state_.head;
    return locked([&] { return Summary{head.header.title, state_.owner().agent, head.stat.mtime_ns}; });
  }
  [[nodiscard]] std::int64_t mtime_ns() const { return stat().mtime_ns; }
  /// The log's stat when it was last read.
  [[nodiscard]] FileStat stat() const {
    return locked([&] { return state_.head.stat; });
  }
  /// True if `st` differs from the stat at the last read, if the log's age alone may change its state, or if it is
  /// misplaced.
  [[nodiscard]] bool looks_changed(const FileStat& st) const;

  /// Stats the log and reads the changes, to at least `depth` and never less than the loaded depth. Publishes changes.
  /// Errors: not_found (gone), permission, corrupt, io, interrupted (by the thread's Cancellation).
  Result<void> refresh(Depth depth) {
    return refresh(depth, [this] { return store().stat(place()); });
  }
  /// The same for a caller that has the log's folder open: `stat` returns the log's current stat.
  using Look = std::function<Result<FileStat>()>;
  Result<void> refresh(Depth depth, const Look& stat);
  /// The same for a caller that knows of a write to the log: to the loaded depth, or to the index if that was evicted.
  Result<void> follow();
  /// True if the log was checked since `when`, the session has not changed since that check, and `depth` is loaded.
  [[nodiscard]] bool is_known_since(Clock::time_point when, Depth depth) const;
  /// Discards the result of the last check: the log has been written to.
  void forget_look() { times_.looked = kNever; }
  /// This process is about to replace the log by a file with this stat, which has all entries that it acknowledged.
  void expect_own_log(const FileStat& stat);
  /// This process has written to the log, and the session has been refreshed since.
  void note_own_write() { times_.written = Clock::now(); }
  [[nodiscard]] bool was_written_since(Clock::time_point when) const { return times_.written.load() >= when; }
  /// True if refresh(depth) has little to read (`kQuickBytes` at most) and no other thread does longer work on the
  /// session. Costs at most one stat (none for a head).
  [[nodiscard]] bool is_quick(Depth depth) const;
  /// The same for a caller that has just called stat: `now`.
  [[nodiscard]] bool is_quick(Depth depth, const FileStat& now) const;
  static constexpr std::uint64_t kQuickBytes = 4 << 20;

  class Guard;
  /// Needs an earlier refresh(Depth::index); nothing if there was none, the log is gone, or the index was evicted
  /// since, which a Use prevents.
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

  /// Those of the last state that was read, even if its index was evicted since.
  [[nodiscard]] Versions versions() const {
    return locked([&] { return state_.versions; });
  }

  /// While one lives, loaded data stays loaded.
  class Use;
  [[nodiscard]] bool is_in_use() const { return usage_.count != 0; }
  /// When the last Use began or the last refresh ran.
  [[nodiscard]] Clock::time_point last_used() const { return usage_.last.load(); }
  /// True if this much is loaded.
  [[nodiscard]] bool has(Depth depth) const {
    return locked([&] { return state_.has(depth); });
  }
  /// Evicts index and details; the next refresh that needs them reads them again. If the log has only grown meanwhile,
  /// all versions stay the same. Returns false and does nothing while the session is in use or its log is not at rest.
  bool evict();

  /// Invalidates everything made from its entries, as if the log had been rewritten, for a reason outside the log.
  /// Publishes a change.
  void begin_anew();
  /// Reads again where the leaf was moved to (LeafStore). Publishes a change.
  void reload_leaf();
  /// Publishes that something is shown differently that is no part of the log, such as a mark of its agent.
  void publish_touched() { publish(Change{}); }
  /// Reads again what users noted about it (Notes), which is shown with the log from then on. Publishes a change. If
  /// the notes cannot be read, those that were read before stay.
  void reload_notes();
  [[nodiscard]] NotedPtr noted() const {
    return locked([&] { return state_.noted; });
  }
  /// Why the last write to it failed, in words; "" if it did not.
  void set_write_error(std::string text);
  [[nodiscard]] std::string write_error() const {
    return locked([&] { return write_error_; });
  }

  /// For liveness.cc, whose first check of a live session takes long: true if it was found live within the last few
  /// seconds.
  void note_live() const { times_.live = Clock::now(); }
  [[nodiscard]] bool was_live_lately() const { return times_.live.load() > Clock::now() - kLiveRemembered; }

  /// The log was found elsewhere (its folder was renamed).
  void moved_to(const LogPlace& place);
  /// The log is gone: drops the index; head().problem says so.
  void mark_gone();
  /// Heap held by index and details.
  [[nodiscard]] std::size_t memory_bytes() const {
    return locked([&] { return state_.memory_bytes(); });
  }
  /// Where the catalog shows it, and the facts that determined the place; without `by.naming` its name is its log's.
  /// Set by the catalog; events use the path.
  void set_shown_path(std::string path, const Identity& by);
  /// True if the header no longer has the fields by which the catalog placed it, or if it belongs to another agent.
  [[nodiscard]] bool belongs_elsewhere() const {
    return locked([&] { return shown_.is_wrong_for(state_); });
  }
  /// True if it belongs elsewhere, or its name is made of other words.
  [[nodiscard]] bool is_misplaced() const {
    return locked([&] { return is_wrongly_shown(); });
  }
  /// True if its cwd or id has changed.
  [[nodiscard]] bool is_renamed() const {
    return locked([&] { return shown_.is_under_other_names(state_.head.header); });
  }
  [[nodiscard]] std::string shown_path() const {
    return locked([&] { return shown_.path; });
  }

 private:
  template <class Get>
  std::invoke_result_t<Get> locked(const Get& get) const {
    const std::shared_lock lock(mutex_);
    return get();
  }
  Result<void> refresh_locked(Depth depth, const FileStat& now, bool& has_loaded);
  Result<void> take_in(const FileStat& st, Depth depth);
  [[nodiscard]] Result<LogReading> read_log(const FileStat& st, Depth depth);
  void apply(LogReading read);
  [[nodiscard]] std::optional<KeptLeaf> kept_leaf() const;
  void compare_acknowledged();
  Error fail(const Error& error);
  void note_used() const { usage_.last = Clock::now(); }
  void note_loaded();
  void forget_documents(std::uint32_t generation);
  [[nodiscard]] std::optional<std::string> redacted_stem(const LogPlace& place) const;
  template <class Make>
  void change(const Make& make);
  void publish(Change change);

  static constexpr Clock::time_point kNever = Clock::time_point::min();
  static constexpr std::chrono::seconds kLiveRemembered{5};
  struct Times {
    std::atomic<Clock::time_point> looked{kNever};   // start of the last completed check of the log
    std::atomic<Clock::time_point> written{kNever};  // by this process
    std::atomic<Clock::time_point> live{kNever};     // found so
  };
  struct Usage {
    std::atomic<std::uint32_t> count{0};  // of Use
    std::atomic<Clock::time_point> last{kNever};
  };
  /// What is known of the entries that this process acknowledged (ErasedEntries).
  struct Acknowledged {
    bool may_lack_some = false;          // they were not compared yet
    std::optional<FileStat> in_own_log;  // the log that has them all
  };
  /// The opening words, as a slug.
  struct Words {
    FileStat stat;  // of the log when they were read
    std::string slug;
    bool is_final = false;  // OpeningWords::is_final
  };
  struct Shown {
    std::string path;
    Identity by;
    std::optional<Words> words;  // nothing until they were read
    [[nodiscard]] bool is_under_other_names(const Header& header) const;
    [[nodiscard]] bool is_wrong_for(const LogState& state) const;
  };
  // The caller has mutex_.
  [[nodiscard]] std::optional<std::uint64_t> naming() const;
  [[nodiscard]] bool lacks_words() const;
  [[nodiscard]] bool is_wrongly_shown() const {
    return shown_.is_wrong_for(state_) || (shown_.by.naming && naming().value_or(0) != *shown_.by.naming);
  }

  const std::uint32_t number_;
  Shared& shared_;
  mutable Times times_;
  mutable Usage usage_;
  std::atomic<bool> works_long_{false};  // a thread holds refresh_mutex_ for long
  std::mutex refresh_mutex_;
  Acknowledged acknowledged_;        // guarded by refresh_mutex_
  mutable std::shared_mutex mutex_;  // guards everything below; who changes state_ holds refresh_mutex_, too
  LogPlace place_;
  std::optional<std::string> shown_stem_;  // if that differs
  LogState state_;
  Shown shown_;
  std::string write_error_;
};

/// One state of the session, readable while the guard lives. Do no I/O meanwhile, and take no lock except a leaf.
class Session::Guard {
 public:
  [[nodiscard]] const LogIndex& index() const { return *state_->index; }
  [[nodiscard]] const TextSizes& details() const { return *state_->details; }
  [[nodiscard]] bool has_details() const { return state_->details && state_->details->size() == index().size(); }
  [[nodiscard]] const std::shared_ptr<const LogSource>& log() const { return state_->log; }
  /// The leaf, which becomes the parent of the next append: the log's last entry, or the one to which the leaf was
  /// moved (CONTRACT.md 6.7); kNoEntry for the root.
  [[nodiscard]] Ordinal leaf() const { return state_->moved_leaf.value_or(index().leaf()); }
  /// Versions::entries: changes when earlier entries may read differently.
  [[nodiscard]] std::uint32_t generation() const { return state_->versions.entries; }
  static constexpr Ordinal kLastEntry = Versions::kLastEntry;
  [[nodiscard]] std::uint32_t generation_of(Ordinal entry) const { return state_->versions.of(entry); }
  /// True if an entry, and those before it, will not change within this generation().
  [[nodiscard]] bool is_settled(Ordinal entry) const { return entry <= index().settled(); }
  [[nodiscard]] std::uint32_t epoch() const { return state_->versions.epoch; }
  [[nodiscard]] std::uint32_t raw_generation() const { return state_->versions.raw; }
  [[nodiscard]] const FileStat& stat() const { return state_->head.stat; }
  [[nodiscard]] const Format& format() const { return state_->format; }
  [[nodiscard]] std::string_view agent() const { return state_->owner().agent; }
  /// The log's unterminated end has not changed for 2 s: it is damage now, not a write in progress (CONTRACT.md 3.3).
  [[nodiscard]] bool tail_aged() const { return state_->is_tail_aged; }

 private:
  friend class Session;
  Guard(const LogState& state, std::shared_lock<std::shared_mutex> lock) : state_(&state), lock_(std::move(lock)) {}
  const LogState* state_;
  std::shared_lock<std::shared_mutex> lock_;
};

class Session::Use {
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
      --session_->usage_.count;
    }
  }

 private:
  void begin() const {
    if (session_) {
      ++session_->usage_.count;
      session_->note_used();
    }
  }
  std::shared_ptr<const Session> session_;
};

using SessionPtr = std::shared_ptr<Session>;

}  // namespace arborfs
