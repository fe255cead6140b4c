// Hashes: SHA-256 for content (the only user of OpenSSL) and a fast stable 64-bit hash for numbers that must be
// the same after a remount, such as inode numbers. Any thread; a Sha256 object is used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace arborfs {

/// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

/// SHA-256 of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::string_view piece);
  /// 64 lower-case hex digits; call once.
  std::string finish_hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// XXH64 of the bytes; the same on every machine and in every version of arborfs. The name of the agents' lock gate
/// uses this hash too (omp/FORMAT.md G4).
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace arborfs
