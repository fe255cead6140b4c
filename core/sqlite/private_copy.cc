#include "core/sqlite/private_copy.h"

#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/os/state_dir.h"
#include "core/sqlite/sqlite_error.h"

namespace arborfs::sqlite {
namespace {

constexpr std::size_t kCopyPiece = 1 << 20;
constexpr mode_t kPrivate = 0600;
constexpr std::array kBeside = {"-wal", "-journal"};
constexpr const char* kCannotCopy = "cannot copy the database";

/// Reads through SQLite's own descriptor: closing another one would drop the locks that this process has.
Result<void> copy_database(const Connection& source, int into, Disk& disk) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  sqlite3_file_control(source.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    return Error{Errc::io, kCannotCopy};
  }
  std::string piece;
  for (sqlite3_int64 at = 0; at < size; at += static_cast<sqlite3_int64>(piece.size())) {
    piece.resize(static_cast<std::size_t>(std::min<sqlite3_int64>(kCopyPiece, size - at)));
    const int code = file->pMethods->xRead(file, piece.data(), static_cast<int>(piece.size()), at);
    if (code != SQLITE_OK) {
      return error_from_sqlite(code, kCannotCopy);
    }
    RETURN_IF_ERROR(write_all(disk, into, piece));
  }
  return {};
}

/// Does nothing if there is no such file.
Result<void> copy_file(const Dir& from, const std::string& name, const Dir& folder, const std::string& copy,
                       Disk& disk) {
  const auto file = File::open_in(from, name);
  if (!file) {
    return file.error().code == Errc::not_found ? Result<void>() : Result<void>(file.error());
  }
  ASSIGN_OR_RETURN(const auto into, disk.create(folder, copy, kPrivate));
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const auto piece, file->read(at, kCopyPiece));
    RETURN_IF_ERROR(write_all(disk, into.get(), piece));
    at += piece.size();
    if (piece.size() < kCopyPiece) {
      return {};
    }
  }
}

Result<void> fill(const Connection& source, const std::string& path, const Dir& folder, const std::string& name,
                  Disk& disk) {
  {
    ASSIGN_OR_RETURN(const auto database, disk.create(folder, name, kPrivate));
    RETURN_IF_ERROR(copy_database(source, database.get(), disk));
  }
  const std::filesystem::path whole(path);
  ASSIGN_OR_RETURN(const auto beside, Dir::open_root(whole.parent_path()));
  for (const char* ending : kBeside) {
    RETURN_IF_ERROR(copy_file(beside, whole.filename().string() + ending, folder, name + ending, disk));
  }
  return {};
}

/// Removes the copies of processes that were killed before they had unlinked them.
void clear_copies(const Dir& folder, Disk& disk) {
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    long pid = 0;
    const auto read = std::from_chars(entry.name.data(), entry.name.data() + entry.name.size(), pid);
    const bool is_copy = read.ec == std::errc() && *read.ptr == '-' && pid > 0;
    if (is_copy && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) {
      static_cast<void>(disk.remove(folder, entry.name));
    }
  }
}

/// Exclusive: no -shm is made.
Result<Connection> open_copy(const std::string& path) {
  ASSIGN_OR_RETURN(auto copy, Connection::open(file_uri(path) + "?mode=rw", SQLITE_OPEN_READWRITE, nullptr));
  RETURN_IF_ERROR(copy.run("PRAGMA locking_mode=EXCLUSIVE"));
  RETURN_IF_ERROR(copy.run("SELECT count(*) FROM sqlite_schema"));
  return copy;
}

}  // namespace

Result<std::unique_ptr<PrivateCopy>> PrivateCopy::make(const Connection& source, const std::string& path, Disk& disk) {
  static std::atomic<unsigned> last{0};
  const std::string place = state_path("databases");
  ASSIGN_OR_RETURN(const auto folder, make_private_folder(disk, place, false));
  clear_copies(folder, disk);
  const std::string name = std::to_string(::getpid()) + "-" + std::to_string(++last) + ".db";
  auto copied = fill(source, path, folder, name, disk);
  auto connection = copied ? open_copy(place + "/" + name) : Result<Connection>(copied.error());
  static_cast<void>(disk.remove(folder, name));
  for (const char* ending : kBeside) {
    static_cast<void>(disk.remove(folder, name + ending));
  }
  ASSIGN_OR_RETURN(auto opened, std::move(connection));
  return std::unique_ptr<PrivateCopy>(new PrivateCopy(std::move(opened)));
}

std::string file_uri(const std::string& path) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string escaped = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      escaped += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace arborfs::sqlite
