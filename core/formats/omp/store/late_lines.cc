#include "core/formats/omp/store/late_lines.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/store/log_files.h"
#include "core/formats/omp/store/omp_log_change.h"
#include "core/os/processes.h"

namespace arborfs {

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

Result<std::string> tail_of(const File& file) {
  ASSIGN_OR_RETURN(const auto stat, file.stat());
  return tail_before(file, stat.size);
}

bool is_inside_line(std::string_view tail) {
  return !tail.empty() && tail.back() != '\n';
}

bool is_headless(const SessionStore& store, const LogPlace& place) {
  const auto log = store.open(place);
  const auto header = log ? read_header(**log) : Result<Header>(log.error());
  return header && !header->valid;
}

}  // namespace

Result<LateLines> LateLines::of(SessionStore& store, const LogPlace& place) {
  const auto folder = store.folder(place);
  if (!folder) {
    return LateLines(store, std::nullopt);
  }
  ASSIGN_OR_RETURN(auto file, File::open_in(*folder, place.file));
  ASSIGN_OR_RETURN(const auto stat, file.stat());
  ASSIGN_OR_RETURN(auto head, file.read(0, kHead));
  LateLines late(store, std::move(file));
  late.stat_ = stat;
  late.head_ = std::move(head);
  return late;
}

std::optional<LateLines> LateLines::of_stray(SessionStore& store, const LogPlace& place) {
  const auto folder = store.folder(place);
  if (!folder || !folder->stat(place.file) || !is_headless(store, place)) {
    return std::nullopt;
  }
  const std::string aside = omp_temporary_name(place.file);
  if (!store.disk().rename(*folder, place.file, *folder, aside, Disk::Existing::keep)) {
    return std::nullopt;
  }
  auto file = File::open_in(*folder, aside);
  LateLines late(store, file ? std::optional(std::move(*file)) : std::nullopt);
  late.stray_ = place;
  late.aside_ = aside;
  return late.file_ ? std::optional(std::move(late)) : std::nullopt;
}

LateLines::LateLines(LateLines&& other) noexcept
    : store_(other.store_),
      file_(std::exchange(other.file_, std::nullopt)),
      stat_(other.stat_),
      head_(std::move(other.head_)),
      taken_(other.taken_),
      tail_(std::move(other.tail_)),
      has_news_(other.has_news_),
      target_(std::move(other.target_)),
      lock_(std::move(other.lock_)),
      stray_(std::move(other.stray_)),
      aside_(std::exchange(other.aside_, std::string())) {}

LateLines::~LateLines() {
  const auto folder = aside_.empty() ? Result<Dir>(Errc::not_found, "") : store_->folder(stray_);
  if (folder) {
    static_cast<void>(store_->disk().rename(*folder, aside_, *folder, stray_.file, Disk::Existing::keep));
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

Result<void> LateLines::catch_up(LogDraft& draft) {
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
  ASSIGN_OR_RETURN(const auto folder, store_->folder(to));
  ASSIGN_OR_RETURN(target_, store_->disk().open_append(folder, to.file));
  return {};
}

/// True if the log at `to` ends inside a line for longer than a program takes to write one.
Result<bool> LateLines::ends_inside_line(const LogPlace& to) const {
  ASSIGN_OR_RETURN(const auto folder, store_->folder(to));
  ASSIGN_OR_RETURN(const auto log, File::open_in(folder, to.file));
  Result<void> looked;
  const bool lasts = is_lasting(
      [&] {
        const auto tail = tail_of(log);
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
      auto lock = log_files(*store_).writer(to);
      lock_ = lock ? std::move(*lock) : nullptr;
    }
    RETURN_IF_ERROR(open_target(to));
    bool needs_line_end = false;
    if (!is_inside_line(tail_)) {
      ASSIGN_OR_RETURN(needs_line_end, ends_inside_line(to));
    }
    std::string text(needs_line_end ? 1 : 0, '\n');
    text += bytes;
    return write_all(store_->disk(), target_.get(), text);
  });
}

bool LateLines::becomes_closed() const {
  return !is_open_for_writing(*file_, kPatience);
}

Result<void> LateLines::carry_over(const LogPlace& to, bool locks) {
  if (!file_) {
    return {};
  }
  if (!aside_.empty() && !(becomes_closed() && is_headless(*store_, {stray_.folder, aside_}))) {
    return {};  // the destructor restores its name
  }
  auto done = carry_new(to, Taken::whole_lines, locks);
  if (!becomes_closed()) {  // it has no name, so it cannot be opened again
    write_log(LogLevel::warning, to.file + ": a program still has the replaced log open; its writes there are lost");
  }
  done = done ? carry_new(to, Taken::all, locks) : done;
  lock_.reset();
  done = done && !aside_.empty() ? sync(to) : done;  // before the only copy is removed
  const auto folder = done && !aside_.empty() ? store_->folder(stray_) : Result<Dir>(Errc::not_found, "");
  if (folder && store_->disk().remove(*folder, aside_)) {
    aside_.clear();
  }
  return done;
}

Result<void> LateLines::sync(const LogPlace& at) {
  if (!has_news_) {
    return {};
  }
  RETURN_IF_ERROR(open_target(at));
  return store_->disk().sync(target_.get());
}

}  // namespace arborfs
