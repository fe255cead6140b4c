// A library to preload into the daemon: the n-th call of chosen kinds on chosen paths fails, falls short, is torn, or
// is the last thing that the process does. The plan is in a small file that the test writes while the daemon runs
// (tests/support/faults.py is the other side); while no plan is armed a call costs one more load.
//
// It sees calls that go through the C library, including renameat2 through syscall(2). It is thread-safe; which of
// several concurrent calls is the n-th depends on the kernel.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Operation : std::uint32_t {
  kWrite = 1U,
  kPwrite = 2U,
  kSync = 4U,
  kTruncate = 8U,
  kRename = 16U,
  kOpen = 32U,  // for writing
  kFallocate = 64U,
};

/// Shared with the test, native byte order.
struct Plan {
  std::atomic<std::uint32_t> armed;
  std::uint32_t operations;         // a set of Operation
  std::uint32_t at;                 // the first call that meets the fault, from 1
  std::uint32_t count;              // how many calls meet it
  std::int32_t error;               // their errno
  std::uint32_t kills;              // not 0: the process dies there instead
  std::int64_t keep;                // bytes that the first call still writes; -1: it fails too. A call without bytes is
                                    // made before the process dies if this is above 0.
  std::atomic<std::uint32_t> seen;  // calls of these kinds on such a path
  std::atomic<std::uint32_t> met;   // how many of them met the fault
  char path[216];                   // a part of the file's path
};
static_assert(sizeof(Plan) == 256);

Plan* plan = nullptr;

__attribute__((constructor)) void read_plan() {
  const char* const name = std::getenv("ARBORFS_FAULTS");
  const int fd = name == nullptr ? -1 : ::open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return;
  }
  void* const shared = ::mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (shared != MAP_FAILED) {
    plan = static_cast<Plan*>(shared);
  }
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

struct Path {
  char text[2 * PATH_MAX];
};

Path path_of(int fd) {
  char link[32];
  Path path;
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path.text, PATH_MAX - 1);
  path.text[std::max<ssize_t>(length, 0)] = '\0';
  return path;
}

Path path_at(int folder, const char* name) {
  Path path = folder == AT_FDCWD || name[0] == '/' ? Path{} : path_of(folder);
  const std::size_t length = std::strlen(path.text);
  std::snprintf(path.text + length, sizeof path.text - length, "/%s", name);
  return path;
}

/// The call's number among those that meet the fault, from 1; 0 if it meets none.
template <class PathOf>
unsigned fault_number(Operation operation, PathOf path) {
  if (plan == nullptr || plan->armed.load() == 0 || (plan->operations & operation) == 0) {
    return 0;
  }
  const int kept_errno = errno;
  const bool is_meant = std::strstr(path().text, plan->path) != nullptr;
  errno = kept_errno;
  if (!is_meant) {
    return 0;
  }
  const std::uint32_t number = ++plan->seen;
  return number >= plan->at && number - plan->at < plan->count ? ++plan->met : 0;
}

/// True if the call is to be made. Otherwise it must fail with errno, which is set; with `kills` this does not return.
template <class PathOf, class Call>
bool is_left_alone(Operation operation, PathOf path, Call call) {
  if (fault_number(operation, path) == 0) {
    return true;
  }
  if (plan->kills != 0) {
    if (plan->keep > 0) {
      call();
    }
    die();
  }
  errno = plan->error;
  return false;
}

template <class Write>
ssize_t write_through(Operation operation, int fd, std::size_t size, Write write) {
  const unsigned number = fault_number(operation, [fd] { return path_of(fd); });
  if (number == 0) {
    return write(size);
  }
  const bool takes_some = number == 1 && plan->keep >= 0;
  const ssize_t done = takes_some ? write(std::min(size, static_cast<std::size_t>(plan->keep))) : -1;
  if (plan->kills != 0) {
    die();
  }
  if (!takes_some) {
    errno = plan->error;
  }
  return done;
}

int sync_through(const char* name, int fd) {
  const auto call = [&] { return next<int(int)>(name)(fd); };
  const auto path = [fd] { return path_of(fd); };
  return is_left_alone(kSync, path, call) ? call() : -1;
}

int truncate_through(int fd, off_t size) {
  const auto call = [&] { return next<int(int, off_t)>("ftruncate")(fd, size); };
  const auto path = [fd] { return path_of(fd); };
  return is_left_alone(kTruncate, path, call) ? call() : -1;
}

ssize_t pwrite_through(int fd, const void* bytes, std::size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return write_through(kPwrite, fd, size, [&](std::size_t part) { return real(fd, bytes, part, offset); });
}

int fallocate_through(int fd, off_t offset, off_t size) {
  const auto call = [&] { return next<int(int, off_t, off_t)>("posix_fallocate")(fd, offset, size); };
  const auto path = [fd] { return path_of(fd); };
  return is_left_alone(kFallocate, path, call) ? call() : errno;
}

int open_through(int folder, const char* name, int flags, mode_t mode) {
  static const auto real = next<int(int, const char*, int, ...)>("openat");
  const auto call = [&] { return real(folder, name, flags, mode); };
  const auto path = [&] { return path_at(folder, name); };
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  return !writes || is_left_alone(kOpen, path, call) ? call() : -1;
}

mode_t mode_argument(int flags, std::va_list& more) {
  return (flags & (O_CREAT | O_TMPFILE)) == 0 ? 0 : va_arg(more, mode_t);
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, std::size_t size) {
  static const auto real = next<ssize_t(int, const void*, std::size_t)>("write");
  return write_through(kWrite, fd, size, [&](std::size_t part) { return real(fd, bytes, part); });
}

ssize_t pwrite(int fd, const void* bytes, std::size_t size, off_t offset) {
  return pwrite_through(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void* bytes, std::size_t size, off64_t offset) {
  return pwrite_through(fd, bytes, size, offset);
}

int fsync(int fd) {
  return sync_through("fsync", fd);
}

int fdatasync(int fd) {
  return sync_through("fdatasync", fd);
}

int ftruncate(int fd, off_t size) noexcept {
  return truncate_through(fd, size);
}

int ftruncate64(int fd, off64_t size) noexcept {
  return truncate_through(fd, size);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  return fallocate_through(fd, offset, size);
}

int posix_fallocate64(int fd, off64_t offset, off64_t size) {
  return fallocate_through(fd, offset, size);
}

int openat(int folder, const char* name, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = mode_argument(flags, more);
  va_end(more);
  return open_through(folder, name, flags, mode);
}

int openat64(int folder, const char* name, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = mode_argument(flags, more);
  va_end(more);
  return open_through(folder, name, flags, mode);
}

/// The daemon calls renameat2 only through syscall(2); every other system call passes through.
long syscall(long number, ...) noexcept {
  static const auto real = next<long(long, ...)>("syscall");
  long words[6];
  std::va_list more;
  va_start(more, number);
  for (long& word : words) {
    word = va_arg(more, long);
  }
  va_end(more);
  const auto call = [&] { return real(number, words[0], words[1], words[2], words[3], words[4], words[5]); };
  const auto target = [&] { return path_at(static_cast<int>(words[2]), reinterpret_cast<const char*>(words[3])); };
  return number != SYS_renameat2 || is_left_alone(kRename, target, call) ? call() : -1;
}

}  // extern "C"
