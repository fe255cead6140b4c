#include "fs/fuse/fuse_messages.h"

#include <fuse_log.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string_view>

#include "core/base/log.h"
#include "core/render/text.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongest = 8192;  // of a message; its longest part is a path

bool are_errors_said_too = false;

LogLevel level_of(fuse_log_level level) {
  switch (level) {
    case FUSE_LOG_EMERG:
    case FUSE_LOG_ALERT:
    case FUSE_LOG_CRIT:
    case FUSE_LOG_ERR:
      return LogLevel::error;
    case FUSE_LOG_WARNING:
      return LogLevel::warning;
    case FUSE_LOG_NOTICE:
    case FUSE_LOG_INFO:
      return LogLevel::info;
    case FUSE_LOG_DEBUG:
      break;
  }
  return LogLevel::debug;
}

void take_line(LogLevel level, std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');  // libfuse indents answers more than requests
  if (begin == std::string_view::npos) {
    return;
  }
  line.remove_prefix(begin);
  write_log(level, line);
  if (are_errors_said_too && (level == LogLevel::error || level == LogLevel::warning)) {
    std::fprintf(stderr, "arborfs: %s\n", visible(line).c_str());
  }
}

void take_lines(LogLevel level, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take_line(level, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void take_message(fuse_log_level level, const char* format, std::va_list arguments) noexcept {
  std::array<char, kLongest> buffer;
  if (std::vsnprintf(buffer.data(), buffer.size(), format, arguments) < 0) {
    return;
  }
  try {
    take_lines(level_of(level), buffer.data());
  } catch (const std::exception&) {  // out of memory: the message is lost, as no exception may pass through libfuse
  }
}

}  // namespace

void log_fuse_messages(bool are_errors_said) {
  are_errors_said_too = are_errors_said;
  ::fuse_set_log_func(take_message);
}

}  // namespace arborfs
