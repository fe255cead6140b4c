#include "core/base/simd_classify.h"

#include <cstring>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace arborfs {

namespace {

template <std::size_t kCount>
void one_by_one(const char* bytes, std::size_t blocks, const ByteSets<kCount>& sets, Marks<kCount>* marks) {
  for (std::size_t block = 0; block < blocks; ++block, bytes += kMarkedBytes) {
    marks[block] = {};
    for (std::size_t i = 0; i < kMarkedBytes; ++i) {
      for (std::size_t set = 0; set < kCount; ++set) {
        marks[block][set] |= std::uint64_t{(sets.kind(bytes[i]) & sets.kinds(set)) != 0} << i;
      }
    }
  }
}

#ifdef __x86_64__

[[gnu::target("avx2")]] __m256i kinds_of_32(const char* bytes, __m256i low, __m256i high) {
  const __m256i half = _mm256_set1_epi8(15);
  const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i by_low = _mm256_shuffle_epi8(low, _mm256_and_si256(here, half));
  const __m256i by_high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(here, 4), half));
  return _mm256_and_si256(by_low, by_high);
}

[[gnu::target("avx2")]] std::uint64_t mark_of_32(__m256i kinds, __m256i wanted) {
  const __m256i out = _mm256_cmpeq_epi8(_mm256_and_si256(kinds, wanted), _mm256_setzero_si256());
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(out));
}

template <std::size_t kCount>
[[gnu::target("avx2")]] void by_32(const char* bytes, std::size_t blocks, const ByteSets<kCount>& sets,
                                   Marks<kCount>* marks) {
  const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sets.low())));
  const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sets.high())));
  for (std::size_t block = 0; block < blocks; ++block, bytes += kMarkedBytes) {
    const __m256i first = kinds_of_32(bytes, low, high);
    const __m256i second = kinds_of_32(bytes + sizeof(__m256i), low, high);
    for (std::size_t set = 0; set < kCount; ++set) {
      const __m256i wanted = _mm256_set1_epi8(static_cast<char>(sets.kinds(set)));
      marks[block][set] = mark_of_32(first, wanted) | mark_of_32(second, wanted) << sizeof(__m256i);
    }
  }
}

template <std::size_t kCount>
[[gnu::target("avx512f,avx512bw")]] void by_64(const char* bytes, std::size_t blocks, const ByteSets<kCount>& sets,
                                               Marks<kCount>* marks) {
  constexpr __mmask16 kAll = 0xFFFF;  // the unmasked intrinsic makes g++ 12 warn about its own header
  const __m512i low = _mm512_maskz_broadcast_i32x4(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(sets.low())));
  const __m512i high =
      _mm512_maskz_broadcast_i32x4(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(sets.high())));
  const __m512i half = _mm512_set1_epi8(15);
  for (std::size_t block = 0; block < blocks; ++block, bytes += kMarkedBytes) {
    const __m512i here = _mm512_loadu_si512(bytes);
    const __m512i by_low = _mm512_shuffle_epi8(low, _mm512_and_si512(here, half));
    const __m512i by_high = _mm512_shuffle_epi8(high, _mm512_and_si512(_mm512_srli_epi16(here, 4), half));
    const __m512i kinds = _mm512_and_si512(by_low, by_high);
    for (std::size_t set = 0; set < kCount; ++set) {
      marks[block][set] = _mm512_test_epi8_mask(kinds, _mm512_set1_epi8(static_cast<char>(sets.kinds(set))));
    }
  }
}

#endif

template <std::size_t kCount>
std::vector<Marker<kCount>> find_markers() {
  std::vector<Marker<kCount>> found;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") != 0) {
    found.push_back(by_64<kCount>);
  }
  if (__builtin_cpu_supports("avx2") != 0) {
    found.push_back(by_32<kCount>);
  }
#endif
  found.push_back(one_by_one<kCount>);
  return found;
}

}  // namespace

template <std::size_t kCount>
std::span<const Marker<kCount>> markers() {
  static const std::vector<Marker<kCount>> kMarkers = find_markers<kCount>();
  return kMarkers;
}

template <std::size_t kCount>
void mark(std::string_view text, const ByteSets<kCount>& sets, Marks<kCount>* marks) {
  static const Marker<kCount> kFastest = markers<kCount>().front();
  kFastest(text.data(), marks_for(text.size()), sets, marks);
  if (const std::size_t rest = text.size() % kMarkedBytes; rest != 0) {
    for (std::uint64_t& last : marks[text.size() / kMarkedBytes]) {
      last &= (std::uint64_t{1} << rest) - 1;
    }
  }
}

/// Marks whole blocks; the rest of the text once nothing else is left, from a copy that has padding.
void ByteSearch::mark_from(std::size_t at) {
  const std::string_view rest = text_.substr(at, marks_.size() * kMarkedBytes);
  const std::size_t whole = rest.size() / kMarkedBytes * kMarkedBytes;
  begin_ = at;
  end_ = at + (whole > 0 ? whole : rest.size());
  if (whole > 0) {
    return mark(rest.substr(0, whole), set_, marks_.data());
  }
  std::array<char, kMarkedBytes> copied;
  std::memcpy(copied.data(), rest.data(), rest.size());
  mark(std::string_view(copied.data(), rest.size()), set_, marks_.data());
}

template std::span<const Marker<1>> markers();
template std::span<const Marker<2>> markers();
template void mark(std::string_view text, const ByteSets<1>& sets, Marks<1>* marks);
template void mark(std::string_view text, const ByteSets<2>& sets, Marks<2>* marks);

}  // namespace arborfs
