// The model and the provider that Opal uses when it starts (opal/FORMAT.md E). Opal does not store them in a session:
// arborfs stores those of a new session in its header's metadata, which Opal preserves but does not use. Any thread.
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

/// The model and provider of a start with a session, and the reason: a JSON object and a line feed. Reads Opal's
/// settings.
std::string startup_json(const SessionStore& store, const Header& header);

}  // namespace arborfs::opal
