// Opal's sessions, in `sessions/` of its data folder: JSON lines and DETS tables (opal/FORMAT.md A1, D1). If a table
// and a log have the same id, the table is shown. Thread-safe.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/formats/opal/dets_translation.h"
#include "core/formats/opal/format.h"
#include "core/log/log_file.h"
#include "core/os/temp_file.h"
#include "core/store/log_listing.h"
#include "core/store/store_parts.h"
#include "core/store/stored_files.h"

namespace arborfs::opal {
namespace {

class Store final : public LogFolderStore, public HasNativeFiles, public HasFaults {
 public:
  Store(StorePaths paths, Disk& disk) : LogFolderStore(opal::format(), std::move(paths), "sessions", ".jsonl", disk) {}

  [[nodiscard]] const Format& format_of(const LogPlace& place) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  /// A table as its translation; read_raw_at() of it reads the table. Errors also: corrupt, too_large.
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<ShownFilesPtr> native_files(const LogPlace& place) const override;
  /// Logs hidden by a table with the same id, and files of interrupted rewrites by arborfs.
  [[nodiscard]] std::vector<FileFinding> faults() const override;
};

constexpr std::string_view kTableSuffix = ".dets";

bool is_table_name(std::string_view name) {
  return name.size() > kTableSuffix.size() && name.front() != '.' && name.ends_with(kTableSuffix);
}

/// The lines of a table, followed by the bytes of the table.
class TranslatedLog final : public LogSource {
 public:
  TranslatedLog(std::shared_ptr<const LogSource> table, std::string lines)
      : LogSource(table->opened()),
        table_(std::move(table)),
        lines_(log_from_bytes(std::move(lines), table_->opened())) {}

  [[nodiscard]] Result<std::uint64_t> size() const override { return lines_->size(); }
  [[nodiscard]] Result<FileStat> stat() const override { return table_->stat(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    return lines_->read_at(offset, into);
  }
  [[nodiscard]] std::string_view place() const override { return table_->place(); }
  [[nodiscard]] bool is_decoded() const override { return true; }
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const override {
    return table_->read_raw_at(offset, into);
  }

 private:
  const std::shared_ptr<const LogSource> table_;
  const std::shared_ptr<const LogSource> lines_;
};

}  // namespace

const Format& Store::format_of(const LogPlace& place) const {
  return is_table_name(place.file) ? opal::dets_format() : format();
}

std::optional<LogPlace> Store::log_of(const std::string& folder, const std::string& file) const {
  return is_table_name(file) ? std::optional(LogPlace{folder, file}) : LogFolderStore::log_of(folder, file);
}

Result<std::vector<FoundLog>> Store::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(auto found, LogFolderStore::logs(folder, wants_head));
  ASSIGN_OR_RETURN(const auto dir, this->folder({folder, ""}));
  ASSIGN_OR_RETURN(auto tables, list_logs(dir, folder, opal::dets_format(), is_table_name, {}));
  std::set<std::string_view> ids;
  for (const FoundLog& table : tables) {
    if (table.left_out.empty()) {
      ids.insert(table.place.stem());
    }
  }
  for (FoundLog& log : found) {
    if (log.left_out.empty() && ids.contains(log.place.stem())) {
      log.left_out = "a table with the same id is shown";
    }
  }
  const auto middle = static_cast<std::ptrdiff_t>(found.size());
  std::move(tables.begin(), tables.end(), std::back_inserter(found));
  std::inplace_merge(found.begin(), found.begin() + middle, found.end(),
                     [](const FoundLog& a, const FoundLog& b) { return a.place < b.place; });
  return found;
}

std::vector<FileFinding> Store::faults() const {
  std::vector<FileFinding> found;
  const auto dir = folder({"sessions", ""});
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  const auto add = [&](const std::string& file, std::string_view kind, std::string text) {
    found.push_back({paths().sessions + "/sessions/" + file, {kind, std::move(text)}});
  };
  if (dir) {
    for (const std::string& name : leftover_files(*dir)) {
      add(name, "leftover_temporary", "the temporary file of an unfinished rewrite of a log by arborfs");
      found.back().finding.leftover = found.back().path;
    }
  }
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const LogPlace place{"sessions", entry.name};
    const std::string table = std::string(place.stem()) + std::string(kTableSuffix);
    if (is_log_name(entry.name) && dir->stat(table)) {
      add(entry.name, "hidden_log", "the table " + table + " has the same id and is shown instead");
    }
  }
  return found;
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto file, LogFolderStore::open(place));
  if (!is_table_name(place.file)) {
    return file;
  }
  ASSIGN_OR_RETURN(auto lines, translate_dets(*file, Cancellation::token()));
  return std::shared_ptr<const LogSource>(std::make_shared<const TranslatedLog>(std::move(file), std::move(lines)));
}

Result<ShownFilesPtr> Store::native_files(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto dir, folder(place));
  return ShownFilesPtr(std::make_unique<const StoredFiles>(std::move(dir), std::vector<std::string>{place.file}));
}

std::shared_ptr<arborfs::Store> make_store(const std::string& data_dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(data_dir);
  paths.sessions = paths.agent_dir;
  return std::make_shared<Store>(std::move(paths), disk);
}

}  // namespace arborfs::opal
