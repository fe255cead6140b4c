#include "core/session/pending_appends.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/log.h"
#include "core/base/number_format.h"
#include "core/base/result_macros.h"
#include "core/os/state_dir.h"

namespace arborfs {

namespace {

constexpr mode_t kNoteMode = 0600;
constexpr std::string_view kFormat = "arborfs-append-1";
constexpr char kEnd = '\0';  // of a field; no name contains it
constexpr std::size_t kFields = 7;
constexpr std::size_t kLongestHead = 4096;

/// The fields before the text.
struct Head {
  LogPlace place;
  FileStat log;  // before the append
  std::uint64_t text_bytes = 0;
  std::uint64_t length = 0;  // of the head itself
};

std::string head_text(const LogPlace& place, const FileStat& log, std::size_t text_bytes) {
  std::string text;
  for (const std::string& field : {std::string(kFormat), std::to_string(log.dev), std::to_string(log.ino),
                                   std::to_string(log.size), std::to_string(text_bytes), place.folder, place.file}) {
    text += field;
    text += kEnd;
  }
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<Head> head_of(std::string_view bytes) {
  std::array<std::string_view, kFields> fields;
  std::size_t at = 0;
  for (std::string_view& field : fields) {
    const std::size_t end = bytes.find(kEnd, at);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    field = bytes.substr(at, end - at);
    at = end + 1;
  }
  const auto dev = number_in(fields[1]);
  const auto ino = number_in(fields[2]);
  const auto size = number_in(fields[3]);
  const auto text_bytes = number_in(fields[4]);
  if (fields[0] != kFormat || !dev || !ino || !size || !text_bytes) {
    return std::nullopt;
  }
  Head head;
  head.place = {std::string(fields[5]), std::string(fields[6])};
  head.log.dev = *dev;
  head.log.ino = *ino;
  head.log.size = *size;
  head.text_bytes = *text_bytes;
  head.length = at;
  return head;
}

/// Nothing if the file is not a note or not complete: its append had not begun then.
std::optional<Head> read_head(const File& file) {
  std::array<char, kLongestHead> buffer{};
  const auto got = file.read_at(0, buffer);
  const auto st = file.stat();
  auto head = got && st ? head_of({buffer.data(), *got}) : std::nullopt;
  return head && st->size == head->length + head->text_bytes ? head : std::nullopt;
}

}  // namespace

PendingAppends::Note::~Note() {
  if (owner_ != nullptr) {
    owner_->forget(log_name_);
  }
}

PendingAppends::Note::Note(Note&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), log_name_(std::move(other.log_name_)) {}

PendingAppends::PendingAppends(std::string folder, std::string store_key, Disk& disk)
    : folder_(std::move(folder)), store_key_(std::move(store_key)), disk_(disk) {}

std::string PendingAppends::file_of(const std::string& log_name) const {
  return state_file_name(store_key_, log_name);
}

Result<void> PendingAppends::write(const LogPlace& place, const FileStat& log, std::string_view text) {
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk_, folder_, false));
  const std::string name = file_of(place.file);
  auto file = disk_.create(folder, name, kNoteMode);
  if (!file && file.error().code == Errc::already_exists) {
    static_cast<void>(disk_.remove(folder, name));
    file = disk_.create(folder, name, kNoteMode);
  }
  if (!file) {
    return file.error();
  }
  auto done = write_all(disk_, file->get(), head_text(place, log, text.size()));
  done = done ? write_all(disk_, file->get(), text) : done;
  if (!done) {
    static_cast<void>(disk_.remove(folder, name));
  }
  return done;
}

PendingAppends::Note PendingAppends::note(const LogPlace& place, const FileStat& log, std::string_view text) {
  if (folder_.empty() || text.size() <= kAtomic) {
    return {};
  }
  if (auto noted = write(place, log, text); !noted) {
    write_log(LogLevel::warning,
              "if this process is killed now, " + place.file +
                  " may end with a partial append, because its state cannot be stored: " + noted.error().message);
    return {};
  }
  return {*this, place.file};
}

bool PendingAppends::has(const std::string& log_name) const {
  return !folder_.empty() && Dir::stat_root(folder_ + "/" + file_of(log_name));
}

bool PendingAppends::take_back(LogWriter& writer, const std::string& log_name) {
  auto folder = open_private_folder(folder_);
  const auto file = folder ? File::open_in(*folder, file_of(log_name)) : Result<File>(folder.error());
  const auto head = file ? read_head(*file) : std::nullopt;
  const bool is_of_log = head && head->place.file == log_name && head->log.same_file(writer.stat());
  const std::uint64_t before = head ? head->log.size : 0;
  auto cut = is_of_log ? writer.cut_part(before, *file, head->length) : Result<bool>(false);
  if (!cut) {
    write_log(LogLevel::warning, log_name + ": cannot cut off a part of an append: " + cut.error().message);
  } else if (*cut) {
    write_log(LogLevel::warning, log_name + ": cut off " + counted(writer.stat().size - before, "byte", "bytes") +
                                     " of an append whose process was killed");
  }
  forget(log_name);
  return cut && *cut;
}

std::vector<LogPlace> PendingAppends::all() const {
  std::vector<LogPlace> found;
  auto folder = open_private_folder(folder_);
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>{}) {
    const auto file = File::open_in(*folder, entry.name);
    auto head = file ? read_head(*file) : std::nullopt;
    if (head && file_of(head->place.file) == entry.name) {
      found.push_back(std::move(head->place));
    }
  }
  return found;
}

void PendingAppends::forget(const std::string& log_name) {
  if (auto folder = open_private_folder(folder_)) {
    static_cast<void>(disk_.remove(*folder, file_of(log_name)));
  }
}

}  // namespace arborfs
