#include "core/writer/writer.h"

#include <sys/resource.h>

#include <cerrno>

#include "core/base/log.h"
#include "core/base/result_macros.h"

namespace arborfs {

namespace {

/// Checks RLIMIT_FSIZE, because a file beside the log cannot show how large the log itself may become.
Result<void> check_size_limit(const Dir& folder, const std::string& file, std::uint64_t bytes) {
  rlimit limit{};
  const auto log = folder.stat(file);
  const bool fits = !log || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
                    log->size + bytes <= limit.rlim_cur;
  return fits ? Result<void>() : error_from_errno(EFBIG, "cannot reserve disk space");
}

}  // namespace

Result<DiskReservation> Writer::reserve(const SessionPtr& session, std::uint64_t bytes) {
  auto folder = session->store().folder(session->place());
  if (!folder) {
    return DiskReservation();  // the store is not on a disk
  }
  RETURN_IF_ERROR(check_size_limit(*folder, session->place().file, bytes));
  auto room = session->store().disk().reserve(*folder, bytes);
  return room ? Result<DiskReservation>(DiskReservation(std::move(*room))) : room.error();
}

void Writer::note_outcome(const SessionPtr& session, std::string_view doing, const Error* error) {
  const std::string text = error == nullptr ? "" : std::string(doing) + ": " + error->message;
  if (session && session->write_error() != text) {
    session->set_write_error(text);
  }
  if (error == nullptr) {
    return;
  }
  const std::string where = session ? session->stem() : "the store";
  write_log(LogLevel::warning, where + ": " + text);
  catalog_.note_error(where + ": " + text);
}

}  // namespace arborfs
