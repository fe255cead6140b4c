// A store of an agent that arborfs only reads, for tests: "heron" writes its logs as omp does, into the folders of an
// agent dir.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/omp/context/omp_renderer.h"
#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/store/omp_store.h"
#include "core/store/session_store.h"

namespace arborfs::testing {

inline const Format& heron_format() {
  static const Format format{"heron", "heron-jsonl", &omp_reader(), &omp_renderer(), {}};
  return format;
}

class ForeignStore : public SessionStore {
 public:
  explicit ForeignStore(const std::string& agent_dir) : files_(open_store(agent_dir)) {}

  [[nodiscard]] const Format& format() const override { return heron_format(); }
  [[nodiscard]] const StorePaths& paths() const override { return files_->paths(); }
  [[nodiscard]] Disk& disk() const override { return files_->disk(); }
  [[nodiscard]] bool present() const override { return files_->present(); }
  [[nodiscard]] Result<std::vector<std::string>> folders() const override { return files_->folders(); }
  [[nodiscard]] bool is_log_name(std::string_view file) const override { return files_->is_log_name(file); }
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder, const HeadWanted& wants) const override {
    return files_->logs(folder, wants);
  }
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place) const override { return files_->stat(place); }
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override {
    return files_->open(place);
  }
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override { return files_->folder(place); }
  [[nodiscard]] Result<Dir> artifacts(const LogPlace& place) const override { return files_->artifacts(place); }
  [[nodiscard]] std::vector<Breadcrumb> breadcrumbs() const override { return files_->breadcrumbs(); }
  [[nodiscard]] const std::shared_ptr<BlobStore>& blobs() const override { return files_->blobs(); }
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) override {
    return files_->writer(place);
  }
  [[nodiscard]] Result<std::unique_ptr<LogDraft>> draft(const LogPlace& place, mode_t permissions) override {
    return files_->draft(place, permissions);
  }
  [[nodiscard]] Result<std::unique_ptr<LogDraft>> redraft(const LogPlace& place, const LogPlace& to) override {
    return files_->redraft(place, to);
  }
  Result<void> publish(LogDraft& draft, const LogPlace& place, Disk::Existing existing, bool sync) override {
    return files_->publish(draft, place, existing, sync);
  }
  Result<void> move(const LogPlace& from, const LogPlace& to) override { return files_->move(from, to); }

 private:
  const std::shared_ptr<SessionStore> files_;
};

}  // namespace arborfs::testing
