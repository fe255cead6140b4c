// What --agent and --project select.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/arborfs/access.h"

namespace arborfs::cli {

/// The project that the word after --project names.
class MeantProject {
 public:
  explicit MeantProject(const std::string& word);
  /// True for the project with this name or working directory.
  [[nodiscard]] bool is(std::string_view name, std::string_view cwd) const;
  /// True if the word is a part of the name: this counts if no project is the one that the word names.
  [[nodiscard]] bool is_part_of(std::string_view name) const;
  /// The folder, if the word is a path; else "".
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// The project of the folder above it; nothing for a word that is no path, for a
  /// relative one of no folder, and below the root.
  [[nodiscard]] std::optional<MeantProject> above() const;

 private:
  std::string word_;
  std::string folder_;
  std::string resolved_;  // the folder without links
};

/// The project that the word names; for a folder without sessions, that of the nearest one above it that has any.
MeantProject project_meant(const std::string& word, const Catalog& catalog);

/// Fails with not_found if the word after --project is a relative path and the current folder does not exist any more.
Result<void> check_project(const std::string& word);

/// Newest first. For a verb that does not remove sessions, a path is meant as by project_meant. Errors: not_found if an
/// option selects no session.
Result<std::vector<Listed>> chosen_sessions(const CommandLine& line, const Catalog& catalog);

}  // namespace arborfs::cli
