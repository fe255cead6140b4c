// The text of one session's records, composed from the rows or files in which OpenCode keeps them: an entry is
// `{"info":…,"parts":[…]}`, as in OpenCode's own export (opencode/FORMAT.md C1). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs::opencode {

/// A JSON object that grows member by member. Keys are plain words.
class ObjectText {
 public:
  void add_text(std::string_view key, std::string_view text);
  /// Leaves the member out if `json` is not a JSON value.
  void add_json(std::string_view key, std::string_view json);
  void add_number(std::string_view key, double number);
  [[nodiscard]] std::string take() && { return std::move(text_) + "}"; }
  [[nodiscard]] bool is_empty() const { return text_.size() == 1; }

 private:
  void begin(std::string_view key);
  std::string text_ = "{";
};

/// True for one whole JSON value, with white space around it or not.
bool is_json(std::string_view text);
/// A JSON value without the white space between its tokens.
std::string without_spaces(std::string_view json);

/// Composes one entry, line by line: the entry, then those of its sources that are not JSON, as damage.
class EntryText {
 public:
  /// `ids` are members to add at the end, such as `"id":"msg_1"`; "" for none.
  void set_info(std::string_view json, std::string_view ids);
  void add_part(std::string_view json, std::string_view ids);
  /// Lines, each with its line feed. Without a valid info there is no entry, only damage.
  [[nodiscard]] std::string take() &&;

 private:
  void add_damage(std::string_view text);
  std::string info_;
  std::string parts_;
  std::string damage_;
};

}  // namespace arborfs::opencode
