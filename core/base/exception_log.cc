#include "core/base/exception_log.h"

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "core/base/log.h"

namespace arborfs {

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
