#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/base64.h"
#include "tests/support/paths.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHash = "a93986913d2ad2b9eba4313888b1edfbb6e09e2a3e443a7ba853167f78f8794a";

/// A log of consecutive entries, without an index.
struct CreateResult {
  std::shared_ptr<const LogSource> log;
  std::vector<Entry> entries;
};
CreateResult make_log(const std::vector<std::pair<EntryType, std::string>>& records) {
  CreateResult made;
  std::string bytes = "garbage before\n";
  for (const auto& [type, raw] : records) {
    Entry entry;
    entry.offset = bytes.size();
    entry.length = static_cast<std::uint32_t>(raw.size());
    entry.type = type;
    made.entries.push_back(entry);
    bytes += raw + "\n";
  }
  made.log = log_from_bytes(std::move(bytes));
  return made;
}

std::string user(const std::string& content) {
  return R"({"type":"message","message":{"role":"user","content":)" + content + "}}";
}
std::string image(const std::string& data, const std::string& mime = "image/png") {
  return R"({"type":"image","data":")" + data + R"(","mimeType":")" + mime + "\"}";
}

void add_usage(UsageTotals& totals, EntryType type, std::string_view raw) {
  if (const auto usage = omp::find_usage(type, raw)) {
    totals.add(*usage);
  }
}

TextSizes details_of(const CreateResult& made) {
  TextSizes details;
  auto delta = omp::renderer().measure(*made.log, details.next(), made.entries, {});
  EXPECT_TRUE(delta.has_value());
  details.apply(std::move(delta).value());
  return details;
}

void expect_same_sizes(const TextSizes& details, const CreateResult& made) {
  ASSERT_EQ(details.size(), made.entries.size());
  for (Ordinal ordinal = 1; ordinal <= details.size(); ++ordinal) {
    const Entry& entry = made.entries[ordinal - 1];
    const auto text = read_text(omp::renderer(), *made.log, entry.type, entry.offset, entry.length);
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(details.text_size(ordinal), text->size()) << ordinal;
  }
}

TEST(TextSizes, SizesAreRightAcrossWindows) {
  std::vector<std::pair<EntryType, std::string>> records;
  for (int i = 0; i < 2000; ++i) {
    records.emplace_back(EntryType::message, user('"' + std::string(static_cast<std::size_t>(i) * 7, 'x') + "\\n\""));
  }
  records.emplace_back(EntryType::message, user('"' + std::string(9'000'000, 'y') + '"'));
  records.emplace_back(EntryType::message, user("\"after\""));
  const CreateResult made = make_log(records);
  expect_same_sizes(details_of(made), made);
}

TEST(TextSizes, SizesOfTheCorpusMatchTheTexts) {
  for (const auto& item : fs::recursive_directory_iterator(fs::path(arborfs::tests::kTestData) / "corpus")) {
    if (item.path().filename() != "session.jsonl") {
      continue;
    }
    std::ifstream file(item.path(), std::ios::binary);
    CreateResult made;
    made.log = log_from_bytes({std::istreambuf_iterator<char>(file), {}});
    const auto index = omp::reader().index(*made.log, {});
    ASSERT_TRUE(index.has_value());
    for (Ordinal ordinal = 1; ordinal <= (*index)->size(); ++ordinal) {
      made.entries.push_back((*index)->entry(ordinal));
    }
    const TextSizes details = details_of(made);
    expect_same_sizes(details, made);
    UsageTotals usage;
    for (const Entry& entry : made.entries) {
      add_usage(usage, entry.type, *made.log->read(entry.offset, entry.length));
    }
    EXPECT_EQ(omp::usage_json(details.usage(), omp::Dialect::omp18), omp::usage_json(usage, omp::Dialect::omp18))
        << item.path();
    for (const ImageRef& ref : details.images()) {
      const auto bytes = read_inline_image(*made.log, made.entries[ref.ordinal - 1], ref, 0, UINT64_MAX);
      ASSERT_TRUE(bytes.has_value());
      EXPECT_EQ(bytes->size(), ref.size);
    }
  }
}

