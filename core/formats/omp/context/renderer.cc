#include "core/formats/omp/context/renderer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/hash.h"
#include "core/entry/text.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/context/context_source.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::omp {

namespace {

/// An image whose blob is missing keeps the reference as the place of its bytes.
TurnImage image_of_block(const json::Value& block, const BlobSource& blobs) {
  std::string data = json::text_member(block, "data");
  TurnImage image{json::text_member(block, "mimeType"), "", ""};
  if (!data.starts_with(kBlobPrefix)) {
    image.base64 = std::move(data);
  } else if (auto bytes = blob_as_base64(data, &blobs)) {
    image.base64 = *std::move(bytes);
  } else {
    image.url = std::move(data);
  }
  return image;
}

void add_block(const json::Value& block, const BlobSource& blobs, Turn& turn) {
  const auto type = json::string_member(block, "type").value_or("");
  if (type == "text") {
    turn.add(TurnPart::Kind::text, json::text_member(block, "text"));
  } else if (type == "thinking") {
    turn.add(TurnPart::Kind::reasoning, json::text_member(block, "thinking"));
  } else if (type == "redactedThinking") {
    turn.add(TurnPart::Kind::reasoning, "(redacted)");
  } else if (type == "toolCall") {
    const json::Value* arguments = json::member(block, "arguments");
    turn.add_call(json::text_member(block, "id"), json::text_member(block, "name"),
                  arguments == nullptr ? "{}" : json::stringify(*arguments));
  } else if (type == "image") {
    turn.add_image(image_of_block(block, blobs));
  } else {
    turn.add(TurnPart::Kind::text, json::stringify(block));
  }
}

/// The blocks of `content` and, for omp 18, those of `images`.
void add_blocks(const json::Value& owner, const BlobSource& blobs, Turn& turn) {
  for (const char* key : {"content", "images"}) {
    const json::Value* content = json::member(owner, key);
    if (content != nullptr && content->IsString()) {
      turn.add(TurnPart::Kind::text, std::string(json::as_string(*content)));
    } else if (content != nullptr && content->IsArray()) {
      for (const json::Value& block : content->GetArray()) {
        add_block(block, blobs, turn);
      }
    }
  }
}

/// The result of a tool is one part, whatever blocks it has.
void fold_result(const json::Value& message, Turn& turn) {
  TurnPart result{TurnPart::Kind::tool_result, "", json::text_member(message, "toolCallId"),
                  json::text_member(message, "toolName")};
  result.is_error = json::is_truthy(json::member(message, "isError"));
  for (TurnPart& part : turn.parts) {
    if (part.kind == TurnPart::Kind::image) {
      result.images.push_back(std::move(part.images.front()));
    } else {
      result.text.append(result.text.empty() ? "" : "\n").append(part.text);
    }
  }
  turn.parts = {std::move(result)};
}

/// Text in a fence that is longer than any in it.
std::string fenced(std::string_view text, std::string_view language = "") {
  std::size_t longest = 2;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of('`', at), text.size());
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  const std::string fence(longest + 1, '`');
  return fence + std::string(language) + "\n" + std::string(text) + "\n" + fence;
}

/// A command or a program that the user ran, in the words in which a model gets it (pi/FORMAT.md C7). Nothing if the
/// user kept it from the model.
void add_execution(const json::Value& message, std::string_view key, Turn& turn) {
  if (json::is_truthy(json::member(message, "excludeFromContext"))) {
    return;
  }
  const std::string code = json::text_member(message, key);
  const std::string output = json::text_member(message, "output");
  std::string text = key == "command" ? "Ran `" + code + "`" : "Ran:\n" + fenced(code, "python");
  text += "\n" + (output.empty() ? "(no output)" : fenced(output));
  const json::Value* exit_code = json::member(message, "exitCode");
  if (json::is_truthy(json::member(message, "cancelled"))) {
    text += "\n\n(command cancelled)";
  } else if (exit_code != nullptr && exit_code->IsNumber() && exit_code->GetDouble() != 0) {
    text += "\n\nCommand exited with code " + json::stringify(*exit_code);
  }
  const std::string rest = json::text_member(message, "fullOutputPath");
  if (json::is_truthy(json::member(message, "truncated")) && !rest.empty()) {
    text += "\n\n[Output truncated. Full output: " + rest + "]";
  }
  turn.add(TurnPart::Kind::text, std::move(text));
}

