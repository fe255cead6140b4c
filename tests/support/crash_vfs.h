// SQLite on a disk that loses power: its changes count as operations of a CrashDisk, whose image() then has the
// databases too. Once the power is off, no call that would change a file goes through. Use one object at a time, from
// one thread.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/crash_disk.h"
#include "tests/support/wrapped_vfs.h"

namespace arborfs::testing {

class CrashVfs : public WrappedVfs {
 public:
  /// The disk outlives it.
  explicit CrashVfs(CrashDisk& disk) : disk_(disk) {}

 private:
  bool fails(const char* call) override {
    constexpr std::string_view kChanges[] = {"create", "delete", "write", "truncate", "sync"};
    return std::find(std::begin(kChanges), std::end(kChanges), call) != std::end(kChanges) && disk_.refuses(call);
  }
  void created(const std::string& path) override { disk_.note_created(path); }
  void written(const std::string& path, std::uint64_t at, std::string_view bytes) override {
    disk_.note_written(path, at, bytes);
  }
  void cut(const std::string& path, std::uint64_t size) override { disk_.note_cut(path, size); }
  void synced(const std::string& path, bool and_its_name) override {
    disk_.note_synced(path);
    if (and_its_name) {
      disk_.note_folder_synced(path);
    }
  }
  void removed(const std::string& path, bool is_synced) override {
    disk_.note_removed(path);
    if (is_synced) {
      disk_.note_folder_synced(path);
    }
  }

  CrashDisk& disk_;
};

}  // namespace arborfs::testing
