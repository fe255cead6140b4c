#include "core/formats/opencode/write/fork_note.h"

#include <dirent.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_faults.h"
#include "core/formats/opencode/json_files.h"

namespace arborfs::opencode {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr std::uint64_t kLongestNote = std::uint64_t{64} << 20U;

std::string text_of(const AdoptedSession& session) {
  std::string text = session.id + "\n";
  for (const AdoptedMessage& message : session.messages) {
    text += message.info.id + "\n";
  }
  return text;
}

/// The ids in a note; none if it was not written whole, and then nothing of the session was written either.
std::vector<std::string> ids_of(std::string_view text) {
  std::vector<std::string> ids;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string id(text.substr(0, end));
    if (!is_plain_name(id) || !id.starts_with(ids.empty() ? "ses_" : "msg_")) {
      return {};
    }
    ids.push_back(id);
    text.remove_prefix(end + 1);
  }
  return ids;
}

/// Removes a folder that only the killed writer knew, with its files.
Result<void> remove_own_folder(Disk& disk, const StorageFolder& storage, const std::string& kind,
                               const std::string& name) {
  const auto parent = storage.folder(kind);
  const auto folder = parent ? parent->open_in(name) : Result<Dir>(parent.error());
  if (!folder) {
    return folder.error().code == Errc::not_found ? Result<void>() : folder.error();
  }
  ASSIGN_OR_RETURN(const auto entries, folder->list());
  for (const DirEntry& entry : entries) {
    RETURN_IF_ERROR(entry.type == DT_REG ? disk.remove(*folder, entry.name) : Result<void>());
  }
  return disk.remove_folder(*parent, name);
}

Result<void> clear_fork(Disk& disk, const StorageFolder& storage, const std::string& name) {
  ASSIGN_OR_RETURN(const auto note, File::open_in(storage.root(), name));
  if (::flock(note.fd(), LOCK_EX | LOCK_NB) != 0) {
    return {};  // its writer lives
  }
  ASSIGN_OR_RETURN(const auto text, note.read(0, kLongestNote));
  const auto ids = ids_of(text);
  if (!ids.empty()) {
    ASSIGN_OR_RETURN(const bool is_complete, storage.has_session(ids.front()));
    for (std::size_t i = 1; i < ids.size() && !is_complete; ++i) {
      RETURN_IF_ERROR(remove_own_folder(disk, storage, "part", ids[i]));
    }
    RETURN_IF_ERROR(is_complete ? Result<void>() : remove_own_folder(disk, storage, "message", ids.front()));
  }
  return disk.remove(storage.root(), name);
}

}  // namespace

Result<ForkNote> ForkNote::make(Disk& disk, const std::string& storage, const AdoptedSession& session, bool sync) {
  ASSIGN_OR_RETURN(const auto locked, StorageFolder::lock(storage));
  clear_killed_forks(disk, locked);
  const std::string name = fork_note_name(session.id);
  ASSIGN_OR_RETURN(auto fd, disk.create(locked.root(), name, kPrivate));
  const auto fill = [&]() -> Result<void> {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return error_from_errno(errno, "cannot lock the note of a fork");
    }
    RETURN_IF_ERROR(write_all(disk, fd.get(), text_of(session)));
    RETURN_IF_ERROR(sync ? disk.sync(fd.get()) : Result<void>());
    return sync ? disk.sync_folder(locked.root()) : Result<void>();
  };
  if (auto done = fill(); !done) {
    static_cast<void>(disk.remove(locked.root(), name));
    return done.error();
  }
  return ForkNote(disk, storage, name, std::move(fd));
}

ForkNote::ForkNote(ForkNote&& other) noexcept
    : disk_(other.disk_),
      storage_(other.storage_),
      name_(std::exchange(other.name_, "")),
      lock_(std::move(other.lock_)) {}

ForkNote::~ForkNote() {
  if (name_.empty()) {
    return;
  }
  lock_ = UniqueFd();
  if (const auto storage = StorageFolder::lock(storage_)) {
    static_cast<void>(clear_fork(disk_, *storage, name_));  // the next writer tries again
  }
}

void clear_killed_forks(Disk& disk, const StorageFolder& storage) {
  for (const std::string& note : killed_forks_in(storage.root())) {
    static_cast<void>(clear_fork(disk, storage, note));  // the next writer tries again
  }
}

}  // namespace arborfs::opencode
