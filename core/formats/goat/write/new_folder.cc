#include "core/formats/goat/write/new_folder.h"

#include <sys/file.h>

#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/write/new_records.h"
#include "core/os/file_tree.h"
#include "core/os/temporary_name.h"
#include "core/writer/new_uuid.h"

namespace arborfs::goat {

Result<NewFolder> NewFolder::begin(Disk& disk, const Dir& parent, mode_t permissions, bool sync) {
  ASSIGN_OR_RETURN(const auto unique, new_uuid());
  std::string name = temporary_name(unique);
  RETURN_IF_ERROR(disk.make_folder(parent, name, kFolderMode & permissions));
  auto dir = parent.open_in(name);
  if (!dir) {
    static_cast<void>(disk.remove_folder(parent, name));
    return dir.error();
  }
  ::flock(dir->fd(), LOCK_EX | LOCK_NB);  // until it is published, so that it is not left over
  return NewFolder(disk, parent, std::move(name), std::move(*dir), permissions, sync);
}

NewFolder::~NewFolder() {
  if (!name_.empty()) {
    static_cast<void>(remove_tree(*disk_, *parent_, name_));
  }
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : disk_(other.disk_),
      parent_(other.parent_),
      name_(std::exchange(other.name_, std::string())),
      dir_(std::move(other.dir_)),
      permissions_(other.permissions_),
      sync_(other.sync_) {}

Result<void> NewFolder::put(const std::string& file, std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto fd, create(file));
  RETURN_IF_ERROR(write_all(*disk_, fd.get(), bytes));
  return sync_ ? disk_->sync(fd.get()) : Result<void>();
}

Result<UniqueFd> NewFolder::create(const std::string& file) {
  return disk_->create(dir_, file, kFileMode & permissions_);
}

Result<void> NewFolder::publish(const std::string& name) {
  RETURN_IF_ERROR(sync_ ? disk_->sync_folder(dir_) : Result<void>());
  RETURN_IF_ERROR(disk_->rename(*parent_, name_, *parent_, name, Disk::Existing::keep));
  name_.clear();
  ::flock(dir_.fd(), LOCK_UN);
  return {};
}

Result<void> NewFolder::sync_name() {
  return sync_ ? disk_->sync_folder(*parent_) : Result<void>();
}

}  // namespace arborfs::goat
