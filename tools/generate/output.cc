#include "tools/generate/output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace arborfs::generate {

Output::Output(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  failure_ = fd_ ? 0 : errno;
  buffer_.reserve(kFull + kFull / 4);
}

void Output::flush() {
  const char* p = buffer_.data();
  std::size_t left = failure_ == 0 ? buffer_.size() : 0;
  while (left > 0) {
    const ssize_t n = ::write(fd_.get(), p, left);
    if (n < 0 && errno != EINTR) {
      failure_ = errno;
      break;
    }
    const auto done = static_cast<std::size_t>(n < 0 ? 0 : n);
    p += done;
    left -= done;
  }
  written_ += buffer_.size();
  buffer_.clear();
}

Result<void> Output::close() {
  flush();
  fd_.reset();
  if (failure_ != 0) {
    return error_from_errno(failure_, "cannot write " + path_);
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  Output out(path);
  out.buffer() = bytes;
  return out.close();
}

Result<void> make_folders(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) {
    return error_from_errno(failed.value(), "cannot create " + path);
  }
  return {};
}

Result<void> set_time(const std::string& path, std::int64_t milliseconds) {
  timespec time{};
  time.tv_sec = milliseconds / 1000;
  time.tv_nsec = milliseconds % 1000 * 1'000'000;
  const timespec times[2] = {time, time};
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) {
    return error_from_errno(errno, "cannot set the time of " + path);
  }
  return {};
}

}  // namespace arborfs::generate
