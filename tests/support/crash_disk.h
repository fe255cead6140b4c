// A disk that loses power. Every operation goes through to real files. What is not synced is remembered: the bytes
// written to each file, and the names created, changed and removed in each folder. After a given number of operations
// everything fails, and image() returns what may be found below the root when the power is back. The model is strict:
// syncing a file keeps its bytes but not its name, syncing a folder keeps only its own names. Use one object from one
// thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/split_disk.h"

namespace arborfs::testing {

/// What happened to the bytes that were not synced.
enum class Bytes : std::uint8_t { kept, dropped, torn, nuls, newest_kept, oldest_kept };
/// What happened to the name changes that were not synced: all of them took effect, the first half did, none did.
enum class Names : std::uint8_t { kept, first_half, gone };

/// What a folder contains: by path relative to it.
struct Found {
  enum class Kind : std::uint8_t { folder, file, link };
  Kind kind = Kind::folder;
  std::string bytes;  // of a link: its target
  auto operator<=>(const Found&) const = default;
};
using Image = std::map<std::string, Found>;

class CrashDisk : public SplitDisk {
 public:
  /// Treats everything below `root` as synced. The power fails after `operations` further operations.
  void begin(const std::string& root, unsigned operations) {
    files_.clear();
    folders_.clear();
    links_.clear();
    changes_.clear();
    root_ = learn_folder(root);
    left_ = operations;
    is_watching_ = true;
    is_off_ = false;
    operations_.clear();
  }
  /// From now on it is an ordinary disk.
  void end() { is_watching_ = is_off_ = false; }
  [[nodiscard]] bool is_off() const { return is_off_; }
  /// Those that went through, in order.
  [[nodiscard]] const std::vector<std::string>& operations() const { return operations_; }
  /// The last of them; "" if there is none.
  [[nodiscard]] std::string last() const { return operations_.empty() ? "" : operations_.back(); }

  [[nodiscard]] Image image(Bytes bytes, Names names) const {
    auto folders = folders_;
    const unsigned first = changes_.empty() ? 0 : changes_.front().operation;
    const unsigned end = changes_.empty() ? 0 : changes_.back().operation + 1;
    const unsigned until = names == Names::kept ? end : names == Names::gone ? first : first + (end - first) / 2;
    for (const NameChange& change : changes_) {
      if (change.operation < until) {
        apply(change, folders);
      }
    }
    Image found;
    collect(folders, root_, "", bytes, found);
    return found;
  }

  // The same disk for changes that another library makes to files below the root.
  /// Asked before each operation: true if it must fail, because the power is off.
  bool refuses(const char* operation) {
    if (!is_watching_) {
      return false;
    }
    if (left_ == 0) {
      is_off_ = true;
      return true;
    }
    --left_;
    operations_.emplace_back(operation);
    return false;
  }
  // After an operation on the file at a path.
  void note_created(const std::string& path) {
    if (is_watching_) {
      Held held = hold(path);
      const ino_t number = number_of(held->get());
      files_[number].held = std::move(held);
      note({number_of_folder(path), name_in(path), number});
    }
  }
  void note_written(const std::string& path, std::uint64_t at, std::string_view bytes) {
    if (is_watching_) {
      files_[number_of(path)].unsynced.push_back({false, at, std::string(bytes), ++clock_});
    }
  }
  void note_cut(const std::string& path, std::uint64_t size) {
    if (is_watching_) {
      files_[number_of(path)].unsynced.push_back({true, size, "", ++clock_});
    }
  }
  void note_synced(const std::string& path) {
    if (is_watching_) {
      synced(number_of(path));
    }
  }
  void note_folder_synced(const std::string& path) {
    if (is_watching_) {
      folder_synced(number_of_folder(path));
    }
  }
  void note_removed(const std::string& path) {
    if (is_watching_) {
      note({number_of_folder(path), name_in(path), std::nullopt});
    }
  }

