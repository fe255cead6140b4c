// What the interfaces of models accept of a conversation, whichever agent sends it: Anthropic's, the strictest, decides
// (claude/FORMAT.md G3). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

/// The media type with which models take an image: that of its bytes if they show one of image/png, image/jpeg,
/// image/gif and image/webp, else the one that is told, if it means one of these; "" for an image that they refuse.
std::string accepted_image_type(std::string_view bytes, std::string_view told);

/// The name of a tool in [A-Za-z0-9_-]{1,128}: other characters become `_`, the rest is cut, and a missing name is
/// `unknown`.
std::string accepted_tool_name(std::string_view name);

}  // namespace arborfs
