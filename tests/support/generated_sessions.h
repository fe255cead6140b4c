// Sessions of every agent, generated: prompts, answers, calls of tools, images, compactions, and content that must
// never reach a model. Each says what the model had, and what its path has, as the lines of SentMessages
// (sent_messages.h).
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/json/document.h"

namespace arborfs::testing {

using Lines = std::vector<std::string>;

struct GeneratedCall {
  std::string name;
  std::string output;
  bool failed = false;
};

/// What the user, or the assistant, says at once.
struct GeneratedTurn {
  bool is_user = true;
  std::string text;
  std::string image;  // a PNG as base64, "" for none
  std::string reasoning;
  std::vector<GeneratedCall> calls;

  [[nodiscard]] Lines lines() const {
    Lines lines;
    const auto add = [&lines](const std::string& kind, const std::string& words) {
      if (!words.empty()) {
        lines.push_back(kind + " " + words);
      }
    };
    add("reasoning", reasoning);
    add("text", text);
    add("image image/png", image);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      add("call " + calls[i].name, arguments(i));
    }
    for (const GeneratedCall& call : calls) {
      lines.push_back((call.failed ? "failure " : "result ") + call.output);
    }
    return lines;
  }
  static std::string arguments(std::size_t i) { return R"({"n":)" + std::to_string(i) + "}"; }
};

inline std::string spelled(const std::string& text) {
  return json::stringify_string(text);
}

/// The files of one session, as they are written by its agent.
class GeneratedSession {
 public:
  explicit GeneratedSession(unsigned seed) : seed_(seed) {}
  virtual ~GeneratedSession() = default;
  virtual void say(const GeneratedTurn& turn) = 0;
  /// Content that its agent never sends.
  virtual void hide(const std::string& secret) = 0;
  /// A compaction that keeps the last `kept` turns, or none where the agent cannot keep any.
  virtual void compact(const std::string& /*summary*/, std::size_t /*kept*/) {}
  [[nodiscard]] virtual std::string id() const { return uuid(); }
  /// Path and bytes of each file of the session.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> files() const = 0;

  Lines context;
  Lines path;

 protected:
  void note(const GeneratedTurn& turn) {
    turns_.push_back(turn);
    add(turn.lines(), context);
    add(turn.lines(), path);
  }
  static void add(const Lines& lines, Lines& to) { to.insert(to.end(), lines.begin(), lines.end()); }
  [[nodiscard]] Lines kept_lines(std::size_t kept) const {
    Lines lines;
    for (std::size_t i = turns_.size() - kept; i < turns_.size(); ++i) {
      add(turns_[i].lines(), lines);
    }
    return lines;
  }
  std::string next() { return "n" + std::to_string(++number_); }
  std::string call_id(std::size_t i) { return "c" + std::to_string(turns_.size()) + "-" + std::to_string(i); }
  [[nodiscard]] std::string uuid() const {
    const std::string digits = std::to_string(seed_);
    return "11111111-1111-4111-8111-" + std::string(12 - digits.size(), '0') + digits;
  }

  const unsigned seed_;
  unsigned number_ = 0;
  std::vector<GeneratedTurn> turns_;
};

inline constexpr const char* kTime = R"("timestamp":"2026-02-16T10:20:30.000Z")";

/// omp and pi.
class OmpSession : public GeneratedSession {
 public:
  OmpSession(unsigned seed, bool is_pi) : GeneratedSession(seed), is_pi_(is_pi) {}

