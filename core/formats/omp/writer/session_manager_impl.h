// The store, catalog and writer of a SessionManager. Only for session_manager*.cc.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "core/formats/omp/writer/session_manager.h"

namespace arborfs {

inline Error no_such_entry() {
  return {Errc::not_found, "no entry has this id"};
}

struct SessionManager::Impl {
  Impl(std::shared_ptr<SessionStore> of, const ManagerSettings& settings, const std::string& state)
      : store(std::move(of)), catalog(store, home_of(settings), state), writer(catalog, settings.writes) {
    catalog.rescan();
  }
  static std::string home_of(const ManagerSettings& settings) {
    const char* home = std::getenv("HOME");
    return settings.home.empty() && home != nullptr ? home : settings.home;
  }
  const std::shared_ptr<SessionStore> store;
  Catalog catalog;
  OmpWriter writer;
};

}  // namespace arborfs
