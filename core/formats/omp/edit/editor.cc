#include "core/formats/omp/edit/editor.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/omp/log/reader.h"
#include "core/formats/omp/store/log_change.h"
#include "core/formats/omp/store/log_files.h"
#include "core/os/processes.h"
#include "core/store/store.h"

namespace arborfs::omp {

/// Carries over lines that other programs append to a log during its rewrite. pi and omp 13 take no lock: lines that
/// they write between the copy and the rename, or to the old file after it, would be lost with that file. So the old
/// file stays open here, and late lines are appended to the new file until no process has the old one open for writing
/// (tested by a lease). Bytes are carried as they are, torn lines too. A crash between the rename and the carrying
/// loses the lines in between, a few microseconds' worth; the old file has no name then.
///
/// One object is used by one thread, under the log's lock.
class LateLines {
 public:
  using Ptr = std::shared_ptr<LateLines>;
  /// For the log that is at `place` now. In a store without files no line can come late.
  static Result<Ptr> of(arborfs::Store& store, const LogPlace& place);
  /// For a file that a program created by name after the log had moved away: lines without a session's header. The file
  /// is renamed, and gets its name back unless it is carried over. Null if there is no such file.
  static Ptr of_stray(arborfs::Store& store, const LogPlace& place);
  explicit LateLines(arborfs::Store& store) : store_(store) {}
  LateLines(const LateLines&) = delete;
  LateLines& operator=(const LateLines&) = delete;
  ~LateLines();

  /// False in a store without files.
  [[nodiscard]] bool sees_files() const { return file_.has_value(); }
  /// A draft was just written from the log up to the size in `copied`. Errors: stale if `copied` is of another file.
  Result<void> note_copied(const FileStat& copied);
  /// Succeeds if the log has not been written since of(), and all of it was copied. Errors: stale.
  [[nodiscard]] Result<void> check_unchanged() const;
  /// Writes the lines that were appended since the copy to the draft. Errors: stale if the log changed in another way.
  Result<void> catch_up(TempFile& draft);
  /// Appends late lines to the log at `to`, which has replaced the old file or was moved there. Ends when no process
  /// can write to the old file any more, or after a limited wait, which the daemon's log then reports. `locks`: takes
  /// the lock of the log at `to`, if possible, before the first late line. Errors: io, no_space: late lines are lost
  /// then, except those of a stray.
  Result<void> carry_over(const LogPlace& to, bool locks = false);
  /// Syncs all lines that were carried over or caught up to the disk.
  Result<void> sync(const LogPlace& at);

 private:
  [[nodiscard]] Result<void> check_grown() const;
  /// While a program writes a line, the file may end inside it.
  enum class Taken { whole_lines, all };
  template <class Put>
  Result<void> take_new(Taken taken, const Put& put);
  Result<void> open_target(const LogPlace& to);
  [[nodiscard]] Result<bool> ends_inside_line(const LogPlace& to) const;
  Result<void> carry_new(const LogPlace& to, Taken taken, bool locks);
  [[nodiscard]] bool becomes_closed() const;

