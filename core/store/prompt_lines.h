// A prompt history that an agent keeps as a file of JSON lines, to which it appends one line a prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/os/disk.h"
#include "core/store/prompt_history.h"

namespace arborfs {

/// The lines of one agent. Called by any thread.
class PromptLineFormat {
 public:
  virtual ~PromptLineFormat() = default;
  /// When the prompt of a line was typed, seconds since 1970; nothing if the line is no prompt. `line` is valid JSON.
  [[nodiscard]] virtual std::optional<std::int64_t> time_of(std::string_view line) const = 0;
  /// The prompt of a line that has a time.
  [[nodiscard]] virtual Prompt read(std::string_view line) const = 0;
  /// The line of a prompt that has a time, without its line feed. Errors: invalid_argument for a prompt without what
  /// the agent's lines must have.
  [[nodiscard]] virtual Result<std::string> write(const Prompt& prompt) const = 0;
};

/// The history in the file at `path`, which need not exist; lines that are no prompts are passed over. Memory: 24 bytes
/// a prompt, and one prompt. Adding is one write at the end of the file, which is created with mode 0600. `disk`
/// outlives the history. Thread-safe.
std::unique_ptr<PromptHistory> make_prompt_lines(std::string path, std::unique_ptr<const PromptLineFormat> format,
                                                 Disk& disk);

/// A number of whole seconds or milliseconds in a member of a JSON object; nothing if it is none.
std::optional<std::int64_t> whole_member(std::string_view object, std::string_view name);

}  // namespace arborfs
