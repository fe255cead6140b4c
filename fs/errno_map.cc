#include "fs/errno_map.h"

#include <cerrno>

namespace arborfs {

int errno_of(Errc code) {
  switch (code) {
    case Errc::not_found:
      return ENOENT;
    case Errc::invalid_argument:
      return EINVAL;
    case Errc::already_exists:
      return EEXIST;
    case Errc::busy:
      return EBUSY;
    case Errc::stale:
      return ESTALE;
    case Errc::read_only:
      return EROFS;
    case Errc::permission:
      return EACCES;
    case Errc::no_space:
      return ENOSPC;
    case Errc::too_large:
      return EFBIG;
    case Errc::interrupted:
      return EINTR;
    case Errc::unsupported:
      return ENOTSUP;
    case Errc::io:
    case Errc::corrupt:
      break;
  }
  return EIO;
}

}  // namespace arborfs
