// The prompts typed to Claude Code, in history.jsonl in its folder (claude/FORMAT.md A7).
#include "core/store/prompt_lines.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/formats/claude/format.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/file.h"

namespace arborfs::claude {
namespace {

constexpr std::int64_t kMillis = 1000;
constexpr std::uint64_t kMostPasted = std::uint64_t{16} << 20U;

/// The text of a pasted piece: it stands in the line, or in the folder paste-cache under its hash. Nothing if it is
/// gone, or an image.
std::optional<std::string> pasted_text(std::string_view piece, const std::string& config_dir) {
  if (auto text = skim::string_value(skim::member(piece, "content"))) {
    return text;
  }
  const std::string hash = skim::text_member(piece, "contentHash");
  const bool is_hash = !hash.empty() && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  const auto cache = is_hash ? Dir::open_below_root(config_dir, "paste-cache") : Result<Dir>(Errc::not_found, "");
  const auto file = cache ? File::open_in(*cache, hash + ".txt") : Result<File>(cache.error());
  auto text = file ? file->read(0, kMostPasted) : Result<std::string>(file.error());
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

/// `[Pasted text #1 +40 lines]` in `display` stands for the piece 1: its text takes that place, once, as long as all
/// together have at most kMostPasted bytes.
std::string with_pasted(const std::string& display, std::string_view pieces, const std::string& config_dir) {
  constexpr std::string_view kBegin = "[Pasted text #";
  std::string text;
  std::size_t done = 0;
  std::uint64_t left = kMostPasted;
  for (skim::Cursor each(pieces); each.next();) {  // in the order of their numbers, as they were pasted
    const std::string begin = std::string(kBegin) + std::string(each.key());
    std::size_t at = display.find(begin, done);
    while (at != std::string::npos && at + begin.size() < display.size() && display[at + begin.size()] >= '0' &&
           display[at + begin.size()] <= '9') {
      at = display.find(begin, at + 1);
    }
    const std::size_t end = at == std::string::npos ? at : display.find(']', at);
    if (end == std::string::npos) {
      continue;
    }
    if (const auto pasted = pasted_text(each.value(), config_dir); pasted && pasted->size() <= left) {
      text.append(display, done, at - done).append(*pasted);
      left -= pasted->size();
      done = end + 1;
    }
  }
  return text.append(display, done);
}

class Lines final : public PromptLineFormat {
 public:
  explicit Lines(std::string config_dir) : config_dir_(std::move(config_dir)) {}

  [[nodiscard]] std::optional<std::int64_t> time_of(std::string_view line) const override {
    const auto time = skim::text_member(line, "display").empty() ? std::nullopt : whole_member(line, "timestamp");
    return time ? std::optional(*time / kMillis) : std::nullopt;
  }
  [[nodiscard]] Prompt read(std::string_view line) const override {
    return {time_of(line).value_or(0),
            with_pasted(skim::text_member(line, "display"), skim::member(line, "pastedContents"), config_dir_),
            skim::text_member(line, "project"), skim::text_member(line, "sessionId")};
  }
  [[nodiscard]] Result<std::string> write(const Prompt& prompt) const override {
    auto line = json::Text::object().add("display", prompt.text).add_json("pastedContents", "{}");
    line.add_json("timestamp", std::to_string(prompt.time_s * kMillis)).add("project", prompt.cwd);
    return prompt.session.empty() ? line.str() : line.add("sessionId", prompt.session).str();
  }

 private:
  const std::string config_dir_;
};

}  // namespace

std::unique_ptr<PromptHistory> prompt_history(const std::string& config_dir, Disk& disk) {
  return make_prompt_lines(config_dir + "/history.jsonl", std::make_unique<const Lines>(config_dir), disk);
}

}  // namespace arborfs::claude
