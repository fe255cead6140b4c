#include "core/store/log_listing.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/log/log_file.h"
#include "core/log/log_reader.h"

namespace arborfs {
namespace {

constexpr std::array<std::string_view, 4> kCompressed{".gz", ".zst", ".xz", ".bz2"};

/// False if it cannot be read.
bool read_head(const Dir& dir, const Format& format, FoundLog& log) {
  const std::int64_t started = now_ns();
  const auto file = LogFile::open(dir, log.place.file, {}, log.place.folder);
  auto header = file ? format.reader->read_header(**file) : Result<Header>(file.error());
  if (!header) {
    return false;
  }
  log.stat = (*file)->opened();
  log.head = FoundHead{std::move(header).value(), started};
  return true;
}

/// False if the file has vanished.
bool find_stat(const Dir& dir, FoundLog& log) {
  const auto st = log.is_linked ? dir.stat_end(log.place.file) : dir.stat(log.place.file);
  if (st) {
    log.stat = *st;
    log.left_out = S_ISREG(st->mode) ? "" : "a link to " + why_no_file(static_cast<unsigned char>(IFTODT(st->mode)));
    return true;
  }
  log.left_out = st.error().message;
  return st.error().code != Errc::not_found;
}

/// Adds what a directory entry with the name of a log is.
void add_found(const Dir& dir, const DirEntry& entry, const Format& format, const HeadWanted& wants_head, FoundLog log,
               std::vector<FoundLog>& found) {
  log.is_linked = entry.type == DT_LNK || dir.is_linked();
  if (entry.type != DT_REG && entry.type != DT_LNK) {
    log.left_out = why_no_file(entry.type);
    found.push_back(std::move(log));
  } else if ((wants_head && wants_head(log.place) && read_head(dir, format, log)) || find_stat(dir, log)) {
    found.push_back(std::move(log));
  }
}

}  // namespace

std::string_view why_not_compressed(std::string_view name, const IsLogName& is_log_name) {
  for (const std::string_view ending : kCompressed) {
    if (name.ends_with(ending) && is_log_name(name.substr(0, name.size() - ending.size()))) {
      return "compressed in a way that its agent does not read";
    }
  }
  return "";
}

std::string why_no_file(unsigned char type) {
  switch (type) {
    case DT_DIR:
      return "a folder";
    case DT_FIFO:
      return "a FIFO";
    case DT_SOCK:
      return "a socket";
    default:
      return "a device";
  }
}

std::vector<FoundLog> logs_among(const std::vector<DirEntry>& entries, const Dir& dir, const std::string& folder,
                                 const Format& format, const IsLogName& is_log_name, const HeadWanted& wants_head,
                                 const WhyLeftOut& why_left_out) {
  std::vector<FoundLog> found;
  for (const auto& entry : entries) {
    if (is_log_name(entry.name)) {
      add_found(dir, entry, format, wants_head, FoundLog{LogPlace{folder, entry.name}, {}, {}}, found);
      continue;
    }
    const std::string_view why = why_left_out ? why_left_out(entry.name) : why_not_compressed(entry.name, is_log_name);
    if (!why.empty() && entry.type != DT_DIR) {
      found.push_back({LogPlace{folder, entry.name}, {}, {}, false, std::string(why)});
    }
  }
  return found;
}

Result<std::vector<FoundLog>> list_logs(const Dir& dir, const std::string& folder, const Format& format,
                                        const IsLogName& is_log_name, const HeadWanted& wants_head,
                                        const WhyLeftOut& why_left_out) {
  ASSIGN_OR_RETURN(const auto entries, dir.list());
  return logs_among(entries, dir, folder, format, is_log_name, wants_head, why_left_out);
}

bool may_be_folder(const Dir& dir, const DirEntry& entry) {
  if (entry.type != DT_LNK) {
    return entry.type == DT_DIR;
  }
  const auto end = dir.stat_end(entry.name);
  return end ? S_ISDIR(end->mode) : end.error().code != Errc::not_found;
}

LogFolderStore::LogFolderStore(const Format& format, StorePaths paths, std::string folder, std::string suffix,
                               Disk& disk)
    : Store(format, std::move(paths), disk), folder_(std::move(folder)), suffix_(std::move(suffix)) {}

bool LogFolderStore::present() const {
  return folders().has_value();
}

Result<std::vector<std::string>> LogFolderStore::folders() const {
  RETURN_IF_ERROR(folder({folder_, ""}));
  return std::vector{folder_};
}

bool LogFolderStore::is_log_name(std::string_view file) const {
  return file.size() > suffix_.size() && file.front() != '.' && file.ends_with(suffix_);
}

Result<std::vector<FoundLog>> LogFolderStore::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(const auto dir, this->folder({folder, ""}));
  return list_logs(
      dir, folder, format(), [this](std::string_view name) { return is_log_name(name); }, wants_head);
}

Result<Dir> LogFolderStore::folder(const LogPlace& place) const {
  return place.folder == folder_ ? Dir::follow_below_root(paths().sessions, folder_)
                                 : Result<Dir>(Errc::not_found, "no sessions folder");
}

}  // namespace arborfs
