#include "core/formats/omp/store/omp_file_lock.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/os/processes.h"

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTryPause{2};
constexpr std::int64_t kMalformedStaleNs = 500'000'000;
constexpr mode_t kLockMode = 0600;
constexpr int kFewGates = 4;
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
  [[nodiscard]] std::string_view text() const {
    return {address.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1};
  }
};

/// The names of all gates that are held, by the kernel's list of sockets; nothing if it cannot be read.
std::optional<std::set<std::string, std::less<>>> list_gates() {
  std::ifstream sockets("/proc/net/unix");
  std::set<std::string, std::less<>> names;
  std::string line;
  while (std::getline(sockets, line)) {
    const std::size_t name = line.find(" @omp-file-lock-");
    if (name != std::string::npos) {
      names.insert(line.substr(name + 2));
    }
  }
  return sockets.eof() ? std::optional(std::move(names)) : std::nullopt;
}

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

}  // namespace

GateProbe::GateProbe() : socket_(gate_socket()) {}

// A datagram socket can connect repeatedly, without its peer's help or knowledge; binding instead would take the gate
// for a moment.
bool GateProbe::is_held(const std::string& path) const {
  const GateName name(path);
  if (++asked_ > kFewGates) {
    std::call_once(once_, [this] { held_ = list_gates(); });
    if (held_) {
      return held_->contains(name.text());
    }
  }
  return socket_ && (::connect(socket_.get(), name.get(), name.size) == 0 || errno != ECONNREFUSED);
}

std::string lock_file_name(const std::string& log_name) {
  return "." + log_name + ".lock";
}

OmpFileLock::OmpFileLock(Disk& disk, const Dir& folder, UniqueFd gate, std::string file)
    : disk_(&disk), folder_(&folder), gate_(std::move(gate)), file_(std::move(file)) {}

OmpFileLock::OmpFileLock(OmpFileLock&& other) noexcept
    : disk_(other.disk_),
      folder_(other.folder_),
      gate_(std::move(other.gate_)),
      file_(std::exchange(other.file_, std::string())) {}

OmpFileLock::~OmpFileLock() {
  release();
}

void OmpFileLock::release() {
  if (!file_.empty()) {
    remove_lock_file(*disk_, *folder_, file_);
    file_.clear();
  }
  gate_.reset();
}

Result<OmpFileLock> OmpFileLock::take(Disk& disk, const Dir& folder, const std::string& folder_path,
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
        return OmpFileLock(disk, folder, std::move(gate), name);
      }
    }
    if (Clock::now() >= until) {
      return held(folder, name);
    }
    std::this_thread::sleep_for(kTryPause);
  }
}

Result<void> OmpFileLock::probe(const Dir& folder, const std::string& log_name) {
  const std::string name = lock_file_name(log_name);
  const auto is_held = [&] {
    const auto pid = read_lock(folder, name);
    return pid ? !is_stale(folder, name, *pid) : pid.error().code != Errc::not_found;
  };
  return is_lasting(is_held, kPatience) ? held(folder, name) : Result<void>();
}

LockFile read_lock_file(const Dir& folder, const std::string& log_name) {
  const auto pid = read_lock(folder, lock_file_name(log_name));
  return pid ? LockFile{true, *pid} : LockFile{};
}

}  // namespace arborfs
