#include "core/session/store_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/words.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/os/state_dir.h"

namespace arborfs {

namespace {

constexpr std::int64_t kForgottenAfterNs = std::chrono::nanoseconds(std::chrono::hours(24 * 30)).count();
constexpr mode_t kPrivate = 0600;

/// A folder of the state folder; "" without that.
std::string below(const std::string& state, const char* name) {
  return state.empty() ? "" : state + "/" + name;
}

}  // namespace

StateFolder::StateFolder(std::string path, std::string store_key, Disk& disk, std::size_t most, bool ages)
    : path_(std::move(path)), store_key_(std::move(store_key)), disk_(disk), most_(most), ages_(ages) {}

std::string StateFolder::name_of(const std::string& log_name) const {
  return state_file_name(store_key_, log_name);
}

Result<Dir> StateFolder::open() const {
  return is_in_memory() ? Result<Dir>(Errc::not_found, "") : open_private_folder(path_);
}

Result<Dir> StateFolder::make(bool sync) const {
  return make_private_folder(disk_, path_, sync);
}

Result<File> StateFolder::file(const std::string& log_name) const {
  ASSIGN_OR_RETURN(const auto folder, open());
  return File::open_in(folder, name_of(log_name));
}

std::string StateFolder::read(const std::string& log_name, std::size_t most) const {
  if (is_in_memory()) {
    const std::lock_guard lock(mutex_);
    const auto found = in_memory_.find(log_name);
    return found == in_memory_.end() ? "" : found->second.text;
  }
  const auto from = file(log_name);
  const auto bytes = from ? from->read(0, most) : from.error();
  return bytes ? *bytes : "";
}

Result<void> StateFolder::replace(const std::string& log_name, std::string_view text, bool sync) {
  if (is_in_memory()) {
    const std::lock_guard lock(mutex_);
    in_memory_[log_name] = {std::string(text), ++last_number_};
    if (in_memory_.size() > most_) {
      const auto is_older = [](const auto& a, const auto& b) { return a.second.number < b.second.number; };
      in_memory_.erase(std::min_element(in_memory_.begin(), in_memory_.end(), is_older));
    }
    return {};
  }
  ASSIGN_OR_RETURN(const auto folder, make(sync));
  const std::string name = name_of(log_name);
  if ((ages_ || most_ != kNoBound) && !folder.stat(name)) {
    make_room(folder);
  }
  return replace_private_file(disk_, folder, name, text, sync);
}

Result<FileStat> StateFolder::open_to_update(const std::string& name) {
  const bool is_open = updated_ && updated_name_ == name;
  if (const auto stat = is_open ? stat_if_at(path_ + "/" + name, *updated_) : std::nullopt) {
    return *stat;
  }
  updated_.reset();
  ASSIGN_OR_RETURN(const auto folder, open());
  ASSIGN_OR_RETURN(auto fd, disk_.open_update(folder, name));
  updated_.emplace(File::of(std::move(fd)));
  updated_name_ = name;
  return updated_->stat();
}

bool StateFolder::update(const std::string& log_name, std::size_t most,
                         const std::function<std::string(std::string_view text)>& change) {
  const std::lock_guard lock(mutex_);
  const auto stat = open_to_update(name_of(log_name));
  const auto text = stat ? updated_->read(0, std::min<std::uint64_t>(most, stat->size)) : stat.error();
  return text && disk_.write_at(updated_->fd(), change(*text), 0);
}

void StateFolder::remove(const std::string& log_name) {
  if (const auto folder = open()) {
    static_cast<void>(disk_.remove(*folder, name_of(log_name)));
    return;
  }
  const std::lock_guard lock(mutex_);
  in_memory_.erase(log_name);
}

/// Removes files that are too old, and the oldest if there are too many for one more.
void StateFolder::make_room(const Dir& folder) const {
  const auto entries = folder.list();
  std::vector<std::pair<std::int64_t, std::string>> files;
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (const auto st = folder.stat(entry.name)) {
      files.emplace_back(st->mtime_ns, entry.name);
    }
  }
  std::sort(files.begin(), files.end());
  const std::size_t too_many = files.size() < most_ ? 0 : files.size() - most_ + 1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i < too_many || (ages_ && now_ns() - files[i].first > kForgottenAfterNs)) {
      static_cast<void>(disk_.remove(folder, files[i].second));
    }
  }
}

