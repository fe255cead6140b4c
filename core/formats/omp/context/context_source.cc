#include "core/formats/omp/context/context_source.h"

#include <cmath>
#include <limits>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/blob_references.h"
#include "core/json/date.h"
#include "core/json/json_cursor.h"

namespace arborfs::context {
namespace {

constexpr std::string_view kPayloadType = "openaiResponsesHistory";
constexpr std::string_view kHookRole = "hookMessage";
constexpr double kLatestDate = 8.64e15;  // milliseconds, either side of 1970

void migrate(json::Document& entry) {
  json::Value* message = json::member(static_cast<json::Value&>(entry), "message");
  if (message != nullptr && json::is_string(json::member(entry, "type"), "message") &&
      json::is_string(json::member(*message, "role"), kHookRole)) {
    json::set(*message, "role", json::make_string("custom", entry), entry);
  }
}

void drop_provider_payload(json::Document& entry, Dialect dialect) {
  json::Value* message = json::member(static_cast<json::Value&>(entry), "message");
  if (message == nullptr || !json::is_string(json::member(entry, "type"), "message") ||
      !json::is_string(json::member(*message, "role"), "assistant")) {
    return;
  }
  const json::Value* payload = json::member(*message, "providerPayload");
  if (payload == nullptr || !json::is_string(json::member(*payload, "type"), kPayloadType) ||
      (dialect == Dialect::omp18 && !json::is_string(json::member(*message, "provider"), "github-copilot"))) {
    return;
  }
  json::erase(*message, "providerPayload");
  json::Value* content = json::member(*message, "content");
  if (content == nullptr || !content->IsArray()) {
    return;
  }
  for (json::Value& block : content->GetArray()) {
    if (json::is_string(json::member(block, "type"), "thinking")) {
      json::erase(block, "thinkingSignature");
    }
  }
}

}  // namespace

namespace {

Result<std::string> read_held(const Source& source, std::uint64_t offset, std::uint64_t length) {
  return length > kLongestHeld ? Result<std::string>(entry_too_long(length)) : source.log->read(offset, length);
}

}  // namespace

Result<std::string> read_entry(const Source& source, const ContextPath::Step& step) {
  return read_held(source, step.entry.offset, step.length);
}

Result<void> load_entry(const Source& source, std::uint64_t offset, std::uint64_t length, json::Document& out) {
  ASSIGN_OR_RETURN(const auto bytes, read_held(source, offset, length));
  if (!json::parse(bytes, out)) {
    return log_changed_meanwhile();
  }
  if (source.version_below_3) {
    migrate(out);
  }
  if (source.dialect != Dialect::pi) {
    resolve_blobs(out, source.dialect, source.blobs.get());
    drop_provider_payload(out, source.dialect);
  }
  return {};
}

bool can_copy(const Source& source, std::string_view message, bool is_assistant) {
  if (source.dialect == Dialect::pi) {
    const std::string_view content = skim::member(message, "content");
    const bool has_content = !content.empty() && content != "null";
    const bool is_hook = source.version_below_3 && skim::contains(message, kHookRole);
    return has_content && !is_hook && json::is_canonical(message);
  }
  if (skim::contains(message, kBlobPrefix) || (is_assistant && skim::contains(message, kPayloadType)) ||
      (source.version_below_3 && skim::contains(message, kHookRole))) {
    return false;
  }
  return json::is_canonical(message);
}

std::optional<double> date_ms(const json::Value* timestamp) {
  if (timestamp == nullptr) {
    return std::nullopt;
  }
  if (timestamp->IsString()) {
    const auto parsed = json::parse_date(json::as_string(*timestamp));
    return parsed ? std::optional(static_cast<double>(*parsed)) : std::nullopt;
  }
  if (timestamp->IsNumber()) {
    const double ms = std::trunc(timestamp->GetDouble());
    return std::abs(ms) <= kLatestDate ? std::optional(ms) : std::nullopt;
  }
  if (timestamp->IsNull() || timestamp->IsBool()) {
    return timestamp->IsTrue() ? 1.0 : 0.0;
  }
  return std::nullopt;
}

std::string date_json(const json::Value* timestamp) {
  return json::number_text(date_ms(timestamp).value_or(std::numeric_limits<double>::quiet_NaN()));
}

void add_member_json(std::string& out, std::string_view key, std::string_view json) {
  out.append(out.back() == '{' ? "\"" : ",\"").append(key).append("\":").append(json);
}

void add_member(std::string& out, std::string_view key, const json::Value* value) {
  if (value != nullptr) {
    add_member_json(out, key, {});
    json::stringify(*value, out);
  }
}

}  // namespace arborfs::context