TEST(TextSizes, GrowsByDeltas) {
  const CreateResult made = make_log({{EntryType::message, user("\"one\"")},
                                      {EntryType::compaction, R"({"summary":"s"})"},
                                      {EntryType::message, user("[" + image("AAAA") + "]")}});
  TextSizes details;
  for (Ordinal ordinal = 1; ordinal <= 3; ++ordinal) {
    auto delta = omp::renderer().measure(*made.log, details.next(), {made.entries[ordinal - 1]}, {});
    ASSERT_TRUE(delta.has_value());
    EXPECT_EQ(delta->first, ordinal);
    details.apply(std::move(delta).value());
    EXPECT_EQ(details.size(), ordinal);
  }
  expect_same_sizes(details, made);
  ASSERT_EQ(details.images().size(), 1U);
  EXPECT_EQ(details.images()[0].ordinal, 3U);
}

TEST(TextSizes, CountsUsageOnce) {
  const std::string assistant =
      R"({"type":"message","message":{"role":"assistant","content":[],"usage":{"input":1,"output":2,"cacheRead":0,)"
      R"("cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}}}})";
  const std::string task =
      R"({"message":{"role":"toolResult","toolName":"task","content":[],"details":{"usage":{"input":4,"output":0,)"
      R"("cacheRead":0,"cacheWrite":0,"totalTokens":4,"cost":{"total":1}}}}})";
  const CreateResult made = make_log({{EntryType::message, assistant},
                                      {EntryType::message, assistant},
                                      {EntryType::message, user("\"usage\"")},
                                      {EntryType::message, task}});
  TextSizes details;
  for (Ordinal ordinal = 1; ordinal <= 4; ++ordinal) {
    auto delta = omp::renderer().measure(*made.log, details.next(), {made.entries[ordinal - 1]}, {});
    ASSERT_TRUE(delta.has_value());
    details.apply(std::move(delta).value());
  }
  EXPECT_EQ(omp::usage_json(details.usage(), omp::Dialect::omp13),
            R"({"input":6,"output":4,"cacheRead":0,"cacheWrite":0,"premiumRequests":0,"cost":1.5})");
}

TEST(TextSizes, GiantEntriesAreNotRead) {
  CreateResult made = make_log({{EntryType::message, user("\"one\"")}});
  Entry giant = made.entries[0];
  giant.length = 0xFFFFFFFF;
  made.entries.push_back(giant);
  const TextSizes details = details_of(made);
  std::string text;
  render_too_long(giant.length, text);
  EXPECT_EQ(details.text_size(2), text.size());
  text.clear();
  render_too_long(std::uint64_t{1} << 40U, text);
  EXPECT_EQ(details.text_size(2), text.size());
}

TEST(TextSizes, ReportsAShrunkLogAndCancellation) {
  CreateResult made = make_log({{EntryType::message, user("\"one\"")}});
  made.entries[0].length += 100;
  const TextSizes details;
  const auto stale = omp::renderer().measure(*made.log, details.next(), made.entries, {});
  ASSERT_FALSE(stale.has_value());
  EXPECT_EQ(stale.error().code, Errc::stale);
  std::stop_source stop;
  stop.request_stop();
  const auto interrupted = omp::renderer().measure(*made.log, details.next(), made.entries, stop.get_token());
  ASSERT_FALSE(interrupted.has_value());
  EXPECT_EQ(interrupted.error().code, Errc::interrupted);
}

