#include "core/writer/command_text.h"

#include <algorithm>

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

}  // namespace arborfs
