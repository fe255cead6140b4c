// Opens segments for one task, each file and each folder once. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/formats/codex/thread_table.h"
#include "core/log/log_source.h"

namespace arborfs::codex {

class SegmentOpener {
 public:
  enum class Use : std::uint8_t {
    once,     // the files are read now and closed; of compressed ones only the first line is there
    lasting,  // they stay open, and give their descriptors to others when those become scarce
  };
  /// `home` is Codex's folder.
  SegmentOpener(std::string home, Use use);

  /// The same object for the same segment until let_go(). A compressed one is decoded. Errors: those of LogFile and
  /// ZstdLog.
  Result<std::shared_ptr<const LogSource>> open(const SegmentFile& file);
  /// Forgets the files, not the folder that was opened last.
  void let_go() { files_.clear(); }

 private:
  [[nodiscard]] Result<void> go_to(const std::string& folder);
  const std::string home_;
  const Use use_;
  std::string folder_;                                                       // below home_
  std::optional<Dir> dir_;                                                   // of folder_
  std::unordered_map<std::string, std::shared_ptr<const LogSource>> files_;  // by segment
};

}  // namespace arborfs::codex
