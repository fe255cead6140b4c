// The model and the provider that Opal takes when it starts (opal/FORMAT.md E). A session does not say them: arborfs
// keeps those that a new session was made for in its header's metadata, where Opal keeps them and does not use them.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/store/session_store.h"

namespace arborfs::opal {

inline constexpr std::string_view kModelKey = "model";
inline constexpr std::string_view kProviderKey = "provider";

/// Opal's spelling, `provider:id`, of a model that is spelled so, or `provider/id`, or without a provider. Errors:
/// invalid_argument.
Result<std::string> model_to_start(std::string_view spelled);

/// What a start with a session takes, and why: an object of JSON, and a line feed. Reads Opal's settings.
std::string startup_json(const SessionStore& store, const Header& header);

}  // namespace arborfs::opal
