#include "core/formats/omp/context/context_request.h"

#include "core/base/result_macros.h"
#include "core/json/json_cursor.h"

namespace arborfs::context {
namespace {

// Text that a person typed is a custom message if it came through a skill or from a peer.
bool is_typed(std::string_view custom) {
  const std::string_view type = skim::member(custom, "customType");
  return skim::is_string(skim::member(custom, "attribution"), "user") &&
         (skim::is_string(type, "skill-prompt") || skim::is_string(type, "collab-prompt"));
}

Result<bool> is_request(const ContextPath::Step& step, const Source& source) {
  using Speaker = ContextPath::Step::Speaker;
  const bool is_custom = step.entry.type == EntryType::custom_message;
  if (!is_custom && step.speaker != Speaker::custom) {
    return step.speaker == Speaker::user;
  }
  ASSIGN_OR_RETURN(const auto entry, read_entry(source, step));
  if (!is_custom) {
    return is_typed(skim::member(entry, "message"));
  }
  const std::string_view content = skim::member(entry, "content");
  return (content.starts_with('"') || content.starts_with('[')) && is_typed(entry);
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
