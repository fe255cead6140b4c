// Appends that are JSON objects, one after another (CONTRACT.md 4.1). Pure; any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/writer/writer.h"

namespace arborfs {

/// An object of a command that is refused, by its number from 1. Errc::invalid_argument.
Error refused_object(std::size_t number, std::string_view why);

/// Errors: too_large, not_utf8.
Result<void> check_append_text(const AppendText& text);

/// Calls `take` for each object until it fails. Errors: invalid_argument for a value that is not an object and for a
/// text without any; those of `take`.
Result<void> each_object(std::string_view text, const std::function<Result<void>(const json::Value& object)>& take);

}  // namespace arborfs
