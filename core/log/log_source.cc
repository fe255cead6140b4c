#include "core/log/log_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/result_macros.h"

namespace arborfs {

namespace {

class MemoryLog final : public LogSource {
 public:
  MemoryLog(std::string bytes, const FileStat& opened) : LogSource(opened), bytes_(std::move(bytes)) {}

  [[nodiscard]] Result<std::uint64_t> size() const override { return static_cast<std::uint64_t>(bytes_.size()); }
  [[nodiscard]] Result<FileStat> stat() const override { return opened(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    if (offset >= bytes_.size()) {
      return std::size_t{0};
    }
    const std::size_t count = std::min(into.size(), bytes_.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  const std::string bytes_;
};

}  // namespace

Result<std::string> LogSource::read(std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto total, size());
  if (offset > total || length > total - offset) {
    return Error{Errc::stale, "the log changed during the read; open the file again"};
  }
  std::string bytes(length, '\0');
  ASSIGN_OR_RETURN(const auto got, read_at(offset, bytes));
  if (got < length) {
    return Error{Errc::stale, "the log was truncated during the read; try again"};
  }
  return bytes;
}

Result<void> copy_bytes(const LogSource& log, std::uint64_t from, std::uint64_t end, const ByteSink& write) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20U;
  while (from < end) {
    ASSIGN_OR_RETURN(const auto bytes, log.read(from, std::min(kStep, end - from)));
    RETURN_IF_ERROR(write(bytes));
    from += bytes.size();
  }
  return {};
}

std::string_view stem_of_place(std::string_view place) {
  place.remove_prefix(place.rfind('/') + 1);
  return place.substr(0, place.rfind('.'));
}

std::shared_ptr<const LogSource> log_from_bytes(std::string bytes) {
  FileStat stat;
  stat.size = bytes.size();
  return log_from_bytes(std::move(bytes), stat);
}

std::shared_ptr<const LogSource> log_from_bytes(std::string bytes, const FileStat& opened) {
  return std::make_shared<const MemoryLog>(std::move(bytes), opened);
}

}  // namespace arborfs
