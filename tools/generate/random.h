// Pseudorandom numbers, the same for the same seed on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace arborfs::generate {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// 0 to limit - 1.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Log-uniform between low and high: each doubling is as likely as the next, like the lengths of texts.
  std::size_t spread(double low, double high) {
    return static_cast<std::size_t>(low * std::exp(unit() * std::log(high / low)));
  }
  /// Mean 0, standard deviation 1. The sum of twelve numbers is exact enough here.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += unit();
    }
    return sum;
  }
  template <class T, std::size_t N>
  const T& pick(const T (&from)[N]) {
    return from[below(N)];
  }
  void append_hex(std::string& out, std::size_t digits);
  std::string hex(std::size_t digits) {
    std::string out;
    append_hex(out, digits);
    return out;
  }

 private:
  std::uint64_t state_;
};

inline void Random::append_hex(std::string& out, std::size_t digits) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (i % 16 == 0) {
      bits = next();
    }
    out.push_back("0123456789abcdef"[bits & 15]);
    bits >>= 4;
  }
}

}  // namespace arborfs::generate