  void say(const GeneratedTurn& turn) override {
    begins_.push_back("n" + std::to_string(number_ + 1));
    std::string blocks;
    const auto add = [&blocks](const std::string& block) { blocks += (blocks.empty() ? "" : ",") + block; };
    if (!turn.reasoning.empty()) {
      add(R"({"type":"thinking","thinking":)" + spelled(turn.reasoning) + "}");
    }
    if (!turn.text.empty()) {
      add(R"({"type":"text","text":)" + spelled(turn.text) + "}");
    }
    if (!turn.image.empty()) {
      add(R"({"type":"image","data":")" + turn.image + R"(","mimeType":"image/png"})");
    }
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      add(R"({"type":"toolCall","id":")" + call_id(i) + R"(","name":")" + turn.calls[i].name + R"(","arguments":)" +
          GeneratedTurn::arguments(i) + "}");
    }
    message(turn.is_user
                ? R"("role":"user","content":[)" + blocks + "]"
                : R"("role":"assistant","api":"a","provider":"p","model":"m","stopReason":"stop","content":[)" +
                      blocks + "]");
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      message(R"("role":"toolResult","toolName":")" + turn.calls[i].name + R"(","toolCallId":")" + call_id(i) +
              R"(","isError":)" + (turn.calls[i].failed ? "true" : "false") + R"(,"content":[{"type":"text","text":)" +
              spelled(turn.calls[i].output) + "}]");
    }
    note(turn);
  }
  void hide(const std::string& secret) override {
    if (is_pi_ && number_ % 2 == 0) {
      const std::string target = message(R"("role":"user","content":)" + spelled(secret));
      entry("context_edit", R"("targetId":")" + target + R"(","replacement":null)");
    } else {
      message(R"("role":"bashExecution","command":)" + spelled(secret) + R"(,"output":)" + spelled(secret) +
              R"(,"excludeFromContext":true)");
    }
  }
  void compact(const std::string& summary, std::size_t kept) override {
    const std::string first = kept == 0 ? "none" : begins_[begins_.size() - kept];
    entry("compaction",
          R"("summary":)" + spelled(summary) + R"(,"tokensBefore":1,"firstKeptEntryId":")" + first + "\"");
    context = {"text [compaction]\n" + summary};
    path.push_back("text [compaction]\n" + summary);
    add(kept_lines(kept), context);
  }
  [[nodiscard]] std::string id() const override { return is_pi_ ? uuid() : "1f9d2a6b" + uuid().substr(28); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const override {
    return {{std::string("sessions/--work--/2026-02-16T10-20-30-000Z_") + id() + ".jsonl",
             R"({"type":"session","version":3,"id":")" + id() + "\"," + kTime + R"(,"cwd":"/work"})" + "\n" + lines_}};
  }

 private:
  std::string entry(const std::string& type, const std::string& members) {
    const std::string id = next();
    lines_ += R"({"type":")" + type + R"(","id":")" + id + R"(","parentId":)" +
              (last_.empty() ? "null" : "\"" + last_ + "\"") + "," + kTime + "," + members + "}\n";
    last_ = id;
    return id;
  }
  std::string message(const std::string& members) {
    return entry("message", R"("message":{)" + members + R"(,"timestamp":1})");
  }
  const bool is_pi_;
  std::string lines_;
  std::string last_;
  std::vector<std::string> begins_;  // the first entry of each turn
};

class OpalSession : public GeneratedSession {
 public:
  using GeneratedSession::GeneratedSession;
  void say(const GeneratedTurn& turn) override {
    std::string calls;
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      calls += (i == 0 ? "" : ",") + std::string(R"({"call_id":")") + call_id(i) + R"(","name":")" +
               turn.calls[i].name + R"(","arguments":)" + GeneratedTurn::arguments(i) + "}";
    }
    line(R"("role":")" + std::string(turn.is_user ? "user" : "assistant") + R"(","content":)" +
         (turn.text.empty() ? "null" : spelled(turn.text)) +
         (turn.reasoning.empty() ? "" : R"(,"thinking":)" + spelled(turn.reasoning)) +
         (calls.empty() ? "" : R"(,"tool_calls":[)" + calls + "]") + R"(,"is_error":false)");
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      line(R"("role":"tool_result","content":)" + spelled(turn.calls[i].output) + R"(,"call_id":")" + call_id(i) +
           R"(","is_error":)" + (turn.calls[i].failed ? "true" : "false"));
    }
    GeneratedTurn without_image = turn;
    without_image.image.clear();
    note(without_image);
  }
  void hide(const std::string& secret) override { line(R"("role":"system","content":)" + spelled(secret)); }
  [[nodiscard]] std::string id() const override {
    std::string id = uuid();
    std::erase(id, '-');
    return id;
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const override {
    return {{"sessions/" + id() + ".jsonl",
             R"({"session_id":")" + id() + R"(","current_id":")" + last_ + R"(","metadata":{}})" + "\n" + lines_}};
  }

 private:
  void line(const std::string& members) {
    const std::string id = next();
    lines_ += R"({"id":")" + id + R"(","parent_id":)" + (last_.empty() ? "null" : "\"" + last_ + "\"") + "," + members +
              "}\n";
    last_ = id;
  }
  std::string lines_;
  std::string last_;
};

