#include "core/os/temporary_name.h"

namespace arborfs {
namespace {

constexpr std::string_view kBefore = ".arborfs-";
constexpr std::string_view kAfter = ".tmp";
constexpr std::string_view kRemoved = ".arborfs-removed-";

}  // namespace

std::string temporary_name(std::string_view unique) {
  return std::string(kBefore) + std::string(unique) + std::string(kAfter);
}

bool is_temporary_name(std::string_view name) {
  return name.size() > kBefore.size() + kAfter.size() && name.starts_with(kBefore) && name.ends_with(kAfter);
}

std::string removed_name(std::string_view unique) {
  return std::string(kRemoved) + std::string(unique);
}

bool is_removed_name(std::string_view name) {
  return name.size() > kRemoved.size() && name.starts_with(kRemoved);
}

}  // namespace arborfs
