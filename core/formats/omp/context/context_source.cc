#include "core/formats/omp/context/context_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/json/base64.h"
#include "core/json/date.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::omp {
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

Result<std::string> read_held(const ContextSource& source, std::uint64_t offset, std::uint64_t length) {
  return length > kLongestHeld ? Result<std::string>(entry_too_long(length)) : source.log->read(offset, length);
}

/// nullopt for NaN.
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
  const bool counts = timestamp->IsNull() || timestamp->IsBool();
  return counts ? std::optional(timestamp->IsTrue() ? 1.0 : 0.0) : std::nullopt;
}

// The key of the member that holds a value, where it matters; the elements of an array inherit the array's place.
enum class Place : std::uint8_t { other, content, images };

Place place_of(std::string_view key) {
  if (key == "content") {
    return Place::content;
  }
  return key == "images" ? Place::images : Place::other;
}

bool is_reference(const json::Value* value) {
  return value != nullptr && value->IsString() && json::as_string(*value).starts_with(kBlobPrefix);
}

class Resolver {
 public:
  Resolver(json::Document& entry, const BlobSource* blobs) : entry_(entry), blobs_(blobs) {}
  void resolve(bool is_18);

 private:
  struct Visit {
    json::Value* value;
    Place place;
  };
  void base64_in_place(json::Value& reference);
  void text_in_place(json::Value& reference);
  void resolve_content_as_13();
  bool resolve_as_18(json::Value& object, Place place);
  void push_parts(json::Value& value, Place place);

  json::Document& entry_;
  const BlobSource* blobs_;
  std::vector<Visit> visits_;
};

void Resolver::base64_in_place(json::Value& reference) {
  if (const auto text = blob_as_base64(json::as_string(reference), blobs_)) {
    reference = json::make_string(*text, entry_);
  }
}

void Resolver::text_in_place(json::Value& reference) {
  const std::string_view hash = blob_hash(json::as_string(reference));
  const auto bytes = hash.empty() || blobs_ == nullptr ? std::nullopt : blobs_->read_blob(hash);
  if (bytes) {
    reference = json::make_string(json::decode_utf8(*bytes), entry_);
  }
}

// Adds the members of an object, or the elements of an array, to visits_.
void Resolver::push_parts(json::Value& value, Place place) {
  if (value.IsArray()) {
    for (json::Value& element : value.GetArray()) {
      visits_.push_back({&element, place});
    }
  } else if (value.IsObject()) {
    const auto first = value.MemberBegin();
    for (rapidjson::SizeType i = 0; i < value.MemberCount(); ++i) {
      auto& entry = *(first + static_cast<std::ptrdiff_t>(i));
      visits_.push_back({&entry.value, place_of(json::as_string(entry.name))});
    }
  }
}

/// omp13 resolves images only in the content of the entry.
void Resolver::resolve_content_as_13() {
  json::Value* holder = &entry_;
  if (json::is_string(json::member(entry_, "type"), "message")) {
    holder = json::member(static_cast<json::Value&>(entry_), "message");
  } else if (!json::is_string(json::member(entry_, "type"), "custom_message")) {
    holder = nullptr;
  }
  json::Value* content = holder == nullptr ? nullptr : json::member(*holder, "content");
  if (content != nullptr && content->IsArray()) {
    for (json::Value& block : content->GetArray()) {
      json::Value* data = json::member(block, "data");
      if (json::is_string(json::member(block, "type"), "image") && is_reference(data)) {
        base64_in_place(*data);
      }
    }
  }
}

// True if `object` is an image whose data is a reference; the other members of such an object are left alone.
bool Resolver::resolve_as_18(json::Value& object, Place place) {
  json::Value* result = json::member(object, "result");
  const bool is_image = json::is_string(json::member(object, "type"), "image");
  json::Value* data = json::member(object, "data");
  if (is_reference(data) && ((place == Place::content && is_image) ||
                             (place == Place::images && (is_image || has_image_mime_type(object))))) {
    base64_in_place(*data);
    return true;
  }
  if (is_reference(result) && json::is_string(json::member(object, "type"), "image_generation_call")) {
    base64_in_place(*result);
  }
  return false;
}

void Resolver::resolve(bool is_18) {
  if (!is_18) {
    resolve_content_as_13();
  }
  visits_.push_back({&entry_, Place::other});
  while (!visits_.empty()) {
    const auto [value, place] = visits_.back();
    visits_.pop_back();
    if (is_18 && value->IsObject() && resolve_as_18(*value, place)) {
      continue;
    }
    if (json::Value* url = json::member(*value, "image_url"); is_reference(url)) {
      text_in_place(*url);
    }
    push_parts(*value, place);
  }
}

}  // namespace

Result<std::string> read_entry(const ContextSource& source, const ContextPath::Step& step) {
  return read_held(source, step.entry.offset, step.length);
}

Result<void> load_entry(const ContextSource& source, std::uint64_t offset, std::uint64_t length, json::Document& out) {
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

bool can_copy(const ContextSource& source, std::string_view message, bool is_assistant) {
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

bool has_image_mime_type(const json::Value& object) {
  constexpr std::string_view kImage = "image/";
  const auto type = json::string_member(object, "mimeType");
  return type && type->size() >= kImage.size() &&
         std::equal(kImage.begin(), kImage.end(), type->begin(),
                    [](char want, char c) { return want == (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); });
}

std::string_view blob_hash(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  if (!text.starts_with(kBlobPrefix) || text.size() != kBlobPrefix.size() + kDigits) {
    return {};
  }
  const std::string_view hash = text.substr(kBlobPrefix.size());
  const bool is_hex = hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_hex ? hash : std::string_view();
}

std::optional<std::string> blob_as_base64(std::string_view text, const BlobSource* blobs) {
  const std::string_view hash = blob_hash(text);
  const auto bytes = hash.empty() || blobs == nullptr ? std::nullopt : blobs->read_blob(hash);
  return bytes ? std::optional(json::encode_base64(*bytes)) : std::nullopt;
}

void resolve_blobs(json::Document& entry, Dialect dialect, const BlobSource* blobs) {
  Resolver(entry, blobs).resolve(dialect == Dialect::omp18);
}

}  // namespace arborfs::omp
