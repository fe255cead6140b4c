#include "core/formats/omp/context/blob_references.h"

#include <algorithm>
#include <vector>

#include "core/json/base64.h"
#include "core/json/utf8.h"

namespace arborfs {
namespace {

// The key of the member that holds a value, where it matters; the elements of an array inherit the array's place.
enum class Place : std::uint8_t { other, content, images, frames };

Place place_of(std::string_view key) {
  if (key == "content") {
    return Place::content;
  }
  return key == "images" ? Place::images : key == "frames" ? Place::frames : Place::other;
}

bool is_reference(const json::Value* value) {
  return value != nullptr && value->IsString() && json::as_string(*value).starts_with(kBlobPrefix);
}

class Resolver {
 public:
  Resolver(json::Document& entry, const BlobSource* blobs) : entry_(entry), blobs_(blobs) {}
  void resolve_as_13();
  void resolve_as_18();

 private:
  struct Visit {
    json::Value* value;
    Place place;
  };
  void base64_in_place(json::Value& reference);
  void text_in_place(json::Value& reference);
  void resolve_image_url(json::Value& object);
  bool resolve_image_data(json::Value& object, Place place);
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

void Resolver::resolve_image_url(json::Value& object) {
  if (json::Value* url = json::member(object, "image_url"); is_reference(url)) {
    text_in_place(*url);
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

void Resolver::resolve_as_13() {
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
  visits_.push_back({&entry_, Place::other});
  while (!visits_.empty()) {
    json::Value& value = *visits_.back().value;
    visits_.pop_back();
    resolve_image_url(value);
    push_parts(value, Place::other);
  }
}

// True if `object` is an image whose data is a reference; the caller then leaves its other members alone.
bool Resolver::resolve_image_data(json::Value& object, Place place) {
  json::Value* data = json::member(object, "data");
  if (!is_reference(data)) {
    return false;
  }
  const bool is_image = json::is_string(json::member(object, "type"), "image");
  if (!(place == Place::content && is_image) &&
      !(place == Place::images && (is_image || has_image_mime_type(object)))) {
    return false;
  }
  base64_in_place(*data);
  return true;
}

void Resolver::resolve_as_18() {
  visits_.push_back({&entry_, Place::other});
  while (!visits_.empty()) {
    const auto [value, place] = visits_.back();
    visits_.pop_back();
    if (value->IsObject()) {
      if (resolve_image_data(*value, place)) {
        continue;
      }
      json::Value* result = json::member(*value, "result");
      if (is_reference(result) && json::is_string(json::member(*value, "type"), "image_generation_call")) {
        base64_in_place(*result);
      }
      resolve_image_url(*value);
    }
    push_parts(*value, place);
  }
}

}  // namespace

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
  Resolver resolver(entry, blobs);
  dialect == Dialect::omp13 ? resolver.resolve_as_13() : resolver.resolve_as_18();
}

}  // namespace arborfs