  arborfs::Store& store_;
  std::optional<File> file_;
  FileStat stat_;     // at of()
  std::string head_;  // first bytes at of()
  std::uint64_t taken_ = 0;
  std::string tail_;  // bytes before taken_, known after the copy
  bool has_news_ = false;
  UniqueFd target_;  // the log at its new place
  std::unique_ptr<LogWriter> lock_;
  LogPlace stray_;     // original place of a stray
  std::string aside_;  // its name now, "" for none
};

namespace {

constexpr std::size_t kStep = 1 << 20;
constexpr std::size_t kHead = 4096;
constexpr std::size_t kTail = 256;
constexpr int kRounds = 4;  // limit if a program never stops appending
/// A program that appends has the log open for a moment. Agents wait longer than this for the lock, which is held.
constexpr std::chrono::milliseconds kPatience{200};

Result<std::string> tail_before(const File& file, std::uint64_t end) {
  const std::uint64_t size = std::min<std::uint64_t>(end, kTail);
  return file.read(end - size, size);
}

bool is_inside_line(std::string_view tail) {
  return !tail.empty() && tail.back() != '\n';
}

bool is_headless(const arborfs::Store& store, const LogPlace& place) {
  const auto log = store.open(place);
  const auto header = log ? read_header(**log) : Result<Header>(log.error());
  return header && !header->valid;
}

constexpr int kCopies = 4;  // attempts when other programs append while the log is replaced

Error gone() {
  return {Errc::not_found, "the session is gone"};
}

/// The outcome once the log is in place, depending on whether other programs' late appends were carried over.
Result<void> outcome_of(const Result<void>& carried, const Result<void>& synced) {
  if (!carried) {
    return Error{Errc::io, carried.error().message +
                               "; the log is written, but data that another program appended to it meanwhile is lost"};
  }
  return synced ? Result<void>()
                : Error{Errc::io, synced.error().message +
                                      "; data that another program appended to the log meanwhile may "
                                      "not survive a power cut"};
}

/// A program that appends by name to a log that has just moved creates a file of that name.
Result<void> carry_strays(arborfs::Store& store, const LogPlace& from, const LogPlace& to) {
  auto stray = LateLines::of_stray(store, from);
  return stray ? stray->carry_over(to, true) : Result<void>();
}

/// Under the lock. A program that appends without the lock may do so between any two steps. `put` gets the log as it is
/// then.
template <class Copy, class Put>
Result<void> put_in_place(Copy& copy, const LogWriter& writer, const Put& put) {
  Result<void> done(Errc::stale, "");
  for (int i = 0; i < kCopies && !done && done.error().code == Errc::stale; ++i) {
    RETURN_IF_ERROR(copy.copied.may_grow ? copy.late->catch_up(*copy.draft) : copy.late->check_unchanged());
    auto now = copy.late->sees_files() ? writer.version() : Result<LogVersion>(copy.before);
    done = now ? put(*now) : Result<void>(now.error());
  }
  return done;
}

}  // namespace

Result<LateLines::Ptr> LateLines::of(arborfs::Store& store, const LogPlace& place) {
  auto late = std::make_shared<LateLines>(store);
  if (const auto folder = store.folder(place)) {
    ASSIGN_OR_RETURN(late->file_, File::open_in(*folder, place.file));
    ASSIGN_OR_RETURN(late->stat_, late->file_->stat());
    ASSIGN_OR_RETURN(late->head_, late->file_->read(0, kHead));
  }
  return late;
}

LateLines::Ptr LateLines::of_stray(arborfs::Store& store, const LogPlace& place) {
  const auto folder = store.folder(place);
  if (!folder || !folder->stat(place.file) || !is_headless(store, place)) {
    return nullptr;
  }
  const std::string aside = temporary_log_name(place.file);
  if (!store.disk().rename(*folder, place.file, *folder, aside, Disk::Existing::keep)) {
    return nullptr;
  }
  auto late = std::make_shared<LateLines>(store);
  late->stray_ = place;
  late->aside_ = aside;
  auto file = File::open_in(*folder, aside);
  if (!file) {
    return nullptr;
  }
  late->file_ = std::move(*file);
  return late;
}

LateLines::~LateLines() {
  const auto folder = aside_.empty() ? Result<Dir>(Errc::not_found, "") : store_.folder(stray_);
  if (folder) {
    static_cast<void>(store_.disk().rename(*folder, aside_, *folder, stray_.file, Disk::Existing::keep));
  }
}

Result<void> LateLines::note_copied(const FileStat& copied) {
  if (!file_) {
    return {};
  }
  ASSIGN_OR_RETURN(auto tail, tail_before(*file_, copied.size));
  taken_ = copied.size;
  tail_ = std::move(tail);
  return copied.same_file(stat_) ? Result<void>() : Result<void>(log_changed());
}

Result<void> LateLines::check_unchanged() const {
  if (!file_) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto now, file_->stat());
  return now == stat_ && taken_ == stat_.size ? Result<void>() : Result<void>(log_changed());
}

/// Succeeds if there were only appends, as far as can be seen: the head and the end of the copied part are unchanged.
Result<void> LateLines::check_grown() const {
  ASSIGN_OR_RETURN(const auto now, file_->stat());
  ASSIGN_OR_RETURN(const auto head, file_->read(0, head_.size()));
  ASSIGN_OR_RETURN(const auto tail, tail_before(*file_, taken_));
  const bool is_written_over = now.size == stat_.size && now.mtime_ns != stat_.mtime_ns;
  const bool is_same = now.size >= taken_ && !is_written_over && head == head_ && tail == tail_;
  return is_same ? Result<void>() : Result<void>(log_changed());
}

