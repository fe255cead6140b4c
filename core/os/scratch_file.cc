#include "core/os/scratch_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/os/environment.h"

namespace arborfs {

/// Some file systems have no nameless files: there the name is removed at once.
Result<UniqueFd> make_scratch_file() {
  const std::string chosen = environment_variable("TMPDIR");
  const std::string folder = chosen.empty() ? "/tmp" : chosen;
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    std::string name = folder + "/arborfs-XXXXXX";
    fd = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (fd) {
      ::unlink(name.c_str());
    }
  }
  return fd ? Result<UniqueFd>(std::move(fd)) : error_from_errno(errno, "cannot create a temporary file in " + folder);
}

}  // namespace arborfs
