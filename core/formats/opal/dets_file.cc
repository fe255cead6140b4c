#include "core/formats/opal/dets_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/result_macros.h"

namespace arborfs::opal {
namespace {

// opal/FORMAT.md D2
constexpr std::uint64_t kParts = 0x138;
constexpr std::size_t kPartCount = 256;
constexpr std::size_t kSegmentsOfPart = 512;
constexpr std::size_t kSlotsOfSegment = 256;
constexpr std::size_t kSlotBytes = 8;
constexpr std::uint32_t kCookie = 0x00ABCDEF;
constexpr std::uint32_t kVersion = 9;
constexpr std::uint32_t kSet = 1;
constexpr std::uint32_t kLive = 0x12345678;
constexpr std::uint64_t kCellHead = 8;
constexpr std::uint64_t kObjectHead = 4;
constexpr char kTermVersion = static_cast<char>(131);

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

Error not_dets(const char* why) {
  return {Errc::corrupt, std::string("the file is not a DETS table that arborfs can read: ") + why};
}

/// The bytes at `from`; fewer at the end of the file.
Result<std::string> read_some(const LogSource& file, std::uint64_t from, std::uint64_t count) {
  ASSIGN_OR_RETURN(const auto size, file.size());
  std::string bytes(std::min(count, size - std::min(from, size)), '\0');
  ASSIGN_OR_RETURN(const auto got, file.read_at(from, bytes));
  bytes.resize(got);
  return bytes;
}

/// A part or a segment: pointers and sizes. Missing bytes count as zero.
Result<std::string> read_table(const LogSource& file, std::uint64_t from, std::size_t count) {
  ASSIGN_OR_RETURN(auto bytes, read_some(file, from, count));
  bytes.resize(count, '\0');
  return bytes;
}

}  // namespace

struct DetsFile::Walk {
  const std::function<Result<void>(const Found&)>& visit;
  std::uint64_t left;  // bytes of the file that have not been listed yet

  /// Errors: corrupt. Pointers may lead to the same bytes again and again.
  Result<void> spend(std::uint64_t bytes) {
    if (bytes > left) {
      return Error{Errc::corrupt, "the DETS table lists more than the file has"};
    }
    left -= bytes;
    return {};
  }
};

Result<DetsFile> DetsFile::open(const LogSource& file) {
  ASSIGN_OR_RETURN(const auto head, read_some(file, 0, kParts));
  if (head.size() < kParts || word(head, 4) != kCookie) {
    return not_dets("it does not begin as one");
  }
  if (word(head, 16) != kVersion || word(head, 12) != kSet) {
    return not_dets("it has another version or type");
  }
  DetsFile found(file);
  found.is_closed_ = word(head, 8) == 1;
  found.slots_ = word(head, 20);
  found.objects_ = word(head, 32);
  return found;
}

Result<void> DetsFile::each(const std::function<Result<void>(const Found&)>& visit,
                            const std::atomic<bool>* cancelled) const {
  ASSIGN_OR_RETURN(const auto size, file_.size());
  Walk walk{visit, size};
  ASSIGN_OR_RETURN(const auto parts, read_table(file_, kParts, kPartCount * 4));
  for (std::uint64_t slot = 0; slot < slots_; slot += kSlotsOfSegment * kSegmentsOfPart) {
    const std::uint32_t part_at = word(parts, slot / (kSlotsOfSegment * kSegmentsOfPart) % kPartCount * 4);
    if (part_at == 0) {
      continue;
    }
    RETURN_IF_ERROR(walk.spend(kSegmentsOfPart * 4));
    ASSIGN_OR_RETURN(const auto part, read_table(file_, part_at, kSegmentsOfPart * 4));
    for (std::size_t i = 0; i < kSegmentsOfPart && slot + i * kSlotsOfSegment < slots_; ++i) {
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
        return Error{Errc::interrupted, "reading the session was cancelled"};
      }
      const std::uint64_t left = slots_ - slot - i * kSlotsOfSegment;
      const std::uint32_t segment_at = word(part, i * 4);
      if (segment_at != 0) {
        RETURN_IF_ERROR(
            read_segment(segment_at, static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kSlotsOfSegment)), walk));
      }
    }
  }
  return {};
}

Result<void> DetsFile::read_segment(std::uint64_t at, std::uint32_t slots, Walk& walk) const {
  RETURN_IF_ERROR(walk.spend(kSlotsOfSegment * kSlotBytes));
  ASSIGN_OR_RETURN(const auto segment, read_table(file_, at, kSlotsOfSegment * kSlotBytes));
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const std::uint32_t size = word(segment, slot * kSlotBytes);
    const std::uint32_t cell_at = word(segment, slot * kSlotBytes + 4);
    if (size != 0 && cell_at != 0) {
      RETURN_IF_ERROR(read_slot(cell_at, size, walk));
    }
  }
  return {};
}

Result<void> DetsFile::read_slot(std::uint64_t at, std::uint64_t size, Walk& walk) const {
  RETURN_IF_ERROR(walk.spend(size));
  ASSIGN_OR_RETURN(const auto head, read_some(file_, at, kCellHead));
  if (head.size() < kCellHead || word(head, 0) != size || word(head, 4) != kLive) {
    return walk.visit({at, {}, "the slot does not lead to live objects"});
  }
  for (std::uint64_t done = kCellHead; done < size;) {
    const std::uint64_t object_at = at + done;
    ASSIGN_OR_RETURN(const auto length_bytes, read_some(file_, object_at, kObjectHead));
    const std::uint64_t length = length_bytes.size() == kObjectHead ? word(length_bytes, 0) : 0;
    if (length <= kObjectHead || length > size - done) {
      return walk.visit({object_at, {}, "the object's length is wrong"});
    }
    if (length > kLongestObject) {
      return walk.visit({object_at, {}, "the object is too long"});
    }
    ASSIGN_OR_RETURN(const auto object, read_some(file_, object_at + kObjectHead, length - kObjectHead));
    const bool is_whole = object.size() == length - kObjectHead && object.front() == kTermVersion;
    const auto term = is_whole ? std::string_view(object).substr(1) : std::string_view();
    RETURN_IF_ERROR(walk.visit({object_at, term, is_whole ? "" : "the object is not a complete term"}));
    done += length;
  }
  return {};
}

}  // namespace arborfs::opal
