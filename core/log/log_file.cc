#include "core/log/log_file.h"

#include <utility>

#include "core/base/error.h"
#include "core/json/utf8.h"

namespace arborfs {

namespace {

// Below this size the agents decode the whole text, UTF-16 included; above they stream UTF-8 (omp/FORMAT.md A16).
constexpr std::uint64_t kDecodedBelow = 8 * 1024 * 1024;
constexpr std::string_view kUtf16Mark = "\xFF\xFE";

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

LogFile::LogFile(File file, const FileStat& stat, PooledFile::Opener reopen, std::optional<std::string> decoded,
                 std::string place)
    : LogSource(stat),
      file_(std::move(file), stat, std::move(reopen)),
      place_(std::move(place)),
      decoded_(decoded ? log_from_bytes(*std::move(decoded)) : nullptr) {}

Result<std::shared_ptr<const LogSource>> LogFile::open(const Dir& dir, const std::string& name,
                                                       PooledFile::Opener reopen, const std::string& folder) {
  FileStat stat;
  ASSIGN_OR_RETURN(auto file, File::follow_in(dir, name, &stat));
  return of(std::move(file), stat, std::move(reopen), folder + "/" + name);
}

Result<std::shared_ptr<const LogSource>> LogFile::of(File file, PooledFile::Opener reopen) {
  ASSIGN_OR_RETURN(const auto stat, file.stat());
  return of(std::move(file), stat, std::move(reopen), "");
}

Result<std::shared_ptr<const LogSource>> LogFile::of(File file, const FileStat& stat, PooledFile::Opener reopen,
                                                     std::string place) {
  ASSIGN_OR_RETURN(auto decoded, decode_utf16(file, stat.size));
  return std::shared_ptr<const LogSource>(
      new LogFile(std::move(file), stat, std::move(reopen), std::move(decoded), std::move(place)));
}

Result<std::uint64_t> LogFile::size() const {
  if (decoded_) {
    return decoded_->size();
  }
  ASSIGN_OR_RETURN(const auto now, stat());
  return now.size;
}

Result<FileStat> LogFile::stat() const {
  ASSIGN_OR_RETURN(const auto file, file_.acquire());
  return file->stat();
}

Result<std::size_t> LogFile::read_at(std::uint64_t offset, std::span<char> into) const {
  return decoded_ ? decoded_->read_at(offset, into) : read_raw_at(offset, into);
}

Result<std::size_t> LogFile::read_raw_at(std::uint64_t offset, std::span<char> into) const {
  ASSIGN_OR_RETURN(const auto file, file_.acquire());
  return file->read_at(offset, into);
}

std::shared_ptr<const File> LogFile::splice_file() const {
  const auto file = decoded_ ? Result<std::shared_ptr<const File>>(nullptr) : file_.acquire();
  return file ? *file : nullptr;
}

}  // namespace arborfs
