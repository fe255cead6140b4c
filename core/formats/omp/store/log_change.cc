#include "core/formats/omp/store/log_change.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/os/file_tree.h"
#include "core/os/processes.h"

namespace arborfs::omp {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTryPause{2};
constexpr std::int64_t kMalformedStaleNs = 500'000'000;
constexpr mode_t kLockMode = 0600;
constexpr std::uint64_t kGateSeedOne = 0x4F4D502D4C4F434B;  // "OMP-LOCK"
constexpr std::uint64_t kGateSeedTwo = 0x50492D46494C454C;  // "PI-FILEL"

/// The name of the abstract socket for a path.
struct GateName {
  sockaddr_un address{};
  socklen_t size = 0;
  explicit GateName(const std::string& path) {
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "omp-file-lock-%016llx%016llx",
                                     static_cast<unsigned long long>(xxh64(path, kGateSeedOne)),
                                     static_cast<unsigned long long>(xxh64(path, kGateSeedTwo)));
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

UniqueFd gate_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/// Takes the gate by binding its abstract name; closing the socket releases it. Returns an invalid descriptor if
/// another process or thread owns the gate.
Result<UniqueFd> bind_gate(const std::string& path) {
  const GateName name(path);
  UniqueFd gate = gate_socket();
  if (!gate) {
    return error_from_errno(errno, "cannot take the log's lock");
  }
  if (::bind(gate.get(), name.get(), name.size) == 0) {
    return gate;
  }
  return errno == EADDRINUSE ? Result<UniqueFd>(UniqueFd()) : error_from_errno(errno, "cannot take the log's lock");
}

/// The pid in a lock file, 0 if the file is malformed (omp/FORMAT.md G5). Errors: not_found, permission, io.
Result<long> read_lock(const Dir& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name));
  std::array<char, 64> buffer{};
  ASSIGN_OR_RETURN(const auto got, file.read_at(0, buffer));
  const char* const end = buffer.data() + got;
  long pid = 0;
  std::int64_t since = 0;
  const auto read = std::from_chars(buffer.data(), end, pid);
  const bool is_whole = read.ec == std::errc() && read.ptr != end && *read.ptr == ':' &&
                        std::from_chars(read.ptr + 1, end, since).ec == std::errc();
  return is_whole ? pid : 0;
}

/// True for the lock file of a dead process, or a malformed one that is no longer being written. A file with this
/// process's own pid is from an earlier process with the same pid: the caller owns the gate, so no other thread of this
/// process can hold the file.
bool is_stale(const Dir& folder, const std::string& name, long pid) {
  if (pid != 0) {
    return pid == ::getpid() || !is_process_alive(pid);
  }
  const auto st = folder.stat(name);
  return st && now_ns() - st->mtime_ns > kMalformedStaleNs;
}

/// Removes our own lock file. If that fails, the file left behind does not block this process (is_stale), but it blocks
/// agents.
void remove_lock_file(Disk& disk, const Dir& folder, const std::string& name) {
  constexpr int kTries = 2;
  for (int i = 0; i < kTries && !disk.remove(folder, name); ++i) {
  }
}

/// True if the lock file is now ours, false if it belongs to another process.
Result<bool> write_lock_file(Disk& disk, const Dir& folder, const std::string& name) {
  const std::string text = std::to_string(::getpid()) + ":" + std::to_string(now_ns() / 1'000'000) + "\n";
  auto fd = disk.create(folder, name, kLockMode);
  if (!fd) {
    return fd.error().code == Errc::already_exists ? Result<bool>(false) : fd.error();
  }
  if (auto written = write_all(disk, fd->get(), text); !written) {
    remove_lock_file(disk, folder, name);
    return written.error();
  }
  const File written_to = File::of(std::move(*fd));  // stays open, so that no other file gets its inode number
  const auto ours = written_to.stat();
  const auto named = folder.stat(name);
  return ours && named && named->same_file(*ours);
}

