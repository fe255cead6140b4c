#include "core/formats/claude/expiry.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/file.h"
#include "core/os/temp_file.h"

namespace arborfs::claude {

namespace {

constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;
constexpr std::int64_t kWeekNs = 7 * kDayNs;
constexpr double kUsualDays = 30;
constexpr double kForEver = 36'500;  // a value that it was seen to take; more is no longer than this for anybody
constexpr const char* kSettings = "settings.json";
constexpr const char* kPeriod = "cleanupPeriodDays";
constexpr std::size_t kMostSettings = std::size_t{4} << 20U;
constexpr mode_t kNewSettings = 0600;
constexpr std::size_t kDate = 10;  // characters of 2026-02-16

struct Settings {
  std::string text;  // "" without the file
  bool is_object = false;
  double days = kUsualDays;  // kForEver at most
};

/// It ignores the whole file if one member is not valid, as 0 days are not. Errors: those of opening and reading it,
/// but for a missing file; too_large.
Result<Settings> settings_in(const Dir& config) {
  Settings settings;
  const auto file = File::follow_in(config, kSettings);
  if (!file) {
    return file.error().code == Errc::not_found ? Result<Settings>(std::move(settings)) : file.error();
  }
  ASSIGN_OR_RETURN(settings.text, file->read(0, kMostSettings + 1));
  if (settings.text.size() > kMostSettings) {
    return Error{Errc::too_large, "the settings are longer than any that Claude Code writes"};
  }
  json::Document document;
  settings.is_object = json::parse(settings.text, document) && document.IsObject();
  const auto days = settings.is_object ? json::number_member(document, kPeriod) : std::nullopt;
  settings.days = days && *days >= 1 && std::floor(*days) == *days ? std::min(*days, kForEver) : kUsualDays;
  return settings;
}

Finding expiry(const std::string& session, std::int64_t deleted_ns, std::int64_t now_ns) {
  const std::string day = json::iso_time(deleted_ns / 1'000'000).substr(0, kDate);
  return {.kind = "expires",
          .text = "Claude Code deletes the session " + session +
                  (deleted_ns < now_ns ? " when it next runs" : " on " + day) + "; keep it by: arborfs protect " +
                  session,
          .is_note = true};
}

/// Sets the mtimes of files, and of folders with the files in them, and goes on where one cannot be set.
class Toucher {
 public:
  Toucher(Disk& disk, std::int64_t now_ns) : disk_(disk), now_ns_(now_ns) {}

  /// Nothing to do if there is no such name.
  void touch(const Dir& in, const std::string& name) {
    const auto folder = in.open_in(name);
    const auto file = folder ? Result<File>(Errc::not_found, "") : File::open_in(in, name);
    const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(std::vector<DirEntry>());
    for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
      if (entry.type == DT_REG) {
        touch(*folder, entry.name);
      }
    }
    if (folder || file) {
      set_time(folder ? folder->fd() : file->fd(), folder ? folder->stat() : file->stat());
      count_ += file ? 1 : 0;
    } else if (in.stat(name)) {
      note(file.error());
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }  // of files
  [[nodiscard]] std::vector<Effect> take_effects() { return std::move(effects_); }
  [[nodiscard]] const Result<void>& outcome() const { return outcome_; }

 private:
  void set_time(int fd, const Result<FileStat>& before) {
    const auto done = before ? disk_.set_mtime(fd, now_ns_) : Result<void>(before.error());
    note(done);
    if (done) {
      effects_.push_back(effect_of_time(path_of(fd), before->mtime_ns, now_ns_));
    }
  }
  void note(const Result<void>& done) { outcome_ = outcome_ ? done : outcome_; }
  Disk& disk_;
  const std::int64_t now_ns_;
  std::size_t count_ = 0;
  std::vector<Effect> effects_;
  Result<void> outcome_;
};

/// Errors: stale if another program changed the file meanwhile.
Result<void> replace_settings(Disk& disk, const Dir& config, const std::string& before, std::string_view text) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(config, kSettings));
  ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk, config, kNewSettings));
  RETURN_IF_ERROR(draft->keep_attributes(file));
  RETURN_IF_ERROR(draft->write(text));
  RETURN_IF_ERROR(draft->finish(true));
  const auto is_as_read = [&](const File& old) {
    const auto now = old.read(0, kMostSettings);
    return now && *now == before;
  };
  ASSIGN_OR_RETURN(const bool is_replaced, draft->replace(kSettings, is_as_read));
  return is_replaced ? disk.sync_folder(config)
                     : Result<void>(Errc::stale, "another program changed the settings meanwhile; try again");
}

}  // namespace

