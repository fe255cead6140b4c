#include "core/views/session_work.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/store/format.h"

namespace arborfs {
namespace {

using Does = ToolShape::Does;

constexpr std::size_t kStatusWithin = 300;  // characters at either end of an output
constexpr std::size_t kPathCharacters = 4096;

std::optional<int> number_at(std::string_view text, std::size_t at) {
  at = std::min(text.find_first_not_of(": ", at), text.size());
  int number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  return error == std::errc() && end != text.data() + at ? std::optional(number) : std::nullopt;
}

/// The status that an output tells in the words of an agent's tool.
std::optional<int> status_in(std::string_view output) {
  const std::string_view ends[] = {output.substr(0, kStatusWithin),
                                   output.substr(output.size() - std::min(output.size(), kStatusWithin))};
  for (const std::string_view text : ends) {
    for (const std::string_view words : {"exited with code", "Exit code", "exit code", "\"exit_code\""}) {
      const std::size_t at = text.find(words);
      const auto number = at == std::string_view::npos ? std::nullopt : number_at(text, at + words.size());
      if (number) {
        return number;
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
      quoted_.push_back("\"" + std::string(shape.tool) + "\"");
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
    return std::any_of(quoted_.begin(), quoted_.end(), has) ||
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
        run(entry, part, command_of(*subject), json::text_member(arguments, shape.folder));
      } else if (subject->IsString() && shape.does == Does::patches) {
        patch(entry, json::as_string(*subject));
      } else if (subject->IsString()) {
        touch(entry, json::as_string(*subject), shape.does);
      }
      return;
    }
  }

  void run(const WorkEntry& entry, const TurnPart& part, std::string command, std::string folder) {
    if (command.empty()) {
      return;
    }
    if (command.find("*** Begin Patch") != std::string::npos) {
      patch(entry, command);
    }
    if (!part.call_id.empty()) {
      open_[part.call_id] = work_.commands.size();
    }
    CommandWork work;
    work.entry = entry.ordinal;
    work.time_ms = entry.time_ms;
    work.command = std::move(command);
    work.folder = folder.empty() ? folder_ : whole(folder);
    work_.commands.push_back(std::move(work));
  }

  void result(const TurnPart& part) {
    const auto call = open_.find(part.call_id);
    if (call == open_.end()) {
      return;
    }
    CommandWork& command = work_.commands[call->second];
    command.has_result = true;
    command.status = status_in(part.text);
    command.has_failed = part.is_error || command.status.value_or(0) != 0;
    open_.erase(call);
  }

  /// The files that a patch in Codex's form names.
  void patch(const WorkEntry& entry, std::string_view text) {
    constexpr std::pair<std::string_view, Does> kMarks[] = {
        {"*** Update File: ", Does::edits}, {"*** Add File: ", Does::writes}, {"*** Delete File: ", Does::edits}};
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      for (const auto& [mark, does] : kMarks) {
        if (line.starts_with(mark)) {
          touch(entry, line.substr(mark.size()), does);
        }
      }
      at = end + 1;
    }
  }

  void touch(const WorkEntry& entry, std::string_view path, Does does) {
    if (path.empty() || path.find('\0') != std::string_view::npos) {
      return;
    }
    FileWork& file = files_[whole(path)];
    file.path = whole(path);
    ++(does == Does::reads ? file.reads : does == Does::writes ? file.writes : file.edits);
    file.last_ms = entry.time_ms == Entry::kNoTime ? file.last_ms : entry.time_ms;
    if (file.entries.empty() || file.entries.back() != entry.ordinal) {
      file.entries.push_back(entry.ordinal);
    }
  }

  [[nodiscard]] std::string whole(std::string_view path) const {
    return folder_.empty() ? std::string(path) : (std::filesystem::path(folder_) / path).lexically_normal().string();
  }

  const Format& format_;
  std::vector<std::string> quoted_;  // the names of tools as they are in records
  std::string folder_;               // the working directory
  SessionWork work_;
  std::map<std::string, FileWork> files_;
  std::map<std::string, std::size_t> open_;  // by the ids of calls, places in work_.commands
};

std::string time_text(std::int64_t time_ms) {
  return time_ms == Entry::kNoTime ? std::string() : json::iso_time(time_ms);
}

}  // namespace

Result<SessionWork> session_work(const Session& session) {
  return WorkReader(session.format()).read(session);
}

std::string files_tsv(const SessionWork& work) {
  std::string text = "path\treads\tedits\twrites\tlast\tentries\n";
  for (const FileWork& file : work.files) {
    text += visible_line(file.path, kPathCharacters);
    for (const std::uint64_t number : {file.reads, file.edits, file.writes}) {
      text += "\t" + std::to_string(number);
    }
    text += "\t" + time_text(file.last_ms) + "\t";
    for (const Ordinal entry : file.entries) {
      text += (entry == file.entries.front() ? "" : ",") + std::to_string(entry);
    }
    text += "\n";
  }
  return text;
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
  return text;
}

}  // namespace arborfs
