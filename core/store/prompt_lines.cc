#include "core/store/prompt_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"
#include "core/log/line_reader.h"
#include "core/log/log_file.h"
#include "core/os/file.h"
#include "core/store/log_writer.h"

namespace arborfs {

namespace {

struct PromptLine {
  std::int64_t time_s;
  std::uint64_t offset;
  std::uint64_t length;
};

class PromptLines final : public PromptHistory {
 public:
  PromptLines(std::string path, std::unique_ptr<const PromptLineFormat> format, Disk& disk)
      : path_(std::move(path)),
        folder_(std::filesystem::path(path_).parent_path().string()),
        name_(std::filesystem::path(path_).filename().string()),
        format_(std::move(format)),
        disk_(disk) {}

  [[nodiscard]] Result<State> state() const override {
    const auto folder = Dir::open_root(folder_);
    const auto st = folder ? folder->stat_end(name_) : Result<FileStat>(folder.error());
    if (!st) {
      return about(st.error());
    }
    const std::array<std::uint64_t, 3> told{st->ino, st->size, static_cast<std::uint64_t>(st->mtime_ns)};
    return State{st->mtime_ns, xxh64({reinterpret_cast<const char*>(told.data()), sizeof told})};
  }

  Result<void> read(const Span& span, const Reading& reading) const override {
    const auto done = read_newest_first(span, reading);
    return done ? done : Result<void>(about(done.error()));
  }

  Result<std::vector<Effect>> add(const Prompt& prompt, const Adding& how) override {
    if (!json::is_valid_utf8(prompt.text)) {
      return Error{Errc::not_utf8, "the prompt is not UTF-8"};
    }
    if (is_blank(prompt.text)) {
      return Error{Errc::invalid_argument, "the prompt has nothing but white space"};
    }
    Prompt timed = prompt;
    timed.time_s = prompt.time_s == 0 ? now_ms() / 1000 : prompt.time_s;
    ASSIGN_OR_RETURN(const std::string line, format_->write(timed));
    const auto end = std::chrono::steady_clock::now() + how.patience;
    auto done = append(line, how.sync);
    while (!done && done.error().code == Errc::stale && std::chrono::steady_clock::now() < end) {
      done = append(line, how.sync);
    }
    return done ? done : Result<std::vector<Effect>>(about(done.error()));
  }

  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  /// Says which file an error is about.
  [[nodiscard]] Error about(const Error& error) const {
    return {error.code, "the prompt history " + path_ + ": " + error.message};
  }

  Result<void> read_newest_first(const Span& span, const Reading& reading) const {
    ASSIGN_OR_RETURN(const auto folder, Dir::open_root(folder_));
    ASSIGN_OR_RETURN(const auto log, LogFile::open(folder, name_));
    ASSIGN_OR_RETURN(auto lines, lines_of(*log, span));
    std::stable_sort(lines.begin(), lines.end(), [](const PromptLine& one, const PromptLine& other) {
      return std::pair(one.time_s, one.offset) > std::pair(other.time_s, other.offset);
    });
    reading.restart();
    for (const PromptLine& line : lines) {
      ASSIGN_OR_RETURN(const std::string text, log->read(line.offset, line.length));
      if (!reading.take(format_->read(text))) {
        break;
      }
    }
    return {};
  }

  /// Of the prompts that were typed in `span`, in the order of the file.
  [[nodiscard]] Result<std::vector<PromptLine>> lines_of(const LogSource& log, const Span& span) const {
    ASSIGN_OR_RETURN(const std::uint64_t size, log.size());
    std::vector<PromptLine> lines;
    LineReader reader(log, size, {});
    for (;;) {
      ASSIGN_OR_RETURN(const auto* line, reader.next());
      if (line == nullptr) {
        return lines;
      }
      const auto time = json::is_one_value(line->text) ? format_->time_of(line->text) : std::nullopt;
      if (time && *time >= span.first_s && *time <= span.last_s) {
        lines.push_back({*time, line->offset, line->length});
      }
    }
  }

  /// Errors: stale if another program wrote at the same moment.
  Result<std::vector<Effect>> append(const std::string& line, bool sync) {
    ASSIGN_OR_RETURN(auto opened, Dir::open_root(folder_));
    const auto folder = std::make_shared<const Dir>(std::move(opened));
    const bool is_new = !folder->stat_end(name_);
    ASSIGN_OR_RETURN(const auto lines, open_lines(disk_, folder, name_));
    const FileStat was = lines->stat();
    RETURN_IF_ERROR(append_line(*lines, line + "\n"));
    RETURN_IF_ERROR(sync ? lines->sync() : Result<void>());
    const std::string& added = lines->appended();
    if (added.empty()) {
      return std::vector<Effect>();
    }
    return std::vector<Effect>{effect_of(is_new ? made_file(path_, added) : appended_to(path_, was, added))};
  }

  const std::string path_;
  const std::string folder_;
  const std::string name_;
  const std::unique_ptr<const PromptLineFormat> format_;
  Disk& disk_;
};

}  // namespace

std::unique_ptr<PromptHistory> make_prompt_lines(std::string path, std::unique_ptr<const PromptLineFormat> format,
                                                 Disk& disk) {
  return std::make_unique<PromptLines>(std::move(path), std::move(format), disk);
}

std::optional<std::int64_t> whole_member(std::string_view object, std::string_view name) {
  const std::string_view text = skim::member(object, name);
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace arborfs
