#include "core/session/write_marks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/os/state_dir.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongestMark = 256;
/// Four numbers of up to 20 digits. Padded to one size, a mark is overwritten by one write, so no mark is ever shorter.
constexpr std::size_t kPaddedMark = 96;
constexpr std::int64_t kMarkKeptNs = std::chrono::nanoseconds(std::chrono::hours(24 * 30)).count();

/// Removes marks that are too old, and the oldest if there are too many.
void make_room_for_one(Disk& disk, const Dir& folder) {
  const auto entries = folder.list();
  std::vector<std::pair<std::int64_t, std::string>> files;
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (const auto st = folder.stat(entry.name)) {
      files.emplace_back(st->mtime_ns, entry.name);
    }
  }
  std::sort(files.begin(), files.end());
  const std::size_t too_many = files.size() < WriteMarks::kMost ? 0 : files.size() - WriteMarks::kMost + 1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i < too_many || now_ns() - files[i].first > kMarkKeptNs) {
      static_cast<void>(disk.remove(folder, files[i].second));
    }
  }
}

}  // namespace

WriteMarks::WriteMarks(std::string folder, std::string store_key, Disk& disk)
    : folder_(std::move(folder)), store_key_(std::move(store_key)), disk_(disk) {}

std::optional<WriteMarks::Mark> WriteMarks::read(const File& file) {
  std::array<char, kLongestMark> buffer{};
  const auto got = file.read_at(0, buffer);
  if (!got) {
    return std::nullopt;
  }
  const char* at = buffer.data();
  const char* const end = at + *got;
  const auto next = [&](auto& number) {
    const auto read = std::from_chars(at, end, number);
    at = read.ptr == end ? end : read.ptr + 1;
    return read.ec == std::errc() && read.ptr != end;
  };
  Mark mark;
  return next(mark.ino) && next(mark.size) && next(mark.mtime_ns) && next(mark.others_ns) ? std::optional(mark)
                                                                                          : std::nullopt;
}

std::optional<WriteMarks::Mark> WriteMarks::load(const std::string& log_name) const {
  const auto folder = open_private_folder(folder_);
  const auto file =
      folder ? File::open_in(*folder, state_file_name(store_key_, log_name)) : Result<File>(folder.error());
  return file ? read(*file) : std::nullopt;
}

std::string WriteMarks::text_of(const Mark& mark) {
  std::string text = std::to_string(mark.ino) + " " + std::to_string(mark.size) + " " + std::to_string(mark.mtime_ns) +
                     " " + std::to_string(mark.others_ns);
  text.resize(kPaddedMark - 1, ' ');
  return text + "\n";
}

void WriteMarks::create(const std::string& log_name, const Mark& mark) {
  if (folder_.empty()) {
    return;
  }
  const std::lock_guard alone(mutex_);
  const auto folder = make_private_folder(disk_, folder_, false);
  if (!folder) {
    return;
  }
  const std::string name = state_file_name(store_key_, log_name);
  if (!folder->stat(name)) {
    make_room_for_one(disk_, *folder);
  }
  static_cast<void>(replace_private_file(disk_, *folder, name, text_of(mark), false));
}

bool WriteMarks::update(const std::string& log_name, const FileStat& before, const FileStat& after) {
  const auto folder = open_private_folder(folder_);
  auto fd =
      folder ? disk_.open_update(*folder, state_file_name(store_key_, log_name)) : Result<UniqueFd>(folder.error());
  if (!fd) {
    return false;
  }
  const File file = File::of(*std::move(fd));
  const auto mark = read(file);
  const std::int64_t others = mark && mark->is_of(before) ? mark->others_ns : before.mtime_ns;
  return static_cast<bool>(disk_.write_at(file.fd(), text_of({after.ino, after.size, after.mtime_ns, others}), 0));
}

void WriteMarks::note_made(const std::string& log_name, const FileStat& made) {
  create(log_name, {made.ino, made.size, made.mtime_ns, 0});
}

void WriteMarks::note_written(const std::string& log_name, const FileStat& before, const FileStat& after,
                              bool even_if_unmarked) {
  if (update(log_name, before, after)) {
    return;
  }
  const Mark mark{after.ino, after.size, after.mtime_ns, others_before(log_name, before)};
  remember(log_name, mark);
  if (even_if_unmarked) {
    create(log_name, mark);
  }
}

std::int64_t WriteMarks::others_before(const std::string& log_name, const FileStat& now) const {
  const std::lock_guard lock(unmarked_mutex_);
  const auto own = unmarked_.find(log_name);
  return own != unmarked_.end() && own->second.is_of(now) ? own->second.others_ns : now.mtime_ns;
}

void WriteMarks::remember(const std::string& log_name, const Mark& mark) {
  const std::lock_guard lock(unmarked_mutex_);
  if (unmarked_.size() >= kMost && !unmarked_.contains(log_name)) {
    const auto is_older = [](const auto& a, const auto& b) { return a.second.mtime_ns < b.second.mtime_ns; };
    unmarked_.erase(std::min_element(unmarked_.begin(), unmarked_.end(), is_older));
  }
  unmarked_[log_name] = mark;
}

std::optional<std::int64_t> WriteMarks::written_by_others(const std::string& log_name, const FileStat& now) const {
  const auto mark = load(log_name);
  if (!mark || !mark->is_of(now)) {
    return others_before(log_name, now);
  }
  return mark->others_ns == 0 ? std::nullopt : std::optional(mark->others_ns);
}

}  // namespace arborfs
