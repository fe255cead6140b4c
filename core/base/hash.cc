#include "core/base/hash.h"

#include <openssl/evp.h>

#include <cstring>
#include <new>

namespace arborfs {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Impl() {
    if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) {
      throw std::bad_alloc();
    }
  }
  ~Impl() { EVP_MD_CTX_free(context); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {}
Sha256::~Sha256() = default;

void Sha256::update(std::string_view piece) {
  EVP_DigestUpdate(impl_->context, piece.data(), piece.size());
}

std::string Sha256::finish_hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(impl_->context, digest, &length);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(static_cast<std::size_t>(length) * 2);
  for (unsigned int i = 0; i < length; ++i) {
    hex.push_back(kHex[digest[i] >> 4]);
    hex.push_back(kHex[digest[i] & 15]);
  }
  return hex;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish_hex();
}

namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

std::uint64_t rotl(std::uint64_t x, int r) {
  return (x << r) | (x >> (64 - r));
}

template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;  // XXH64 reads little-endian words; x86-64 and arm64 Debian are little-endian
}

std::uint64_t mix_lane(std::uint64_t acc, std::uint64_t lane) {
  return rotl(acc + lane * kPrime2, 31) * kPrime1;
}

std::uint64_t mix_tail(std::uint64_t h, const char* p, std::size_t left) {
  for (; left >= 8; p += 8, left -= 8) {
    h = rotl(h ^ mix_lane(0, load<std::uint64_t>(p)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    h = rotl(h ^ (load<std::uint32_t>(p) * kPrime1), 23) * kPrime2 + kPrime3;
    p += 4;
    left -= 4;
  }
  for (; left > 0; ++p, --left) {
    h = rotl(h ^ (static_cast<unsigned char>(*p) * kPrime5), 11) * kPrime1;
  }
  return h;
}

}  // namespace

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) {
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t h = seed + kPrime5;
  if (left >= 32) {
    std::uint64_t v[4] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; left >= 32; left -= 32) {
      for (auto& lane : v) {
        lane = mix_lane(lane, load<std::uint64_t>(p));
        p += 8;
      }
    }
    h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
    for (const auto lane : v) {
      h = (h ^ mix_lane(0, lane)) * kPrime1 + kPrime4;
    }
  }
  h = mix_tail(h + bytes.size(), p, left);
  h = (h ^ (h >> 33)) * kPrime2;
  h = (h ^ (h >> 29)) * kPrime3;
  return h ^ (h >> 32);
}

}  // namespace arborfs
