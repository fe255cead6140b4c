// A store of an agent that arborfs only reads, for tests: "heron" writes its logs as omp does, into the folders of an
// agent dir.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/reader.h"
#include "core/formats/omp/store/store.h"
#include "core/store/store.h"

namespace arborfs::testing {

inline const Format& heron_format() {
  static const Format format{"heron", "heron-jsonl", &omp::reader(), &omp::renderer(), {}};
  return format;
}

class ForeignStore : public Store {
 public:
  explicit ForeignStore(const std::string& agent_dir) : ForeignStore(omp::open_store(agent_dir)) {}

  [[nodiscard]] bool present() const override { return files_->present(); }
  [[nodiscard]] Result<std::vector<std::string>> folders() const override { return files_->folders(); }
  [[nodiscard]] bool is_log_name(std::string_view file) const override { return files_->is_log_name(file); }
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder, const HeadWanted& wants) const override {
    return files_->logs(folder, wants);
  }
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override { return files_->folder(place); }

 private:
  explicit ForeignStore(std::shared_ptr<Store> files)
      : Store(heron_format(), files->paths(), files->disk(), files->blobs()), files_(std::move(files)) {}
  const std::shared_ptr<Store> files_;
};

}  // namespace arborfs::testing