class GoatSession : public GeneratedSession {
 public:
  using GeneratedSession::GeneratedSession;
  void say(const GeneratedTurn& turn) override {
    std::string calls;
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      calls += (i == 0 ? "" : ",") + std::string(R"({"id":")") + call_id(i) +
               R"(","type":"function","function":{"name":")" + turn.calls[i].name + R"(","arguments":)" +
               spelled(GeneratedTurn::arguments(i)) + "}}";
    }
    std::string parts = turn.text.empty() ? "" : R"({"type":"text","text":)" + spelled(turn.text) + "}";
    if (!turn.image.empty()) {
      parts += (parts.empty() ? "" : ",") +
               std::string(R"({"type":"image_url","image_url":{"url":"data:image/png;base64,)") + turn.image + R"("}})";
    }
    line(R"("role":")" + std::string(turn.is_user ? "user" : "assistant") + R"(","content":)" +
         (parts.empty() ? "null" : "[" + parts + "]") + (calls.empty() ? "" : R"(,"tool_calls":[)" + calls + "]"));
    GeneratedTurn said = turn;
    said.reasoning.clear();
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      said.calls[i].failed = false;
      line(R"("role":"tool","content":)" + spelled(turn.calls[i].output) + R"(,"tool_call_id":")" + call_id(i) + "\"");
    }
    note(said);
  }
  void hide(const std::string& secret) override { line(R"("role":"system","content":)" + spelled(secret)); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const override {
    return {{uuid() + "/messages.jsonl", lines_},
            {uuid() + "/metadata.json", R"({"id":")" + uuid() + R"(","cwd":"/work","model":"m","message_count":1})"}};
  }

 private:
  void line(const std::string& message) {
    lines_ += R"({"uuid":")" + next() + R"(",)" + kTime + R"(,"message":{)" + message + "}}\n";
  }
  std::string lines_;
};

class OpenCodeFilesSession : public GeneratedSession {
 public:
  using GeneratedSession::GeneratedSession;
  void say(const GeneratedTurn& turn) override {
    Lines parts;
    if (!turn.reasoning.empty()) {
      parts.push_back(R"("type":"reasoning","text":)" + spelled(turn.reasoning));
    }
    if (!turn.text.empty()) {
      parts.push_back(R"("type":"text","text":)" + spelled(turn.text));
    }
    if (!turn.image.empty()) {
      parts.push_back(R"("type":"file","mime":"image/png","url":"data:image/png;base64,)" + turn.image + "\"");
    }
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      const GeneratedCall& call = turn.calls[i];
      parts.push_back(R"("type":"tool","callID":")" + call_id(i) + R"(","tool":")" + call.name +
                      R"(","state":{"status":")" + (call.failed ? "error" : "completed") + R"(","input":)" +
                      GeneratedTurn::arguments(i) + (call.failed ? R"(,"error":)" : R"(,"output":)") +
                      spelled(call.output) + R"(,"time":{"start":1,"end":2}})");
    }
    message(turn.is_user ? R"("role":"user")" : kAnswer, parts);
    note(turn);
  }
  void hide(const std::string& secret) override {
    message(R"("role":"user")", {R"("type":"text","ignored":true,"text":)" + spelled(secret)});
  }
  void compact(const std::string& summary, std::size_t /*kept*/) override {
    const std::string asked = message(R"("role":"user")", {R"("type":"compaction","auto":true)"});
    message(std::string(kAnswer) + R"(,"summary":true,"parentID":")" + asked + "\"",
            {R"("type":"text","text":)" + spelled(summary)});
    context = {"text What did we do so far?", "text " + summary};
    path.push_back("text " + summary);
  }
  [[nodiscard]] std::string id() const override { return "ses_" + std::to_string(seed_); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const override {
    auto files = files_;
    files.emplace_back("storage/project/p.json", R"({"id":"p","worktree":"/work","time":{"created":1,"updated":1}})");
    files.emplace_back(
        "storage/session/p/" + id() + ".json",
        R"({"id":")" + id() + R"(","projectID":"p","directory":"/work","title":"T","time":{"created":1,"updated":2}})");
    return files;
  }

 private:
  static constexpr const char* kAnswer = R"("role":"assistant","providerID":"p","modelID":"m","finish":"stop")";
  std::string message(const std::string& members, const Lines& parts) {
    const std::string made = "msg_" + std::to_string(seed_) + "x" + std::to_string(1000 + ++number_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = "prt_" + std::to_string(i);
      files_.emplace_back(
          "storage/part/" + made + "/" + part + ".json",
          R"({"id":")" + part + R"(","messageID":")" + made + R"(","sessionID":")" + id() + "\"," + parts[i] + "}");
    }
    files_.emplace_back("storage/message/" + id() + "/" + made + ".json",
                        R"({"id":")" + made + R"(","sessionID":")" + id() + "\"," + members + R"(,"time":{"created":)" +
                            std::to_string(number_) + R"(,"completed":9}})");
    return made;
  }
  std::vector<std::pair<std::string, std::string>> files_;
};

