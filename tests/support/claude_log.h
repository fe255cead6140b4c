// Transcripts of Claude Code for tests: one that is read, and rows as the program writes them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/formats/claude/format.h"
#include "core/log/log_reader.h"
#include "core/entry/tree.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text_sizes.h"
#include "core/entry/views.h"

namespace arborfs::tests {

using Texts = std::vector<std::string>;

class ClaudeLog {
 public:
  explicit ClaudeLog(std::string bytes) : log_(log_from_bytes(std::move(bytes))) {
    auto index = claude::format().reader->index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
  }

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] const LogSource& source() const { return *log_; }
  [[nodiscard]] std::string id(Ordinal ordinal) const { return ordinal == kNoEntry ? "" : index_->id(ordinal).text; }
  [[nodiscard]] Texts path(Ordinal leaf) const {
    Texts found;
    for (const Ordinal ordinal : path_to(*index_, leaf)) {
      found.push_back(id(ordinal));
    }
    return found;
  }
  [[nodiscard]] Texts path() const { return path(index_->leaf()); }
  template <class Condition>
  [[nodiscard]] Texts ids(Condition condition) const {
    Texts found;
    for (Ordinal ordinal = 1; ordinal <= index_->size(); ++ordinal) {
      if (condition(ordinal)) {
        found.push_back(id(ordinal));
      }
    }
    return found;
  }
  [[nodiscard]] std::string raw(Ordinal ordinal) const {
    const auto bytes = log_->read(index_->entry(ordinal).offset, index_->length(ordinal));
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
  }
  [[nodiscard]] std::string text(Ordinal ordinal) const {
    std::string out;
    claude::format().renderer->render(index_->entry(ordinal).type, raw(ordinal), out);
    EXPECT_EQ(claude::format().renderer->measure(index_->entry(ordinal).type, raw(ordinal)).size, out.size());
    return out;
  }
  [[nodiscard]] TextSizes details() const {
    auto sizes = measure_log(*claude::format().renderer, *log_, *index_);
    EXPECT_TRUE(sizes);
    return std::move(*sizes);
  }
  [[nodiscard]] std::string context(Ordinal leaf) const {
    const auto content = claude::format().renderer->context(context_path(*index_, leaf), log_, nullptr);
    EXPECT_TRUE(content);
    const auto all = content ? (*content)->read_all() : Result<std::string>(content.error());
    return all ? *all : "";
  }
  [[nodiscard]] std::string context() const { return context(index_->leaf()); }
  [[nodiscard]] std::string transcript() const {
    const RecordRenderer& renderer = *claude::format().renderer;
    const TextSizes sizes = details();
    const auto steps = transcript_steps(*index_, people_path(*index_, index_->leaf()),
                                        {[&](std::string_view name) { return renderer.is_in_transcript(name); },
                                         [&](Ordinal ordinal) { return sizes.text_size(ordinal); }});
    const auto all = build_transcript(steps, log_, renderer)->read_all();
    EXPECT_TRUE(all);
    return all ? *all : "";
  }
  [[nodiscard]] std::string name(const std::string& entry) const {
    const Ordinal ordinal = index_->find(entry);
    return ordinal == kNoEntry ? "" : std::string(index_->name(ordinal));
  }

 private:
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
};

/// Rows as the program writes them, one per line.
class Rows {
 public:
  Rows& user(const std::string& id, const std::string& parent, const std::string& more = "") {
    return row("user", id, parent, R"("message":{"role":"user","content":"of )" + id + R"("})" + more);
  }
  Rows& block(const std::string& id, const std::string& parent, const std::string& message,
              const std::string& content) {
    return row("assistant", id, parent,
               R"("message":{"id":")" + message + R"(","role":"assistant","content":[)" + content +
                   R"(],"usage":{"input_tokens":5,"output_tokens":1}})");
  }
  Rows& call(const std::string& id, const std::string& parent, const std::string& message) {
    return block(id, parent, message, R"({"type":"tool_use","id":"t)" + id + R"(","name":"Read","input":{"n":1}})");
  }
  Rows& result(const std::string& id, const std::string& parent) {
    return row("user", id, parent,
               R"("message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"of )" + id +
                   R"("}]})");
  }
  Rows& row(const std::string& type, const std::string& id, const std::string& parent, const std::string& more) {
    return line(R"({"parentUuid":)" + (parent.empty() ? "null" : '"' + parent + '"') +
                R"(,"isSidechain":false,"type":")" + type + R"(","uuid":")" + id + R"(","sessionId":"s",)" + more +
                "}");
  }
  Rows& pin(const std::string& leaf, const std::string& more = "") {
    return line(R"({"type":"last-prompt","leafUuid":)" + leaf + more + "}");
  }
  Rows& line(const std::string& text) {
    bytes_ += text + "\n";
    return *this;
  }
  [[nodiscard]] ClaudeLog log() const { return ClaudeLog(bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace arborfs::tests
