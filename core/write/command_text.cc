#include "core/write/command_text.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"

namespace arborfs {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (line = stripped(line); !line.empty(); line = stripped(line)) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

namespace {

/// Nothing unless the value is a list of texts.
std::optional<std::vector<std::string>> list_of_texts(const json::Value& value) {
  std::vector<std::string> texts;
  for (const json::Value* item = value.IsArray() ? value.Begin() : nullptr; item != nullptr && item != value.End();
       ++item) {
    if (!item->IsString()) {
      return std::nullopt;
    }
    texts.emplace_back(json::as_string(*item));
  }
  return value.IsArray() ? std::optional(std::move(texts)) : std::nullopt;
}

}  // namespace

Result<JsonCommand> JsonCommand::parse(std::string_view text, std::initializer_list<std::string_view> known) {
  JsonCommand command;
  if (!json::parse(text, *command.document_) || !command.document_->IsObject()) {
    return Error{Errc::invalid_argument, "the command is not one JSON object"};
  }
  for (const auto& member : json::members(*command.document_)) {
    const auto key = json::as_string(member.name);
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Error{Errc::invalid_argument, "the command has an unknown member; read this file for its usage"};
    }
    if (key == "add" || key == "remove" || key == "without" || key == "withoutOutput") {
      if (!list_of_texts(member.value)) {
        return Error{Errc::invalid_argument, "'" + std::string(key) + "' must be a list of texts"};
      }
      continue;
    }
    const bool is_flag = key == "force" || key == "pin" || key == "dryRun" || key == "full";
    if (is_flag ? !member.value.IsBool() : !member.value.IsString()) {
      return Error{Errc::invalid_argument,
                   is_flag ? "force, pin, dryRun and full must be true or false" : "a member must be a string"};
    }
  }
  return command;
}

namespace {

Result<CheckpointWanted> checkpoint_of_json(std::string_view text) {
  json::Document command;
  if (!json::parse(text, command) || !command.IsObject()) {
    return Error{Errc::invalid_argument, "the command is not one JSON object"};
  }
  CheckpointWanted wanted;
  for (const auto& member : json::members(command)) {
    const auto key = json::as_string(member.name);
    const json::Value& value = member.value;
    if (key == "name" && value.IsString()) {
      wanted.name = json::as_string(value);
    } else if (auto files = key == "files" ? list_of_texts(value) : std::nullopt) {
      wanted.files = *std::move(files);
    } else {
      return Error{Errc::invalid_argument, "the command may have 'name', a text, and 'files', a list of texts"};
    }
  }
  return wanted;
}

}  // namespace

std::vector<std::string> JsonCommand::texts(std::string_view key) const {
  const json::Value* value = json::member(*document_, key);
  return value == nullptr ? std::vector<std::string>() : list_of_texts(*value).value_or(std::vector<std::string>());
}

Result<CheckpointWanted> checkpoint_of_text(std::string_view text) {
  if (JsonCommand::is_one(text)) {
    return checkpoint_of_json(text);
  }
  auto words = words_of(text);
  if (text.find('\n') < stripped(text).size()) {
    return Error{Errc::invalid_argument, "the command must be one line: a name, and files to keep"};
  }
  CheckpointWanted wanted;
  if (!words.empty()) {
    wanted.name = words.front();
    wanted.files.assign(words.begin() + 1, words.end());
  }
  return wanted;
}

Result<RewindWanted> rewind_of_text(std::string_view text) {
  if (!JsonCommand::is_one(text)) {
    return RewindWanted{std::string(stripped(text))};
  }
  ASSIGN_OR_RETURN(const auto command, JsonCommand::parse(text, {"checkpoint", "dryRun", "force"}));
  return RewindWanted{command.text("checkpoint"), command.flag("dryRun"), command.force()};
}

Error refused_object(std::size_t number, std::string_view why) {
  return {Errc::invalid_argument, "object " + std::to_string(number) + ": " + std::string(why)};
}

Result<void> check_append_text(const AppendText& text) {
  if (text.text.size() > kMaxCommandBytes) {
    return {Errc::too_large, "an append may have at most 64 MiB"};
  }
  if (!json::is_valid_utf8(text.text)) {
    return {Errc::not_utf8, "the text is not UTF-8"};
  }
  return {};
}

Result<void> each_object(std::string_view text, const std::function<Result<void>(const json::Value& object)>& take) {
  for (std::size_t number = 1;; ++number) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty()) {
      return number > 1 ? Result<void>() : Error{Errc::invalid_argument, "there is no message to append"};
    }
    const auto end = json::scan_value(text, 0);
    json::Document object;
    if (end.verdict != json::ValueScanner::Verdict::value || !json::parse(text.substr(0, end.end), object) ||
        !object.IsObject()) {
      return refused_object(number, "it is not a JSON object");
    }
    RETURN_IF_ERROR(take(object));
    text.remove_prefix(end.end);
  }
}

std::string one_line_title(std::string_view title) {
  std::string text(title);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Result<std::string> checked_title(std::string_view title) {
  if (!json::is_valid_utf8(title)) {
    return Error{Errc::not_utf8, "the title is not UTF-8"};
  }
  std::string wanted = one_line_title(title);
  if (wanted.empty()) {
    return Error{Errc::invalid_argument, "the title is empty"};
  }
  if (title.size() > kLongestTitle) {
    return Error{Errc::too_large, "a title may have at most 64 KiB"};
  }
  return wanted;
}

std::string title_in_force(std::string_view present, std::string_view wanted, std::string_view source) {
  return std::string(source == "auto" && !present.empty() ? present : wanted);
}

Error leaf_has_moved() {
  return {Errc::stale, "the leaf is no longer that entry"};
}

bool CommandOptions::take(std::string_view key, const json::Value& value) {
  if (key == "ifLeaf" && value.IsString()) {
    if_leaf = json::as_string(value);
    return true;
  }
  if (key == "force" && value.IsBool()) {
    force = force || value.IsTrue();
    return true;
  }
  return false;
}

Result<void> CommandOptions::check_leaf(std::string_view leaf) const {
  return if_leaf.empty() || if_leaf == (leaf.empty() ? "root" : leaf) ? Result<void>() : leaf_has_moved();
}

Result<std::string_view> message_text(std::string_view text) {
  text.remove_suffix(text.ends_with('\n') ? 1 : 0);
  return text.empty() ? Result<std::string_view>(Errc::invalid_argument, "the message is empty") : text;
}

}  // namespace arborfs
