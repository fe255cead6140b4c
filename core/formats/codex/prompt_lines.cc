// The prompts typed to Codex, in history.jsonl in its folder (codex/FORMAT.md A8).
#include "core/store/prompt_lines.h"

#include "core/base/error.h"
#include "core/formats/codex/format.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::codex {
namespace {

class Lines final : public PromptLineFormat {
 public:
  [[nodiscard]] std::optional<std::int64_t> time_of(std::string_view line) const override {
    return skim::text_member(line, "text").empty() ? std::nullopt : whole_member(line, "ts");
  }
  [[nodiscard]] Prompt read(std::string_view line) const override {
    return {whole_member(line, "ts").value_or(0), skim::text_member(line, "text"), "",
            skim::text_member(line, "session_id")};
  }
  [[nodiscard]] Result<std::string> write(const Prompt& prompt) const override {
    if (prompt.session.empty()) {
      return Error{Errc::invalid_argument,
                   "Codex keeps no prompt without a thread; append to one on a mount with -o history"};
    }
    return json::Text::object()
        .add("session_id", prompt.session)
        .add_json("ts", std::to_string(prompt.time_s))
        .add("text", prompt.text)
        .str();
  }
};

}  // namespace

std::unique_ptr<PromptHistory> prompt_history(const std::string& home, Disk& disk) {
  return make_prompt_lines(home + "/history.jsonl", std::make_unique<const Lines>(), disk);
}

}  // namespace arborfs::codex
