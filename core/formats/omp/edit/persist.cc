#include "core/formats/omp/edit/persist.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/base/hash.h"
#include "core/formats/omp/context/context_source.h"
#include "core/json/base64.h"
#include "core/json/utf8.h"

namespace arborfs::omp {
namespace {

/// "" if there is none.
std::string_view text_of(const json::Value& object, std::string_view key) {
  return json::string_member(object, key).value_or(std::string_view());
}

bool is_nonempty_string(const json::Value& object, std::string_view key) {
  return !text_of(object, key).empty();
}

// A server tool's block that is replayed to its provider byte for byte.
bool is_server_tool_history(const json::Value& object) {
  const json::Value* block = json::member(object, "block");
  if (block == nullptr || !block->IsObject()) {
    return false;
  }
  if (json::is_string(json::member(*block, "type"), "server_tool_use")) {
    const json::Value* name = json::member(*block, "name");
    const bool is_known = json::is_string(name, "web_search") || json::is_string(name, "tool_search_tool_regex") ||
                          json::is_string(name, "tool_search_tool_bm25");
    return is_known && is_nonempty_string(*block, "id");
  }
  const json::Value* type = json::member(*block, "type");
  return (json::is_string(type, "web_search_tool_result") || json::is_string(type, "tool_search_tool_result")) &&
         is_nonempty_string(*block, "tool_use_id") && json::member(*block, "content") != nullptr;
}

// Identifies a reasoning item by its encrypted content, or by its id if there is none.
class ReasoningItems {
 public:
  explicit ReasoningItems(const json::Value& items) {
    for (const json::Value& item : items.GetArray()) {
      if (json::is_string(json::member(item, "type"), "reasoning")) {
        encrypted_.insert(text_of(item, "encrypted_content"));
        ids_.insert(text_of(item, "id"));
      }
    }
  }

  [[nodiscard]] bool has(std::string_view signature) const {
    json::Document item;
    if (!json::parse(signature, item) || !json::is_string(json::member(item, "type"), "reasoning")) {
      return false;
    }
    const std::string_view encrypted = text_of(item, "encrypted_content");
    const std::string_view id = text_of(item, "id");
    return encrypted.empty() ? !id.empty() && ids_.count(id) == 1 : encrypted_.count(encrypted) == 1;
  }

 private:
  std::unordered_set<std::string_view> encrypted_;
  std::unordered_set<std::string_view> ids_;
};

/// True for signed thinking, text and tool calls, redacted thinking, encrypted reasoning and history of server tools:
/// such an object is never changed, because a provider checks it byte for byte when it is replayed (omp/FORMAT.md H2).
bool is_bound_to_its_bytes(const json::Value& object) {
  struct Row {
    std::string_view type;
    std::string_view proof;
  };
  static constexpr Row kRows[] = {
      {"thinking", "thinkingSignature"}, {"text", "textSignature"},          {"toolCall", "thoughtSignature"},
      {"redactedThinking", "data"},      {"reasoning", "encrypted_content"},
  };
  const auto type = json::string_member(object, "type");
  if (!type) {
    return false;
  }
  if (*type == "anthropicServerTool") {
    return is_server_tool_history(object);
  }
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.type == *type; });
  return row != std::end(kRows) && is_nonempty_string(object, row->proof);
}

constexpr std::size_t kLongestText = 500'000;  // in UTF-16 units, like all lengths here (omp/FORMAT.md H1)
constexpr std::string_view kNotice = "\n\n[Session persistence truncated large content]";
constexpr std::size_t kKeptUnits = kLongestText - kNotice.size();
constexpr std::size_t kSmallestBlob = 1024;  // base64 characters (omp/FORMAT.md D2)

// The key of a value, as far as it matters; the elements of an array have the place of the array.
enum class Place : std::uint8_t {
  other,
  content,
  images,
  frames,
  image_url,
  signature,
  anthropic_compaction,
};

Place place_of(std::string_view key) {
  struct Row {
    std::string_view key;
    Place place;
  };
  static constexpr Row kRows[] = {
      {"content", Place::content},
      {"images", Place::images},
      {"frames", Place::frames},
      {"image_url", Place::image_url},
      {"thinkingSignature", Place::signature},
      {"thoughtSignature", Place::signature},
      {"textSignature", Place::signature},
      {"anthropicCompaction", Place::anthropic_compaction},
  };
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [key](const Row& r) { return r.key == key; });
  return row == std::end(kRows) ? Place::other : row->place;
}

