#include "core/views/session_work.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/base/words.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/store/format.h"

namespace arborfs {
namespace {

using Does = ToolShape::Does;

constexpr double kLargestStatus = 1e9;
constexpr std::size_t kMostSearched = 16;  // open calls
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

/// A command as a shell gets it: `["bash","-lc","make"]` is `make`.
std::string command_of(const json::Value& value) {
  if (value.IsString()) {
    return std::string(json::as_string(value));
  }
  std::string words;
  if (value.IsArray()) {
    const bool is_shell = value.Size() == 3 && value[1].IsString() && value[2].IsString() &&
                          (json::as_string(value[1]) == "-lc" || json::as_string(value[1]) == "-c");
    if (is_shell) {
      return std::string(json::as_string(value[2]));
    }
    for (const json::Value& word : value.GetArray()) {
      words.append(words.empty() ? "" : " ").append(word.IsString() ? json::as_string(word) : "");
    }
  }
  return words;
}

/// An entry as the index has it, copied so that no lock is held while it is read.
struct WorkEntry {
  Ordinal ordinal = kNoEntry;
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t time_ms = Entry::kNoTime;
  std::string name;
};

class WorkReader {
 public:
  explicit WorkReader(const Format& format) : format_(format) {
    for (const ToolShape& shape : format.tools) {
      quoted_.push_back("\"" + std::string(shape.tool));  // also "local_shell_call"
    }
  }

  Result<SessionWork> read(const Session& session) {
    std::vector<WorkEntry> entries;
    std::shared_ptr<const LogSource> log;
    {
      ASSIGN_OR_RETURN(const auto guard, session.read_index());
      const LogIndex& index = guard.index();
      folder_ = index.header().cwd;
      log = guard.log();
      for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
        const Entry& entry = index.entry(ordinal);
        entries.push_back({ordinal, entry.type, entry.offset, index.length(ordinal), entry.timestamp_ms,
                           std::string(index.name(ordinal))});
      }
    }
    const auto blobs = session.store().blobs();
    for (const WorkEntry& entry : entries) {
      if (Cancellation::is_requested()) {
        return Error{Errc::interrupted, "reading the session was cancelled"};
      }
      if (entry.length > kMaxRenderedEntry) {
        ++work_.too_long;
        continue;
      }
      ASSIGN_OR_RETURN(const auto raw, log->read(entry.offset, entry.length));
      if (may_matter(raw)) {
        std::vector<Turn> turns;
        format_.renderer->add_turns({entry.type, entry.name, raw, entry.time_ms, *blobs}, turns);
        for (const Turn& turn : turns) {
          take(entry, turn);
        }
      }
    }
    for (auto& [path, file] : files_) {
      work_.files.push_back(std::move(file));
    }
    return std::move(work_);
  }

 private:
  /// False for most entries, which are then not parsed.
  [[nodiscard]] bool may_matter(std::string_view raw) const {
    const auto has = [raw](const std::string& text) { return raw.find(text) != std::string_view::npos; };
    return open_.size() > kMostSearched || std::any_of(quoted_.begin(), quoted_.end(), has) ||
           std::any_of(open_.begin(), open_.end(), [&](const auto& call) { return has(call.first); });
  }

  void take(const WorkEntry& entry, const Turn& turn) {
    for (const TurnPart& part : turn.parts) {
      if (part.kind == TurnPart::Kind::tool_call) {
        call(entry, part);
      } else if (part.kind == TurnPart::Kind::tool_result) {
        result(part);
      }
    }
  }

  void call(const WorkEntry& entry, const TurnPart& part) {
    if (!part.call_id.empty() && !seen_.insert(part.call_id + '\n' + part.text).second) {
      return;  // the record stands there twice
    }
    for (const ToolShape& shape : format_.tools) {
      json::Document arguments;
      if (shape.tool != part.tool || !json::parse(part.text, arguments)) {
        continue;
      }
      const json::Value* const subject =
          shape.subject.empty() ? &arguments : json::member(std::as_const(arguments), shape.subject);
      if (subject == nullptr) {
        continue;
      }
      if (shape.does == Does::runs) {
        run(entry, part, command_of(*subject), shape.folder.empty() ? "" : json::text_member(arguments, shape.folder));
      } else if (subject->IsString() && shape.does == Does::patches) {
        patch(entry, json::as_string(*subject), folder_);
      } else if (subject->IsString()) {
        touch(entry, json::as_string(*subject), shape.does, folder_);
      }
      return;
    }
  }

