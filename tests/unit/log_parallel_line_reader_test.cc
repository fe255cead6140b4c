// Lines read ahead equal those that the scanner would read, for every step size and whatever else the log holds.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/parallel_line_reader.h"
#include "core/formats/omp/log/record_scanner.h"
#include "tests/unit/log_test_support.h"

namespace arborfs {
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
  bool operator==(const Scanned&) const = default;
};

Scanned scan(const LogSource& log, std::uint64_t size, ParallelLineReader* ahead) {
  LogWindow window(log, size);
  RecordScanner scanner(window, {}, false, ahead);
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

TEST(ParallelLineReader, GivesTheScannerTheSameResult) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string bytes;
    const std::size_t lines = random() % 120;
    for (std::size_t i = 0; i < lines; ++i) {
      bytes += some_line(random);
    }
    bytes += round % 3 == 0 ? "{\"id\":\"unended\"}" : round % 3 == 1 ? "{\"id\":" : "";
    const auto log = log_from_bytes(bytes);
    const Scanned wanted = scan(*log, bytes.size(), nullptr);
    for (const std::size_t step : {1U, 7U, 64U, 500U, 4096U, 1000000U}) {
      ParallelLineReader ahead(*log, 0, bytes.size(), nullptr, nullptr, step);
      EXPECT_EQ(scan(*log, bytes.size(), &ahead), wanted) << "round " << round << ", step " << step;
    }
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

TEST(ParallelLineReader, FindsEveryPlainLine) {
  const std::string bytes = chain(5000);
  const auto log = log_from_bytes(bytes);
  ParallelLineReader ahead(*log, 0, bytes.size(), nullptr, nullptr, 8192);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    const ParallelLineReader::Line* line = ahead.line_at(offset);
    ASSERT_NE(line, nullptr) << "line " << i;
    EXPECT_EQ(line->record.id.text, std::to_string(i));
    offset = line->next;
  }
  EXPECT_EQ(offset, bytes.size());
  EXPECT_EQ(ahead.line_at(offset), nullptr);
}

TEST(ParallelLineReader, AllowsSkippedLines) {
  const std::string bytes = chain(5000);
  const auto log = log_from_bytes(bytes);
  for (int round = 0; round < 50; ++round) {
    ParallelLineReader ahead(*log, 0, bytes.size(), nullptr, nullptr, 512);
    std::uint64_t offset = 0;
    while (offset < bytes.size()) {
      const ParallelLineReader::Line* line = ahead.line_at(offset);
      ASSERT_NE(line, nullptr) << offset;
      offset = bytes.find('\n', std::min<std::size_t>(offset + 9000, bytes.size() - 2)) + 1;
    }
  }
}

TEST(ParallelLineReader, FindsOnlyTheRestOfATruncatedLog) {
  const std::string bytes = chain(100);
  const auto log = log_from_bytes(bytes);
  ParallelLineReader ahead(*log, 0, bytes.size() * 3, nullptr, nullptr, 700);
  EXPECT_NE(ahead.line_at(0), nullptr);
  EXPECT_EQ(ahead.line_at(bytes.size() * 2), nullptr);
}

TEST(ParallelLineReader, FindsNothingAfterCancellation) {
  const std::string bytes = chain(100);
  const auto log = log_from_bytes(bytes);
  std::atomic<bool> cancelled{false};
  ParallelLineReader ahead(*log, 0, bytes.size(), &cancelled, nullptr, 700);
  EXPECT_NE(ahead.line_at(0), nullptr);
  cancelled = true;
  EXPECT_EQ(ahead.line_at(0), nullptr);
}

class NoMemory : public ScanObserver {
 public:
  [[nodiscard]] std::unique_ptr<ScanNotes> read(EntryType /*type*/, std::string_view /*text*/,
                                                const json::Places& /*places*/) const override {
    throw std::bad_alloc();
  }
  void begin() override {}
  Result<void> take(const Entry& /*entry*/, std::uint64_t /*length*/, const ScanNotes* /*notes*/) override {
    return {};
  }
};

TEST(ParallelLineReader, LeavesStepsWithoutMemoryToTheScanner) {
  const std::string bytes = chain(100);
  const auto log = log_from_bytes(bytes);
  const Scanned wanted = scan(*log, bytes.size(), nullptr);
  const NoMemory noter;
  for (int round = 0; round < 20; ++round) {  // the failure hits one thread or the other
    ParallelLineReader ahead(*log, 0, bytes.size(), nullptr, &noter, 700);
    EXPECT_EQ(ahead.line_at(0), nullptr);
    EXPECT_EQ(scan(*log, bytes.size(), &ahead), wanted);
  }
}

TEST(ParallelLineReader, IndexesABigLog) {
  const std::string bytes = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n" + chain(50'000);
  ASSERT_GT(bytes.size(), ParallelLineReader::kHelpsFrom);
  const auto index = test::build(bytes);
  ASSERT_EQ(index->size(), 50'000U);
  EXPECT_EQ(index->find("49999"), 50'000U);
  EXPECT_EQ(index->scanned_size(), bytes.size());
}

}  // namespace
}  // namespace arborfs