TEST(Images, AreFoundInAllContentPlaces) {
  const std::string blob = std::string("blob:sha256:") + kHash;
  const CreateResult made = make_log(
      {{EntryType::message, R"({ "message" : {"role":"user","content":[1],"images":[)" + image("BBBB", "image/webp") +
                                R"(],"content":[{"type":"text","text":"]}\"{["}, )" + image("AAAA") + "," +
                                image(blob, "image/jpeg") + "," + image("blob:sha256:../x") +
                                R"(,{"type":"image"},{"type":"image","data":5},)" + image("A\\/A=") + "]}}"},
       {EntryType::custom_message, R"({"customType":"c","content":[)" + image("QUJD") + "]}"},
       {EntryType::message, user(R"("no image, but \"type\":\"image\"")")}});
  const TextSizes details = details_of(made);
  const auto& images = details.images();
  ASSERT_EQ(images.size(), 5U);
  EXPECT_EQ(images[0].number, 1U);
  EXPECT_EQ(images[0].extension, "png");
  EXPECT_TRUE(images[0].plain_base64);
  EXPECT_EQ(images[0].size, 3U);
  EXPECT_EQ(images[1].number, 2U);
  EXPECT_EQ(images[1].blob, kHash);
  EXPECT_EQ(images[1].extension, "jpg");
  EXPECT_EQ(images[2].number, 4U);
  EXPECT_FALSE(images[2].plain_base64);
  EXPECT_EQ(images[2].size, 2U);
  EXPECT_EQ(images[3].number, 5U);
  EXPECT_EQ(images[3].extension, "webp");
  EXPECT_EQ(images[4].ordinal, 2U);
  const auto bytes = read_inline_image(*made.log, made.entries[1], images[4], 0, 100);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(*bytes, "ABC");
}

void check_ranges(const std::string& spelled, const std::string& decoded) {
  const CreateResult made = make_log({{EntryType::message, user("[" + image(spelled) + "]")}});
  const TextSizes details = details_of(made);
  ASSERT_EQ(details.images().size(), 1U);
  const ImageRef& ref = details.images()[0];
  EXPECT_EQ(ref.size, decoded.size());
  for (std::size_t offset = 0; offset <= decoded.size() + 1; ++offset) {
    for (std::size_t length = 0; length <= decoded.size() + 1; ++length) {
      const auto bytes = read_inline_image(*made.log, made.entries[0], ref, offset, length);
      ASSERT_TRUE(bytes.has_value());
      ASSERT_EQ(*bytes, decoded.substr(std::min(offset, decoded.size()), length)) << spelled << offset << " " << length;
    }
  }
}

TEST(Images, AnyBase64RangeDecodes) {
  std::string bytes;
  for (int size = 0; size < 12; ++size) {
    const std::string canonical = json::encode_base64(bytes);
    check_ranges(canonical, bytes);
    check_ranges(canonical.substr(0, canonical.find('=')), bytes);
    check_ranges("\\u0020" + canonical, bytes);
    check_ranges(" " + canonical + "=junk", bytes);
    bytes += static_cast<char>(size * 41 + 200);
  }
  check_ranges("_-_-", json::decode_base64("/+/+"));
}

TEST(TextSizes, BatchEqualsOneByOne) {
  std::vector<std::pair<EntryType, std::string>> records;
  UsageTotals usage;
  std::size_t images = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string words((i * 37) % 8000, 'w');
    if (i % 500 == 77) {
      records.emplace_back(EntryType::message, user("\"" + std::string(700'000, 'g') + "\""));
    } else if (i % 10 == 3) {
      records.emplace_back(EntryType::message, user("[" + image("aGVsbG8=") + "," + image("d29ybGQ=") + "]"));
      images += 2;
    } else {
      const std::string cost = "0." + std::to_string(1 + i * 7919 % 99991);
      records.emplace_back(EntryType::message,
                           R"({"type":"message","message":{"role":"assistant","content":")" + words +
                               R"(","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":5,)" +
                               R"("cost":{"total":)" + cost + "}}}}");
    }
    add_usage(usage, records.back().first, records.back().second);
  }
  const CreateResult made = make_log(records);
  const TextSizes details = details_of(made);
  expect_same_sizes(details, made);
  ASSERT_EQ(details.images().size(), images);
  EXPECT_TRUE(std::is_sorted(details.images().begin(), details.images().end(),
                             [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; }));
  EXPECT_EQ(omp::usage_json(details.usage(), omp::Dialect::omp18), omp::usage_json(usage, omp::Dialect::omp18))
      << "sums depend on the order";
}

}  // namespace
}  // namespace arborfs
