#include "core/views/tool_calls.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/store/format.h"

namespace arborfs {
namespace {

constexpr std::size_t kMostSearched = 16;  // open calls

/// An entry as the index has it, copied so that no lock is held while it is read.
struct IndexedEntry {
  std::size_t session = 0;
  Ordinal ordinal = kNoEntry;
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t time_ms = Entry::kNoTime;
  std::int64_t place_ms = Entry::kNoTime;  // the latest time up to this entry
  std::string name;
  bool counts = true;  // its calls
};

/// Which entries are on a branch, by their ordinals.
std::vector<bool> on_branch(const LogIndex& index, Ordinal end) {
  std::vector<bool> is_on(index.size() + std::size_t{1});
  for (const Ordinal step : people_entries(index, end)) {
    is_on[step] = true;
  }
  Ordinal last = kNoEntry;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (!index.is_aside(ordinal)) {
      last = ordinal;
    } else if (is_on[last]) {
      is_on[ordinal] = true;
    }
  }
  return is_on;
}

/// The calls of one session.
class CallReader {
 public:
  CallReader(const Format& format, CallTaker& taker) : format_(format), taker_(taker) {
    for (const ToolShape& shape : format.tools) {
      quoted_.push_back("\"" + std::string(shape.tool));  // also "local_shell_call"
    }
  }

  /// Copies the entries.
  Result<void> open(const CallsOf& calls, std::size_t place, std::vector<IndexedEntry>& entries) {
    ASSIGN_OR_RETURN(const auto guard, calls.session.read_index());
    const LogIndex& index = guard.index();
    log_ = guard.log();
    blobs_ = calls.session.store().blobs();
    name_ = calls.name;
    const auto is_on = calls.branch ? on_branch(index, *calls.branch == kNoEntry ? guard.leaf() : *calls.branch)
                                    : std::vector<bool>(index.size() + std::size_t{1}, true);
    std::int64_t latest = Entry::kNoTime;
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      const Entry& entry = index.entry(ordinal);
      latest = std::max(latest, entry.timestamp_ms);
      entries.push_back({place, ordinal, entry.type, entry.offset, index.length(ordinal), entry.timestamp_ms, latest,
                         std::string(index.name(ordinal)), is_on[ordinal]});
    }
    return {};
  }

  Result<void> read(const IndexedEntry& entry) {
    ASSIGN_OR_RETURN(const auto raw, log_->read(entry.offset, entry.length));
    if (may_matter(raw)) {
      std::vector<Turn> turns;
      format_.renderer->add_turns({entry.type, entry.name, raw, entry.time_ms, *blobs_}, turns);
      take({{entry.ordinal, name_}, entry.session, entry.time_ms, raw}, turns, entry.counts);
    }
    return {};
  }

 private:
  /// False for most entries, which are then not parsed.
  [[nodiscard]] bool may_matter(std::string_view raw) const {
    const auto has = [raw](const std::string& text) { return raw.find(text) != std::string_view::npos; };
    return open_.size() > kMostSearched || std::any_of(quoted_.begin(), quoted_.end(), has) ||
           std::any_of(open_.begin(), open_.end(), has);
  }

  void take(const CallEntry& entry, const std::vector<Turn>& turns, bool calls_count) {
    for (const Turn& turn : turns) {
      for (const TurnPart& part : turn.parts) {
        if (part.kind == TurnPart::Kind::tool_call && calls_count) {
          call(entry, part);
        } else if (part.kind == TurnPart::Kind::tool_result && open_.erase(part.call_id) != 0) {
          taker_.take_result(entry, part);
        }
      }
    }
  }

  void call(const CallEntry& entry, const TurnPart& part) {
    if (!part.call_id.empty() && !seen_.insert(part.call_id + '\n' + part.text).second) {
      return;  // the record stands there twice
    }
    json::Document arguments;
    const ToolShape* const shape = shape_of(format_, part, arguments);
    if (shape != nullptr && taker_.take_call(entry, part, *shape, arguments) && !part.call_id.empty()) {
      open_.insert(part.call_id);
    }
  }

  const Format& format_;
  CallTaker& taker_;
  std::shared_ptr<const LogSource> log_;
  std::shared_ptr<BlobStore> blobs_;
  std::string name_;
  std::vector<std::string> quoted_;  // the names of tools as they are in records
  std::set<std::string> seen_;       // ids of calls with their arguments
  std::set<std::string> open_;       // ids of calls whose results are wanted
};

bool fits(const ToolShape& shape, const json::Value& arguments) {
  const auto has = [&](std::string_view key) { return key.empty() || json::member(arguments, key) != nullptr; };
  return has(shape.subject) && has(shape.list.empty() ? shape.before : shape.list);
}

}  // namespace

const ToolShape* shape_of(const Format& format, const TurnPart& call, json::Document& arguments) {
  const auto is_its_name = [&](const ToolShape& shape) { return shape.tool == call.tool; };
  if (std::none_of(format.tools.begin(), format.tools.end(), is_its_name) || !json::parse(call.text, arguments)) {
    return nullptr;
  }
  const auto found = std::find_if(format.tools.begin(), format.tools.end(),
                                  [&](const ToolShape& shape) { return is_its_name(shape) && fits(shape, arguments); });
  return found == format.tools.end() ? nullptr : &*found;
}

std::string number_of(const EntryOf& entry) {
  return std::to_string(entry.ordinal) + (entry.session.empty() ? "" : " of " + entry.session);
}

Result<std::uint64_t> read_tool_calls(std::span<const CallsOf> sessions, CallTaker& taker) {
  std::vector<CallReader> readers;
  std::vector<IndexedEntry> entries;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    RETURN_IF_ERROR(readers.emplace_back(sessions[i].session.format(), taker).open(sessions[i], i, entries));
  }
  if (sessions.size() > 1) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const IndexedEntry& a, const IndexedEntry& b) { return a.place_ms < b.place_ms; });
  }
  std::uint64_t too_long = 0;
  for (const IndexedEntry& entry : entries) {
    if (Cancellation::is_requested()) {
      return Error{Errc::interrupted, "reading the session was cancelled"};
    }
    if (entry.length > kMaxRenderedEntry) {
      ++too_long;
    } else {
      RETURN_IF_ERROR(readers[entry.session].read(entry));
    }
  }
  return too_long;
}

Result<std::vector<std::string>> folders_of(std::span<const CallsOf> sessions) {
  std::vector<std::string> folders;
  for (const CallsOf& calls : sessions) {
    ASSIGN_OR_RETURN(const auto guard, calls.session.read_index());
    folders.emplace_back(guard.index().header().cwd);
  }
  return folders;
}

std::string whole_path(std::string_view path, const std::string& folder) {
  return folder.empty() ? std::string(path) : (std::filesystem::path(folder) / path).lexically_normal().string();
}

bool is_path(std::string_view text) {
  return !text.empty() && text.find('\0') == std::string_view::npos;
}

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

bool is_patch(std::string_view command) {
  return command.find("*** Begin Patch") != std::string_view::npos;
}

}  // namespace arborfs
