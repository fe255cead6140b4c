#include "fs/fuse/errno_map.h"

#include <cerrno>

namespace arborfs {

int errno_of(Errc code) {
  switch (code) {
    case Errc::not_found:
      return ENOENT;
    case Errc::invalid_argument:
      return EINVAL;
    case Errc::not_utf8:
      return EILSEQ;
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
    case Errc::over_quota:
      return EDQUOT;
    case Errc::not_permitted:
      return EPERM;
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