  /// What may be found with each of these fates of the bytes, and each fate of the names.
  [[nodiscard]] std::set<Image> images(std::initializer_list<Bytes> fates) const {
    std::set<Image> found;
    for (const Bytes bytes : fates) {
      for (const Names names : {Names::kept, Names::first_half, Names::gone}) {
        found.insert(image(bytes, names));
      }
    }
    return found;
  }

  Result<UniqueFd> open_append(const Dir& folder, const std::string& name) override {
    return refuses("open_append") ? Result<UniqueFd>(off()) : Disk::open_append(folder, name);
  }
  Result<UniqueFd> open_update(const Dir& folder, const std::string& name) override {
    return refuses("open_update") ? Result<UniqueFd>(off()) : Disk::open_update(folder, name);
  }
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    if (refuses("create")) {
      return off();
    }
    auto fd = Disk::create(folder, name, mode);
    if (fd && is_watching_) {
      const ino_t number = number_of(fd->get());
      files_[number].held = std::make_shared<UniqueFd>(::dup(fd->get()));
      note({number_of(folder.fd()), name, number});
    }
    return fd;
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    if (refuses("write")) {
      return off();
    }
    const bool appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    const std::uint64_t at = appends ? size_of(fd) : static_cast<std::uint64_t>(::lseek(fd, 0, SEEK_CUR));
    return written(fd, at, bytes, Disk::write(fd, bytes));
  }
  Result<std::size_t> write_at(int fd, std::string_view bytes, std::uint64_t offset) override {
    return refuses("write_at") ? Result<std::size_t>(off())
                               : written(fd, offset, bytes, Disk::write_at(fd, bytes, offset));
  }
  Result<void> set_mode(int fd, mode_t mode) override {
    return refuses("set_mode") ? Result<void>(off()) : Disk::set_mode(fd, mode);
  }
  Result<void> set_owner(int fd, uid_t owner, gid_t group) override {
    return refuses("set_owner") ? Result<void>(off()) : Disk::set_owner(fd, owner, group);
  }
  Result<void> set_attribute(int fd, const std::string& name, std::string_view value) override {
    return refuses("set_attribute") ? Result<void>(off()) : Disk::set_attribute(fd, name, value);
  }
  Result<void> set_mtime(int fd, std::int64_t mtime_ns) override {
    return refuses("set_mtime") ? Result<void>(off()) : Disk::set_mtime(fd, mtime_ns);
  }
  Result<void> truncate(int fd, std::uint64_t size) override {
    if (refuses("truncate")) {
      return off();
    }
    auto done = Disk::truncate(fd, size);
    if (done && is_watching_) {
      files_[number_of(fd)].unsynced.push_back({true, size, "", ++clock_});
    }
    return done;
  }
  Result<void> sync(int fd) override {
    if (refuses("sync")) {
      return off();
    }
    if (is_watching_) {
      synced(number_of(fd));
    }
    return {};
  }
  Result<void> sync_folder(const Dir& folder) override {
    if (refuses("sync_folder")) {
      return off();
    }
    folder_synced(number_of(folder.fd()));
    return {};
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    if (refuses("rename")) {
      return off();
    }
    const auto what = from.stat(name);
    auto done = SplitDisk::rename(from, name, to, new_name, existing);
    if (done && is_watching_) {
      note({number_of(to.fd()), new_name, what->ino});
      note({number_of(from.fd()), name, std::nullopt}, true);
    }
    return done;
  }
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    if (refuses("exchange")) {
      return off();
    }
    const auto what = folder.stat(name);
    const auto with = folder.stat(other);
    auto done = Disk::exchange(folder, name, other);
    if (done && is_watching_) {
      note({number_of(folder.fd()), other, what->ino});
      note({number_of(folder.fd()), name, with->ino}, true);
    }
    return done;
  }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    return refuses("remove") ? Result<void>(off()) : removed(folder, name, Disk::remove(folder, name));
  }
  Result<void> remove_folder(const Dir& folder, const std::string& name) override {
    return refuses("remove_folder") ? Result<void>(off()) : removed(folder, name, Disk::remove_folder(folder, name));
  }
  Result<void> make_folder(const Dir& folder, const std::string& name, mode_t mode) override {
    if (refuses("make_folder")) {
      return off();
    }
    const bool is_new = !folder.stat(name);
    auto done = Disk::make_folder(folder, name, mode);
    if (done && is_new && is_watching_) {
      note({number_of(folder.fd()), name, learn_folder(path_of(folder) + "/" + name)});
    }
    return done;
  }
  Result<void> make_link(const Dir& folder, const std::string& name, const std::string& target) override {
    if (refuses("make_link")) {
      return off();
    }
    auto done = Disk::make_link(folder, name, target);
    if (done && is_watching_) {
      const ino_t number = folder.stat(name)->ino;
      links_[number] = {target, hold(path_of(folder) + "/" + name)};
      note({number_of(folder.fd()), name, number});
    }
    return done;
  }
  Result<UniqueFd> reserve(const Dir& folder, std::uint64_t bytes) override {
    return refuses("reserve") ? Result<UniqueFd>(off()) : Disk::reserve(folder, bytes);
  }

 private:
  /// Kept open, so that its inode number is not reused.
  using Held = std::shared_ptr<UniqueFd>;
  struct Write {
    bool cuts = false;
    std::uint64_t at = 0;  // for a cut: the new size
    std::string bytes;
    unsigned time = 0;
  };
  struct File {
    Held held;
    std::string synced;
    std::vector<Write> unsynced;
  };
  struct Folder {
    Held held;
    std::map<std::string, ino_t> names;  // the synced ones
  };
  struct Link {
    std::string target;
    Held held;
  };
  struct NameChange {
    ino_t folder = 0;
    std::string name;
    std::optional<ino_t> now;  // none: removed
    unsigned operation = 0;
  };
  using Folders = std::map<ino_t, Folder>;

  static Held hold(const std::string& path) {
    return std::make_shared<UniqueFd>(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  static struct stat stat_of(int fd) {
    struct stat st {};
    ::fstat(fd, &st);
    return st;
  }
  static ino_t number_of(int fd) { return stat_of(fd).st_ino; }
  static ino_t number_of(const std::string& path) { return number_of(hold(path)->get()); }
  static ino_t number_of_folder(const std::string& path) {
    return number_of(std::filesystem::path(path).parent_path().string());
  }
  static std::string name_in(const std::string& path) { return std::filesystem::path(path).filename().string(); }
  static std::uint64_t size_of(int fd) { return static_cast<std::uint64_t>(stat_of(fd).st_size); }
  static Error off() { return error_from_errno(EIO, "the power is off"); }

  ino_t learn_folder(const std::string& path) {
    Folder folder{hold(path), {}};
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      folder.names[entry.path().filename().string()] = learn(entry);
    }
    const ino_t number = number_of(folder.held->get());
    folders_[number] = std::move(folder);
    return number;
  }
  ino_t learn(const std::filesystem::directory_entry& entry) {
    const std::string path = entry.path().string();
    if (!entry.is_symlink() && entry.is_directory()) {
      return learn_folder(path);
    }
    Held held = hold(path);
    const ino_t number = number_of(held->get());
    if (entry.is_symlink()) {
      links_[number] = {std::filesystem::read_symlink(path).string(), std::move(held)};
    } else {
      std::ifstream in(path, std::ios::binary);
      files_[number] = {std::move(held), std::string(std::istreambuf_iterator<char>(in), {}), {}};
    }
    return number;
  }

  void synced(ino_t number) {
    File& file = files_[number];
    for (const Write& one : file.unsynced) {
      apply(one, one.bytes.size(), file.synced);
    }
    file.unsynced.clear();
  }
  void folder_synced(ino_t number) {
    for (const NameChange& change : changes_) {
      if (change.folder == number) {
        apply(change, folders_);
      }
    }
    std::erase_if(changes_, [&](const NameChange& change) { return change.folder == number; });
  }
  /// `goes_on`: part of the operation noted just before.
  void note(NameChange change, bool goes_on = false) {
    change.operation = goes_on ? clock_ : ++clock_;
    changes_.push_back(std::move(change));
  }
  Result<void> removed(const Dir& folder, const std::string& name, Result<void> done) {
    if (done && is_watching_) {
      note({number_of(folder.fd()), name, std::nullopt});
    }
    return done;
  }
  Result<std::size_t> written(int fd, std::uint64_t at, std::string_view bytes, Result<std::size_t> done) {
    if (done && is_watching_) {
      files_[number_of(fd)].unsynced.push_back({false, at, std::string(bytes.substr(0, *done)), ++clock_});
    }
    return done;
  }

  static void apply(const NameChange& change, Folders& folders) {
    auto& names = folders[change.folder].names;
    if (change.now) {
      names[change.name] = *change.now;
    } else {
      names.erase(change.name);
    }
  }
  static void apply(const Write& write, std::size_t length, std::string& bytes) {
    if (write.cuts) {
      bytes.resize(write.at);
      return;
    }
    bytes.resize(std::max(bytes.size(), write.at + length));
    bytes.replace(write.at, length, write.bytes, 0, length);
  }
  /// When the file was last written and not synced.
  static unsigned age(const File& file) { return file.unsynced.empty() ? 0 : file.unsynced.back().time; }
  [[nodiscard]] Bytes fate_of(const File& file, Bytes fate) const {
    if (fate != Bytes::newest_kept && fate != Bytes::oldest_kept) {
      return fate;
    }
    unsigned newest = 0;
    for (const auto& [number, other] : files_) {
      newest = std::max(newest, age(other));
    }
    return (age(file) == newest) == (fate == Bytes::newest_kept) ? Bytes::kept : Bytes::dropped;
  }
  [[nodiscard]] std::string bytes_after(const File& file, Bytes wanted) const {
    const Bytes fate = fate_of(file, wanted);
    std::string bytes = file.synced;
    if (fate == Bytes::dropped) {
      return bytes;
    }
    std::size_t room = 0;
    for (const Write& write : file.unsynced) {
      room += write.bytes.size();
    }
    room = fate == Bytes::torn ? room / 2 : room;
    for (const Write& write : file.unsynced) {
      const std::size_t length = std::min(room, write.bytes.size());
      room -= length;
      if (fate != Bytes::nuls || write.cuts) {
        apply(write, length, bytes);
      } else {
        bytes.resize(std::max(bytes.size(), write.at + length));  // bytes inside the old size stay
      }
      if (length < write.bytes.size()) {
        break;
      }
    }
    return bytes;
  }
  void collect(const Folders& folders, ino_t folder, const std::string& path, Bytes bytes, Image& found) const {
    const auto here = folders.find(folder);
    for (const auto& [name, number] : here == folders.end() ? std::map<std::string, ino_t>() : here->second.names) {
      const std::string below = path.empty() ? name : path + "/" + name;
      if (const auto file = files_.find(number); file != files_.end()) {
        found[below] = {Found::Kind::file, bytes_after(file->second, bytes)};
      } else if (const auto link = links_.find(number); link != links_.end()) {
        found[below] = {Found::Kind::link, link->second.target};
      } else {
        found[below] = {Found::Kind::folder, ""};
        collect(folders, number, below, bytes, found);
      }
    }
  }

  std::map<ino_t, File> files_;
  Folders folders_;
  std::map<ino_t, Link> links_;
  std::vector<NameChange> changes_;  // not synced, in order
  ino_t root_ = 0;
  unsigned left_ = 0;
  unsigned clock_ = 0;
  std::vector<std::string> operations_;
  bool is_watching_ = false;
  bool is_off_ = false;
};

/// Replaces the contents of `root` by the image, with all files last changed a minute ago.
inline void lay_out(const Image& image, const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator(root)) {
    fs::remove_all(entry.path());
  }
  for (const auto& [name, found] : image) {
    const fs::path path = root / name;
    if (found.kind == Found::Kind::folder) {
      fs::create_directory(path);
    } else if (found.kind == Found::Kind::link) {
      fs::create_symlink(found.bytes, path);
    } else {
      std::ofstream(path, std::ios::binary) << found.bytes;
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(1));
    }
  }
}

}  // namespace arborfs::testing
