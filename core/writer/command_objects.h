// Appends that are JSON objects, one after another (CONTRACT.md 4.1). Pure; any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/writer/writer.h"

namespace arborfs {

/// An object of a command that is refused, by its number from 1. Errc::invalid_argument.
Error refused_object(std::size_t number, std::string_view why);

/// What an object tells arborfs, in members that do not reach the log.
struct CommandOptions {
  std::string if_leaf;
  bool force = false;
  /// True if the member is one of them.
  bool take(std::string_view key, const json::Value& value);
};

/// The text of one message, without its last line feed. Errors: invalid_argument if nothing is left.
Result<std::string_view> message_text(std::string_view text);

/// Errors: too_large, not_utf8.
Result<void> check_append_text(const AppendText& text);

/// Calls `take` for each object until it fails. Errors: invalid_argument for a value that is not an object and for a
/// text without any; those of `take`.
Result<void> each_object(std::string_view text, const std::function<Result<void>(const json::Value& object)>& take);

}  // namespace arborfs
