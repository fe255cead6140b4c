// Lists the logs of one folder of a store. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/session_store.h"

namespace arborfs {

/// True for the names of logs.
using IsLogName = std::function<bool(std::string_view name)>;

/// As SessionStore::logs, for `dir`, which is `folder`: the regular files whose names are those of logs.
Result<std::vector<FoundLog>> list_logs(const Dir& dir, const std::string& folder, const Format& format,
                                        const IsLogName& is_log_name, const HeadWanted& wants_head);

}  // namespace arborfs