/// The end of the last line that ends between `from` and `end`; `from` if there is none.
Result<std::uint64_t> last_line_end(const File& file, std::uint64_t from, std::uint64_t end) {
  while (end > from) {
    const std::uint64_t start = end - std::min<std::uint64_t>(end - from, kStep);
    ASSIGN_OR_RETURN(const auto bytes, file.read(start, end - start));
    if (const std::size_t at = bytes.rfind('\n'); at != std::string::npos) {
      return start + at + 1;
    }
    end = start;
  }
  return from;
}

/// Passes the bytes after taken_ to `put`.
template <class Put>
Result<void> LateLines::take_new(Taken taken, const Put& put) {
  ASSIGN_OR_RETURN(const auto now, file_->stat());
  std::uint64_t end = now.size;
  if (taken == Taken::whole_lines) {
    ASSIGN_OR_RETURN(end, last_line_end(*file_, taken_, now.size));
  }
  while (taken_ < end) {
    ASSIGN_OR_RETURN(const auto bytes, file_->read(taken_, std::min<std::uint64_t>(end - taken_, kStep)));
    if (bytes.empty()) {
      return log_changed();
    }
    RETURN_IF_ERROR(put(std::string_view(bytes)));
    taken_ += bytes.size();
    tail_ = bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
    has_news_ = true;
  }
  return {};
}

Result<void> LateLines::catch_up(TempFile& draft) {
  if (!file_) {
    return {};
  }
  const auto put = [&](std::string_view bytes) { return draft.write(bytes); };
  RETURN_IF_ERROR(check_grown());
  for (int i = 0; i < kRounds; ++i) {
    RETURN_IF_ERROR(take_new(Taken::all, put));
  }
  return is_inside_line(tail_) && becomes_closed() ? take_new(Taken::all, put) : Result<void>();
}

Result<void> LateLines::open_target(const LogPlace& to) {
  if (target_) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto folder, store_.folder(to));
  ASSIGN_OR_RETURN(target_, store_.disk().open_append(folder, to.file));
  return {};
}

/// True if the log at `to` ends inside a line for longer than a program takes to write one.
Result<bool> LateLines::ends_inside_line(const LogPlace& to) const {
  ASSIGN_OR_RETURN(const auto folder, store_.folder(to));
  ASSIGN_OR_RETURN(const auto log, File::open_in(folder, to.file));
  Result<void> looked;
  const bool lasts = is_lasting(
      [&] {
        const auto stat = log.stat();
        const auto tail = stat ? tail_before(log, stat->size) : Result<std::string>(stat.error());
        looked = tail ? Result<void>() : tail.error();
        return tail && is_inside_line(*tail);
      },
      kPatience);
  return looked ? Result<bool>(lasts) : Result<bool>(looked.error());
}

/// A line that starts in the old file starts a new line in the new file.
Result<void> LateLines::carry_new(const LogPlace& to, Taken taken, bool locks) {
  return take_new(taken, [&](std::string_view bytes) -> Result<void> {
    if (locks && !lock_) {
      auto lock = log_files(store_).writer(to);
      lock_ = lock ? std::move(*lock) : nullptr;
    }
    RETURN_IF_ERROR(open_target(to));
    bool needs_line_end = false;
    if (!is_inside_line(tail_)) {
      ASSIGN_OR_RETURN(needs_line_end, ends_inside_line(to));
    }
    std::string text(needs_line_end ? 1 : 0, '\n');
    text += bytes;
    return write_all(store_.disk(), target_.get(), text);
  });
}

bool LateLines::becomes_closed() const {
  return !is_open_for_writing(*file_, kPatience);
}

