// A disk (split_disk.h) whose n-th operation fails, falls short or kills the process, alone or together with some or
// all after it, for testing every point at which a change can be cut off. It syncs nothing. Use one object from one
// thread.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <vector>

#include "tests/support/split_disk.h"

namespace arborfs::testing {

enum class Fault : std::uint8_t {
  no_space,     // every operation fails with ENOSPC
  io,           // every operation fails with EIO
  short_write,  // if the first is a write, it takes half of its bytes; all others fail with ENOSPC
  kill,         // SIGKILL for this process, instead of the first
};

class FaultyDisk : public SplitDisk {
 public:
  static constexpr unsigned kForGood = UINT_MAX / 2;
  /// From now on the `at`-th operation (from 1) meets `fault`, and so do the next ones, `count` in all.
  void arm(Fault fault, unsigned at, unsigned count) {
    fault_ = fault;
    at_ = at;
    count_ = count;
    done_ = 0;
    met_.clear();
  }
  void disarm() { at_ = 0; }
  /// The operations that met a fault, in order.
  [[nodiscard]] const std::vector<std::string>& met() const { return met_; }
  [[nodiscard]] bool met_sync() const {
    return std::any_of(met_.begin(), met_.end(), [](const std::string& name) { return name.starts_with("sync"); });
  }

  Result<UniqueFd> open_append(const Dir& folder, const std::string& name) override {
    return fails("open_append") ? Result<UniqueFd>(error()) : Disk::open_append(folder, name);
  }
  Result<UniqueFd> open_update(const Dir& folder, const std::string& name) override {
    return fails("open_update") ? Result<UniqueFd>(error()) : Disk::open_update(folder, name);
  }
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    return fails("create") ? Result<UniqueFd>(error()) : Disk::create(folder, name, mode);
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    return fails("write") ? part(bytes, [&](std::string_view half) { return Disk::write(fd, half); })
                          : Disk::write(fd, bytes);
  }
  Result<std::size_t> write_at(int fd, std::string_view bytes, std::uint64_t offset) override {
    return fails("write_at") ? part(bytes, [&](std::string_view half) { return Disk::write_at(fd, half, offset); })
                             : Disk::write_at(fd, bytes, offset);
  }
  Result<void> set_mode(int fd, mode_t mode) override {
    return fails("set_mode") ? Result<void>(error()) : Disk::set_mode(fd, mode);
  }
  Result<void> set_owner(int fd, uid_t owner, gid_t group) override {
    return fails("set_owner") ? Result<void>(error()) : Disk::set_owner(fd, owner, group);
  }
  Result<void> set_attribute(int fd, const std::string& name, std::string_view value) override {
    return fails("set_attribute") ? Result<void>(error()) : Disk::set_attribute(fd, name, value);
  }
  Result<void> set_mtime(int fd, std::int64_t mtime_ns) override {
    return fails("set_mtime") ? Result<void>(error()) : Disk::set_mtime(fd, mtime_ns);
  }
  Result<void> truncate(int fd, std::uint64_t size) override {
    return fails("truncate") ? Result<void>(error()) : Disk::truncate(fd, size);
  }
  Result<void> sync(int fd) override { return fails("sync") ? Result<void>(error()) : SplitDisk::sync(fd); }
  Result<void> sync_folder(const Dir& folder) override {
    return fails("sync_folder") ? Result<void>(error()) : SplitDisk::sync_folder(folder);
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    return fails("rename") ? Result<void>(error()) : SplitDisk::rename(from, name, to, new_name, existing);
  }
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    return fails("exchange") ? Result<void>(error()) : Disk::exchange(folder, name, other);
  }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    return fails("remove") ? Result<void>(error()) : Disk::remove(folder, name);
  }
  Result<void> make_folder(const Dir& folder, const std::string& name, mode_t mode) override {
    return fails("make_folder") ? Result<void>(error()) : Disk::make_folder(folder, name, mode);
  }
  Result<void> remove_folder(const Dir& folder, const std::string& name) override {
    return fails("remove_folder") ? Result<void>(error()) : Disk::remove_folder(folder, name);
  }
  Result<void> make_link(const Dir& folder, const std::string& name, const std::string& target) override {
    return fails("make_link") ? Result<void>(error()) : Disk::make_link(folder, name, target);
  }
  Result<UniqueFd> reserve(const Dir& folder, std::uint64_t bytes) override {
    return fails("reserve") ? Result<UniqueFd>(error()) : Disk::reserve(folder, bytes);
  }

 private:
  bool fails(const char* operation) {
    ++done_;
    const bool now = at_ != 0 && done_ >= at_ && done_ < at_ + count_;
    if (now) {
      met_.emplace_back(operation);
      kill_if_wanted();
    }
    return now;
  }
  void kill_if_wanted() const {
    if (fault_ == Fault::kill) {
      ::kill(::getpid(), SIGKILL);
    }
  }
  [[nodiscard]] Error error() const {
    return error_from_errno(fault_ == Fault::io ? EIO : ENOSPC, "a fault of the test");
  }
  template <class Write>
  Result<std::size_t> part(std::string_view bytes, Write write) {
    const bool halves = fault_ == Fault::short_write && met_.size() == 1 && bytes.size() > 1;
    return halves ? write(bytes.substr(0, bytes.size() / 2)) : Result<std::size_t>(error());
  }

  Fault fault_ = Fault::io;
  unsigned at_ = 0;  // 0: not armed
  unsigned count_ = 0;
  unsigned done_ = 0;
  std::vector<std::string> met_;
};

}  // namespace arborfs::testing
