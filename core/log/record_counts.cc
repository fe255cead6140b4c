#include "core/log/record_counts.h"

#include "core/json/utf8.h"

namespace arborfs {
namespace {

constexpr std::size_t kLongestType = 80;
constexpr std::size_t kCountBytes = 96;  // approximate size of a map's node

/// At most kLongestType bytes, without a part of a character.
std::string_view cut(std::string_view type) {
  if (type.size() <= kLongestType) {
    return type;
  }
  std::size_t end = kLongestType;
  while (end > 0 && (static_cast<unsigned char>(type[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return type.substr(0, end);
}

}  // namespace

void RecordCounts::add(std::string_view type, std::uint64_t count) {
  const std::string name = json::as_utf8(std::string(type.empty() ? kNoType : cut(type)));
  const auto known = by_type_.find(name);
  if (known != by_type_.end()) {
    known->second += count;
    return;
  }
  by_type_[by_type_.size() < kMostTypes ? name : std::string(kOthers)] += count;
}

void RecordCounts::add(const RecordCounts& more) {
  for (const auto& [type, count] : more.by_type_) {
    add(type, count);
  }
}

std::size_t RecordCounts::memory_bytes() const {
  std::size_t bytes = by_type_.size() * kCountBytes;
  for (const auto& [type, count] : by_type_) {
    bytes += type.capacity();
  }
  return bytes;
}

}  // namespace arborfs