Result<bool> try_lock_file(Disk& disk, const Dir& folder, const std::string& name) {
  auto ours = write_lock_file(disk, folder, name);
  if (!ours || *ours) {
    return ours;
  }
  const auto other = read_lock(folder, name);
  if (!other) {
    return other.error().code == Errc::io ? Result<bool>(other.error()) : Result<bool>(false);
  }
  if (!is_stale(folder, name, *other)) {
    return false;
  }
  const auto removed = disk.remove(folder, name);
  return removed || removed.error().code != Errc::io ? write_lock_file(disk, folder, name)
                                                     : Result<bool>(removed.error());
}

Error held(const Dir& folder, const std::string& name) {
  const auto other = read_lock(folder, name);
  const std::string who = other && *other != 0 ? "process " + std::to_string(*other) : "another process";
  return {Errc::busy, who + " holds the log's lock; try again when it is done"};
}

constexpr std::string_view kJsonlSuffix = ".jsonl";
constexpr std::string_view kBackupSuffix = ".bak";
constexpr mode_t kLogMode = 0666;
constexpr mode_t kPrivateMode = 0600;

}  // namespace

GateProbe::GateProbe() : socket_(gate_socket()) {}

// A datagram socket can connect repeatedly, without its peer's help or knowledge; binding instead would take the gate
// for a moment.
bool GateProbe::is_held(const std::string& path) const {
  const GateName name(path);
  return socket_ && (::connect(socket_.get(), name.get(), name.size) == 0 || errno != ECONNREFUSED);
}

std::string lock_file_name(const std::string& log_name) {
  return "." + log_name + ".lock";
}

FileLock::FileLock(Disk& disk, const Dir& folder, UniqueFd gate, std::string file)
    : disk_(&disk), folder_(&folder), gate_(std::move(gate)), file_(std::move(file)) {}

FileLock::FileLock(FileLock&& other) noexcept
    : disk_(other.disk_),
      folder_(other.folder_),
      gate_(std::move(other.gate_)),
      file_(std::exchange(other.file_, std::string())) {}

FileLock::~FileLock() {
  release();
}

void FileLock::release() {
  if (!file_.empty()) {
    remove_lock_file(*disk_, *folder_, file_);
    file_.clear();
  }
  gate_.reset();
}

Result<FileLock> FileLock::take(Disk& disk, const Dir& folder, const std::string& folder_path,
                                const std::string& log_name, std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  const std::string name = lock_file_name(log_name);
  UniqueFd gate;
  for (;;) {
    if (!gate) {
      ASSIGN_OR_RETURN(auto bound, bind_gate(folder_path + "/" + name + ".os"));
      gate = std::move(bound);
    }
    if (gate) {
      ASSIGN_OR_RETURN(auto ours, try_lock_file(disk, folder, name));
      if (ours) {
        return FileLock(disk, folder, std::move(gate), name);
      }
    }
    if (Clock::now() >= until) {
      return held(folder, name);
    }
    std::this_thread::sleep_for(kTryPause);
  }
}

Result<void> FileLock::probe(const Dir& folder, const std::string& log_name) {
  const std::string name = lock_file_name(log_name);
  const auto is_held = [&] {
    const auto pid = read_lock(folder, name);
    return pid ? !is_stale(folder, name, *pid) : pid.error().code != Errc::not_found;
  };
  return is_lasting(is_held, kPatience) ? held(folder, name) : Result<void>();
}

long lock_file_pid(const Dir& folder, const std::string& log_name) {
  const auto pid = read_lock(folder, lock_file_name(log_name));
  return pid ? *pid : 0;
}

std::string temporary_log_name(const std::string& file) {
  return "." + file + "." + unique_hex() + ".tmp";
}