class ClaudeSession : public GeneratedSession {
 public:
  using GeneratedSession::GeneratedSession;
  void say(const GeneratedTurn& turn) override {
    rows_of_turn_.emplace_back();
    const std::string reply = "msg" + next();
    const auto block = [&](const std::string& json) {
      if (turn.is_user) {
        return row("user", R"("message":{"role":"user","content":[)" + json + "]}");
      }
      return row("assistant",
                 R"("message":{"id":")" + reply + R"(","role":"assistant","model":"m","content":[)" + json + "]}");
    };
    if (!turn.reasoning.empty()) {
      block(R"({"type":"thinking","signature":"s","thinking":)" + spelled(turn.reasoning) + "}");
    }
    if (!turn.text.empty()) {
      block(R"({"type":"text","text":)" + spelled(turn.text) + "}");
    }
    if (!turn.image.empty()) {
      block(R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")" + turn.image + R"("}})");
    }
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      block(R"({"type":"tool_use","id":")" + call_id(i) + R"(","name":")" + turn.calls[i].name + R"(","input":)" +
            GeneratedTurn::arguments(i) + "}");
    }
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      row("user", R"("message":{"role":"user","content":[{"type":"tool_result","tool_use_id":")" + call_id(i) +
                      R"(","content":)" + spelled(turn.calls[i].output) +
                      (turn.calls[i].failed ? R"(,"is_error":true)" : "") + "}]}");
    }
    note(turn);
  }
  void hide(const std::string& secret) override {
    rows_of_turn_.emplace_back();
    row("assistant", R"("isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","role":"assistant",)"
                     R"("content":[{"type":"text","text":)" +
                         spelled(secret) + "}]}");
    rows_of_turn_.pop_back();
  }
  void compact(const std::string& summary, std::size_t kept) override {
    std::string uuids;
    for (std::size_t i = rows_of_turn_.size() - kept; i < rows_of_turn_.size(); ++i) {
      for (const std::string& uuid : rows_of_turn_[i]) {
        uuids += (uuids.empty() ? "\"" : ",\"") + uuid + "\"";
      }
    }
    const std::string before = last_;
    rows_of_turn_.emplace_back();
    last_.clear();
    const std::string anchor = "n" + std::to_string(number_ + 2);
    row("system", R"("subtype":"compact_boundary","logicalParentUuid":")" + before +
                      R"(","compactMetadata":{"preservedMessages":{"anchorUuid":")" + anchor + R"(","uuids":[)" +
                      uuids + "]}}");
    row("user", R"("isCompactSummary":true,"message":{"role":"user","content":)" + spelled(summary) + "}");
    rows_of_turn_.pop_back();
    context = {"text " + summary};
    path.push_back("text " + summary);
    add(kept_lines(kept), context);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const override {
    return {{"projects/-work/" + uuid() + ".jsonl", rows_}};
  }

 private:
  void row(const std::string& type, const std::string& members) {
    const std::string id = next();
    rows_ += R"({"parentUuid":)" + (last_.empty() ? "null" : "\"" + last_ + "\"") + R"(,"isSidechain":false,"type":")" +
             type + R"(","uuid":")" + id + R"(","sessionId":")" + uuid() + R"(","cwd":"/work",)" + kTime + "," +
             members + "}\n";
    last_ = id;
    rows_of_turn_.back().push_back(id);
  }
  std::string rows_;
  std::string last_;
  std::vector<Lines> rows_of_turn_;
};

