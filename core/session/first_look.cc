#include "core/session/first_look.h"

#include <optional>

#include "core/base/two_threads.h"

namespace arborfs {

FirstLook look_first(const SessionStore& store, const std::set<std::string>& folders) {
  const std::vector<std::string> names(folders.begin(), folders.end());
  std::vector<std::optional<Result<std::vector<FoundLog>>>> looks(names.size());
  on_two_threads(names.size(),
                 [&](std::size_t i) { looks[i] = store.logs(names[i], [](const LogPlace&) { return true; }); });
  FirstLook found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    found.emplace(names[i], std::move(*looks[i]));
  }
  return found;
}

}  // namespace arborfs
