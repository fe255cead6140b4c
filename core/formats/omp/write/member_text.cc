#include <vector>

#include "core/formats/omp/write/header_text.h"
#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/json/text_bytes.h"

namespace arborfs {
namespace {

struct MemberSpan {
  std::size_t key = 0;  // offset of its opening quote
  std::size_t value = 0;
  std::size_t end = 0;  // offset after the value
  bool is_wanted = false;
};

std::size_t past_space(std::string_view text, std::size_t at) {
  while (at < text.size() && json::is_space(text[at])) {
    ++at;
  }
  return at;
}

bool is_key(std::string_view literal, std::string_view key) {
  if (literal.find('\\') == std::string_view::npos) {
    return literal.substr(1, literal.size() - 2) == key;
  }
  json::Document unescaped;
  return json::parse(literal, unescaped) && json::is_string(&unescaped, key);
}

// The members of the object whose brace opens at `at`; the text is known to be a valid object.
std::vector<MemberSpan> members_of(std::string_view object, std::size_t at, std::string_view key) {
  std::vector<MemberSpan> members;
  at = past_space(object, at + 1);
  while (object[at] != '}') {
    MemberSpan member;
    member.key = object[at] == ',' ? past_space(object, at + 1) : at;
    const std::size_t key_end = json::scan_value(object, member.key).end;
    member.value = past_space(object, past_space(object, key_end) + 1);
    member.end = json::scan_value(object, member.value).end;
    member.is_wanted = is_key(object.substr(member.key, key_end - member.key), key);
    at = past_space(object, member.end);
    members.push_back(member);
  }
  return members;
}

// The object without the wanted members. Each member that stays keeps the text between it and the next one.
std::string without(std::string_view object, const std::vector<MemberSpan>& members) {
  std::string out(object.substr(0, members.front().key));
  const MemberSpan* kept = nullptr;
  for (const MemberSpan& member : members) {
    if (member.is_wanted) {
      continue;
    }
    if (kept != nullptr) {
      out.append(object, kept->end, (kept + 1)->key - kept->end);
    }
    out.append(object, member.key, member.end - member.key);
    kept = &member;
  }
  return out.append(object.substr(members.back().end));
}

std::string replaced(std::string_view object, std::size_t begin, std::size_t end, std::string_view by) {
  return std::string(object.substr(0, begin)).append(by).append(object.substr(end));
}

const MemberSpan* last_wanted(const std::vector<MemberSpan>& members) {
  const MemberSpan* last = nullptr;
  for (const MemberSpan& member : members) {
    last = member.is_wanted ? &member : last;
  }
  return last;
}

// The offset of the opening brace of a text that is one JSON object; nothing if it is not.
std::optional<std::size_t> object_begin(std::string_view text) {
  const std::size_t begin = past_space(text, 0);
  if (begin == text.size() || text[begin] != '{') {
    return std::nullopt;
  }
  const auto [verdict, end] = json::scan_value(text, begin);
  const bool is_whole = verdict == json::ValueScanner::Verdict::value && past_space(text, end) == text.size();
  return is_whole ? std::optional(begin) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> member_text(std::string_view object, std::string_view key) {
  const auto begin = object_begin(object);
  if (!begin) {
    return std::nullopt;
  }
  const auto members = members_of(object, *begin, key);
  const MemberSpan* const last = last_wanted(members);
  return last == nullptr ? std::nullopt : std::optional(object.substr(last->value, last->end - last->value));
}

Result<std::string> with_member(std::string_view object, std::string_view key,
                                std::optional<std::string_view> value_json) {
  const auto begin = object_begin(object);
  if (!begin) {
    return {Errc::invalid_argument, "cannot change a member: the text is not one JSON object"};
  }
  const auto members = members_of(object, *begin, key);
  const MemberSpan* const last = last_wanted(members);
  if (!value_json) {
    return last == nullptr ? std::string(object) : without(object, members);
  }
  if (last != nullptr) {
    return replaced(object, last->value, last->end, *value_json);
  }
  std::string added = members.empty() ? "" : ",";
  json::stringify_string(key, added);
  const std::size_t at = members.empty() ? *begin + 1 : members.back().end;
  return replaced(object, at, at, added.append(":").append(*value_json));
}

}  // namespace arborfs
