#include "core/base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>

#include "core/base/error.h"
#include "core/base/unique_fd.h"

namespace arborfs {

namespace {

/// Writes each line with one write(2).
class FdSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FdSink(UniqueFd fd) : fd_(std::move(fd)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& msg) override {
    spdlog::memory_buf_t line;
    formatter_->format(msg, line);
    static_cast<void>(!::write(fd_.get(), line.data(), line.size()));
  }
  void flush_() override {}

 private:
  UniqueFd fd_;
};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
      break;
  }
  return spdlog::level::debug;
}

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance =
      std::make_shared<spdlog::logger>("arborfs", std::make_shared<spdlog::sinks::null_sink_mt>());
  return instance;
}

std::string printable(std::string_view message) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~') {
      line += c;
    } else {
      line += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 0xFU]};
    }
  }
  return line;
}

/// A regular file or /dev/null: a write to anything else, such as a FIFO or a terminal, may never return.
bool never_waits(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)));
}

Result<UniqueFd> open_log_file(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(::open(path.c_str(), kFlags, 0600));
  const int failure = errno;
  if (fd ? !never_waits(fd.get()) : failure == ENXIO || failure == ELOOP) {
    return {Errc::invalid_argument, "log messages can only be written to a regular file, and " + path + " is not one"};
  }
  return fd ? Result<UniqueFd>(std::move(fd)) : error_from_errno(failure, "cannot open log file " + path);
}

}  // namespace

Result<void> open_log(const std::string& path, LogLevel level) {
  ASSIGN_OR_RETURN(auto fd, path.empty() ? Result<UniqueFd>(UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)))
                                         : open_log_file(path));
  auto fresh = std::make_shared<spdlog::logger>("arborfs", std::make_shared<FdSink>(std::move(fd)));
  fresh->set_pattern(path.empty() ? "arborfs: %v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
  fresh->set_level(spdlog_level(level));
  logger() = std::move(fresh);
  return {};
}

void write_log(LogLevel level, std::string_view message) {
  logger()->log(spdlog_level(level), printable(message));
}

namespace {

void log_failure(std::string_view doing, const char* what) noexcept {
  try {
    write_log(LogLevel::error, std::string(doing) + ": " + what);
  } catch (const std::exception&) {  // no memory for the log line
  }
}

}  // namespace

void log_exception(std::string_view doing) noexcept {
  static_cast<void>(errno_of_thrown(doing));
}

int errno_of_thrown(std::string_view doing) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    log_failure(doing, "out of memory");
    return ENOMEM;
  } catch (const std::system_error& failure) {
    log_failure(doing, failure.what());
    return failure.code().value() > 0 ? failure.code().value() : EIO;
  } catch (const std::exception& failure) {
    log_failure(doing, failure.what());
  } catch (...) {
    log_failure(doing, "unknown error");
  }
  return EIO;
}

}  // namespace arborfs
