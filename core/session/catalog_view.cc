#include <algorithm>

#include "core/session/catalog.h"

namespace arborfs {

namespace {

SessionPtr find_in(const std::vector<std::pair<std::string, SessionPtr>>& rows, std::string_view name) {
  const auto found = std::lower_bound(rows.begin(), rows.end(), name,
                                      [](const auto& row, std::string_view wanted) { return row.first < wanted; });
  return found != rows.end() && found->first == name ? found->second : nullptr;
}

}  // namespace

SessionPtr SessionFolder::find(std::string_view shown_name) const {
  return find_in(sessions, shown_name);
}

SessionPtr SessionFolder::find_native(std::string_view native_name) const {
  return find_in(native_names, native_name);
}

ProjectPtr CatalogView::project(std::string_view name) const {
  const auto found = std::lower_bound(projects.begin(), projects.end(), name,
                                      [](const auto& row, std::string_view wanted) { return row->name < wanted; });
  return found != projects.end() && (*found)->name == name ? *found : nullptr;
}

ProjectPtr CatalogView::project(std::uint32_t number) const {
  const auto found =
      std::find_if(projects.begin(), projects.end(), [&](const auto& row) { return row->number == number; });
  return found != projects.end() ? *found : nullptr;
}

SessionPtr CatalogView::session(std::uint32_t number) const {
  const auto found = where.find(number);
  return found != where.end() ? found->second.session() : nullptr;
}

std::string CatalogView::path_of(std::uint32_t number) const {
  const auto found = where.find(number);
  return found == where.end() ? std::string() : path_of(found->second);
}

std::string CatalogView::path_of(const ShownAt& place) const {
  std::string path;
  const ShownAt* at = &place;
  for (; at->starter != 0; at = &where.find(at->starter)->second) {
    path.insert(0, "/children/" + at->name());
  }
  constexpr std::string_view kTop = "projects/";
  const std::string& project = at->project->name;
  const std::string& name = at->name();
  std::string whole;
  whole.reserve(kTop.size() + project.size() + 1 + name.size() + path.size());
  ((((whole += kTop) += project) += '/') += name) += path;
  return whole;
}

bool CatalogView::is_child(std::uint32_t number) const {
  const auto found = where.find(number);
  return found != where.end() && found->second.starter != 0;
}

ProjectPtr CatalogView::project_of_folder(std::string_view folder) const {
  const auto found =
      std::find_if(by_folder.begin(), by_folder.end(), [&](const auto& row) { return row.first.name == folder; });
  return found != by_folder.end() ? project(std::string_view(found->second)) : nullptr;
}

SessionPtr CatalogView::by_id_prefix(std::string_view id) const {
  auto found = std::lower_bound(by_id.begin(), by_id.end(), id,
                                [](const auto& row, std::string_view wanted) { return row.first < wanted; });
  if (id.empty() || found == by_id.end() || !found->first.starts_with(id)) {
    return nullptr;
  }
  const auto next = std::next(found);
  const bool unique = found->first == id || next == by_id.end() || !next->first.starts_with(id);
  return unique ? found->second : nullptr;
}

SessionPtr CatalogView::by_id_prefix(std::string_view id, std::string_view agent) const {
  const auto members = by_agent.find(agent);
  if (id.empty() || members == by_agent.end()) {
    return nullptr;
  }
  const auto& places = members->second;
  const auto found =
      std::lower_bound(places.begin(), places.end(), id,
                       [this](std::uint32_t at, std::string_view wanted) { return by_id[at].first < wanted; });
  if (found == places.end() || !by_id[*found].first.starts_with(id)) {
    return nullptr;
  }
  const auto next = std::next(found);
  const bool unique = by_id[*found].first == id || next == places.end() || !by_id[*next].first.starts_with(id);
  return unique ? by_id[*found].second : nullptr;
}

CatalogView::AgentAndId CatalogView::split_agent(std::string_view spelled) const {
  const std::size_t colon = spelled.find(':');
  const auto agent = colon == std::string_view::npos ? by_agent.end() : by_agent.find(spelled.substr(0, colon));
  return agent == by_agent.end() ? AgentAndId{"", spelled} : AgentAndId{agent->first, spelled.substr(colon + 1)};
}

}  // namespace arborfs
