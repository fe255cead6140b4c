#include "core/base/error.h"

#include <cerrno>
#include <cstring>

namespace arborfs {

namespace {

Errc code_of(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
      return Errc::not_found;
    case EACCES:
    case ELOOP:
      return Errc::permission;
    case EPERM:
      return Errc::not_permitted;
    case EEXIST:
      return Errc::already_exists;
    case EROFS:
      return Errc::read_only;
    case ENOSPC:
      return Errc::no_space;
    case EDQUOT:
      return Errc::over_quota;
    case EFBIG:
      return Errc::too_large;
    case EINTR:
      return Errc::interrupted;
    case EAGAIN:
    case EBUSY:
    case EMFILE:
    case ENFILE:
      return Errc::busy;
    case EINVAL:
    case ENAMETOOLONG:
      return Errc::invalid_argument;
    case EXDEV:
    case EOPNOTSUPP:
      return Errc::unsupported;
    default:
      return Errc::io;
  }
}

/// The remedy for the error, where it is not obvious.
const char* advice(int errnum) {
  switch (errnum) {
    case ENOSPC:
      return "; free some space on the disk and try again";
    case EDQUOT:
      return "; your quota is used up, free some space and try again";
    case EIO:
      return "; the disk may be failing, look at the system's log";
    case EROFS:
      return "; the disk is mounted read-only";
    case EFBIG:
      return "; the file would exceed the limit for file sizes (ulimit -f)";
    default:
      return "";
  }
}

}  // namespace

Error error_from_errno(int errnum, std::string doing) {
  char buffer[128];
  return Error{code_of(errnum), std::move(doing) + ": " + ::strerror_r(errnum, buffer, sizeof buffer) + advice(errnum)};
}

}  // namespace arborfs
