#include "core/os/submounts.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

namespace arborfs {

namespace {

constexpr int kMountPointField = 4;

std::string_view field(std::string_view line, int number) {
  for (; number > 0; --number) {
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  }
  return line.substr(0, line.find(' '));
}

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    if (text[at] == '\\' && at + kDigits < text.size() &&
        std::from_chars(digits, digits + kDigits, byte, 8).ptr == digits + kDigits) {
      out += static_cast<char>(byte);
      at += kDigits;
    } else {
      out += text[at];
    }
  }
  return out;
}

}  // namespace

std::set<std::string> mounts_below(std::string_view mountinfo, const std::string& real_folder) {
  const std::string beginning = real_folder == "/" ? real_folder : real_folder + "/";
  std::set<std::string> names;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    const std::string point = line.empty() ? "" : unescaped(field(line, kMountPointField));
    if (point.size() > beginning.size() && point.starts_with(beginning)) {
      const std::string_view rest = std::string_view(point).substr(beginning.size());
      names.emplace(rest.substr(0, rest.find('/')));
    }
  }
  return names;
}

std::set<std::string> mounts_below(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr), &std::free);
  std::ifstream file("/proc/self/mountinfo", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return real ? mounts_below(text, real.get()) : std::set<std::string>();
}

}  // namespace arborfs