/// Files that the user named, with what they contained.
void add_files(const json::Value& message, const BlobSource& blobs, Turn& turn) {
  const json::Value* files = json::member(message, "files");
  if (files == nullptr || !files->IsArray()) {
    return;
  }
  for (const json::Value& file : files->GetArray()) {
    const std::string content = json::text_member(file, "content");
    turn.add(TurnPart::Kind::text,
             "[file: " + json::text_member(file, "path") + "]" + (content.empty() ? "" : "\n" + fenced(content)));
    if (const json::Value* image = json::member(file, "image"); image != nullptr && image->IsObject()) {
      turn.add_image(image_of_block(*image, blobs));
    }
  }
}

/// A summary of what is not sent any more, and the archive of it that omp 18 restores.
void add_summary(std::string_view word, const json::Value& message, const BlobSource& blobs, Turn& turn) {
  const json::Value* summary = json::member(message, "summary");
  const std::string text = summary == nullptr    ? ""
                           : summary->IsString() ? json::text_member(message, "summary")
                                                 : json::stringify(*summary);
  turn.add(TurnPart::Kind::text, "[" + std::string(word) + "]\n" + text);
  const json::Value* blocks = json::member(message, "blocks");
  if (blocks != nullptr && blocks->IsArray()) {
    for (const json::Value& block : blocks->GetArray()) {
      add_block(block, blobs, turn);
    }
  }
}

/// Adds what a message says. `role`: its own, or that which a context gives its entry.
void add_said(std::string_view role, const json::Value& message, const BlobSource& blobs, Turn& turn) {
  turn.is_note = role != "user" && role != "assistant" && role != "toolResult";
  if (role == "assistant") {
    turn.speaker = Turn::Speaker::assistant;
    turn.provider = json::text_member(message, "provider");
    turn.model = json::text_member(message, "model");
  } else if (role == "toolResult") {
    turn.speaker = Turn::Speaker::tool;
  }
  if (role == "bashExecution") {
    add_execution(message, "command", turn);
  } else if (role == "pythonExecution") {
    add_execution(message, "code", turn);
  } else if (role == "fileMention") {
    add_files(message, blobs, turn);
  } else if (role == "compactionSummary") {
    add_summary("compaction", message, blobs, turn);
  } else if (role == "branchSummary") {
    add_summary("branch_summary", message, blobs, turn);
  } else if (role != "system") {  // which the agent sends afresh at each start
    add_blocks(message, blobs, turn);
  }
  if (role == "toolResult") {
    fold_result(message, turn);
  }
}

/// The role that a context gives an entry that is not a message; "" for one that has no place in it.
std::string_view role_of(EntryType type) {
  switch (type) {
    case EntryType::custom_message:
      return "custom";
    case EntryType::branch_summary:
      return "branchSummary";
    case EntryType::compaction:
      return "compactionSummary";
    default:
      return "";
  }
}

void add_spoken_turns(const SpokenEntry& entry, std::vector<Turn>& turns) {
  json::Document record;
  if (!json::parse(entry.raw, record)) {
    return;
  }
  const bool is_message = entry.type == EntryType::message;
  const json::Value* owner = is_message ? json::member(record, "message") : &record;
  if (owner == nullptr || !owner->IsObject()) {
    return;
  }
  const std::string role = is_message ? json::text_member(*owner, "role") : std::string(role_of(entry.type));
  if (is_message || !role.empty()) {
    Turn turn;
    turn.time_ms = entry.time_ms;
    add_said(role, *owner, entry.blobs, turn);
    turns.push_back(std::move(turn));
  }
}

