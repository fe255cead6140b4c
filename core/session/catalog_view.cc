#include <algorithm>

#include "core/session/catalog.h"

namespace arborfs {

SessionPtr Project::find(std::string_view shown_name) const {
  const auto found = std::lower_bound(sessions.begin(), sessions.end(), shown_name,
                                      [](const auto& row, std::string_view wanted) { return row.first < wanted; });
  return found != sessions.end() && found->first == shown_name ? found->second : nullptr;
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

}  // namespace arborfs
