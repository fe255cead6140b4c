#include "core/base/byte_marks.h"

#include <cstring>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace arborfs {

namespace {

template <class Is>
void mark_one_by_one(const char* bytes, std::size_t blocks, std::uint64_t* marks, Is is) {
  for (std::size_t block = 0; block < blocks; ++block, bytes += kMarkedBytes) {
    std::uint64_t mark = 0;
    for (std::size_t i = 0; i < kMarkedBytes; ++i) {
      mark |= std::uint64_t{is(bytes[i])} << i;
    }
    marks[block] = mark;
  }
}

void set_one_by_one(const char* bytes, std::size_t blocks, const ByteSet& set, std::uint64_t* marks) {
  mark_one_by_one(bytes, blocks, marks, [&set](char c) { return set.has(c); });
}

void byte_one_by_one(const char* bytes, std::size_t blocks, char byte, std::uint64_t* marks) {
  mark_one_by_one(bytes, blocks, marks, [byte](char c) { return c == byte; });
}

#ifdef __x86_64__

void byte_sse2(const char* bytes, std::size_t blocks, char byte, std::uint64_t* marks) {
  const __m128i wanted = _mm_set1_epi8(byte);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint64_t mark = 0;
    for (unsigned i = 0; i < kMarkedBytes; i += sizeof(__m128i), bytes += sizeof(__m128i)) {
      const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
      mark |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(here, wanted)))} << i;
    }
    marks[block] = mark;
  }
}

[[gnu::target("avx2")]] void byte_avx2(const char* bytes, std::size_t blocks, char byte, std::uint64_t* marks) {
  const __m256i wanted = _mm256_set1_epi8(byte);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint64_t mark = 0;
    for (unsigned i = 0; i < kMarkedBytes; i += sizeof(__m256i), bytes += sizeof(__m256i)) {
      const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
      mark |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(here, wanted)))} << i;
    }
    marks[block] = mark;
  }
}

[[gnu::target("avx2")]] void set_avx2(const char* bytes, std::size_t blocks, const ByteSet& set, std::uint64_t* marks) {
  const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.low())));
  const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.high())));
  const __m256i half = _mm256_set1_epi8(15);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint64_t mark = 0;
    for (unsigned i = 0; i < kMarkedBytes; i += sizeof(__m256i), bytes += sizeof(__m256i)) {
      const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
      const __m256i by_low = _mm256_shuffle_epi8(low, _mm256_and_si256(here, half));
      const __m256i by_high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(here, 4), half));
      const __m256i out = _mm256_cmpeq_epi8(_mm256_and_si256(by_low, by_high), _mm256_setzero_si256());
      mark |= std::uint64_t{~static_cast<std::uint32_t>(_mm256_movemask_epi8(out))} << i;
    }
    marks[block] = mark;
  }
}

#endif

std::vector<Marker> find_markers() {
  std::vector<Marker> found;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") != 0) {
    found.push_back({set_avx2, byte_avx2});
  }
  found.push_back({set_one_by_one, byte_sse2});
#endif
  found.push_back({set_one_by_one, byte_one_by_one});
  return found;
}

const Marker& fastest() {
  static const Marker marker = markers().front();
  return marker;
}

/// Takes away what was marked behind the text.
void trim(std::size_t size, std::uint64_t* marks) {
  if (const std::size_t rest = size % kMarkedBytes; rest != 0) {
    marks[size / kMarkedBytes] &= (std::uint64_t{1} << rest) - 1;
  }
}

}  // namespace

std::span<const Marker> markers() {
  static const std::vector<Marker> kMarkers = find_markers();
  return kMarkers;
}

void mark(std::string_view text, const ByteSet& set, std::uint64_t* marks) {
  fastest().set(text.data(), marks_for(text.size()), set, marks);
  trim(text.size(), marks);
}

void mark(std::string_view text, char byte, std::uint64_t* marks) {
  fastest().byte(text.data(), marks_for(text.size()), byte, marks);
  trim(text.size(), marks);
}

}  // namespace arborfs
