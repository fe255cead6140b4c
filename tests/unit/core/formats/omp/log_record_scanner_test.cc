// Records that the scanner reads ahead, in the plain form that agents write, equal those that it reads byte by byte,
// whatever the log holds.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/record_scanner.h"
#include "tests/unit/log_test_support.h"

namespace arborfs::omp {
namespace {

std::string shown(const RecordFields& record) {
  std::string text = std::to_string(record.offset) + "+" + std::to_string(record.length) + " shape " +
                     std::to_string(static_cast<int>(record.shape));
  for (const FieldValue* field :
       {&record.id, &record.parent, &record.type, &record.timestamp, &record.target, &record.label, &record.role}) {
    text += " " + std::to_string(static_cast<int>(field->kind)) + "'" + std::string(field->text) + "'";
  }
  return text;
}

struct Scanned {
  std::vector<std::string> records;
  std::vector<std::uint64_t> damage;
  std::uint64_t resume = 0;
};

Scanned scan(const LogSource& log, std::uint64_t size, bool reads_ahead) {
  LogWindow window(log, size);
  RecordScanner scanner(window, {}, false, reads_ahead ? &log : nullptr);
  Scanned scanned;
  for (auto record = scanner.next();; record = scanner.next()) {
    EXPECT_TRUE(record.has_value());
    if (!record || *record == nullptr) {
      break;
    }
    scanned.records.push_back(shown(**record));
  }
  for (const Damage& damage : scanner.losses().damage) {
    scanned.damage.push_back(damage.offset);
    scanned.damage.push_back(damage.length);
  }
  scanned.resume = scanner.tail().resume.offset;
  return scanned;
}

/// Returns what was scanned.
Scanned expect_same(const std::string& bytes) {
  const auto log = log_from_bytes(bytes);
  Scanned exact = scan(*log, bytes.size(), false);
  const Scanned ahead = scan(*log, bytes.size(), true);
  EXPECT_EQ(ahead.records.size(), exact.records.size());
  for (std::size_t i = 0; i < std::min(ahead.records.size(), exact.records.size()); ++i) {
    EXPECT_EQ(ahead.records[i], exact.records[i]);
  }
  EXPECT_EQ(ahead.damage, exact.damage);
  EXPECT_EQ(ahead.resume, exact.resume);
  return exact;
}

std::string some_line(std::mt19937& random) {
  const std::string id = std::to_string(random() % 1000);
  switch (random() % 12) {
    case 0:
      return "{\"id\":" + id + ",\"x\":\n[1,\n{\"id\":\"inner\"}\n]}\n";  // of several lines
    case 1:
      return "{\"id\":\"" + id + "\"} {\"id\":\"fused\"}\n";
    case 2:
      return "not JSON " + id + "\n";
    case 3:
      return "\n \r\n";
    case 4:
      return "{\"id\":\"" + std::string(random() % 3000, 'l') + "\"}\n";
    case 5:
      return "  {\"id\":\"indented\"}\t\r\n";
    case 6:
      return std::string(random() % 3, '\0') + "5\n";
    default:
      return "{\"type\":\"message\",\"id\":\"" + id + "\",\"parentId\":null,\"message\":{\"role\":\"user\"}}\n";
  }
}

TEST(RecordScanner, ReadsAheadWhatItReadsByteByByte) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string bytes;
    const std::size_t lines = round % 10 == 0 ? 5000 : random() % 120;  // of several stretches, of one
    for (std::size_t i = 0; i < lines; ++i) {
      bytes += some_line(random);
    }
    bytes += round % 3 == 0 ? "{\"id\":\"unended\"}" : round % 3 == 1 ? "{\"id\":" : "";
    expect_same(bytes);
  }
}

std::string chain(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += "{\"type\":\"message\",\"id\":\"" + std::to_string(i) +
             "\",\"message\":{\"role\":\"user\",\"content\":\"as long as they are\"}}\n";
  }
  return bytes;
}

