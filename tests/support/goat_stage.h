// A store of goat with one session, a catalog and a writer over it. The tests of writing to goat's sessions use it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/goat/format.h"
#include "core/formats/goat/writer.h"
#include "tests/support/temp_store.h"

namespace arborfs::testing {

class GoatStage {
 public:
  explicit GoatStage(Disk& disk = Disk::real(), WriteSettings settings = {}) : disk_(disk), settings_(settings) {
    settings_.trash = temp_.root() + "/trash";
    std::filesystem::create_directories(base());
    std::filesystem::create_directories(work());
  }
  /// Adds a session whose working directory is work().
  void add(const std::string& id, const std::string& messages) {
    std::filesystem::create_directories(base() + "/" + id);
    put(base() + "/" + id + "/metadata.json", metadata(id));
    if (!messages.empty()) {
      put(base() + "/" + id + "/messages.jsonl", messages);
    }
  }
  [[nodiscard]] std::string metadata(const std::string& id) const {
    return "{\n  \"id\": \"" + id + "\",\n  \"cwd\": \"" + work() +
           "\",\n  \"model\": \"m\",\n  \"created_at\": \"2026-02-09T10:00:01.5+01:00\",\n  \"updated_at\": "
           "\"2026-02-09T10:00:01.5+01:00\",\n  \"message_count\": 2,\n  \"turn_count\": 1,\n  \"total_cost_usd\": "
           "1.50,\n  \"leaf_title\": \"First\",\n  \"exit_reason\": \"end_turn\"\n}";
  }
  /// As after a new mount. No metadata is updated unless settle() is called.
  void start() {
    stop();
    catalog_ = std::make_unique<Catalog>(goat::make_store(temp_.root() + "/goat", disk_), "/home/nobody",
                                         temp_.root() + "/state");
    catalog_->rescan();
    writer_ = std::make_unique<goat::Writer>(*catalog_, settings_, std::chrono::hours(1));
  }
  void stop() {
    writer_.reset();
    catalog_.reset();
  }

  [[nodiscard]] goat::Writer& writer() { return *writer_; }
  [[nodiscard]] Catalog& catalog() { return *catalog_; }
  [[nodiscard]] Disk& disk() { return disk_; }
  [[nodiscard]] SessionPtr session(const std::string& id = "s1") { return catalog_->at({id, id + ".jsonl"}); }
  [[nodiscard]] std::string root() const { return temp_.root(); }
  [[nodiscard]] std::string base() const { return temp_.root() + "/goat/sessions"; }
  [[nodiscard]] std::string work() const { return temp_.root() + "/work"; }
  [[nodiscard]] const WriteSettings& settings() const { return settings_; }
  [[nodiscard]] std::string file(const std::string& name, const std::string& id = "s1") const {
    return read(base() + "/" + id + "/" + name);
  }

  static std::string line(const std::string& uuid, const std::string& role, const std::string& text) {
    return R"({"uuid":")" + uuid + R"(","timestamp":"2026-02-09T10:00:01.5+01:00","message":{"role":")" + role +
           R"(","content":")" + text + "\"}}\n";
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  TempStore temp_;
  Disk& disk_;
  WriteSettings settings_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<goat::Writer> writer_;
};

}  // namespace arborfs::testing
