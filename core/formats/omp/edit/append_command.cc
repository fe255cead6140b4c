#include "core/formats/omp/edit/append_command.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"

namespace arborfs::omp {

namespace {

constexpr std::size_t kDeepest = 512;  // levels; the agents' limit is some ten thousand (omp/FORMAT.md A15)

Result<void> check_text(std::string_view text) {
  if (text.size() > kMaxCommandBytes) {
    return {Errc::too_large, "the command has more than " + std::to_string(kMaxCommandBytes >> 20) + " MiB; split it"};
  }
  if (!json::is_valid_utf8(text)) {
    return {Errc::not_utf8, "the text is not UTF-8"};
  }
  return {};
}

Error of_object(std::size_t number, const Error& error) {
  return {error.code, "object " + std::to_string(number) + ": " + error.message};
}

// Where the string that continues at `p` ends; `end` if it does not.
const char* string_end(const char* p, const char* end) {
  for (p = json::find_string_special(p, end); p != end && *p != '"'; p = json::find_string_special(p, end)) {
    p += *p == '\\' && end - p > 1 ? 2 : 1;
  }
  return p;
}

struct Bulk {
  std::size_t deepest = 0;
  std::uint64_t values = 0;  // of the largest value at the outermost level
};

// `text` may not be valid JSON.
Bulk bulk_of(std::string_view text) {
  Bulk bulk;
  std::uint64_t values = 0;
  std::size_t depth = 0;
  for (const char *p = text.data(), *end = p + text.size(); p != end; ++p) {
    if (*p == '"') {
      p = string_end(p + 1, end);
      if (p == end) {
        break;
      }
    } else if (*p == ',' || *p == ':') {
      ++values;
    } else if (*p == '[' || *p == '{') {
      ++values;
      bulk.deepest = std::max(bulk.deepest, ++depth);
    } else if ((*p == ']' || *p == '}') && depth != 0 && --depth == 0) {
      bulk.values = std::max(bulk.values, std::exchange(values, 0));
    }
  }
  bulk.values = std::max(bulk.values, values);
  return bulk;
}

// The text of the object that starts at `at`.
Result<std::string_view> object_text(std::string_view text, std::size_t at) {
  if (text[at] != '{') {
    return {Errc::invalid_argument, "not a JSON object"};
  }
  const auto [verdict, end] = json::scan_value(text, at);
  if (verdict != json::ValueScanner::Verdict::value) {
    const bool is_open = verdict == json::ValueScanner::Verdict::unfinished;
    return {Errc::invalid_argument, is_open ? "not complete" : "not valid JSON"};
  }
  const std::string_view object = text.substr(at, end - at);
  if (bulk_of(object).deepest > kDeepest) {
    return {Errc::invalid_argument, "nested deeper than " + std::to_string(kDeepest) + " levels"};
  }
  return object;
}

// Moves "force" and "ifLeaf" from the object to the command.
Result<void> take_options(json::Value& object, AppendCommand& command) {
  if (const json::Value* force = json::member(object, "force")) {
    if (!force->IsBool()) {
      return {Errc::invalid_argument, "\"force\" must be true or false"};
    }
    command.force = command.force || force->GetBool();
    json::erase(object, "force");
  }
  if (const json::Value* if_leaf = json::member(object, "ifLeaf")) {
    if (!if_leaf->IsString()) {
      return {Errc::invalid_argument, "\"ifLeaf\" must be a string"};
    }
    const std::string_view leaf = json::as_string(*if_leaf);
    if (command.if_leaf && *command.if_leaf != leaf) {
      return {Errc::invalid_argument, "\"ifLeaf\" differs from that of an earlier object"};
    }
    command.if_leaf = leaf;
    json::erase(object, "ifLeaf");
  }
  return {};
}

json::Value message_entry(json::Value message, json::Document& owner) {
  json::Value entry(rapidjson::kObjectType);
  json::set(entry, "type", json::make_string("message", owner), owner);
  json::set(entry, "message", std::move(message), owner);
  return entry;
}

Result<void> add_object(std::span<char> text, Dialect dialect, std::int64_t now_ms, AppendCommand& command) {
  json::Document owner;
  if (!json::parse_in_place(text, owner)) {
    return {Errc::invalid_argument, "not valid JSON"};
  }
  json::Value object = std::move(static_cast<json::Value&>(owner));
  RETURN_IF_ERROR(take_options(object, command));
  const bool is_entry = json::member(object, "type") != nullptr;
  if (!is_entry && json::member(object, "role") == nullptr) {
    return {Errc::invalid_argument, R"(a message needs "role", an entry needs "type")"};
  }
  RETURN_IF_ERROR(is_entry ? complete_entry(object, owner, dialect, now_ms)
                           : complete_message(object, owner, dialect, now_ms));
  ASSIGN_OR_RETURN(auto draft, make_draft(is_entry ? std::move(object) : message_entry(std::move(object), owner), owner,
                                          dialect, text.size()));
  command.drafts.push_back(std::move(draft));
  return {};
}

}  // namespace

Result<AppendCommand> text_command(std::string_view text, Dialect dialect, std::int64_t now_ms) {
  RETURN_IF_ERROR(check_text(text));
  text.remove_suffix(text.ends_with('\n') ? 1 : 0);
  if (text.empty()) {
    return {Errc::invalid_argument, "the text is empty"};
  }
  json::Document owner;
  json::Value block(rapidjson::kObjectType);
  json::set(block, "type", json::make_string("text", owner), owner);
  json::set(block, "text", json::Value(text.data(), static_cast<rapidjson::SizeType>(text.size())), owner);
  json::Value content(rapidjson::kArrayType);
  content.PushBack(std::move(block), owner.GetAllocator());
  json::Value message(rapidjson::kObjectType);
  json::set(message, "role", json::make_string("user", owner), owner);
  json::set(message, "content", std::move(content), owner);
  json::set(message, "timestamp", json::Value(static_cast<double>(now_ms)), owner);
  AppendCommand command;
  ASSIGN_OR_RETURN(auto draft, make_draft(message_entry(std::move(message), owner), owner, dialect));
  command.drafts.push_back(std::move(draft));
  return command;
}

std::uint64_t memory_for_json(std::string_view text) {
  constexpr std::uint64_t kValue = 64;  // at most, while its container is being built
  return text.size() + kValue * bulk_of(text).values;
}

Result<AppendCommand> json_command(std::string text, Dialect dialect, std::int64_t now_ms) {
  RETURN_IF_ERROR(check_text(text));
  AppendCommand command;
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t at = text.find_first_not_of(kSpace);
  for (std::size_t number = 1; at != std::string::npos; ++number) {
    if (number > kMaxCommandObjects) {
      return {Errc::too_large,
              "the command has more than " + std::to_string(kMaxCommandObjects) + " objects; split it"};
    }
    const auto object = object_text(text, at);
    if (!object) {
      return of_object(number, object.error());
    }
    const std::span<char> bytes(text.data() + at, object->size());
    if (auto added = add_object(bytes, dialect, now_ms, command); !added.has_value()) {
      return of_object(number, added.error());
    }
    at = text.find_first_not_of(kSpace, at + bytes.size());
  }
  if (command.drafts.empty()) {
    return {Errc::invalid_argument, "the command has no JSON object"};
  }
  return command;
}

}  // namespace arborfs::omp
