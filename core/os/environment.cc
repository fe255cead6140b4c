#include "core/os/environment.h"

#include <cstdlib>
#include <filesystem>

namespace arborfs {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string resolved_path(const std::string& path) {
  std::error_code failed;
  const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  return failed ? path : canonical.string();
}

}  // namespace arborfs