namespace {

constexpr std::size_t kMaxLeaf = 4096;

/// In brackets if the id is not a string, so that an id `null` is not mistaken for a missing one.
std::string kept_json(const EntryId& id) {
  return id.kind == EntryId::Kind::other ? "[" + id_json(id) + "]" : id_json(id);
}

std::optional<EntryId> id_from(const json::Value* value) {
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->IsString()) {
    return EntryId{EntryId::Kind::string, std::string(json::as_string(*value))};
  }
  if (value->IsArray() && value->Size() == 1) {
    return EntryId{EntryId::Kind::other, json::stringify((*value)[0])};
  }
  return value->IsNull() ? std::optional(EntryId{}) : std::nullopt;
}

std::string text_of(const KeptLeaf& kept) {
  return "{\"entries\":" + std::to_string(kept.entries) + ",\"last\":" + kept_json(kept.last) +
         (kept.leaf ? ",\"leaf\":" + kept_json(*kept.leaf) : std::string()) + "}\n";
}

std::optional<KeptLeaf> kept_from(std::string_view text) {
  json::Document document;
  if (!json::parse(text, document)) {
    return std::nullopt;
  }
  const auto* entries = json::member(document, "entries");
  const auto last = id_from(json::member(document, "last"));
  if (entries == nullptr || !entries->IsNumber() || !last) {
    return std::nullopt;
  }
  return KeptLeaf{static_cast<Ordinal>(entries->GetDouble()), *last, id_from(json::member(document, "leaf"))};
}

}  // namespace

std::optional<Ordinal> KeptLeaf::in(const LogIndex& index) const {
  if (index.size() != entries || (entries != kNoEntry && !(index.id(entries) == last))) {
    return std::nullopt;
  }
  if (!leaf) {
    return kNoEntry;
  }
  const Ordinal found = index.find(*leaf);
  return found == kNoEntry ? std::nullopt : std::optional(found);
}

LeafStore::LeafStore(const std::string& state, const std::string& store_key, Disk& disk)
    : files_(below(state, "leaves"), store_key, disk) {}

std::optional<KeptLeaf> LeafStore::load(const std::string& log_name) const {
  return kept_from(files_.read(log_name, kMaxLeaf));
}

Result<void> LeafStore::save(const std::string& log_name, const KeptLeaf& leaf, bool sync) {
  return files_.replace(log_name, text_of(leaf), sync);
}

std::string LeafStore::text(const std::string& log_name) const {
  return files_.read(log_name, kMaxLeaf);
}

Result<void> LeafStore::put_text(const std::string& log_name, const std::string& text, bool sync) {
  if (text.empty()) {
    forget(log_name);
    return {};
  }
  return files_.replace(log_name, text, sync);
}

struct WriteMarks::Mark {
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t others_ns = 0;  // when another program wrote it last; 0: never
  [[nodiscard]] bool is_of(const FileStat& st) const {
    return ino == st.ino && size == st.size && mtime_ns == st.mtime_ns;
  }
};

WriteMarks::WriteMarks(const std::string& state, const std::string& store_key, Disk& disk)
    : files_(below(state, "marks"), store_key, disk, kMost, true) {}

/// Nothing for a text that is no mark.
std::optional<WriteMarks::Mark> WriteMarks::mark_of(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto next = [&](auto& number) {
    const auto read = std::from_chars(at, end, number);
    at = read.ptr == end ? end : read.ptr + 1;
    return read.ec == std::errc() && read.ptr != end;
  };
  Mark mark;
  const bool is_whole = next(mark.ino) && next(mark.size) && next(mark.mtime_ns) && next(mark.others_ns);
  return is_whole ? std::optional(mark) : std::nullopt;
}

std::optional<WriteMarks::Mark> WriteMarks::load(const std::string& log_name) const {
  return mark_of(files_.read(log_name, kLongest));
}

/// A mark is overwritten in place. A reader that sees a part of this, or of a write that a power cut ended, takes the
/// log for one that an agent wrote.
void WriteMarks::save(const std::string& log_name,
                      const std::function<Mark(const std::optional<Mark>& before)>& change) {
  const auto text_after = [&](std::string_view before) {
    /// Four numbers of up to 20 digits. Padded to one size, a mark is overwritten by one write, so none is ever
    /// shorter.
    constexpr std::size_t kPadded = 96;
    const Mark mark = change(mark_of(before));
    std::string text = std::to_string(mark.ino) + " " + std::to_string(mark.size) + " " +
                       std::to_string(mark.mtime_ns) + " " + std::to_string(mark.others_ns);
    text.resize(kPadded - 1, ' ');
    return text + '\n';
  };
  if (!files_.update(log_name, kLongest, text_after)) {
    static_cast<void>(files_.replace(log_name, text_after(files_.read(log_name, kLongest)), false));
  }
}