Result<void> LateLines::carry_over(const LogPlace& to, bool locks) {
  if (!file_) {
    return {};
  }
  if (!aside_.empty() && !(becomes_closed() && is_headless(store_, {stray_.folder, aside_}))) {
    return {};  // the destructor restores its name
  }
  auto done = carry_new(to, Taken::whole_lines, locks);
  if (!becomes_closed()) {  // it has no name, so it cannot be opened again
    write_log(LogLevel::warning, to.file + ": a program still has the replaced log open; its writes there are lost");
  }
  done = done ? carry_new(to, Taken::all, locks) : done;
  lock_.reset();
  done = done && !aside_.empty() ? sync(to) : done;  // before the only copy is removed
  const auto folder = done && !aside_.empty() ? store_.folder(stray_) : Result<Dir>(Errc::not_found, "");
  if (folder && store_.disk().remove(*folder, aside_)) {
    aside_.clear();
  }
  return done;
}

Result<void> LateLines::sync(const LogPlace& at) {
  if (!has_news_) {
    return {};
  }
  RETURN_IF_ERROR(open_target(at));
  return store_.disk().sync(target_.get());
}

Result<void> LogPlan::start(const Session::Guard& now) {
  batch.emplace(now.index(), now.leaf(), now_ms());
  log = now.log();
  damage = now.index().damage();
  size = now.stat().size;
  is_migrated = now.index().header().migrated;
  moves_leaf = now.leaf() != now.index().leaf();
  return {};
}

Result<void> Editor::check(const Session::Guard& now) const {
  return omp::check_writable(now);
}

Result<void> Editor::probe(const SessionPtr& session) {
  arborfs::Store& store = session->store();
  const LogPlace place = session->place();
  auto folder = store.folder(place);
  if (!folder) {
    return {};  // a memory store has none
  }
  bool is_rewritten = false;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    is_rewritten = guard.index().header().migrated;
  }
  return probe_log_writer(store.disk(), *std::move(folder), place.file, is_rewritten);
}

Result<std::unique_ptr<LogWriter>> Editor::lock(const SessionPtr& session, Wait /*wait*/) {
  auto writer = log_files(session->store()).writer(session->place());
  return !writer && writer.error().code == Errc::not_found ? gone() : std::move(writer);
}

/// Another daemon may have moved the leaf.
Result<std::unique_ptr<Plan>> Editor::begin(const SessionPtr& session) {
  session->reload_leaf();
  return std::unique_ptr<Plan>(std::make_unique<LogPlan>());
}

/// The first write to a log of version 1 or 2 migrates it to version 3 (omp/FORMAT.md B3), and a title slot of another
/// length cannot be overwritten.
Result<void> Editor::complete(const SessionPtr& session, const Held& held, Plan& planned) {
  auto& plan = static_cast<LogPlan&>(planned);
  plan.lines = plan.batch->take_lines();
  if (plan.moves_leaf && !plan.lines.empty()) {
    plan.effects.push_back(effect_of_leaf(catalog_.state_of(*session).leaves.text(session->place().file), ""));
  }
  bool fits = !plan.anew && !plan.is_migrated;
  if (!plan.lines.empty()) {
    plan.last = plan.batch->leaf();
    plan.protects = true;
    if (fits && !plan.slot.empty()) {
      ASSIGN_OR_RETURN(fits, fits_in_place(*plan.log, plan.slot));
    }
  }
  if (fits) {
    ASSIGN_OR_RETURN(plan.lead, lead_for(*plan.log, plan.damage, held.writer->stat().size));
    plan.at_begin = plan.slot;
    return {};
  }
  if (!plan.anew) {
    const auto write = [session, &plan](TempFile& draft) -> Result<CopiedLog> {
      ASSIGN_OR_RETURN(auto copied, write_log_anew(*session, {{}, plan.slot, plan.lines}, draft));
      return copied.stat.size == plan.size ? Result<CopiedLog>(std::move(copied)) : log_changed();
    };
    plan.anew = Rewrite{write, [] { return true; }};
  }
  plan.rewrite = [this, session, &plan](Held& held_now) { return rewrite(session, held_now, plan); };
  return {};
}

void Editor::committed(const SessionPtr& session, const Plan& plan) {
  if (static_cast<const LogPlan&>(plan).moves_leaf && !plan.lines.empty()) {
    catalog_.state_of(*session).leaves.forget(session->place().file);
  }
}

std::string Editor::instead(const Session& session) const {
  const std::string id = session.identity().id;
  return ", write to a fork instead (arborfs fork " + (id.empty() ? session.stem() : id) + ")";
}

/// A log that was copied, and is to be replaced by the copy.
struct Editor::Copy {
  std::unique_ptr<TempFile> draft;
  LateLines::Ptr late;
  LogVersion before;
  CopiedLog copied;
};

