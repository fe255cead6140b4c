// How fuzz targets report a failure: words on stderr, then abort, which libFuzzer and ctest notice.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace arborfs::fuzz {

[[noreturn]] inline void fail(std::string_view what, const std::string& detail = "") {
  std::fprintf(stderr, "wrong: %.*s %s\n", static_cast<int>(what.size()), what.data(), detail.c_str());
  std::abort();
}

inline void check(bool holds, std::string_view what, const std::string& detail = "") {
  if (!holds) {
    fail(what, detail);
  }
}

inline void check_equal(std::uint64_t got, std::uint64_t wanted, std::string_view what) {
  if (got != wanted) {
    fail(what, "got " + std::to_string(got) + ", wanted " + std::to_string(wanted));
  }
}

inline void check_equal(std::string_view got, std::string_view wanted, std::string_view what) {
  if (got != wanted) {
    fail(what, "got <" + std::string(got) + ">, wanted <" + std::string(wanted) + ">");
  }
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace arborfs::fuzz