Result<std::vector<std::string>> belonging_names(const Dir& folder, const std::string& file) {
  ASSIGN_OR_RETURN(auto entries, folder.list());
  const std::string stem = file.substr(0, file.size() - kJsonlSuffix.size());
  std::vector<std::string> names;
  for (auto& entry : entries) {
    const bool is_backup = entry.name.starts_with(file + ".") && entry.name.ends_with(kBackupSuffix);
    if (entry.name == file || (entry.name == stem && entry.type == DT_DIR) || is_backup) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

Result<std::unique_ptr<LogWriter>> open_log_writer(Disk& disk, Dir folder, const std::string& folder_path,
                                                   const std::string& file) {
  const auto held = std::make_shared<const Dir>(std::move(folder));  // outlives the lock, wherever that ends
  RETURN_IF_ERROR(held->stat(file));
  ASSIGN_OR_RETURN(auto lock, FileLock::take(disk, *held, folder_path, file));
  FileStat st;
  ASSIGN_OR_RETURN(auto reader, File::open_in(*held, file, &st));
  return std::make_unique<LogWriter>(disk, held, file, std::make_shared<const FileLock>(std::move(lock)),
                                     std::move(reader), st);
}

Result<void> probe_log_writer(Disk& disk, Dir folder, const std::string& file, bool is_replaced) {
  const auto held = std::make_shared<const Dir>(std::move(folder));
  RETURN_IF_ERROR(FileLock::probe(*held, file));
  RETURN_IF_ERROR(check_not_append_only(*held));
  if (::faccessat(held->fd(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return error_from_errno(errno, "cannot create the log's lock");
  }
  FileStat st;
  ASSIGN_OR_RETURN(auto reader, File::open_in(*held, file, &st));
  LogWriter log(disk, held, file, nullptr, std::move(reader), st);
  const auto tried = log.try_append();
  // Without the lock, others may append meanwhile; a write begins under it.
  RETURN_IF_ERROR(!tried && tried.error().code != Errc::stale ? tried : Result<void>());
  return is_replaced ? log.try_replace() : Result<void>();
}

Result<std::unique_ptr<TempFile>> start_draft(Disk& disk, Dir folder, const std::string& file, mode_t permissions) {
  return TempFile::create(disk, std::move(folder), kLogMode & permissions, temporary_log_name(file));
}

Result<std::unique_ptr<TempFile>> start_redraft(Disk& disk, Dir folder, const std::string& file, const File& replaced) {
  ASSIGN_OR_RETURN(auto draft, TempFile::create(disk, std::move(folder), kPrivateMode, temporary_log_name(file)));
  RETURN_IF_ERROR(draft->keep_attributes(replaced));
  return draft;
}

Result<void> publish_draft(TempFile& draft, const std::string& file, Disk::Existing existing, bool sync) {
  RETURN_IF_ERROR(publish_closed(draft, draft.folder(), file, existing));
  auto synced = sync ? draft.disk().sync_folder(draft.folder()) : Result<void>();
  if (!synced && existing == Disk::Existing::keep) {
    static_cast<void>(draft.disk().remove(draft.folder(), file));  // it has not been acknowledged
  }
  return synced;
}

Result<void> move_log(Disk& disk, const Dir& from, const std::string& file, const Dir& to,
                      const std::string& new_name) {
  ASSIGN_OR_RETURN(auto names, belonging_names(from, file));
  const std::string stem = file.substr(0, file.size() - kJsonlSuffix.size());
  const std::string new_stem = new_name.substr(0, new_name.size() - kJsonlSuffix.size());
  std::vector<std::pair<std::string, std::string>> moved;
  for (const auto& name : names) {
    const std::string target = new_stem + name.substr(stem.size());
    if (auto done = disk.rename(from, name, to, target, Disk::Existing::keep); !done) {
      while (!moved.empty()) {
        static_cast<void>(disk.rename(to, moved.back().second, from, moved.back().first, Disk::Existing::keep));
        moved.pop_back();
      }
      return done;
    }
    moved.emplace_back(name, target);
  }
  return moved.empty() ? Result<void>(Errc::not_found, "the log is gone") : Result<void>();
}

}  // namespace arborfs::omp
