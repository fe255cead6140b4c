#include "core/writer/command_text.h"

#include <algorithm>

#include "core/base/result_macros.h"

namespace arborfs {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (line = stripped(line); !line.empty(); line = stripped(line)) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

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
    } else if (key == "files" && value.IsArray() &&
               std::all_of(value.Begin(), value.End(), [](const auto& file) { return file.IsString(); })) {
      for (const json::Value& file : value.GetArray()) {
        wanted.files.emplace_back(json::as_string(file));
      }
    } else {
      return Error{Errc::invalid_argument, "the command may have 'name', a text, and 'files', a list of texts"};
    }
  }
  return wanted;
}

}  // namespace

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

}  // namespace arborfs
