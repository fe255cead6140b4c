// The sums over all sessions of a store, for tests of what counts once.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/registry.h"
#include "core/entry/record_renderer.h"
#include "core/session/catalog.h"
#include "core/views/stats.h"

namespace arborfs::testing {

/// A store of an agent in a scratch folder, whose files a test writes as lists of lines.
class StoreOfLines {
 public:
  StoreOfLines(std::string agent, std::string dir) : agent_(std::move(agent)), dir_(std::move(dir)) {}

  using Lines = std::vector<std::string>;
  std::map<std::string, Lines> files;  // by their paths in the store

  void write() const {
    std::filesystem::remove_all(dir_);
    for (const auto& [path, lines] : files) {
      const std::filesystem::path file = std::filesystem::path(dir_) / path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream out(file, std::ios::binary);
      for (const std::string& line : lines) {
        out << line << '\n';
      }
    }
  }

  [[nodiscard]] std::unique_ptr<Catalog> open() const {
    auto stores = open_stores({{agent_, dir_, false}}, Access::look);
    EXPECT_TRUE(stores) << stores.error().message;
    auto catalog = std::make_unique<Catalog>(std::move(*stores), "/home/ann", dir_ + "-state");
    catalog->rescan();
    return catalog;
  }

  /// Of the store as it is on disk.
  [[nodiscard]] stats::Stats sums() const {
    const auto catalog = open();
    auto found = stats::gather(stats::all_counted(*catalog->view()));
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->unreadable(), 0U);
    return *std::move(found);
  }

  /// usage.json of each session, by id.
  [[nodiscard]] std::map<std::string, std::string> usages() const {
    std::map<std::string, std::string> found;
    const auto catalog = open();
    for (const auto& [id, session] : catalog->view()->by_id) {
      EXPECT_TRUE(session->refresh(Depth::details)) << id;
      const auto guard = session->read();
      found[id] =
          guard ? session->format().renderer->usage_json(guard->details().usage(), guard->index().dialect()) : "unread";
    }
    return found;
  }

 private:
  const std::string agent_;
  const std::string dir_;
};

}  // namespace arborfs::testing
