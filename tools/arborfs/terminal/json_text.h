// JSON as the verbs print it with --json. Characters that could control or deceive a terminal are spelled \uXXXX, which
// means the same to every reader of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace arborfs::cli {

/// One object or array, built in the order of the calls. Strings are WTF-8.
class JsonText {
 public:
  static JsonText object() { return JsonText('{', '}'); }
  static JsonText array() { return JsonText('[', ']'); }
  /// An array with each item on a line of its own.
  static JsonText lines() { return JsonText('[', ']', "\n"); }

  // Members of an object.
  JsonText& add(std::string_view key, std::string_view text);
  JsonText& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  JsonText& add(std::string_view key, std::uint64_t number);
  JsonText& add(std::string_view key, std::uint32_t number) { return add(key, std::uint64_t{number}); }
  JsonText& add(std::string_view key, bool truth) { return add_json(key, truth ? "true" : "false"); }
  /// `json` is JSON text already.
  JsonText& add_json(std::string_view key, std::string_view json);

  // Items of an array.
  JsonText& item(std::string_view text);
  JsonText& item_json(std::string_view json);

  /// The whole text, closed, without a newline at the end.
  [[nodiscard]] std::string str() const;

 private:
  JsonText(char opener, char closer, std::string_view gap = "") : text_(1, opener), closer_(closer), gap_(gap) {}
  void comma();
  std::string text_;
  char closer_;
  std::string_view gap_;
  bool empty_ = true;
};

/// Copies JSON and writes \uXXXX for every character that a terminal may act upon, or that hides or reorders text.
/// Pieces may be cut anywhere.
class TerminalSafeJson {
 public:
  /// Appends the characters that are known to be complete to `out`.
  void feed(std::string_view piece, std::string& out);
  /// Appends the rest of a character that was cut, if any.
  void finish(std::string& out) { out += std::exchange(held_, {}); }

 private:
  std::string held_;
};

/// The same in one call.
std::string terminal_safe_json(std::string_view json);

}  // namespace arborfs::cli
