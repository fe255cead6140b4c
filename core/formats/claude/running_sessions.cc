#include "core/formats/claude/running_sessions.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "core/json/document.h"
#include "core/os/file.h"
#include "core/os/proc_entry.h"
#include "core/os/processes.h"
#include "core/store/session_store.h"

namespace arborfs::claude {
namespace {

constexpr std::string_view kNoteSuffix = ".json";
constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kLongestFile = 64 * 1024;

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_number = !digits.empty() && std::from_chars(digits.data(), end, number).ptr == end;
  return is_number ? std::optional(number) : std::nullopt;
}

/// The process that a file with this name describes; other names belong to keys, and to files that are being written.
std::optional<long> pid_in(std::string_view name) {
  const auto pid =
      name.ends_with(kNoteSuffix) ? number_of(name.substr(0, name.size() - kNoteSuffix.size())) : std::nullopt;
  return pid && *pid > 0 ? std::optional(static_cast<long>(*pid)) : std::nullopt;
}

/// True if the process runs and is the one that wrote the file: its number may have been reused.
bool is_writer(long pid, const std::string& started) {
  const auto proc = Dir::open_root("/proc");
  const UniqueFd process = proc::open_process(proc ? proc->fd() : -1, pid);
  const auto ticks = proc::start_ticks(process.get());
  return ticks && std::to_string(*ticks) == started && is_process_alive(pid);
}

/// A string or a number, as text.
std::string text_member(const json::Value& object, const char* key) {
  const auto text = json::string_member(object, key);
  if (text) {
    return std::string(*text);
  }
  const json::Value* number = json::member(object, key);
  return number != nullptr && number->IsNumber() ? json::number_text(number->GetDouble()) : "";
}

/// The session named by its place, even for a sub-agent's transcript in `<project>/<session>/subagents`.
std::string_view session_of(const LogPlace& place) {
  std::string_view folder = place.folder;
  const std::size_t slash = folder.find('/');
  if (slash == std::string_view::npos) {
    return place.stem();
  }
  folder.remove_prefix(slash + 1);
  return folder.substr(0, folder.find('/'));
}

}  // namespace

RunningSessions::RunningSessions(const std::string& config_dir) {
  const auto folder = Dir::open_below_root(config_dir, "sessions");
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  std::size_t files = 0;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto pid = pid_in(entry.name);
    if (!pid || ++files > kMostFiles) {
      continue;
    }
    const auto file = File::open_in(*folder, entry.name);
    const auto text = file ? file->read(0, kLongestFile) : Result<std::string>(file.error());
    json::Document document;
    if (!text || !json::parse(*text, document)) {
      continue;
    }
    const auto session = json::string_member(document, "sessionId");
    if (session && is_writer(*pid, text_member(document, "procStart"))) {
      by_session_.emplace(std::string(*session), *pid);
      pids_.insert(*pid);
    }
  }
}

std::vector<std::string> RunningSessions::of(const LogPlace& place) const {
  std::vector<std::string> found;
  const auto [first, last] = by_session_.equal_range(session_of(place));
  for (auto at = first; at != last; ++at) {
    found.push_back("claude (process " + std::to_string(at->second) + ") has it open");
  }
  return found;
}

}  // namespace arborfs::claude
