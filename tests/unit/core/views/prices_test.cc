// Costs by list prices: which row of a list a model has, and what each kind of token costs.
#include "core/views/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr double kMillion = 1e6;

Usage usage_of(double input, double output, double cache_read = 0, double cache_write = 0) {
  Usage usage = untold_usage();
  usage.input = input;
  usage.output = output;
  usage.cache_read = cache_read;
  usage.cache_write = cache_write;
  return usage;
}

/// In dollars for a million tokens.
std::optional<double> input_price(const Prices& prices, const std::string& model) {
  return prices.cost_of(model, usage_of(kMillion, 0));
}

Prices listed(const std::string& rows) {
  Prices prices;
  const auto added = prices.add(
      "# a comment\n"
      "provider\tmodel\tinput\toutput\tcache_read\tcache_write\tcache_write_1h\tabove_tokens\tinput_above\toutput_"
      "above\t"
      "cache_read_above\tcache_write_above\n" +
      rows);
  EXPECT_TRUE(added) << added.error().message;
  return prices;
}

TEST(Prices, EachKindOfTokenHasItsOwn) {
  const Prices prices = listed("anthropic\tkite\t3\t15\t0.3\t3.75\t6\t\t\t\t\t\n");
  EXPECT_THAT(prices.cost_of("kite", usage_of(1000, 200, 30'000, 4000)),
              Optional(DoubleNear(0.003 + 0.003 + 0.009 + 0.015, 1e-12)));
  Usage hour = usage_of(1000, 200, 30'000, 4000);
  hour.cache_write_1h = 1000;
  EXPECT_THAT(prices.cost_of("kite", hour), Optional(DoubleNear(0.003 + 0.003 + 0.009 + 0.01125 + 0.006, 1e-12)));
  hour.cache_write_1h = -1e9;
  EXPECT_THAT(prices.cost_of("kite", hour), Optional(DoubleNear(0.003 + 0.003 + 0.009 + 0.015, 1e-12)));
  Usage part = untold_usage();
  part.output = 200;
  EXPECT_THAT(prices.cost_of("kite", part), Optional(DoubleNear(0.003, 1e-12))) << "an untold number is none";
}

TEST(Prices, LongRequestsHaveThePricesAbove) {
  const Prices prices = listed("anthropic\tkite\t3\t15\t0.3\t3.75\t6\t200000\t6\t22.5\t0.6\t7.5\n");
  EXPECT_THAT(prices.cost_of("kite", usage_of(150'000, 1000, 50'000)),
              Optional(DoubleNear(0.45 + 0.015 + 0.015, 1e-12)));
  Usage above = usage_of(150'000, 1000, 50'000, 2000);
  above.cache_write_1h = 1000;
  EXPECT_THAT(prices.cost_of("kite", above), Optional(DoubleNear(0.9 + 0.0225 + 0.03 + 0.0075 + 0.012, 1e-12)));
}

TEST(Prices, WhatIsNotKnownHasNone) {
  const Prices prices = listed("openai\tkite\t2\t8\t\t\t\t\t\t\t\t\n");
  EXPECT_THAT(prices.cost_of("kite", usage_of(1000, 1000)), Optional(DoubleNear(0.01, 1e-12)));
  EXPECT_EQ(prices.cost_of("kite", usage_of(1000, 1000, 1)), std::nullopt);
  EXPECT_EQ(prices.cost_of("heron", usage_of(1000, 1000)), std::nullopt);
  EXPECT_EQ(prices.cost_of("", usage_of(1000, 1000)), std::nullopt);
  EXPECT_EQ(prices.cost_of("kite", usage_of(1e300, 1)), std::nullopt) << "which are no tokens";
}

TEST(Prices, ZeroIsAPrice) {
  EXPECT_THAT(listed("own\tllama\t0\t0\t0\t0\t0\t\t\t\t\t\n").cost_of("llama", usage_of(1000, 1000, 5, 5)),
              Optional(0.0));
}

TEST(Prices, TheLongestNameThatAModelBeginsWithCounts) {
  const Prices prices = listed(
      "a\tgpt-5\t1\t1\t\t\t\t\t\t\t\t\n"
      "a\tgpt-5-mini\t2\t1\t\t\t\t\t\t\t\t\n"
      "a\tclaude-sonnet-4-5\t3\t1\t\t\t\t\t\t\t\t\n");
  EXPECT_THAT(input_price(prices, "gpt-5"), Optional(1.0));
  EXPECT_THAT(input_price(prices, "gpt-5-2026-01-01"), Optional(1.0));
  EXPECT_THAT(input_price(prices, "gpt-5-mini-2026-01-01"), Optional(2.0));
  EXPECT_EQ(input_price(prices, "gpt-5.1"), std::nullopt) << "another version";
  EXPECT_EQ(input_price(prices, "gpt-50"), std::nullopt);
  EXPECT_EQ(input_price(prices, "gpt"), std::nullopt);
  EXPECT_THAT(input_price(prices, "Claude-Sonnet-4-5-20250929[1m]"), Optional(3.0));
  EXPECT_THAT(input_price(prices, "anthropic/claude-sonnet-4-5"), Optional(3.0));
  EXPECT_THAT(input_price(prices, "openrouter/anthropic/claude-sonnet-4-5:beta"), Optional(3.0));
  EXPECT_THAT(input_price(prices, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"), Optional(3.0));
}

TEST(Prices, ALaterListGoesBeforeTheOthers) {
  Prices prices = listed("a\tkite\t1\t1\t\t\t\t\t\t\t\t\na\tkite-2\t2\t1\t\t\t\t\t\t\t\t\n");
  ASSERT_TRUE(prices.add("model\tinput\tvendor\r\nkite\t7\tmine\r\n"));
  EXPECT_THAT(input_price(prices, "kite"), Optional(7.0));
  EXPECT_THAT(input_price(prices, "kite-2"), Optional(7.0)) << "the user's list has it, under a shorter name";
  EXPECT_EQ(prices.cost_of("kite", usage_of(0, 1)), std::nullopt) << "its list has no price of that";
}

TEST(Prices, AWrongLineIsNamedAndTheOthersCount) {
  Prices prices;
  const auto wrong = prices.add("model\tinput\nkite\tcheap\n\t3\nheron\t-1\nowl\t4\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::invalid_argument);
  EXPECT_THAT(wrong.error().message, HasSubstr("line 2: a price is a number of dollars"));
  EXPECT_THAT(input_price(prices, "owl"), Optional(4.0));
  EXPECT_EQ(input_price(prices, "heron"), std::nullopt);
  const auto without_names = prices.add("kite\t3\n");
  ASSERT_FALSE(without_names);
  EXPECT_THAT(without_names.error().message, HasSubstr("line 1: the first line names the columns"));
}

TEST(Prices, TheListThatIsBuiltInIsWholeAndHasADate) {
  EXPECT_EQ(date_of_prices().size(), std::string("2026-07-24").size());
  Prices prices;
  const auto added = prices.add(kPriceList);
  ASSERT_TRUE(added) << added.error().message;
  for (const char* model : {"claude-opus-4-5", "claude-sonnet-4-5-20250929", "gpt-5.2-codex", "o3"}) {
    EXPECT_THAT(input_price(prices, model), Optional(::testing::Gt(0.1))) << model;
  }
  for (const char* model :
       {"claude-3-haiku-20240307", "claude-3-opus-20240229", "claude-opus-4-5", "claude-haiku-4-5"}) {
    Usage hour = usage_of(0, 0, 0, kMillion);
    hour.cache_write_1h = kMillion;
    EXPECT_THAT(prices.cost_of(model, hour), Optional(DoubleNear(2 * *input_price(prices, model), 1e-6))) << model;
  }
}

TEST(Prices, ThoseOfTheUserAreInTheConfiguration) {
  const testing::TempStore scratch;
  const testing::Variable config("XDG_CONFIG_HOME", scratch.root());
  const auto built_in = input_price(*Prices::in_force(), "o3");
  EXPECT_TRUE(built_in);
  std::filesystem::create_directories(scratch.root() + "/arborfs");
  EXPECT_EQ(Prices::in_force()->own(), "");
  std::ofstream(scratch.root() + "/arborfs/prices.tsv") << "model\tinput\no3\t99\nkite\tcheap\n";
  EXPECT_THAT(Prices::in_force()->problem(), HasSubstr("/arborfs/prices.tsv: line 3: a price is a number"));
  EXPECT_THAT(input_price(*Prices::in_force(), "o3"), Optional(DoubleNear(99, 1e-9)));
  EXPECT_TRUE(input_price(*Prices::in_force(), "gpt-5"));
}

}  // namespace
}  // namespace arborfs
