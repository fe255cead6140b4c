// A session of OpenCode as a test reads it, and copies of the stores in tests/opencode.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/context_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text_sizes.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "core/store/store.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"

namespace arborfs::conformance {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

inline std::string file_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string word(const json::Value& object, std::string_view key) {
  return std::string(json::string_member(object, key).value_or(""));
}

inline Words words_in(const json::Value& object, std::string_view key) {
  Words words;
  for (const json::Value& value : json::member(object, key)->GetArray()) {
    words.emplace_back(json::as_string(value));
  }
  return words;
}

/// A session as arborfs reads it.
class OpenCodeSession {
 public:
  OpenCodeSession(const Store& store, const LogPlace& place) : format_(store.format()) {
    auto log = store.open(place);
    EXPECT_TRUE(log) << (log ? "" : log.error().message);
    log_ = *log;
    auto index = format_.reader->index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
    EXPECT_TRUE(json::parse(index_->header().json, header_));
  }

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] const LogSource& log() const { return *log_; }
  [[nodiscard]] const json::Value& header() const { return header_; }
  [[nodiscard]] std::string raw(Ordinal ordinal) const {
    const auto bytes = log_->read(index_->entry(ordinal).offset, index_->length(ordinal));
    EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
    return bytes ? *bytes : "";
  }
  [[nodiscard]] std::string text(Ordinal ordinal) const {
    std::string out;
    format_.renderer->render(index_->entry(ordinal).type, raw(ordinal), out);
    EXPECT_EQ(format_.renderer->measure(index_->entry(ordinal).type, raw(ordinal)).size, out.size());
    return out;
  }
  [[nodiscard]] std::string context(Ordinal leaf) const {
    const auto content = format_.renderer->context(context_path(*index_, leaf), log_, nullptr);
    EXPECT_TRUE(content);
    const auto all = content ? (*content)->read_all() : Result<std::string>(content.error());
    return all ? *all : "";
  }
  [[nodiscard]] Words context_ids(Ordinal leaf) const {
    json::Document value;
    EXPECT_TRUE(json::parse(context(leaf), value));
    Words ids;
    for (const json::Value& message : json::member(value, "messages")->GetArray()) {
      ids.push_back(word(*json::member(message, "info"), "id"));
    }
    return ids;
  }

 private:
  const Format& format_;
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
  json::Document header_;
};

inline const fs::path& opencode_stores() {
  static const fs::path stores = fs::path(tests::kTestData) / "opencode";
  return stores;
}

/// Makes a store in files with three short sessions, for loops over all possible failures: "Explore with subagent" with
/// a child, and "Greeting script (renamed)".
inline void make_small_files(const fs::path& folder) {
  const fs::path storage = folder / "storage";
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((storage / name).parent_path());
    std::ofstream(storage / name) << text;
  };
  const auto add_message = [&](const std::string& session, int number, const std::string& members) {
    const std::string message = "msg_" + session + std::to_string(number);
    const std::string ids = R"("sessionID":"ses_)" + session + "\",";
    write("message/ses_" + session + "/" + message + ".json",
          R"({"id":")" + message + "\"," + ids + members + R"("time":{"created":)" + std::to_string(100 + number) +
              R"(,"completed":200}})");
    write("part/" + message + "/prt_1.json", R"({"id":"prt_1",)" + ids + R"("messageID":")" + message +
                                                 R"(","type":"text","text":"said in )" + session + "\"}");
  };
  write("project/p.json", R"({"id":"p","worktree":"/work","time":{"created":1,"updated":1}})");
  const auto add_session = [&](const std::string& id, const std::string& parent, const std::string& title) {
    write("session/p/ses_" + id + ".json", R"({"id":"ses_)" + id + "\"," + parent + R"("projectID":"p",)" +
                                               R"("directory":"/work","title":")" + title +
                                               R"(","time":{"created":100,"updated":200}})");
    add_message(id, 1, R"("role":"user","agent":"build","model":{"providerID":"mock","modelID":"mock-1"},)");
  };
  add_session("parent", "", "Explore with subagent");
  add_message("parent", 2, R"("role":"assistant",)");
  add_session("child", R"("parentID":"ses_parent",)", "Explore repo (@explore subagent)");
  add_session("plain", "", "Greeting script (renamed)");
  write("todo/ses_parent.json", "[]");
  write("session_diff/ses_child.json", "[{}]");
}

class OpenCodeSamples : public ::testing::Test {
 protected:
  /// A copy, because tests share the samples.
  fs::path copy(const std::string& name) {
    const fs::path folder = fs::path(temp_.root()) / "opencode";
    fs::copy(opencode_stores() / name, folder, fs::copy_options::recursive);
    return folder;
  }
  arborfs::testing::TempStore temp_;
};

}  // namespace arborfs::conformance
