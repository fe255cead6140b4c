#include "tools/arborfs/choice.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/render/text.h"

namespace arborfs::cli {
namespace {

/// The folder that a path on the command line names; "" for a word that is not a path.
std::string folder_meant(const std::string& word) {
  if (word != "." && word != ".." && word.find('/') == std::string::npos) {
    return "";
  }
  std::error_code failed;
  std::string folder = std::filesystem::absolute(word, failed).lexically_normal().string();
  if (folder.size() > 1 && folder.ends_with('/')) {
    folder.pop_back();
  }
  return folder;
}

bool is_of(const Listed& of, const std::string& project, const std::string& folder) {
  if (of.project->name == project || of.project->cwd == project) {
    return true;
  }
  std::error_code failed;
  return !folder.empty() &&
         (of.project->cwd == folder || of.project->cwd == std::filesystem::weakly_canonical(folder, failed).string());
}

/// The sessions of the project with this name, else of those whose names contain it.
std::vector<Listed> of_project(const std::vector<Listed>& all, const std::string& project) {
  const std::string folder = folder_meant(project);
  std::vector<Listed> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const Listed& of) { return is_of(of, project, folder); });
  if (chosen.empty() && folder.empty()) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                 [&](const Listed& of) { return of.project->name.find(project) != std::string::npos; });
  }
  return chosen;
}

/// "omp, pi and opal"; "" for none.
std::string agents_with_sessions(const CatalogView& view) {
  std::string words;
  for (const auto& [agent, places] : view.by_agent) {
    const bool is_last = agent == view.by_agent.rbegin()->first;
    words += (words.empty() ? "" : is_last ? " and " : ", ") + std::string(agent);
  }
  return words;
}

Error no_sessions_of_agent(const std::string& agent, const CatalogView& view) {
  const std::string others = agents_with_sessions(view);
  return {Errc::not_found, "there are no sessions of '" + visible_line(agent, kTitleCharacters) + "'" +
                               (others.empty() ? " or of any other agent" : "; there are sessions of " + others)};
}

Error no_sessions_of(const CommandLine& line) {
  const std::string folder = folder_meant(line.project);
  const std::string of_agent = line.agent.empty() ? "" : " of " + visible_line(line.agent, kTitleCharacters);
  const std::string project = visible_line(folder.empty() ? line.project : folder, kTitleCharacters);
  if (!of_agent.empty()) {
    return {Errc::not_found, "there are no sessions" + of_agent + (folder.empty() ? " in a project named '" : " in '") +
                                 project + "'; 'arborfs ls' lists all projects"};
  }
  return {Errc::not_found,
          (folder.empty() ? "no project is named '" + project + "'" : "no session was started in " + project) +
              "; 'arborfs ls' lists all projects"};
}

}  // namespace

Result<std::vector<Listed>> chosen_sessions(const CommandLine& line, const Catalog& catalog) {
  auto all = all_sessions(catalog);
  if (!line.agent.empty()) {
    std::erase_if(all, [&](const Listed& of) { return of.session->agent() != line.agent; });
    if (all.empty()) {
      return no_sessions_of_agent(line.agent, *catalog.view());
    }
  }
  if (!line.project.empty()) {
    all = of_project(all, line.project);
    if (all.empty()) {
      return no_sessions_of(line);
    }
  }
  return all;
}

}  // namespace arborfs::cli
