// The text of a command that is written to a control file: its lines and words, or one JSON object instead. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/json/document.h"
#include "core/write/writer.h"

namespace arborfs {

/// The words of a line, split at blanks.
std::vector<std::string> words_of(std::string_view line);

/// A command that is one JSON object instead of lines.
class JsonCommand {
 public:
  static bool is_one(std::string_view text) { return stripped(text).starts_with('{'); }
  /// Errors: invalid_argument if the text is not an object or has members that are not in `known`.
  static Result<JsonCommand> parse(std::string_view text, std::initializer_list<std::string_view> known);
  [[nodiscard]] std::string text(std::string_view key) const { return json::text_member(*document_, key); }
  [[nodiscard]] bool has(std::string_view key) const { return json::member(*document_, key) != nullptr; }
  /// The texts of a list; none without the member.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
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

/// An object of a command that is refused, by its number from 1. Errc::invalid_argument.
Error refused_object(std::size_t number, std::string_view why);

/// Errors: too_large, not_utf8.
Result<void> check_append_text(const AppendText& text);

/// Appends that are JSON objects, one after another (CONTRACT.md 4.1): calls `take` for each until it fails. Errors:
/// invalid_argument for a value that is not an object and for a text without any; those of `take`.
Result<void> each_object(std::string_view text, const std::function<Result<void>(const json::Value& object)>& take);

inline constexpr std::size_t kLongestTitle = std::size_t{64} << 10U;

/// A title for agents that store it unchanged: control characters become spaces; spaces at both ends are removed.
std::string one_line_title(std::string_view title);

/// The same for a title that a user sets. Errors: not_utf8, invalid_argument (nothing is left), too_large.
Result<std::string> checked_title(std::string_view title);

/// The title of a session after a command to set it to `wanted`: one that was made automatically ("auto") takes the
/// place of none.
std::string title_in_force(std::string_view present, std::string_view wanted, std::string_view source);

/// The leaf is not the one that a command wants: stale.
Error leaf_has_moved();

/// What an object tells arborfs, in members that do not reach the log.
struct CommandOptions {
  std::string if_leaf;
  bool force = false;
  /// True if the member is one of them.
  bool take(std::string_view key, const json::Value& value);
  /// `leaf`: its id, "" for none, which a command calls root. Errors: those of leaf_has_moved().
  [[nodiscard]] Result<void> check_leaf(std::string_view leaf) const;
};

/// The text of one message, without its last line feed. Errors: invalid_argument if nothing is left.
Result<std::string_view> message_text(std::string_view text);

}  // namespace arborfs