class CodexSession : public GeneratedSession {
 public:
  using GeneratedSession::GeneratedSession;
  void say(const GeneratedTurn& turn) override {
    items_of_turn_.emplace_back();
    if (!turn.reasoning.empty()) {
      item(R"({"type":"reasoning","summary":[{"type":"summary_text","text":)" + spelled(turn.reasoning) + "}]}");
    }
    std::string parts;
    if (!turn.text.empty()) {
      parts += R"({"type":")" + std::string(turn.is_user ? "input_text" : "output_text") + R"(","text":)" +
               spelled(turn.text) + "}";
    }
    if (!turn.image.empty()) {
      parts += (parts.empty() ? "" : ",") +
               std::string(R"({"type":"input_image","image_url":"data:image/png;base64,)") + turn.image + "\"}";
    }
    if (!parts.empty()) {
      item(R"({"type":"message","role":")" + std::string(turn.is_user ? "user" : "assistant") + R"(","content":[)" +
           parts + "]}");
    }
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      item(R"({"type":"function_call","call_id":")" + call_id(i) + R"(","name":")" + turn.calls[i].name +
           R"(","arguments":)" + spelled(GeneratedTurn::arguments(i)) + "}");
    }
    GeneratedTurn said = turn;
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
      said.calls[i].failed = false;
      item(R"({"type":"function_call_output","call_id":")" + call_id(i) + R"(","output":)" +
           spelled(turn.calls[i].output) + "}");
    }
    note(said);
  }
  void hide(const std::string& secret) override {
    items_of_turn_.emplace_back();
    item(R"({"type":"message","role":"developer","content":[{"type":"input_text","text":)" + spelled(secret) + "}]}");
    items_of_turn_.pop_back();
  }
  void compact(const std::string& summary, std::size_t kept) override {
    std::string items;
    for (std::size_t i = items_of_turn_.size() - kept; i < items_of_turn_.size(); ++i) {
      for (const std::string& item : items_of_turn_[i]) {
        items += item + ",";
      }
    }
    items += R"({"type":"message","role":"user","content":[{"type":"input_text","text":)" + spelled(summary) + "}]}";
    record("compacted", R"({"message":"","replacement_history":[)" + items + "]}");
    context = kept_lines(kept);
    context.push_back("text " + summary);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const override {
    return {{"sessions/2026/02/16/rollout-2026-02-16T10-20-30-" + uuid() + ".jsonl",
             std::string("{") + kTime + R"(,"type":"session_meta","payload":{"id":")" + uuid() + "\"," + kTime +
                 R"(,"cwd":"/work"}})" + "\n" + lines_}};
  }

 private:
  void record(const std::string& type, const std::string& payload) {
    lines_ += std::string("{") + kTime + R"(,"type":")" + type + R"(","payload":)" + payload + "}\n";
  }
  void item(const std::string& payload) {
    record("response_item", payload);
    items_of_turn_.back().push_back(payload);
  }
  std::string lines_;
  std::vector<Lines> items_of_turn_;
};

inline std::unique_ptr<GeneratedSession> empty_session(const std::string& agent, unsigned seed) {
  if (agent == "omp" || agent == "pi") {
    return std::make_unique<OmpSession>(seed, agent == "pi");
  }
  if (agent == "opal") {
    return std::make_unique<OpalSession>(seed);
  }
  if (agent == "goat") {
    return std::make_unique<GoatSession>(seed);
  }
  if (agent == "opencode") {
    return std::make_unique<OpenCodeFilesSession>(seed);
  }
  if (agent == "claude") {
    return std::make_unique<ClaudeSession>(seed);
  }
  return std::make_unique<CodexSession>(seed);
}

/// A conversation whose texts are unique: each has `word` and a number. Hidden content is named `keptfromthemodel`.
inline std::unique_ptr<GeneratedSession> generated_session(const std::string& agent, unsigned seed) {
  std::mt19937 random(seed);
  const auto one_in = [&random](unsigned n) { return random() % n == 0; };
  auto session = empty_session(agent, seed);
  unsigned said = 0;
  const auto word = [&](const std::string& what) {
    return what + std::to_string(seed) + "." + std::to_string(++said) +
           (one_in(4) ? "\n\"*`\\ \xC3\xA4\xF0\x9F\x98\x80" : "");
  };
  unsigned since_cut = 0;
  const auto turns = static_cast<unsigned>(2 + random() % 7);
  for (unsigned turn = 0; turn < turns; ++turn) {
    if (one_in(3)) {
      session->hide("keptfromthemodel" + std::to_string(seed) + "." + std::to_string(++said));
    }
    GeneratedTurn prompt;
    prompt.text = word("prompt");
    prompt.image = one_in(5) ? "iVBORw0KGgo=" : "";
    session->say(prompt);
    GeneratedTurn answer;
    answer.is_user = false;
    answer.reasoning = one_in(2) ? word("reasoning") : "";
    answer.text = one_in(4) ? "" : word("answer");
    for (unsigned i = 0, calls = answer.text.empty() ? 1 + random() % 2 : random() % 3; i < calls; ++i) {
      answer.calls.push_back({one_in(2) ? "read_file" : "bash", one_in(8) ? "" : word("output"), one_in(5)});
    }
    session->say(answer);
    since_cut += 2;
    if (one_in(4)) {
      session->compact(word("summary"), std::min<std::size_t>(since_cut, 2 * (random() % 2)));
      since_cut = 0;
    }
  }
  session->say({true, word("last"), "", "", {}});
  return session;
}

}  // namespace arborfs::testing
