// The damage that the agents drop is measured the same however its bytes are split.
#include <gtest/gtest.h>

#include <random>

#include "core/formats/omp/log/record_scanner.h"

namespace arborfs::omp {
namespace {

struct TextMeasure {
  bool is_blank;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, Damage::Kind>> runs;
  bool operator==(const TextMeasure&) const = default;
};

TextMeasure measure(const std::string& bytes, std::size_t step) {
  DamageRun run(1000);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    run.feed(std::string_view(bytes).substr(at, step));
  }
  TextMeasure found{run.is_blank(), {}};
  for (const Damage& damage : run.runs(Damage::Kind::malformed)) {
    found.runs.emplace_back(damage.offset, damage.length, damage.kind);
  }
  return found;
}

TEST(DamageRun, IsIndependentOfThePieceSize) {
  std::mt19937 random(7);
  const std::string_view alphabet("\0\0\0\0 \n\t\xC2\xA0x", 10);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::size_t length = random() % 60; bytes.size() < length;) {
      bytes.append(random() % 20, alphabet[random() % alphabet.size()]);
    }
    const TextMeasure one_by_one = measure(bytes, 1);
    for (const std::size_t step : {2, 7, 8, 9, 1000}) {
      ASSERT_EQ(measure(bytes, step), one_by_one) << "round " << round << ", step " << step;
    }
  }
}

TEST(DamageRun, SeparatesNulsFromATornRecord) {
  const TextMeasure found = measure(std::string(20, '\0') + " {torn " + std::string(30, '\0') + "\n", 1000);
  const TextMeasure wanted{
      false, {{1000, 21, Damage::Kind::nul}, {1021, 5, Damage::Kind::malformed}, {1026, 31, Damage::Kind::nul}}};
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace arborfs::omp
