// A format as small as one can be, as an example and for tests: an agent whose sessions are text files. The first line
// is the title, every other line is an entry, `role: words`, and follows the previous one.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace arborfs::testing {

const Format& text_format();

/// The sessions are `*.txt` in `folder`. `disk` outlives the store.
std::shared_ptr<Store> make_text_store(const std::string& folder, Disk& disk);

}  // namespace arborfs::testing
