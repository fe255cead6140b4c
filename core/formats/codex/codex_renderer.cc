#include "core/formats/codex/codex_renderer.h"

#include <utility>

#include "core/formats/codex/codex_context.h"
#include "core/formats/codex/item_text.h"
#include "core/json/document.h"

namespace arborfs::codex {
namespace {

const json::Value* member_of(const json::Value* object, std::string_view key) {
  return object == nullptr ? nullptr : json::member(*object, key);
}

/// The usage that a record of either kind tells (codex/FORMAT.md F1, F2).
struct Told {
  const json::Value* usage = nullptr;  // of one response
  const json::Value* sums = nullptr;   // of the thread so far
  std::string response;
  std::string thread;  // the thread of the response; "" if the record does not name it

  [[nodiscard]] const json::Value* shown() const { return usage != nullptr ? usage : sums; }
};

const json::Value* object_in(const json::Value* object, std::string_view key) {
  const json::Value* member = member_of(object, key);
  return member != nullptr && member->IsObject() ? member : nullptr;
}

Told told_by(const json::Value& record) {
  const json::Value* payload = json::member(record, "payload");
  if (json::is_string(json::member(record, "type"), "token_usage_record")) {
    const auto response = payload == nullptr ? std::nullopt : json::string_member(*payload, "response_id");
    const auto thread = payload == nullptr ? std::nullopt : json::string_member(*payload, "thread_id");
    return {object_in(payload, "usage"), nullptr, std::string(response.value_or("")), std::string(thread.value_or(""))};
  }
  if (!json::is_string(member_of(payload, "type"), "token_count")) {
    return {};
  }
  const json::Value* info = member_of(payload, "info");
  return {object_in(info, "last_token_usage"), object_in(info, "total_token_usage"), "", ""};
}

std::optional<double> number_of(const json::Value& object, std::string_view key) {
  const json::Value* number = json::member(object, key);
  return number != nullptr && number->IsNumber() ? std::optional(number->GetDouble()) : std::nullopt;
}

Message text_message(std::string text) {
  return text.empty() ? Message() : Message{{MessagePart::Kind::text, std::move(text), "", nullptr}};
}

Usage usage_in(const json::Value& object) {
  Usage usage = untold_usage();
  const double cached = number_of(object, "cached_input_tokens").value_or(0);
  if (const auto input = number_of(object, "input_tokens")) {
    usage.input = *input - cached;
  }
  usage.cache_read = cached;
  usage.cache_write = number_of(object, "cache_write_input_tokens").value_or(usage.cache_write);
  usage.output = number_of(object, "output_tokens").value_or(usage.output);
  usage.reasoning = number_of(object, "reasoning_output_tokens").value_or(usage.reasoning);
  usage.total_tokens = number_of(object, "total_tokens").value_or(usage.total_tokens);
  return usage;
}

/// One line: `1205 tokens in (100 cached), 40 out (10 reasoning)`.
std::string usage_text(const json::Value& usage) {
  const auto count = [&usage](std::string_view key) { return json::number_text(number_of(usage, key).value_or(0)); };
  return count("input_tokens") + " tokens in (" + count("cached_input_tokens") + " cached), " + count("output_tokens") +
         " out (" + count("reasoning_output_tokens") + " reasoning)";
}

}  // namespace

bool Renderer::is_in_transcript(std::string_view name) const {
  return name != "developer" && name != "harness" && name != "token_usage_record" && name != "token_count" &&
         name != "ghost_snapshot" && name != "additional_tools" && name != "configuration_update" &&
         name != "inherited_usage";
}

std::optional<Message> Renderer::message_of(EntryType type, const json::Value& record) const {
  if (const json::Value* item = item_of(record)) {
    return message_of_item(*item);
  }
  const json::Value* payload = json::member(record, "payload");
  if (payload == nullptr || !payload->IsObject()) {
    return std::nullopt;
  }
  if (type == EntryType::compaction) {
    return text_message(std::string(json::string_member(*payload, "message").value_or("")));
  }
  if (const json::Value* usage = told_by(record).shown()) {
    return text_message(usage_text(*usage));
  }
  const bool is_event = json::is_string(json::member(record, "type"), "event_msg");
  return is_event ? message_of_event(*payload) : message_of_item(*payload);
}

std::optional<RecordUsage> Renderer::usage_of(EntryType type, const json::Value& record) const {
  const Told told = told_by(record);
  if (told.shown() == nullptr) {
    return std::nullopt;
  }
  RecordUsage found;
  found.is_inherited = type == EntryType::inherited_usage;
  found.usage = told.usage == nullptr ? found.usage : usage_in(*told.usage);
  if (told.sums != nullptr) {
    found.sums = usage_in(*told.sums);
    found.request = sums_text(json::stringify(*told.sums));
    found.request_anywhere = std::string(json::string_member(record, "timestamp").value_or("")) + '\n' + found.request;
    return found;
  }
  found.request = told.response;
  if (!told.thread.empty() && !told.response.empty()) {
    found.request_anywhere = told.thread + '\n' + told.response;
  }
  return found;
}

Result<std::shared_ptr<const Content>> Renderer::context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                         std::shared_ptr<const BlobSource> /*blobs*/) const {
  return build_context(path, std::move(log));
}

}  // namespace arborfs::codex
