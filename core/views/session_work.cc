#include "core/views/session_work.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/clock.h"
#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/views/tool_calls.h"
#include "core/views/tool_patch.h"

namespace arborfs {
namespace {

using Does = ToolShape::Does;

constexpr double kLargestStatus = 1e9;
constexpr std::size_t kPathCharacters = 4096;
constexpr std::uint64_t kMostCommands = std::uint64_t{64} << 20U;  // bytes of all that are kept

/// A comment about what is not in the text; "" if nothing is missing.
std::string missing_line(const SessionWork& work) {
  return work.too_long == 0 ? "" : "# " + counted(work.too_long, "entry", "entries") + " too long to be looked at\n";
}

/// The number behind the words, if the line has them.
std::optional<int> number_behind(std::string_view line, std::string_view words) {
  const std::size_t found = line.find(words);
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t at = std::min(line.find_first_not_of(": ", found + words.size()), line.size());
  int number = 0;
  const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
  return error == std::errc() && end != line.data() + at ? std::optional(number) : std::nullopt;
}

/// What Codex puts before an output: lines, the last of which is `Output:`; or members around it.
std::optional<int> status_before(std::string_view output) {
  constexpr int kMostLines = 8;
  if (output.starts_with('{')) {
    json::Document members;
    const json::Value* const about =
        json::parse(output, members) ? json::member(std::as_const(members), "metadata") : nullptr;
    const auto status = about == nullptr ? std::nullopt : json::number_member(*about, "exit_code");
    return status && std::abs(*status) < kLargestStatus ? std::optional(static_cast<int>(*status)) : std::nullopt;
  }
  std::optional<int> status;
  for (int line = 0; line < kMostLines && !output.empty(); ++line) {
    const std::string_view words = output.substr(0, output.find('\n'));
    if (words == "Output:") {
      return status;
    }
    for (const std::string_view start : {"Process exited with code", "Exit code"}) {
      status = words.starts_with(start) ? number_behind(words, start) : status;
    }
    output.remove_prefix(std::min(words.size() + 1, output.size()));
  }
  return std::nullopt;
}

/// What the first or the last line of the output of a failed call says.
std::optional<int> status_of_failure(std::string_view output) {
  output = output.substr(0, output.find_last_not_of('\n') + 1);
  const std::size_t last = output.rfind('\n') + 1;  // 0 without a line feed
  for (const std::string_view line : {output.substr(0, output.find('\n')), output.substr(last)}) {
    for (const std::string_view words : {"exited with code", "Exit code", "exit code"}) {
      if (const auto status = number_behind(line, words)) {
        return status;
      }
    }
  }
  return std::nullopt;
}

class WorkTaker final : public CallTaker {
 public:
  explicit WorkTaker(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  bool take_call(const CallEntry& entry, const TurnPart& call, const ToolShape& shape,
                 const json::Value& arguments) override {
    const json::Value& subject = shape.subject.empty() ? arguments : *json::member(arguments, shape.subject);
    if (shape.does == Does::runs) {
      return run(entry, call, command_of(subject),
                 shape.folder.empty() ? "" : json::text_member(arguments, shape.folder));
    }
    if (subject.IsString() && shape.does == Does::patches) {
      patch(entry, json::as_string(subject), folders_[entry.session]);
    } else if (subject.IsString()) {
      touch(entry, json::as_string(subject), shape.does, folders_[entry.session]);
    }
    return false;
  }

  void take_result(const CallEntry& entry, const TurnPart& result) override {
    const auto call = open_.find({entry.session, result.call_id});
    CommandWork& command = work_.commands[call->second];
    command.has_result = true;
    command.status = status_before(result.text);
    if (!command.status && result.is_error) {
      command.status = status_of_failure(result.text);
    }
    command.has_failed = result.is_error || command.status.value_or(0) != 0;
    open_.erase(call);
  }

  SessionWork take(std::uint64_t too_long) && {
    work_.too_long += too_long;
    for (auto& [path, file] : files_) {
      work_.files.push_back(std::move(file));
    }
    return std::move(work_);
  }

 private:
  bool run(const CallEntry& entry, const TurnPart& call, std::string command, std::string folder) {
    if (command.empty()) {
      return false;
    }
    kept_ += command.size();
    if (kept_ > kMostCommands) {
      ++work_.too_long;
      return false;
    }
    const std::string& own = folders_[entry.session];
    folder = folder.empty() ? own : whole_path(folder, own);
    if (is_patch(command)) {
      patch(entry, command, folder);
    }
    open_[{entry.session, call.call_id}] = work_.commands.size();
    CommandWork work;
    work.entry = entry.of;
    work.time_ms = entry.time_ms;
    work.command = std::move(command);
    work.folder = std::move(folder);
    work_.commands.push_back(std::move(work));
    return true;
  }

  /// The files that a patch in Codex's form names.
  void patch(const CallEntry& entry, std::string_view text, const std::string& folder) {
    for (const PatchedFile& file : files_of_patch(text)) {
      touch(entry, file.path, file.does == PatchedFile::Does::adds ? Does::writes : Does::edits, folder);
      touch(entry, file.moved_to, Does::writes, folder);
    }
  }

  void touch(const CallEntry& entry, std::string_view path, Does does, const std::string& folder) {
    if (!is_path(path)) {
      return;
    }
    std::string absolute = whole_path(path, folder);
    FileWork& file = files_[absolute];
    file.path = std::move(absolute);
    ++(does == Does::reads ? file.reads : does == Does::writes ? file.writes : file.edits);
    file.last_ms = entry.time_ms == Entry::kNoTime ? file.last_ms : entry.time_ms;
    if (file.entries.empty() || !(file.entries.back() == entry.of)) {
      file.entries.push_back(entry.of);
    }
  }

  const std::vector<std::string> folders_;  // the working directories
  SessionWork work_;
  std::uint64_t kept_ = 0;  // bytes of commands
  std::map<std::string, FileWork> files_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> open_;  // by sessions and ids of calls: in work_.commands
};

std::string time_text(std::int64_t time_ms) {
  return time_ms == Entry::kNoTime ? std::string() : json::iso_time(time_ms);
}

}  // namespace

Result<SessionWork> session_work(const Session& session) {
  const CallsOf calls{session, std::nullopt};
  return session_work({&calls, 1});
}

Result<SessionWork> session_work(std::span<const CallsOf> sessions) {
  ASSIGN_OR_RETURN(auto folders, folders_of(sessions));
  WorkTaker taker(std::move(folders));
  ASSIGN_OR_RETURN(const auto too_long, read_tool_calls(sessions, taker));
  return std::move(taker).take(too_long);
}

namespace {

/// The path in one field of a table: a line feed is `\\n`, a tab `\\t`.
std::string field_of(const std::string& path) {
  std::string field;
  for (const char c : path) {
    c == '\n' ? field += "\\n" : c == '\t' ? field += "\\t" : field += c;
  }
  return visible_line(field, kPathCharacters);
}

}  // namespace

std::string files_tsv(const SessionWork& work) {
  std::string text = "path\treads\tedits\twrites\tlast\tentries\n";
  for (const FileWork& file : work.files) {
    text += field_of(file.path);
    for (const std::uint64_t number : {file.reads, file.edits, file.writes}) {
      text += "\t" + std::to_string(number);
    }
    text += "\t" + time_text(file.last_ms) + "\t";
    for (std::size_t at = 0; at < file.entries.size(); ++at) {
      const EntryOf& entry = file.entries[at];
      text += (at == 0 ? "" : ",") + (entry.session.empty() ? "" : field_of(entry.session) + ":") +
              std::to_string(entry.ordinal);
    }
    text += "\n";
  }
  return text + missing_line(work);
}

std::string commands_text(const SessionWork& work) {
  std::string text;
  for (const CommandWork& command : work.commands) {
    text += text.empty() ? "" : "\n";
    text += "# entry " + visible_line(number_of(command.entry), kPathCharacters);
    text += command.time_ms == Entry::kNoTime ? "" : " · " + local_time(command.time_ms, "%Y-%m-%d %H:%M:%S %z");
    text += command.folder.empty() ? "" : " · " + visible_line(command.folder, kPathCharacters);
    text += !command.has_result ? " · no result"
            : command.status    ? " · exit " + std::to_string(*command.status)
                                : std::string(command.has_failed ? " · failed" : " · done");
    text += "\n" + visible(command.command);
    text += text.ends_with('\n') ? "" : "\n";
  }
  return text + missing_line(work);
}

}  // namespace arborfs