TEST(RecordScanner, GoesOnBehindAValueOfManyStretches) {
  for (const std::size_t size : {400'000, 600'000, 1'500'000, 3'000'000, 9'000'000}) {
    const std::string text = chain(3000) + "{\"id\":\"" + std::string(size, 'l') + "\"}\n" + chain(9000);
    EXPECT_EQ(expect_same(text).records.size(), 12'001U);
    const std::string lines = chain(3000) + "{\"x\":[" + std::string(size, '\n') + "]}\n" + chain(9000);
    EXPECT_EQ(expect_same(lines).records.size(), 12'001U);
  }
}

TEST(RecordScanner, EndsWhereALogWasTruncated) {
  const std::string bytes = chain(100);
  const auto log = log_from_bytes(bytes);
  EXPECT_EQ(scan(*log, bytes.size() * 3, true).records.size(), 100U);
}

TEST(RecordScanner, StopsWhenCancelled) {
  const std::string bytes = chain(10'000);
  const auto log = log_from_bytes(bytes);
  std::stop_source stop;
  LogWindow window(*log, bytes.size(), stop.get_token());
  RecordScanner scanner(window, {}, false, log.get());
  ASSERT_TRUE(scanner.next());
  stop.request_stop();
  auto record = scanner.next();
  while (record && *record != nullptr) {
    record = scanner.next();
  }
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, Errc::interrupted);
}

TEST(RecordScanner, IndexesABigLog) {
  const std::string bytes = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n" + chain(50'000);
  const auto index = test::build(bytes);
  ASSERT_EQ(index->size(), 50'000U);
  EXPECT_EQ(index->find("49999"), 50'000U);
  EXPECT_EQ(index->scanned_size(), bytes.size());
}

constexpr std::string_view kRecords[] = {
    R"({"type":"message","id":"5358d0eb","parentId":null,"timestamp":"2026-01-05T08:00:30.622Z","message":)"
    R"({"role":"user","content":[{"type":"text","text":"a\n\"b\"\\ \u00e9\ud83d\ude00 ünï"}],"n":[1,-0.5e+10,0,[],{}]}})",
    R"({"type":"label","id":"a","parentId":"b","targetId":"c","label":null,"x":{"id":"deep","message":{"role":"x"}}})",
    R"( {"id" : "a" , "message" : [ { "role" : "no" } ] , "label":true,"x":[true,false,null] })",
    R"([{"id":"no"},"message",{"role":"no"},[[]]])",
    R"({"message":{"role":"a"},"message":{"x":{"role":"no"}},"id":"1","id":"2"})",
    R"({})",
    R"([])",
};

TEST(RecordScanner, PlainRecordsHaveTheirFields) {
  for (const std::string_view record : kRecords) {
    EXPECT_EQ(expect_same(std::string(record) + "\n").records.size(), 1U) << record;
  }
}

TEST(RecordScanner, MutatedRecordsAreReadAlike) {
  constexpr std::string_view kBytes = "\"\\,:{}[] \n\t\r0-1.eEtfnu/\x01\x80\xC3\xFFz";
  for (const std::string_view record : kRecords) {
    for (std::size_t at = 0; at < record.size(); ++at) {
      std::string lines(record);
      lines.erase(at, 1) += '\n';
      for (const char byte : kBytes) {
        std::string replaced(record);
        replaced[at] = byte;
        std::string added(record);
        added.insert(at, 1, byte);
        lines += replaced + "\n" + added + "\n";
      }
      expect_same(lines);
    }
  }
}

TEST(RecordScanner, OddJsonIsReadAlike) {
  for (const char* const text : {"{",
                                 "[",
                                 "[1",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "[1,]",
                                 "[,1]",
                                 "[01]",
                                 "[-]",
                                 "[1.]",
                                 "[.5]",
                                 "[1e]",
                                 "[+1]",
                                 "[tru]",
                                 "[truex]",
                                 "[True]",
                                 "[nul]",
                                 "[NaN]",
                                 "[1 2]",
                                 "[\"a\"b]",
                                 "[1\"a\"]",
                                 "[\"a\" \"b\"]",
                                 "{1:2}",
                                 "[}",
                                 "{]",
                                 "[]]",
                                 "{}{}",
                                 "[1]2",
                                 "[\"\\x\"]",
                                 "[\"\\u12g4\"]",
                                 "[\"\\\"]",
                                 "[\"\\\\\\q\"]",
                                 "[\\\"a\"]",
                                 "[\"\x01\"]",
                                 "[\"\x80\"]",
                                 "[\"\xED\xA0\x80\"]",
                                 "{\"a\":1 \"b\":2}",
                                 "{\"a\",1}",
                                 "[\"\\u\"]",
                                 R"({"id":5})",
                                 R"({"id":["a"]})",
                                 R"({"label":{}})",
                                 R"({"id":"\u0061"})",
                                 R"({"\u0069d":"a"})",
                                 R"({"message":{"role":"\u0061"}})",
                                 R"({"message":{"role":[]}})",
                                 R"({"message":{"r\u006fle":"a"}})"}) {
    expect_same(std::string(text) + "\n{\"id\":\"after\"}\n");
  }
  for (const std::size_t depth : {64, 65, 1000}) {
    expect_same(std::string(depth, '[') + std::string(depth, ']') + "\n{\"id\":\"after\"}\n");
  }
}

}  // namespace
}  // namespace arborfs::omp
