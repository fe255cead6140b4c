#include "tools/arborfs/choice.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/base/suggestion.h"
#include "core/base/words.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/os/environment.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

bool is_path(const std::string& word) {
  return word == "." || word == ".." || word.find('/') != std::string::npos;
}

/// The folder that a path on the command line names; "" for a word that is not a path.
std::string folder_meant(const std::string& word) {
  if (!is_path(word)) {
    return "";
  }
  std::error_code failed;
  return normal_path(std::filesystem::absolute(word, failed).string());
}

/// The sessions of the project with this name, else of those whose names contain it.
std::vector<Listed> of_project(const std::vector<Listed>& all, const MeantProject& meant) {
  std::vector<Listed> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const Listed& of) { return meant.is(of.project->name, of.project->cwd); });
  if (chosen.empty()) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                 [&](const Listed& of) { return meant.is_part_of(of.project->name); });
  }
  return chosen;
}

Error no_sessions_of_agent(const std::string& agent, const CatalogView& view) {
  std::vector<std::string> others;
  for (const auto& [other, places] : view.by_agent) {
    others.emplace_back(other);
  }
  return {Errc::not_found, "there are no sessions of '" + visible_line(agent, kTitleCharacters) + "'" +
                               (others.empty() ? " or of any other agent"
                                               : "; there are sessions of " + join_words(others) +
                                                     did_you_mean(nearest(agent, others)))};
}

/// True if sessions of a folder above the current one are meant if it has none: not where the verb removes them.
bool climbs(const CommandLine& line) {
  return line.access == Access::look || line.run == run_resume;
}

/// The name of a project, or the last part of a working directory, that the word is near to; "" for none.
std::string project_near(const std::string& word, const CatalogView& view) {
  std::vector<std::string> names;
  for (const ProjectPtr& project : view.projects) {
    names.push_back(project->name);
    names.push_back(std::filesystem::path(project->cwd).filename().string());
  }
  return nearest(word, names);
}

Error no_sessions_of(const CommandLine& line, const CatalogView& view) {
  const std::string folder = folder_meant(line.project);
  const std::string of_agent = line.agent.empty() ? "" : " of " + visible_line(line.agent, kTitleCharacters);
  const std::string project = visible_line(folder.empty() ? line.project : folder, kTitleCharacters);
  if (!of_agent.empty()) {
    return {Errc::not_found, "there are no sessions" + of_agent + (folder.empty() ? " in a project named '" : " in '") +
                                 project + "'; 'arborfs ls' lists all projects"};
  }
  return {Errc::not_found,
          (folder.empty() ? "no project is named '" + project + "'"
                          : "no session was started in " + project + (climbs(line) ? " or in a folder above it" : "")) +
              "; 'arborfs ls' lists all projects" +
              did_you_mean(folder.empty() ? visible_line(project_near(line.project, view), kTitleCharacters) : "")};
}

}  // namespace

MeantProject::MeantProject(const std::string& word) : word_(word), folder_(folder_meant(word)) {
  std::error_code failed;
  resolved_ = folder_.empty() ? "" : std::filesystem::weakly_canonical(folder_, failed).string();
}

bool MeantProject::is(std::string_view name, std::string_view cwd) const {
  const bool is_folder = !cwd.empty() && (cwd == folder_ || cwd == resolved_);  // either is empty if it is unknown
  return name == word_ || cwd == word_ || is_folder;
}

std::optional<MeantProject> MeantProject::above() const {
  std::error_code failed;
  if (!word_.starts_with('/') && !std::filesystem::is_directory(folder_, failed)) {
    return std::nullopt;  // a misspelt one would mean the folder that the user is in
  }
  const std::string parent = std::filesystem::path(folder_).parent_path().string();
  return parent.size() < 2 ? std::nullopt : std::optional(MeantProject(parent));
}

MeantProject project_meant(const std::string& word, const Catalog& catalog) {
  const auto all = all_sessions(catalog);
  const MeantProject named(word);
  for (std::optional<MeantProject> meant = named; meant; meant = meant->above()) {
    if (std::any_of(all.begin(), all.end(),
                    [&](const Listed& of) { return meant->is(of.project->name, of.project->cwd); })) {
      return *meant;
    }
  }
  return named;
}

bool MeantProject::is_part_of(std::string_view name) const {
  return folder_.empty() && names::is_in_project_name(word_, name);
}

Result<void> check_project(const std::string& word) {
  std::error_code failed;
  if (is_path(word) && !word.starts_with('/')) {
    static_cast<void>(std::filesystem::current_path(failed));
  }
  return failed ? Result<void>(Errc::not_found, "the current folder does not exist any more; name the project")
                : Result<void>();
}

Result<std::vector<Listed>> chosen_sessions(const CommandLine& line, const Catalog& catalog) {
  auto all = all_sessions(catalog);
  if (!line.agent.empty()) {
    std::erase_if(all, [&](const Listed& of) { return of.session->agent() != line.agent; });
    if (all.empty()) {
      return no_sessions_of_agent(line.agent, *catalog.view());
    }
  }
  if (!line.project.empty()) {
    all = of_project(all, climbs(line) ? project_meant(line.project, catalog) : MeantProject(line.project));
    if (all.empty()) {
      return no_sessions_of(line, *catalog.view());
    }
  }
  if (!line.tag.empty()) {
    NotesOfAgents notes(catalog.notes());
    std::erase_if(all, [&](const Listed& of) { return !notes.has_tag(*of.session, line.tag); });
    if (notes.problem()) {
      return *notes.problem();
    }
    if (all.empty()) {
      return Error{Errc::not_found, "no session has the tag '" + visible_line(line.tag, kTitleCharacters) +
                                        "'; tag one by: arborfs tag SESSION TAG"};
    }
  }
  return all;
}

}  // namespace arborfs::cli
