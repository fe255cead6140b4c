// Segments as they are on disk, in one folder, for ShownFiles. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/formats/codex/thread_table.h"
#include "core/store/shown_files.h"

namespace arborfs::codex {

class SegmentFiles final : public ShownFiles {
 public:
  /// `home` is Codex's folder. Segments whose files are gone are left out.
  SegmentFiles(std::string home, std::vector<SegmentFile> segments)
      : home_(std::move(home)), segments_(std::move(segments)) {}

  [[nodiscard]] bool takes_long(const std::string& /*path*/) const override { return false; }
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 private:
  [[nodiscard]] Result<SegmentFile> segment_of(const std::string& path) const;
  const std::string home_;
  const std::vector<SegmentFile> segments_;
};

}  // namespace arborfs::codex
