#include "core/formats/omp/context/context_edits.h"

#include <map>
#include <string>

#include "core/base/result_macros.h"

namespace arborfs::context {
namespace {

bool can_be_edited(const ContextPath::Step& step) {
  using Speaker = ContextPath::Step::Speaker;
  return step.entry.type == EntryType::custom_message || step.speaker == Speaker::user ||
         step.speaker == Speaker::assistant || step.speaker == Speaker::tool_result;
}

/// The target and the edit; nothing for an entry that edits nothing.
std::optional<std::pair<std::string, ContextEdit>> edit_of(const json::Document& entry, const ContextPath::Step& step) {
  const auto target = json::string_member(entry, "targetId");
  const json::Value* replacement = json::member(entry, "replacement");
  if (!target || replacement == nullptr) {
    return std::nullopt;
  }
  const bool replaces = replacement->IsObject() && json::member(*replacement, "content") != nullptr;
  if (!replaces && !replacement->IsNull()) {
    return std::nullopt;
  }
  return std::pair(std::string(*target), ContextEdit{!replaces, step.entry.offset, step.length});
}

}  // namespace

Result<void> read_edits(const ContextPath& path, const Ranges& ranges, const Source& source, ContextEdits& edits) {
  std::map<std::string, ContextEdit> by_target;
  for (const auto& [begin, end] : ranges) {
    for (std::size_t i = begin; i < end; ++i) {
      const ContextPath::Step& step = path.steps[i];
      if (step.entry.type != EntryType::context_edit) {
        continue;
      }
      json::Document entry;
      RETURN_IF_ERROR(load_entry(source, step.entry.offset, step.length, entry));
      if (auto edit = edit_of(entry, step)) {
        by_target.insert_or_assign(std::move(edit->first), edit->second);
      }
    }
  }
  for (std::size_t i = 0; !by_target.empty() && i < path.steps.size(); ++i) {
    const EntryId& id = path.ids[i];
    const auto found = id.kind == EntryId::Kind::string ? by_target.find(id.text) : by_target.end();
    if (found != by_target.end() && can_be_edited(path.steps[i])) {
      edits.emplace(i, found->second);
    }
  }
  return {};
}

Result<void> replace_content(json::Value& owner, std::string_view role, const ContextEdit& edit, const Source& source,
                             json::Document& document) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, edit.offset, edit.length, entry));
  const json::Value* replacement = json::member(entry, "replacement");
  const json::Value* content = replacement == nullptr ? nullptr : json::member(*replacement, "content");
  if (content == nullptr) {
    return log_changed_meanwhile();
  }
  json::Value copied = json::copy(*content, document);
  const bool takes_blocks = role == "assistant" || role == "toolResult";
  if (takes_blocks && content->IsString()) {
    json::Value block(rapidjson::kObjectType);
    json::set(block, "type", json::make_string("text", document), document);
    json::set(block, "text", std::move(copied), document);
    copied = json::Value(rapidjson::kArrayType);
    copied.PushBack(std::move(block), document.GetAllocator());
  }
  json::set(owner, "content", std::move(copied), document);
  return {};
}

}  // namespace arborfs::context