Result<void> read_spoken_turns(const SpokenPath& spoken, const TakeTurns& take) {
  const ContextScope scope = spoken.reach == Reach::path ? ContextScope::whole : ContextScope::sent;
  return each_message(spoken.path, spoken.log, spoken.blobs, scope, [&](std::size_t number, const std::string& text) {
    const ContextPath::Step& step = spoken.path.steps[number];
    json::Document message;
    Turn turn;
    turn.time_ms = step.entry.timestamp_ms;
    if (json::parse(text, message) && message.IsObject()) {
      add_said(json::text_member(message, "role"), message, *spoken.blobs, turn);
    }
    return take(step.ordinal, {std::move(turn)});
  });
}

/// True for a message in the user's name that omp made (omp/FORMAT.md C25).
bool is_put_in(std::string_view raw) {
  const std::string_view message = skim::member(raw, "message");
  return skim::is_truthy(skim::member(message, "synthetic"));
}

/// The model that an entry with usage names; "" if it names none.
std::string model_of(EntryType type, std::string_view raw) {
  const std::string_view owner = type == EntryType::message ? skim::member(raw, "message") : raw;
  return skim::text_member(owner, "model");
}

class Renderer : public RecordRenderer {
 public:
  void render(EntryType type, std::string_view raw, std::string& out) const override { render_text(type, raw, out); }
  [[nodiscard]] TextMeasure measure(EntryType type, std::string_view raw) const override {
    return measure_text(type, raw);
  }
  [[nodiscard]] std::optional<EntryUsage> usage(EntryType type, std::string_view raw) const override {
    const auto found = find_usage(type, raw);
    if (!found) {
      return std::nullopt;
    }
    EntryUsage told;
    told.report.usage = *found;
    told.report.request = xxh64(raw);  // a line that was written twice counts once
    told.model = model_of(type, raw);
    return told;
  }
  [[nodiscard]] TurnEnd turn_end(std::string_view raw) const override {
    const std::string reason = skim::text_member(skim::member(raw, "message"), "stopReason");
    return reason == "aborted" || reason == "error" ? TurnEnd::over : TurnEnd::by_calls;
  }
  [[nodiscard]] std::string usage_json(const UsageTotals& totals, DialectNumber dialect) const override {
    return omp::usage_json(totals, Dialect{dialect});
  }
  [[nodiscard]] std::string first_words(EntryType type, std::string_view raw, std::size_t columns) const override {
    return omp::first_words(type, raw, columns);
  }
  void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const override { add_spoken_turns(entry, turns); }
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override {
    return read_spoken_turns(spoken, take);
  }
  [[nodiscard]] Saying saying(const SpokenEntry& entry) const override {
    return is_put_in(entry.raw) ? Saying() : RecordRenderer::saying(entry);
  }
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override {
    return build_context(path, std::move(log), std::move(blobs));
  }

 protected:
  /// Without files that were named on the command line, skills and reminders (omp/FORMAT.md C25).
  [[nodiscard]] std::string typed_in(std::string_view text) const override {
    static constexpr std::string_view kElements[] = {"file", "skill", "system-reminder", "system-notice"};
    return without_elements(text, kElements);
  }
};

}  // namespace

std::string usage_json(const UsageTotals& totals, Dialect dialect) {
  const Usage& sum = totals.sum(static_cast<std::size_t>(dialect));
  UsageText text;
  text.add("input", sum.input).add("output", sum.output);
  text.add("cacheRead", sum.cache_read).add("cacheWrite", sum.cache_write);
  if (dialect != Dialect::omp13) {
    text.add("totalTokens", sum.total_tokens);
  }
  if (dialect == Dialect::omp18) {
    text.add("orchestrationInput", 0).add("orchestrationOutput", 0).add("orchestrationCacheRead", 0);
  }
  if (dialect != Dialect::pi) {
    text.add("premiumRequests", sum.premium_requests);
  }
  return text.add("cost", sum.cost).text();
}

const RecordRenderer& renderer() {
  static const Renderer renderer;
  return renderer;
}

}  // namespace arborfs::omp
