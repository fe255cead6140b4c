// Every operation that changes Opal's sessions. The tests that fail the disk or cut the power at every point run all of
// these.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/opal/format.h"
#include "core/formats/opal/writer.h"
#include "tests/support/conversations.h"
#include "tests/support/temp_store.h"

namespace arborfs::testing {

inline constexpr const char* kOpalMarker = "what was written";

/// A data folder of Opal with the session `feed`, a catalog and a writer. `#1` is its first message, b2 the leaf.
class OpalStage {
 public:
  explicit OpalStage(Disk& disk, WriteSettings settings = {}) : disk_(disk), settings_(std::move(settings)) {
    settings_.trash = root() + "/trash";
    std::filesystem::create_directories(folder());
    std::ofstream(log(), std::ios::binary) << kHeader << "\n" << kLines;
    start();
  }
  /// As after a new mount.
  void start() {
    stop();
    catalog_ = std::make_unique<Catalog>(opal::make_store(data_folder(), disk_), "/home/nobody", root() + "/state");
    catalog_->rescan();
    writer_ = std::make_unique<opal::Writer>(*catalog_, settings_);
    writer_->take_back_parts();
  }
  void stop() {
    writer_.reset();
    catalog_.reset();
  }

  [[nodiscard]] std::string root() const { return temp_.root(); }
  [[nodiscard]] std::string data_folder() const { return temp_.root() + "/opal"; }
  [[nodiscard]] std::string folder() const { return data_folder() + "/sessions"; }
  [[nodiscard]] std::string log() const { return folder() + "/feed.jsonl"; }
  [[nodiscard]] opal::Writer& writer() { return *writer_; }
  [[nodiscard]] Catalog& catalog() { return *catalog_; }
  [[nodiscard]] SessionPtr session() { return catalog_->at({"sessions", "feed.jsonl"}); }
  [[nodiscard]] std::vector<SessionPtr> sessions() {
    std::vector<SessionPtr> found;
    for (const auto& [id, session] : catalog_->view()->by_id) {
      found.push_back(session);
    }
    return found;
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(log(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::vector<std::string> hidden() const {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(folder())) {
      if (const std::string name = file.path().filename().string(); name.starts_with(".")) {
        found.push_back(name);
      }
    }
    return found;
  }

  static constexpr const char* kHeader = R"({"odd":1.50,"current_id":"b2","session_id":"feed","metadata":{}})";
  static constexpr const char* kLines =
      R"({"id":"b2","parent_id":"a1", "role":"assistant","content":"two","is_error":false})"
      "\n"
      R"({"id":"a1","parent_id":null, "role":"user","content":"one","is_error":false})"
      "\n";

 private:
  Disk& disk_;
  WriteSettings settings_;
  TempStore temp_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<opal::Writer> writer_;
};

/// One operation, and the check that it was done.
struct OpalAct {
  const char* name;
  Result<void> (*run)(OpalStage&);
  bool (*is_done)(OpalStage&);
  /// The lines of the session that the act keeps.
  const char* keeps = OpalStage::kLines;
};

namespace opal_acts {

template <class Answer>
Result<void> plain(const Result<Answer>& answer) {
  return answer ? Result<void>() : Result<void>(answer.error());
}

inline bool is_written(OpalStage& stage) {
  return stage.bytes().find(kOpalMarker) != std::string::npos;
}

inline bool has_two(OpalStage& stage) {
  return stage.sessions().size() == 2;
}

inline std::string message() {
  return R"({"role":"user","content":")" + std::string(kOpalMarker) + "\"}";
}

}  // namespace opal_acts

inline const OpalAct kOpalActs[] = {
    {"append",
     [](OpalStage& stage) {
       return opal_acts::plain(stage.writer().append_text(stage.session(), {kOpalMarker, false, ""}));
     },
     opal_acts::is_written},
    {"append of several",
     [](OpalStage& stage) {
       const std::string both = opal_acts::message() + "\n" + opal_acts::message();
       return opal_acts::plain(stage.writer().append_text(stage.session(), {both, true, "a1"}));
     },
     opal_acts::is_written},
    {"branch", [](OpalStage& stage) { return opal_acts::plain(stage.writer().branch(stage.session(), "#1")); },
     [](OpalStage& stage) { return stage.bytes().find(R"("current_id":"a1")") != std::string::npos; }},
    {"branch with a summary",
     [](OpalStage& stage) { return opal_acts::plain(stage.writer().branch(stage.session(), "#1", kOpalMarker)); },
     opal_acts::is_written},
    {"title", [](OpalStage& stage) { return opal_acts::plain(stage.writer().set_title(stage.session(), kOpalMarker)); },
     opal_acts::is_written},
    {"replace",
     [](OpalStage& stage) {
       return opal_acts::plain(stage.writer().replace(stage.session(), {"#2", "#2", {opal_acts::message()}}));
     },
     opal_acts::is_written,
     R"({"id":"a1","parent_id":null, "role":"user","content":"one","is_error":false})"
     "\n"},
    {"new",
     [](OpalStage& stage) {
       NewSession wanted;
       wanted.title = kOpalMarker;
       return opal_acts::plain(stage.writer().create(wanted));
     },
     opal_acts::has_two},
    {"fork", [](OpalStage& stage) { return opal_acts::plain(stage.writer().fork(stage.session())); },
     opal_acts::has_two},
    {"fork of a path", [](OpalStage& stage) { return opal_acts::plain(stage.writer().fork(stage.session(), "#1")); },
     opal_acts::has_two},
    {"fork from another agent",
     [](OpalStage& stage) { return opal_acts::plain(stage.writer().adopt(testing::conversation_of(2, 100), "opal")); },
     opal_acts::has_two},
};

/// Each session of the store takes another message, which becomes its leaf.
inline void expect_each_continues(OpalStage& stage) {
  for (const SessionPtr& session : stage.sessions()) {
    const auto written = stage.writer().append_text(session, {"the next one", false, ""});
    ASSERT_TRUE(written) << written.error().message;
    ASSERT_TRUE(session->refresh(Depth::index));
    const auto guard = session->read();
    ASSERT_TRUE(guard);
    EXPECT_TRUE(guard->index().damage().empty());
    EXPECT_EQ(guard->index().id(guard->leaf()).text, written->id);
  }
}

}  // namespace arborfs::testing
