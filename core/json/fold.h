// Text without the difference between upper and lower case, as `rg -i` compares it: by Unicode's simple case folding.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

/// Each character of UTF-8 text in its folded form. Other bytes stay as they are. The result may have another length.
std::string folded(std::string_view text);
void append_folded(std::string_view text, std::string& out);

}  // namespace arborfs
