// A catalog and a writer over a store in files or in memory, with the state in a scratch folder. The tests of writing
// use it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/store/log_files.h"
#include "core/formats/omp/store/memory_store.h"
#include "core/formats/omp/store/store.h"
#include "core/json/document.h"
#include "core/write/writer.h"
#include "tests/support/temp_store.h"

namespace arborfs::testing {

enum class Storage { files, memory };
/// For INSTANTIATE_TEST_SUITE_P.
inline std::string storage_name(const ::testing::TestParamInfo<Storage>& with) {
  return with.param == Storage::files ? "Files" : "Memory";
}

class Stage {
 public:
  explicit Stage(Storage storage, Disk& disk = Disk::real(), WriteSettings settings = {}) : storage_(storage) {
    store_ = storage == Storage::files ? omp::open_store(temp_.root(), disk) : omp::make_memory_store(disk);
    settings_ = std::move(settings);
    settings_.trash = temp_.root() + "/trash";
    start();
  }

  /// As after a new mount: only what the storage keeps is left.
  void restart() {
    stop();
    start();
  }
  /// Destroys writer and catalog; start() makes new ones.
  void stop() {
    writer_.reset();
    catalog_.reset();
  }
  void start() {
    const std::string state = storage_ == Storage::files ? temp_.root() + "/state" : "";
    catalog_ = std::make_unique<Catalog>(store_, "/home/nobody", state);
    catalog_->rescan();
    writer_ = std::make_unique<omp::Writer>(*catalog_, settings_);
  }

  [[nodiscard]] Catalog& catalog() { return *catalog_; }
  [[nodiscard]] omp::Writer& writer() { return *writer_; }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] const TempStore& temp() const { return temp_; }
  [[nodiscard]] std::string root() const { return temp_.root(); }

  /// Adds a log with these bytes, as if an agent had written it.
  SessionPtr add(const std::string& name, std::string_view bytes) {
    const LogPlace place{"-work", name + ".jsonl"};
    auto draft = omp::log_files(*store_).draft(place, kAnyPermissions);
    EXPECT_TRUE(draft && (*draft)->write(bytes) && (*draft)->finish(false));
    EXPECT_TRUE(omp::log_files(*store_).publish(**draft, place, Disk::Existing::replace, false));
    catalog_->rescan();
    return catalog_->at(place);
  }
  /// Adds a log of two messages, aaaa0001 and its child aaaa0002.
  SessionPtr add_small(const std::string& name = "2026-02-16T10-20-30-000Z_s1") {
    return add(name, TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n" +
                         TempStore::user("aaaa0002", "aaaa0001", "two") + "\n");
  }

  [[nodiscard]] std::string bytes(const SessionPtr& session) const {
    auto log = store_->open(session->place());
    const auto size = log ? (*log)->size() : Result<std::uint64_t>(log.error());
    auto read = size ? (*log)->read(0, *size) : Result<std::string>(size.error());
    EXPECT_TRUE(read.has_value());
    return read ? *read : "";
  }
  [[nodiscard]] std::vector<std::string> lines(const SessionPtr& session) const {
    std::vector<std::string> found;
    std::istringstream in(bytes(session));
    for (std::string line; std::getline(in, line);) {
      found.push_back(line);
    }
    return found;
  }
  /// A string member of a line; "" if there is no such string.
  static std::string field(const std::string& line, std::string_view key) {
    json::Document document;
    if (!json::parse(line, document)) {
      return "<no JSON>";
    }
    return std::string(json::string_member(document, key).value_or(std::string_view()));
  }
  static omp::AppendCommand text(std::string_view words, bool force = false) {
    auto command = omp::text_command(words, omp::Dialect::omp13, 1771237231000);
    EXPECT_TRUE(command.has_value());
    command->force = force;
    return std::move(*command);
  }
  static Ordinal leaf(const SessionPtr& session) {
    EXPECT_TRUE(session->refresh(Depth::index));
    const auto guard = session->read();
    return guard ? guard->leaf() : kNoEntry;
  }
  static std::string leaf_id(const SessionPtr& session) {
    EXPECT_TRUE(session->refresh(Depth::index));
    const auto guard = session->read();
    return guard && guard->leaf() != kNoEntry ? guard->index().id(guard->leaf()).text : "root";
  }

 private:
  TempStore temp_;
  const Storage storage_;
  std::shared_ptr<Store> store_;
  WriteSettings settings_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<omp::Writer> writer_;
};

}  // namespace arborfs::testing
