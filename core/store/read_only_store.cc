#include "core/store/read_only_store.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/log/log_file.h"
#include "core/store/log_listing.h"

namespace arborfs {

namespace {

class NoBlobs final : public BlobStore {
 public:
  [[nodiscard]] Result<std::vector<std::string>> list() const override { return std::vector<std::string>(); }
  [[nodiscard]] Result<FileStat> stat(std::string_view /*hash*/) const override { return no_blob(); }
  [[nodiscard]] Result<std::shared_ptr<const File>> open(std::string_view /*hash*/) const override { return no_blob(); }
  Result<void> put(std::string_view /*hash*/, std::string_view /*bytes*/, bool /*sync*/) override { return no_blob(); }

 private:
  static Error no_blob() { return {Errc::not_found, "this agent keeps no blobs"}; }
};

}  // namespace

ReadOnlyStore::ReadOnlyStore(const Format& format, StorePaths paths, Disk& disk)
    : format_(format), paths_(std::move(paths)), disk_(disk), blobs_(std::make_shared<NoBlobs>()) {}

Error ReadOnlyStore::refusal() const {
  return only_reads(format_);
}

Result<Dir> ReadOnlyStore::artifacts(const LogPlace& /*place*/) const {
  return Error{Errc::not_found, "this agent keeps no files next to a session"};
}

Result<std::unique_ptr<LogWriter>> ReadOnlyStore::writer(const LogPlace& /*place*/) {
  return refusal();
}

Result<std::unique_ptr<LogDraft>> ReadOnlyStore::draft(const LogPlace& /*place*/, mode_t /*permissions*/) {
  return refusal();
}

Result<std::unique_ptr<LogDraft>> ReadOnlyStore::redraft(const LogPlace& /*place*/, const LogPlace& /*to*/) {
  return refusal();
}

Result<void> ReadOnlyStore::publish(LogDraft& /*draft*/, const LogPlace& /*place*/, Disk::Existing /*existing*/,
                                    bool /*sync*/) {
  return refusal();
}

Result<void> ReadOnlyStore::move(const LogPlace& /*from*/, const LogPlace& /*to*/) {
  return refusal();
}

LogFolderStore::LogFolderStore(const Format& format, StorePaths paths, std::string folder, std::string suffix,
                               Disk& disk)
    : ReadOnlyStore(format, std::move(paths), disk), folder_(std::move(folder)), suffix_(std::move(suffix)) {}

bool LogFolderStore::present() const {
  return Dir::follow_below_root(paths().sessions, folder_).has_value();
}

Result<std::vector<std::string>> LogFolderStore::folders() const {
  ASSIGN_OR_RETURN(const auto dir, Dir::follow_below_root(paths().sessions, folder_));
  return std::vector{folder_};
}

bool LogFolderStore::is_log_name(std::string_view file) const {
  return file.size() > suffix_.size() && file.front() != '.' && file.ends_with(suffix_);
}

Result<std::vector<FoundLog>> LogFolderStore::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(const auto dir, open_folder(folder));
  return list_logs(
      dir, folder, format(), [this](std::string_view name) { return is_log_name(name); }, wants_head);
}

Result<FileStat> LogFolderStore::stat(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  return stat_log(dir, place.file);
}

Result<std::shared_ptr<const LogSource>> LogFolderStore::open(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  auto reopen = [root = paths().sessions, place]() -> Result<File> {
    ASSIGN_OR_RETURN(const auto again, Dir::follow_below_root(root, place.folder));
    return File::follow_in(again, place.file);
  };
  return LogFile::open(dir, place.file, std::move(reopen), place.folder);
}

Result<Dir> LogFolderStore::folder(const LogPlace& place) const {
  return open_folder(place.folder);
}

/// Other folders of the agent never belong to the store.
Result<Dir> LogFolderStore::open_folder(const std::string& folder) const {
  return folder == folder_ ? Dir::follow_below_root(paths().sessions, folder)
                           : Result<Dir>(Errc::not_found, "no sessions folder");
}

}  // namespace arborfs