void WriteMarks::note_made(const std::string& log_name, const FileStat& made) {
  save(log_name, [&](const std::optional<Mark>&) { return Mark{made.ino, made.size, made.mtime_ns, 0}; });
}

void WriteMarks::note_written(const std::string& log_name, const FileStat& before, const FileStat& after) {
  if (Mark{before.ino, before.size, before.mtime_ns}.is_of(after)) {
    return;
  }
  save(log_name, [&](const std::optional<Mark>& mark) {
    const std::int64_t others = mark && mark->is_of(before) ? mark->others_ns : before.mtime_ns;
    return Mark{after.ino, after.size, after.mtime_ns, others};
  });
}

std::optional<std::int64_t> WriteMarks::written_by_others(const std::string& log_name, const FileStat& now) const {
  const auto mark = load(log_name);
  if (!mark || !mark->is_of(now)) {
    return now.mtime_ns;
  }
  return mark->others_ns == 0 ? std::nullopt : std::optional(mark->others_ns);
}

namespace {

constexpr std::string_view kFormat = "arborfs-append-1";
constexpr char kEndOfField = '\0';  // of a field; no name contains it
constexpr std::size_t kFields = 7;
constexpr std::size_t kLongestHead = 4096;

/// The fields before the text.
struct NoteHead {
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
    text += kEndOfField;
  }
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<NoteHead> head_of(std::string_view bytes) {
  std::array<std::string_view, kFields> fields;
  std::size_t at = 0;
  for (std::string_view& field : fields) {
    const std::size_t end = bytes.find(kEndOfField, at);
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
  NoteHead head;
  head.place = {std::string(fields[5]), std::string(fields[6])};
  head.log.dev = *dev;
  head.log.ino = *ino;
  head.log.size = *size;
  head.text_bytes = *text_bytes;
  head.length = at;
  return head;
}

/// Nothing if the file is not a note or not complete: its append had not begun then.
std::optional<NoteHead> read_head(const File& file) {
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

PendingAppends::PendingAppends(const std::string& state, const std::string& store_key, Disk& disk)
    : files_(below(state, "appending"), store_key, disk) {}

Result<void> PendingAppends::write(const LogPlace& place, const FileStat& log, std::string_view text) {
  Disk& disk = files_.disk();
  ASSIGN_OR_RETURN(const auto folder, files_.make());
  const std::string name = files_.name_of(place.file);
  auto file = disk.create(folder, name, kPrivate);
  if (!file && file.error().code == Errc::already_exists) {
    static_cast<void>(disk.remove(folder, name));
    file = disk.create(folder, name, kPrivate);
  }
  if (!file) {
    return file.error();
  }
  auto done = write_all(disk, file->get(), head_text(place, log, text.size()));
  done = done ? write_all(disk, file->get(), text) : done;
  if (!done) {
    static_cast<void>(disk.remove(folder, name));
  }
  return done;
}

PendingAppends::Note PendingAppends::note(const LogPlace& place, const FileStat& log, std::string_view text) {
  if (files_.is_in_memory() || text.size() <= kAtomic) {
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
  return !files_.is_in_memory() && Dir::stat_root(files_.path() + "/" + files_.name_of(log_name));
}

bool PendingAppends::take_back(LogWriter& writer, const std::string& log_name) {
  const auto file = files_.file(log_name);
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
  const auto folder = files_.open();
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>{}) {
    const auto file = File::open_in(*folder, entry.name);
    auto head = file ? read_head(*file) : std::nullopt;
    if (head && files_.name_of(head->place.file) == entry.name) {
      found.push_back(std::move(head->place));
    }
  }
  return found;
}

namespace {

constexpr std::size_t kLongestStem = 200;
/// The kept entries and the last command, which may be larger.
constexpr std::size_t kMostRead = 2 * ErasedEntries::kKeptBytes + (64 << 20);

Error locked() {
  return {Errc::busy, "another arborfs process is using the state folder; try again"};
}

/// One JSON object per line; a torn end without line feed is skipped, and a line that is not an entry with an id.
std::vector<ErasedEntries::Kept> entries_of(std::string_view bytes) {
  std::vector<ErasedEntries::Kept> found;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (auto id = json::is_one_value(line) ? skim::string_value(skim::member(line, "id")) : std::nullopt) {
      found.push_back({*std::move(id), std::string(line)});
    }
  }
  return found;
}

std::string text_of(const std::vector<ErasedEntries::Kept>& entries) {
  std::string text;
  for (const auto& entry : entries) {
    text += entry.json + "\n";
  }
  return text;
}

/// The last whole lines, at most `most` bytes, but at least one line.
std::string_view newest(std::string_view lines, std::size_t most) {
  if (lines.size() <= most) {
    return lines;
  }
  std::size_t end = lines.find('\n', lines.size() - most - 1);
  if (end >= lines.size() - 1) {
    end = lines.rfind('\n', lines.size() - 2);
  }
  return lines.substr(end + 1);
}

/// The lines at the end of a file. At most `most` bytes are read, because the file may be of any size.
Result<std::string> read_newest(const Dir& folder, const std::string& name, std::size_t most) {
  const auto file = File::open_in(folder, name);
  const auto st = file ? file->stat() : Result<FileStat>(file.error());
  if (!st) {
    return st.error().code == Errc::not_found ? Result<std::string>(std::string()) : st.error();
  }
  const std::uint64_t size = std::min<std::uint64_t>(st->size, most);
  ASSIGN_OR_RETURN(auto bytes, file->read(st->size - size, size));
  const std::size_t first_whole = st->size > most ? bytes.find('\n') : std::string::npos;
  return first_whole == std::string::npos ? bytes : bytes.substr(first_whole + 1);
}

}  // namespace

ErasedEntries::ErasedEntries(const std::string& state, const std::string& store_key, Disk& disk)
    : written_(below(state, "written"), store_key, disk, StateFolder::kNoBound, true),
      erased_(below(state, "erased"), store_key, disk) {}

std::string ErasedEntries::erased_name(const std::string& log_name) const {
  const std::string stem = log_name.substr(0, std::min(log_name.rfind('.'), kLongestStem));
  return stem + "." + erased_.name_of(log_name) + ".jsonl";
}

std::string ErasedEntries::path_of(const std::string& log_name) const {
  return erased_.path() + "/" + erased_name(log_name);
}

Result<void> ErasedEntries::replace(const Dir& folder, const std::string& name, const Entries& entries) const {
  if (!entries.empty()) {
    return replace_private_file(written_.disk(), folder, name, text_of(entries));
  }
  auto removed = written_.disk().remove(folder, name);
  return removed || removed.error().code == Errc::not_found ? Result<void>() : removed;
}

Result<void> ErasedEntries::open_written(const std::string& name) {
  ASSIGN_OR_RETURN(auto folder, written_.make());
  if (!folder.stat(name)) {
    written_.make_room(folder);
  }
  ASSIGN_OR_RETURN(auto file, open_private_lines(written_.disk(), folder, name));
  appended_.emplace(Appended{name, std::move(folder), std::move(file)});
  return {};
}

Result<void> ErasedEntries::append_written(const std::string& log_name, std::string_view lines) {
  Disk& disk = written_.disk();
  const std::lock_guard alone(mutex_);
  const std::string name = written_.name_of(log_name);
  for (int opened = 1;; ++opened, appended_.reset()) {
    RETURN_IF_ERROR(appended_ && appended_->name == name ? Result<void>() : open_written(name));
    const auto& [of, folder, file] = *appended_;
    const FolderLock lock(folder);
    if (!lock.is_held()) {
      return locked();
    }
    const auto stat = stat_if_at(written_.path() + "/" + name, file);
    if (opened < kMostOpened && !stat) {
      continue;
    }
    if (lines.size() > 2 * kKeptBytes) {
      return replace_private_file(disk, folder, name, newest(lines, kKeptBytes));
    }
    RETURN_IF_ERROR(write_all(disk, file.fd(), lines));
    if (stat && stat->size + lines.size() <= 2 * kKeptBytes) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto bytes, read_newest(folder, name, kMostRead));
    return replace_private_file(disk, folder, name, newest(bytes, kKeptBytes));
  }
}

void ErasedEntries::acknowledge(const std::string& log_name, std::string_view lines) {
  if (written_.is_in_memory()) {
    return;
  }
  if (auto kept = append_written(log_name, lines); !kept) {
    write_log(LogLevel::warning, "cannot store a copy of the appended entries: " + kept.error().message);
  }
}

/// True if the comparison was possible.
Result<bool> ErasedEntries::note_lost(const std::string& log_name, const LogIndex& index,
                                      const std::function<bool()>& is_current) {
  auto watched = written_.open();
  if (!watched) {
    return watched.error().code == Errc::not_found ? Result<bool>(true) : watched.error();
  }
  const FolderLock lock(*watched);
  if (!lock.is_held()) {
    return locked();
  }
  const auto kept = erased_.open();
  const auto lost_before = kept ? read_private_file(*kept, erased_name(log_name)) : Result<std::string>(std::string());
  if (!lost_before) {
    return lost_before.error();  // it must not be overwritten
  }
  ASSIGN_OR_RETURN(auto bytes, read_newest(*watched, written_.name_of(log_name), kMostRead));
  Entries written = entries_of(bytes);
  bytes = std::string();  // it may be large
  Entries erased = entries_of(*lost_before);
  const auto is_there = [&](const Kept& entry) { return index.find(entry.id) != kNoEntry; };
  const auto lost = std::stable_partition(written.begin(), written.end(), is_there);
  const auto back = std::stable_partition(erased.begin(), erased.end(), std::not_fn(is_there));
  if (lost == written.end() && back == erased.end()) {
    return true;
  }
  if (lost != written.end() && !is_current()) {
    return false;
  }
  ASSIGN_OR_RETURN(auto folder, erased_.make(true));
  const Entries again(back, erased.end());
  erased.erase(back, erased.end());
  erased.insert(erased.end(), lost, written.end());
  if (lost != written.end()) {
    const auto count = static_cast<std::uint64_t>(written.end() - lost);
    write_log(LogLevel::warning, log_name + ": another program rewrote it without " +
                                     counted(count, "entry", "entries") + " appended before; they are kept in " +
                                     path_of(log_name) + ", and arborfs doctor --repair puts them back");
  }
  written.erase(lost, written.end());
  written.insert(written.end(), again.begin(), again.end());
  RETURN_IF_ERROR(replace(folder, erased_name(log_name), erased));
  RETURN_IF_ERROR(replace(*watched, written_.name_of(log_name), written));
  return true;
}

bool ErasedEntries::compare(const std::string& log_name, const LogIndex& index,
                            const std::function<bool()>& is_current) {
  if (written_.is_in_memory()) {
    return true;
  }
  const auto compared = note_lost(log_name, index, is_current);
  const std::lock_guard lock(warned_mutex_);
  if (compared) {
    warned_.erase(log_name);
    return *compared;
  }
  const Error& why = compared.error();
  if (warned_.insert(log_name).second) {
    write_log(LogLevel::warning, "cannot protect the entries that were appended to " + log_name + ": " + why.message);
  }
  return why.code != Errc::busy && why.code != Errc::no_space && why.code != Errc::over_quota;
}

std::string ErasedEntries::written(const std::string& log_name) const {
  const auto folder = written_.open();
  const auto bytes =
      folder ? read_newest(*folder, written_.name_of(log_name), kMostRead) : Result<std::string>(folder.error());
  return bytes ? *bytes : std::string();
}

bool ErasedEntries::has_written(const std::string& log_name, std::string_view id) const {
  const Entries kept = entries_of(written(log_name));
  return std::any_of(kept.begin(), kept.end(), [id](const Kept& entry) { return entry.id == id; });
}

std::vector<ErasedEntries::Kept> ErasedEntries::of(const std::string& log_name) const {
  auto folder = erased_.open();
  const auto bytes = folder ? read_private_file(*folder, erased_name(log_name)) : Result<std::string>("");
  return bytes ? entries_of(*bytes) : Entries{};
}

std::size_t ErasedEntries::forget_lines(const std::string& log_name, std::string_view lines) {
  std::vector<std::string> ids;
  for (Kept& entry : entries_of(lines)) {
    ids.push_back(std::move(entry.id));
  }
  return ids.empty() ? 0 : forget(log_name, ids);
}

std::size_t ErasedEntries::forget(const std::string& log_name, const std::vector<std::string>& ids) {
  const auto folder = written_.open();
  if (!folder) {
    return 0;
  }
  const std::lock_guard alone(mutex_);
  const FolderLock lock(*folder);
  const auto bytes = lock.is_held() ? read_newest(*folder, written_.name_of(log_name), kMostRead) : locked();
  Entries entries = bytes ? entries_of(*bytes) : Entries{};
  const auto is_removed = [&](const Kept& entry) { return std::find(ids.begin(), ids.end(), entry.id) != ids.end(); };
  const std::size_t removed = std::erase_if(entries, is_removed);
  if (removed != 0) {
    static_cast<void>(replace(*folder, written_.name_of(log_name), entries));
  }
  return removed;
}

}  // namespace arborfs