std::int64_t cleanup_days(const std::string& config_dir) {
  const auto config = Dir::open_root(config_dir);
  const auto settings = config ? settings_in(*config) : Result<Settings>(config.error());
  return static_cast<std::int64_t>(settings ? settings->days : kUsualDays);
}

std::vector<FileFinding> expiring_sessions(const StorePaths& paths, const std::vector<std::string>& projects,
                                           std::int64_t now_ns) {
  const std::int64_t kept_ns = cleanup_days(paths.agent_dir) * kDayNs;
  std::vector<std::pair<std::int64_t, std::string>> expiring;
  for (const std::string& project : projects) {
    const auto dir = Dir::follow_below_root(paths.sessions, project);
    const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
    for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
      constexpr std::string_view kEnding = ".jsonl";
      const auto st = entry.name.ends_with(kEnding) ? dir->stat(entry.name) : Result<FileStat>(Errc::not_found, "");
      if (st && S_ISREG(st->mode) && st->mtime_ns + kept_ns < now_ns + kWeekNs) {
        expiring.emplace_back(st->mtime_ns + kept_ns, entry.name.substr(0, entry.name.size() - kEnding.size()));
      }
    }
  }
  std::sort(expiring.begin(), expiring.end());
  std::vector<FileFinding> found;
  for (const auto& [deleted_ns, session] : expiring) {
    found.push_back({paths.sessions, expiry(session, deleted_ns, now_ns)});
  }
  return found;
}

/// It looks at mtimes alone: those of the transcript, and of the outputs and file copies that it keeps by themselves.
Result<CanProtect::Protected> protect_session(const arborfs::Store& store, const LogPlace& place, std::int64_t now_ns) {
  const std::string id(place.stem());
  ASSIGN_OR_RETURN(const auto project, store.folder(place));
  ASSIGN_OR_RETURN(const auto config, Dir::open_root(store.paths().agent_dir));
  Toucher times(store.disk(), now_ns);
  times.touch(project, place.file);
  RETURN_IF_ERROR(times.outcome());
  if (const auto folder = project.open_in(id)) {
    times.touch(*folder, "tool-results");
  }
  for (const char* of_sessions : {"file-history", "tasks", "image-cache"}) {
    if (const auto folder = config.open_in(of_sessions)) {
      times.touch(*folder, id);
    }
  }
  const auto& outcome = times.outcome();
  const std::int64_t days = cleanup_days(store.paths().agent_dir);
  std::string words = "the modification times of " + counted(times.count(), "file") +
                      " are set to now, so Claude Code keeps them for " +
                      counted(static_cast<std::uint64_t>(days), "day") + " more, and takes the session for the latest" +
                      (outcome ? "" : "; not of all that belongs to it: " + outcome.error().message);
  return CanProtect::Protected{std::move(words), times.take_effects()};
}

Result<CanProtect::Protected> protect_all_sessions(const std::string& config_dir, Disk& disk) {
  const std::string path = config_dir + "/" + kSettings;
  const std::string wanted = std::to_string(static_cast<std::int64_t>(kForEver));
  ASSIGN_OR_RETURN(const auto config, Dir::open_root(config_dir));
  const auto st = config.stat(kSettings);
  if (st && !S_ISREG(st->mode)) {
    return Error{Errc::unsupported,
                 path + " is no regular file; set \"" + kPeriod + "\": " + wanted + " in it by hand"};
  }
  ASSIGN_OR_RETURN(const Settings settings, settings_in(config));
  if (st && !settings.is_object) {
    return Error{Errc::corrupt, path + " is no JSON object, so Claude Code ignores it; mend it first"};
  }
  if (settings.days == kForEver) {
    return CanProtect::Protected{path + ": " + kPeriod + " is " + wanted + " or more already", {}};
  }
  const std::string text = skim::set_member(st ? settings.text : "{}\n", kPeriod, wanted, skim::Layout::lines);
  RETURN_IF_ERROR(st ? replace_settings(disk, config, settings.text, text)
                     : write_whole_file(disk, config, kSettings, kNewSettings, text, Disk::Existing::keep, true));
  std::string words = path + ": " + kPeriod + " is now " + wanted + " (" +
                      counted(static_cast<std::uint64_t>(settings.days), "day") +
                      " held before), so Claude Code deletes no session, unless the settings of a project or of an "
                      "administrator say otherwise";
  return CanProtect::Protected{std::move(words),
                               {effect_of(st ? replaced_in(path, settings.text, text, *st) : made_file(path, text))}};
}

}  // namespace arborfs::claude
