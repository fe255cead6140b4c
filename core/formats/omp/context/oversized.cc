#include "core/formats/omp/context/oversized.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/log/log_window.h"

namespace arborfs {
namespace {

constexpr std::size_t kLongestKey = 256;
constexpr std::uint64_t kShortValue = 1024 * 1024;

// Finds the members of one object; its bytes are fed one by one.
class MemberScan {
 public:
  void take(char c, std::uint64_t position);
  [[nodiscard]] bool has_too_many() const { return members_.size() > kMostMembers; }
  std::vector<PlacedMember> members() { return std::move(members_); }

 private:
  void take_in_string(char c, std::uint64_t position);
  void end_member();

  std::vector<PlacedMember> members_;
  std::string key_;
  std::uint64_t key_start_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool is_escaped_ = false;
  bool in_key_ = false;
  bool awaits_value_ = false;
  bool in_value_ = false;
};

void MemberScan::take_in_string(char c, std::uint64_t position) {
  if (!is_escaped_ && c == '"') {
    in_string_ = false;
    in_key_ = false;
    end_ = position + 1;
    return;
  }
  is_escaped_ = !is_escaped_ && c == '\\';
  if (in_key_ && key_.size() < kLongestKey) {
    key_ += c;
  }
}

void MemberScan::end_member() {
  if (in_value_) {
    members_.push_back({key_, key_start_, start_, end_ - start_});
  }
  in_value_ = false;
  key_.clear();
}

void MemberScan::take(char c, std::uint64_t position) {
  if (in_string_) {
    take_in_string(c, position);
    return;
  }
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    return;
  }
  if (depth_ == 1 && (c == ',' || c == '}')) {
    end_member();
    depth_ -= c == '}' ? 1 : 0;
    return;
  }
  if (depth_ == 1 && c == ':' && !in_value_) {
    awaits_value_ = true;
    return;
  }
  if (awaits_value_) {
    awaits_value_ = false;
    in_value_ = true;
    start_ = position;
  }
  if (c == '"') {
    in_string_ = true;
    in_key_ = depth_ == 1 && !in_value_;
    key_start_ = in_key_ ? position : key_start_;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if ((c == '}' || c == ']') && depth_ > 0) {
    --depth_;
  }
  end_ = position + 1;
}

}  // namespace

Result<std::vector<PlacedMember>> placed_members(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  LogWindow window(log, offset + length);
  MemberScan scan;
  for (std::uint64_t at = offset; at < offset + length;) {
    ASSIGN_OR_RETURN(auto bytes, window.view(at, 1));
    if (bytes.empty()) {
      return {Errc::stale, "the log was truncated during the read; try again"};
    }
    if (at == offset && (bytes)[0] != '{') {
      break;
    }
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), offset + length - at));
    for (const char c : bytes.substr(0, count)) {
      scan.take(c, at++);
    }
    if (scan.has_too_many()) {
      return {Errc::too_large,
              "an entry that does not fit in memory has more than " + std::to_string(kMostMembers) + " members"};
    }
  }
  return scan.members();
}

const PlacedMember* find_member(const std::vector<PlacedMember>& members, std::string_view key) {
  const auto found =
      std::find_if(members.rbegin(), members.rend(), [key](const PlacedMember& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

Result<std::string> short_members_json(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  ASSIGN_OR_RETURN(auto members, placed_members(log, offset, length));
  std::string out = "{";
  for (const PlacedMember& member : members) {
    if (member.length > kShortValue || member.key.size() == kLongestKey) {
      continue;
    }
    ASSIGN_OR_RETURN(auto value, log.read(member.offset, member.length));
    out += (out.size() > 1 ? ",\"" : "\"") + member.key + "\":" + value;
  }
  return out + "}";
}

}  // namespace arborfs
