#include "core/os/environment.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>

namespace arborfs {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  const bool is_told = ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  return is_told ? name.data() : "unknown";
}

std::string resolved_path(const std::string& path) {
  std::error_code failed;
  const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  return failed ? path : canonical.string();
}

std::string normal_path(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

bool is_below(const std::string& path, const std::string& folder) {
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace arborfs
