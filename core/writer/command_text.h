// The text of a command that is written to a control file: its lines and words, or one JSON object instead. Pure; any
// thread.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/stripped.h"
#include "core/json/document.h"
#include "core/writer/writer.h"

namespace arborfs {

/// Takes the first line off; without its line feed.
std::string_view take_line(std::string_view& text);
/// The words of a line, split at blanks.
std::vector<std::string> words_of(std::string_view line);

/// A command that is one JSON object instead of lines.
class JsonCommand {
 public:
  static bool is_one(std::string_view text) { return stripped(text).starts_with('{'); }
  /// Errors: invalid_argument if the text is not an object or has members that are not in `known`.
  static Result<JsonCommand> parse(std::string_view text, std::initializer_list<std::string_view> known);
  [[nodiscard]] std::string text(std::string_view key) const {
    return std::string(json::string_member(*document_, key).value_or(std::string_view()));
  }
  [[nodiscard]] bool has(std::string_view key) const { return json::member(*document_, key) != nullptr; }
  [[nodiscard]] bool flag(std::string_view key) const {
    const auto* value = json::member(*document_, key);
    return value != nullptr && value->IsTrue();
  }
  [[nodiscard]] bool force() const { return flag("force"); }

 private:
  std::unique_ptr<json::Document> document_ = std::make_unique<json::Document>();
};

/// One JSON object, or one line: a name, and files to keep. Errors: invalid_argument.
Result<CheckpointWanted> checkpoint_of_text(std::string_view text);

struct RewindWanted {
  std::string checkpoint;
  bool dry_run = false;
  bool force = false;
};

/// One JSON object, or the name of a checkpoint. Errors: invalid_argument.
Result<RewindWanted> rewind_of_text(std::string_view text);

}  // namespace arborfs
