#include "core/os/temporary_name.h"

namespace arborfs {
namespace {

constexpr std::string_view kBefore = ".arborfs-";
constexpr std::string_view kAfter = ".tmp";

}  // namespace

std::string temporary_name(std::string_view unique) {
  return std::string(kBefore) + std::string(unique) + std::string(kAfter);
}

bool is_temporary_name(std::string_view name) {
  return name.size() > kBefore.size() + kAfter.size() && name.starts_with(kBefore) && name.ends_with(kAfter);
}

}  // namespace arborfs