  void run(const WorkEntry& entry, const TurnPart& part, std::string command, std::string folder) {
    if (command.empty()) {
      return;
    }
    kept_ += command.size();
    if (kept_ > kMostCommands) {
      ++work_.too_long;
      return;
    }
    folder = folder.empty() ? folder_ : whole(folder, folder_);
    if (command.find("*** Begin Patch") != std::string::npos) {
      patch(entry, command, folder);
    }
    if (!part.call_id.empty()) {
      open_[part.call_id] = work_.commands.size();
    }
    CommandWork work;
    work.entry = entry.ordinal;
    work.time_ms = entry.time_ms;
    work.command = std::move(command);
    work.folder = std::move(folder);
    work_.commands.push_back(std::move(work));
  }

  void result(const TurnPart& part) {
    const auto call = open_.find(part.call_id);
    if (call == open_.end()) {
      return;
    }
    CommandWork& command = work_.commands[call->second];
    command.has_result = true;
    command.status = status_before(part.text);
    if (!command.status && part.is_error) {
      command.status = status_of_failure(part.text);
    }
    command.has_failed = part.is_error || command.status.value_or(0) != 0;
    open_.erase(call);
  }

  /// The files that a patch in Codex's form names.
  void patch(const WorkEntry& entry, std::string_view text, const std::string& folder) {
    constexpr std::pair<std::string_view, Does> kMarks[] = {{"*** Update File: ", Does::edits},
                                                            {"*** Add File: ", Does::writes},
                                                            {"*** Delete File: ", Does::edits},
                                                            {"*** Move to: ", Does::writes}};
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      line = line.substr(0, line.find_last_not_of('\r') + 1);
      for (const auto& [mark, does] : kMarks) {
        if (line.starts_with(mark)) {
          touch(entry, line.substr(mark.size()), does, folder);
        }
      }
      at = end + 1;
    }
  }

  void touch(const WorkEntry& entry, std::string_view path, Does does, const std::string& folder) {
    if (path.empty() || path.find('\0') != std::string_view::npos) {
      return;
    }
    std::string absolute = whole(path, folder);
    FileWork& file = files_[absolute];
    file.path = std::move(absolute);
    ++(does == Does::reads ? file.reads : does == Does::writes ? file.writes : file.edits);
    file.last_ms = entry.time_ms == Entry::kNoTime ? file.last_ms : entry.time_ms;
    if (file.entries.empty() || file.entries.back() != entry.ordinal) {
      file.entries.push_back(entry.ordinal);
    }
  }

  /// As it is without a working directory.
  static std::string whole(std::string_view path, const std::string& folder) {
    return folder.empty() ? std::string(path) : (std::filesystem::path(folder) / path).lexically_normal().string();
  }

  const Format& format_;
  std::vector<std::string> quoted_;  // the names of tools as they are in records
  std::string folder_;               // the working directory
  SessionWork work_;
  std::uint64_t kept_ = 0;  // bytes of commands
  std::map<std::string, FileWork> files_;
  std::set<std::string> seen_;               // ids of calls with their arguments
  std::map<std::string, std::size_t> open_;  // by the ids of calls, places in work_.commands
};

std::string time_text(std::int64_t time_ms) {
  return time_ms == Entry::kNoTime ? std::string() : json::iso_time(time_ms);
}

}  // namespace

Result<SessionWork> session_work(const Session& session) {
  return WorkReader(session.format()).read(session);
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
    for (const Ordinal entry : file.entries) {
      text += (entry == file.entries.front() ? "" : ",") + std::to_string(entry);
    }
    text += "\n";
  }
  return text + missing_line(work);
}

std::string commands_text(const SessionWork& work) {
  std::string text;
  for (const CommandWork& command : work.commands) {
    text += text.empty() ? "" : "\n";
    text += "# entry " + std::to_string(command.entry);
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
