#include "core/writer/new_file.h"

#include <sys/random.h>

#include <array>

#include "core/base/result_macros.h"

namespace arborfs {

Result<std::string> new_uuid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{Errc::io, "the system gives no random numbers"};
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  std::string uuid;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    uuid += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    uuid += kDigits[bytes[i] >> 4U];
    uuid += kDigits[bytes[i] & 15U];
  }
  return uuid;
}

Result<Dir> make_folders(Disk& disk, const std::string& root, const std::vector<std::string>& parts, mode_t mode,
                         bool sync) {
  ASSIGN_OR_RETURN(auto at, Dir::open_root(root));
  for (const std::string& part : parts) {
    auto next = at.open_in(part);
    if (!next && next.error().code == Errc::not_found) {
      RETURN_IF_ERROR(disk.make_folder(at, part, mode));
      RETURN_IF_ERROR(sync ? disk.sync_folder(at) : Result<void>());
      next = at.open_in(part);
    }
    if (!next) {
      return next.error();
    }
    at = *std::move(next);
  }
  return at;
}

Result<void> write_new_file(Disk& disk, const Dir& folder, const NewFile& file, std::string_view bytes, bool sync) {
  ASSIGN_OR_RETURN(const auto unique, new_uuid());
  const std::string name = ".arborfs-" + unique + ".tmp";
  ASSIGN_OR_RETURN(const auto fd, disk.create(folder, name, file.mode));
  const auto fill = [&]() -> Result<void> {
    RETURN_IF_ERROR(write_all(disk, fd.get(), bytes));
    RETURN_IF_ERROR(sync ? disk.sync(fd.get()) : Result<void>());
    return disk.rename(folder, name, folder, file.name, Disk::Existing::keep);
  };
  if (auto done = fill(); !done) {
    static_cast<void>(disk.remove(folder, name));
    return done;
  }
  return sync ? disk.sync_folder(folder) : Result<void>();
}

}  // namespace arborfs
