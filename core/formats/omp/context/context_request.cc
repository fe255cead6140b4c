#include "core/formats/omp/context/context_request.h"

#include "core/base/result_macros.h"
#include "core/formats/omp/context/oversized.h"
#include "core/json/json_cursor.h"

namespace arborfs::context {
namespace {

constexpr std::uint64_t kLongEntry = 1024 * 1024;  // only the short members of longer entries are read

// Text that a person typed is a custom message if it came through a skill or from a peer.
bool is_typed(std::string_view custom) {
  const std::string_view type = skim::member(custom, "customType");
  return skim::is_string(skim::member(custom, "attribution"), "user") &&
         (skim::is_string(type, "skill-prompt") || skim::is_string(type, "collab-prompt"));
}

Result<bool> is_typed_message(const ContextPath::Step& step, const Source& source) {
  ASSIGN_OR_RETURN(const auto entry, source.log->read(step.entry.offset, step.length));
  return is_typed(skim::member(entry, "message"));
}

// A content too long to be read is taken to be a string or an array.
Result<bool> is_typed_entry(const ContextPath::Step& step, const Source& source) {
  const bool is_long = step.length > kLongEntry;
  ASSIGN_OR_RETURN(const auto entry, is_long ? short_members_json(*source.log, step.entry.offset, step.length)
                                             : source.log->read(step.entry.offset, step.length));
  const std::string_view content = skim::member(entry, "content");
  const bool has_content = content.empty() ? is_long : content[0] == '"' || content[0] == '[';
  return has_content && is_typed(entry);
}

Result<bool> is_request(const ContextPath::Step& step, const Source& source) {
  using Speaker = ContextPath::Step::Speaker;
  if (step.entry.type == EntryType::custom_message) {
    return is_typed_entry(step, source);
  }
  if (step.speaker == Speaker::custom && step.length <= kLongestLoaded) {
    return is_typed_message(step, source);
  }
  return step.speaker == Speaker::user;
}

}  // namespace

Result<std::optional<std::size_t>> last_request(const ContextPath& path, const Source& source, std::size_t end) {
  for (std::size_t i = end; i-- > 0 && path.steps[i].entry.type != EntryType::reset_boundary;) {
    ASSIGN_OR_RETURN(const auto found, is_request(path.steps[i], source));
    if (found) {
      return std::optional(i);
    }
  }
  return std::optional<std::size_t>();
}

}  // namespace arborfs::context