bool is_at_least(std::string_view wtf8, std::size_t units) {
  return wtf8.size() >= units && json::utf16_length(wtf8) >= units;
}

// Where to cut a text so that at most `units` remain, without half a surrogate pair (omp/FORMAT.md H1).
std::size_t cut_at(std::string_view wtf8, std::size_t units) {
  std::size_t at = 0;
  std::size_t last = 0;
  std::size_t used = 0;
  while (at < wtf8.size()) {
    const auto byte = static_cast<unsigned char>(wtf8[at]);
    const std::size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    const std::size_t width = length == 4 ? 2 : 1;
    if (used + width > units) {
      break;
    }
    last = at;
    at += length;
    used += width;
  }
  const std::string_view kept = wtf8.substr(last, at - last);
  const bool is_lone_high =
      kept.size() == 3 && kept[0] == '\xED' && kept[1] >= '\xA0' && kept[1] <= '\xAF' && used == units;
  return is_lone_high ? last : at;
}

bool is_image_data_url(std::string_view text) {
  return text.starts_with("data:image/") && text.find(";base64,") != std::string_view::npos;
}

void recount_lines(json::Value& object) {
  const auto content = json::string_member(object, "content");
  json::Value* count = json::member(object, "lineCount");
  if (content && count != nullptr && count->IsNumber()) {
    count->SetDouble(1 + static_cast<double>(std::count(content->begin(), content->end(), '\n')));
  }
}

class Persister {
 public:
  Persister(json::Document& owner, Dialect dialect, std::vector<PendingBlob>& blobs);
  void run(json::Value& root);

 private:
  struct Open {
    json::Value* container;
    rapidjson::SizeType next;
    Place place;
    bool is_changed;  // something in it was, so its line count is recomputed (omp/FORMAT.md H4)
  };

  bool visit(json::Value& value, Place place, bool is_element);
  bool visit_text(json::Value& value, Place place);
  void step_object();
  void step_array();
  void leave();
  [[nodiscard]] bool is_dropped(std::string_view key) const;
  json::Value* payload_of(json::Value& object, Place place, bool is_element) const;
  void move_to_blob(json::Value& text, std::string bytes);

  json::Document& owner_;
  const bool is_18_;
  std::vector<PendingBlob>& blobs_;
  std::unordered_set<std::string> known_;
  std::vector<Open> open_;
};

Persister::Persister(json::Document& owner, Dialect dialect, std::vector<PendingBlob>& blobs)
    : owner_(owner), is_18_(dialect == Dialect::omp18), blobs_(blobs) {
  for (const PendingBlob& blob : blobs) {
    known_.insert(blob.hash);
  }
}

void Persister::run(json::Value& root) {
  visit(root, Place::other, false);
  while (!open_.empty()) {
    open_.back().container->IsObject() ? step_object() : step_array();
  }
}

void Persister::step_object() {
  const std::size_t depth = open_.size() - 1;
  Open& open = open_[depth];
  if (open.next == open.container->MemberCount()) {
    leave();
    return;
  }
  const auto at = open.container->MemberBegin() + static_cast<std::ptrdiff_t>(open.next);
  const std::string_view key = json::as_string(at->name);
  if (is_dropped(key)) {
    open.container->EraseMember(at);
    open.is_changed = true;
    return;
  }
  ++open.next;
  if (visit(at->value, place_of(key), false)) {
    open_[depth].is_changed = true;
  }
}

void Persister::step_array() {
  const std::size_t depth = open_.size() - 1;
  Open& open = open_[depth];
  if (open.next == open.container->Size()) {
    leave();
    return;
  }
  json::Value& element = *(open.container->Begin() + open.next++);
  if (visit(element, open.place, true)) {
    open_[depth].is_changed = true;
  }
}

void Persister::leave() {
  const Open open = open_.back();
  open_.pop_back();
  if (!open.is_changed) {
    return;
  }
  if (open.container->IsObject()) {
    recount_lines(*open.container);
  }
  if (!open_.empty()) {
    open_.back().is_changed = true;
  }
}

