#include "core/log/log_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/result_macros.h"
#include "core/json/utf8.h"

namespace arborfs {

namespace {

// Below this size the agents decode the whole text, UTF-16 included; above they stream UTF-8 (omp/FORMAT.md A16).
constexpr std::uint64_t kDecodedBelow = 8 * 1024 * 1024;
constexpr std::string_view kUtf16Mark = "\xFF\xFE";

std::size_t copy_from(std::string_view bytes, std::uint64_t offset, std::span<char> into) {
  if (offset >= bytes.size()) {
    return 0;
  }
  const std::size_t count = std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset));
  std::memcpy(into.data(), bytes.data() + offset, count);
  return count;
}

// The decoded text of a small UTF-16LE log, nullopt for other logs.
Result<std::optional<std::string>> decode_utf16(const File& file, std::uint64_t size) {
  if (size <= kUtf16Mark.size() || size >= kDecodedBelow) {
    return std::optional<std::string>();
  }
  std::string bytes(kUtf16Mark.size(), '\0');
  ASSIGN_OR_RETURN(auto got, file.read_at(0, bytes));
  if (got < bytes.size() || bytes != kUtf16Mark) {
    return std::optional<std::string>();
  }
  bytes.resize(size);
  ASSIGN_OR_RETURN(got, file.read_at(0, bytes));
  bytes.resize(got);
  return std::optional<std::string>(json::decode_utf16le(std::string_view(bytes).substr(kUtf16Mark.size())));
}

}  // namespace

Result<std::shared_ptr<const LogFile>> LogFile::open(const Dir& dir, const std::string& name,
                                                     PooledFile::Opener reopen) {
  FileStat stat;
  ASSIGN_OR_RETURN(auto file, File::open_in(dir, name, &stat));
  return of(std::move(file), stat, std::move(reopen));
}

Result<std::shared_ptr<const LogFile>> LogFile::of(File file, PooledFile::Opener reopen) {
  ASSIGN_OR_RETURN(auto stat, file.stat());
  return of(std::move(file), stat, std::move(reopen));
}

Result<std::shared_ptr<const LogFile>> LogFile::of(File file, const FileStat& stat, PooledFile::Opener reopen) {
  ASSIGN_OR_RETURN(auto decoded, decode_utf16(file, stat.size));
  const std::shared_ptr<LogFile> log(new LogFile);
  log->opened_ = stat;
  log->file_.emplace(std::move(file), stat, std::move(reopen));
  log->memory_ = std::move(decoded);
  return std::shared_ptr<const LogFile>(log);
}

std::shared_ptr<const LogFile> LogFile::from_bytes(std::string bytes) {
  const std::shared_ptr<LogFile> log(new LogFile);
  log->opened_.size = bytes.size();
  log->memory_ = std::move(bytes);
  return log;
}

Result<std::uint64_t> LogFile::size() const {
  if (memory_) {
    return static_cast<std::uint64_t>(memory_->size());
  }
  ASSIGN_OR_RETURN(auto now, stat());
  return now.size;
}

Result<FileStat> LogFile::stat() const {
  if (!file_) {
    return opened_;
  }
  ASSIGN_OR_RETURN(auto file, file_->acquire());
  return file->stat();
}

Result<std::size_t> LogFile::read_at(std::uint64_t offset, std::span<char> into) const {
  return memory_ ? Result<std::size_t>(copy_from(*memory_, offset, into)) : read_file(offset, into);
}

Result<std::size_t> LogFile::read_file(std::uint64_t offset, std::span<char> into) const {
  ASSIGN_OR_RETURN(auto file, file_->acquire());
  return file->read_at(offset, into);
}

Result<std::string> LogFile::read(std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(auto total, size());
  if (offset > total || length > total - offset) {
    return Error{Errc::stale, "the log changed during the read; open the file again"};
  }
  std::string bytes(length, '\0');
  ASSIGN_OR_RETURN(auto got, read_at(offset, bytes));
  if (got < length) {
    return Error{Errc::stale, "the log was truncated during the read; try again"};
  }
  return bytes;
}

std::shared_ptr<const File> LogFile::splice_file() const {
  if (memory_) {
    return nullptr;
  }
  auto file = file_->acquire();
  return file ? *file : nullptr;
}

Result<std::size_t> LogFile::read_raw_at(std::uint64_t offset, std::span<char> into) const {
  return file_ ? read_file(offset, into) : read_at(offset, into);
}

}  // namespace arborfs