/// Copies the log without the lock, and takes the lock again. Appends of other programs in between are carried over.
Result<Editor::Copy> Editor::copy(const SessionPtr& session, Held& held, const Rewrite& anew, const LogPlace& to) {
  const LogPlace place = session->place();
  const LivePolicy policy = held.policy;
  ASSIGN_OR_RETURN(auto before, held.writer->version());
  ASSIGN_OR_RETURN(auto late, LateLines::of(session->store(), place));
  held.writer.reset();
  ASSIGN_OR_RETURN(auto draft, log_files(session->store()).redraft(place, to));
  ASSIGN_OR_RETURN(const auto copied, anew.write(*draft));
  RETURN_IF_ERROR(draft->finish(syncs_));
  RETURN_IF_ERROR(late->note_copied(copied.stat));
  ASSIGN_OR_RETURN(held, hold_(session, policy));
  if (!anew.is_wanted()) {
    return nobody_waits();
  }
  return Copy{std::move(draft), std::move(late), std::move(before), copied};
}

/// Late appends are carried over before the lock is released.
Result<void> Editor::rewrite(const SessionPtr& session, Held& held, LogPlan& plan) {
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(auto copied, copy(session, held, *plan.anew, place));
  const std::string path = path_of(held.writer->log().fd());
  RETURN_IF_ERROR(put_in_place(copied, *held.writer,
                               [&](const LogVersion& now) { return held.writer->replace(*copied.draft, now); }));
  if (!copied.copied.runs) {
    plan.cannot_undo = "it also brought the log to version 3";
  } else if (!copied.copied.runs->empty() && !path.empty()) {
    plan.effects.push_back(effect_of(
        FileChange{path, false, copied.copied.size, *std::move(copied.copied.runs), copied.copied.stat.mtime_ns}));
  }
  const auto carried = copied.late->carry_over(place);
  plan.last_step = [this, place, carried, late = copied.late] {
    return outcome_of(carried, carried && syncs_ ? late->sync(place) : Result<void>());
  };
  return {};
}

Result<void> Editor::move(const SessionPtr& session, Held& held, const Rewrite& anew, const LogPlace& to) {
  ASSIGN_OR_RETURN(auto copied, copy(session, held, anew, to));
  return put_in_place(copied, *held.writer,
                      [&](const LogVersion& now) { return move_locked(session, held, now, copied, to); });
}

/// Moves the name first, as the agents do, then changes the header. If the second fails, the first is undone.
Result<void> Editor::move_locked(const SessionPtr& session, Held& held, const LogVersion& before, Copy& copy,
                                 const LogPlace& to) {
  arborfs::Store& store = session->store();
  const LogPlace from = session->place();
  RETURN_IF_ERROR(held.writer->verify(before));
  auto stray = LateLines::of_stray(store, to);
  RETURN_IF_ERROR(log_files(store).move(from, to));
  if (auto put = log_files(store).publish(*copy.draft, to, Disk::Existing::replace, false); !put) {
    static_cast<void>(log_files(store).move(to, from));
    return put;
  }
  if (const auto after = store.stat(to)) {
    catalog_.state_of(*session).marks.note_written(from.file, held.writer->stat(), *after);
  }
  auto carried = copy.late->carry_over(to, true);
  carried = carried && stray ? stray->carry_over(to, true) : carried;
  carried = carried ? carry_strays(store, from, to) : carried;
  held.writer->release();
  catalog_.relocate(session, to);
  for (const LogPlace& place : {to, from}) {
    const auto folder = store.folder(place);  // a memory store has none
    auto synced = folder && syncs_ ? store.disk().sync_folder(*folder) : Result<void>();
    if (!synced) {
      return Error{Errc::io, synced.error().message + "; the session is moved, but a power cut may undo it"};
    }
  }
  carried = carried ? carry_strays(store, from, to) : carried;
  const auto synced = syncs_ ? copy.late->sync(to) : Result<void>();
  if (auto read = session->refresh(Depth::index); !read) {  // not `stale`, which would make the caller move it again
    return Error{Errc::io, "the session is moved, but the log cannot be read back: " + read.error().message};
  }
  return outcome_of(carried, synced);
}

}  // namespace arborfs::omp