// True if the value was changed as a whole; a container whose members must be visited is put on the stack instead.
bool Persister::visit(json::Value& value, Place place, bool is_element) {
  if (is_18_ && place == Place::anthropic_compaction) {
    return false;
  }
  if (value.IsString()) {
    return visit_text(value, place);
  }
  if (value.IsObject()) {
    if (json::Value* payload = payload_of(value, place, is_element)) {
      move_to_blob(*payload, json::decode_base64(json::as_string(*payload)));
      return true;
    }
    if (is_18_ && is_bound_to_its_bytes(value)) {
      return false;
    }
  } else if (!value.IsArray()) {
    return false;
  }
  open_.push_back({&value, 0, place, false});
  return false;
}

bool Persister::visit_text(json::Value& value, Place place) {
  const std::string_view text = json::as_string(value);
  if (place == Place::image_url && is_image_data_url(text)) {
    move_to_blob(value, json::replace_lone_surrogates(text));
    return true;
  }
  if (!is_at_least(text, kLongestText + 1)) {
    return false;
  }
  if (place == Place::signature) {
    if (!is_18_) {
      value = json::make_string("", owner_);
    }
    return !is_18_;
  }
  std::string cut(text.substr(0, cut_at(text, kKeptUnits)));
  value = json::make_string(cut.append(kNotice), owner_);
  return true;
}

bool Persister::is_dropped(std::string_view key) const {
  return key == "jsonlEvents" || (!is_18_ && key == "partialJson");
}

// The base64 text of an image that is moved to a blob, or null. The rest of such an object is unchanged
// (omp/FORMAT.md D2).
json::Value* Persister::payload_of(json::Value& object, Place place, bool is_element) const {
  json::Value* payload = nullptr;
  if (is_18_ && json::is_string(json::member(object, "type"), "image_generation_call")) {
    payload = json::member(object, "result");
  }
  const auto is_payload = [](const json::Value* text) {
    return text != nullptr && text->IsString() && is_at_least(json::as_string(*text), kSmallestBlob) &&
           !json::as_string(*text).starts_with(kBlobPrefix);
  };
  if (is_payload(payload)) {
    return payload;
  }
  const bool is_anywhere = is_18_ && (place == Place::images || place == Place::frames);
  if (!is_anywhere && !(place == Place::content && (is_18_ || is_element))) {
    return nullptr;
  }
  payload = json::member(object, "data");
  const bool is_image = json::is_string(json::member(object, "type"), "image");
  return is_payload(payload) && (is_image || (is_anywhere && has_image_mime_type(object))) ? payload : nullptr;
}

void Persister::move_to_blob(json::Value& text, std::string bytes) {
  std::string hash = sha256_hex(bytes);
  text = json::make_string(std::string(kBlobPrefix).append(hash), owner_);
  if (known_.insert(hash).second) {
    blobs_.push_back({std::move(hash), std::move(bytes)});
  }
}

}  // namespace

void drop_replayed_signatures(json::Value& entry) {
  json::Value* message = json::member(entry, "message");
  if (message == nullptr || !json::is_string(json::member(entry, "type"), "message") ||
      !json::is_string(json::member(*message, "role"), "assistant")) {
    return;
  }
  json::Value* content = json::member(*message, "content");
  const json::Value* payload = json::member(*message, "providerPayload");
  const json::Value* items = payload == nullptr ? nullptr : json::member(*payload, "items");
  if (content == nullptr || !content->IsArray() || items == nullptr || !items->IsArray() ||
      !json::is_string(json::member(*payload, "type"), "openaiResponsesHistory")) {
    return;
  }
  const ReasoningItems known(*items);
  for (json::Value& block : content->GetArray()) {
    if (json::is_string(json::member(block, "type"), "thinking") && known.has(text_of(block, "thinkingSignature"))) {
      json::erase(block, "thinkingSignature");
    }
  }
}

void persist(json::Value& value, json::Document& owner, Dialect dialect, std::vector<PendingBlob>& blobs) {
  Persister(owner, dialect, blobs).run(value);
}

}  // namespace arborfs::omp
