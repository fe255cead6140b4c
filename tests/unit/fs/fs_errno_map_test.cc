// Each failure has the errno that CONTRACT.md 4.4 promises.

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "fs/fuse/errno_map.h"

namespace arborfs {
namespace {

TEST(ErrnoMap, EachErrorHasItsErrno) {
  const std::vector<std::pair<Errc, int>> rows = {{Errc::not_found, ENOENT},
                                                  {Errc::invalid_argument, EINVAL},
                                                  {Errc::not_utf8, EILSEQ},
                                                  {Errc::already_exists, EEXIST},
                                                  {Errc::busy, EBUSY},
                                                  {Errc::stale, ESTALE},
                                                  {Errc::read_only, EROFS},
                                                  {Errc::permission, EACCES},
                                                  {Errc::no_space, ENOSPC},
                                                  {Errc::over_quota, EDQUOT},
                                                  {Errc::not_permitted, EPERM},
                                                  {Errc::too_large, EFBIG},
                                                  {Errc::interrupted, EINTR},
                                                  {Errc::unsupported, ENOTSUP},
                                                  {Errc::io, EIO},
                                                  {Errc::corrupt, EIO}};
  for (const auto& [code, number] : rows) {
    EXPECT_EQ(errno_of(code), number);
  }
}

}  // namespace
}  // namespace arborfs
