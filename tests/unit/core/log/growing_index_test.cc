// Growth of the logs of Claude Code, Codex and goat: an index that is extended step by step equals one of the whole
// log, and the cost of extending it depends only on the new part.
#include <random>

#include "core/entry/record_renderer.h"
#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "core/formats/codex/segments_log.h"
#include "core/formats/goat/format.h"
#include "core/log/log_reader.h"
#include "core/os/disk.h"
#include "core/store/store.h"
#include "tests/support/growing_log.h"
#include "tests/unit/log_test_support.h"

namespace arborfs {
namespace {

using tests::GrowingLog;

std::string dump_sizes(const TextSizes& sizes) {
  std::string out = plain_usage_json(sizes.usage());
  for (Ordinal i = 1; i <= sizes.size(); ++i) {
    out += " " + std::to_string(sizes.text_size(i));
  }
  for (const ImageRef& image : sizes.images()) {
    out += "\nimage " + std::to_string(image.ordinal) + "." + std::to_string(image.number) + " " + image.extension +
           " " + std::to_string(image.data_offset) + "+" + std::to_string(image.data_length);
  }
  return out;
}

std::string dump_all(const LogIndex& index, const TextSizes& sizes) {
  std::string tips;
  for (const Ordinal tip : index.tips()) {
    tips += " " + std::to_string(tip);
  }
  for (const auto& [type, count] : index.not_shown().by_type()) {
    tips += " " + type + " " + std::to_string(count);
  }
  const Header& header = index.header();
  return test::dump(index) + "\nleaf " + std::to_string(index.leaf()) + tips + "\n" + header.id + "|" + header.cwd +
         "|" + header.parent_session + "|" + header.timestamp + "|" + std::to_string(header.cost.value_or(-1)) + "|" +
         std::to_string(header.offset) + "+" + std::to_string(header.length) + "\n" + dump_sizes(sizes);
}

/// An index with its sizes that follows a log as a session does.
class Follower {
 public:
  Follower(const Format& format, const LogSource& log) : format_(format), log_(log) { rebuild(); }

  /// Returns true if the index grew, false if it had to be made again.
  bool follow() {
    auto growth = index_->read_growth(log_);
    EXPECT_TRUE(growth.has_value());
    if (*growth == nullptr) {
      rebuild();
      return false;
    }
    const auto entries = index_->new_entries(**growth);
    auto delta = format_.renderer->measure(log_, sizes_.next(), entries, {});
    EXPECT_TRUE(delta.has_value());
    const Ordinal before = index_->size();
    index_->apply(std::move(*growth));
    sizes_.apply(std::move(*delta));
    sizes_.set_session_cost(index_->header().cost);
    EXPECT_EQ(index_->size(), before + entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = index_->entry(before + 1 + static_cast<Ordinal>(i));
      EXPECT_TRUE(entry.offset == entries[i].offset && entry.length == entries[i].length &&
                  entry.type == entries[i].type);
    }
    return true;
  }

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] std::string dump() const { return dump_all(*index_, sizes_); }
  [[nodiscard]] std::string dump_of_fresh_one() const { return Follower(format_, log_).dump(); }

 private:
  void rebuild() {
    auto index = format_.reader->index(log_, {});
    EXPECT_TRUE(index.has_value());
    index_ = std::move(*index);
    auto sizes = measure_log(*format_.renderer, log_, *index_);
    EXPECT_TRUE(sizes.has_value());
    sizes_ = std::move(*sizes);
  }

  const Format& format_;
  const LogSource& log_;
  std::unique_ptr<LogIndex> index_;
  TextSizes sizes_;
};

/// A log as one of its parts grows.
struct Sample {
  const Format* format;
  std::shared_ptr<GrowingLog> growing;
  std::shared_ptr<const LogSource> whole;
};

Sample sample_of(const Format& format, std::string bytes, std::optional<std::string> metadata = std::nullopt) {
  auto growing = std::make_shared<GrowingLog>(std::move(bytes), 0, std::move(metadata));
  return {&format, growing, growing};
}

std::vector<Sample> claude_samples() {
  std::vector<Sample> samples;
  for (const auto& file : std::filesystem::recursive_directory_iterator(test::corpus().parent_path() / "claude")) {
    if (file.path().extension() == ".jsonl") {
      samples.push_back(sample_of(claude::format(), test::read_file(file.path())));
    }
  }
  return samples;
}

std::vector<Sample> goat_samples() {
  std::vector<Sample> samples;
  for (const auto& file : std::filesystem::recursive_directory_iterator(test::corpus().parent_path() / "goat")) {
    if (file.path().filename() == "messages.jsonl") {
      samples.push_back(sample_of(goat::format(), test::read_file(file.path()),
                                  test::read_file(file.path().parent_path() / "metadata.json")));
    }
  }
  return samples;
}

/// Threads of several segments, of which the last one grows.
std::vector<Sample> codex_samples() {
  std::vector<Sample> samples;
  for (const char* const home : {"legacy", "paginated"}) {
    const auto store = codex::make_store(test::corpus().parent_path() / "codex" / home, Disk::real());
    const auto folders = store->folders();
    for (const std::string& folder : *folders) {
      const auto logs = store->logs(folder, {});
      for (const FoundLog& found : *logs) {
        const auto opened = store->open(found.place);
        EXPECT_TRUE(opened.has_value()) << found.place.file << ": " << opened.error().message;
        const auto& log = *opened;
        const auto& thread = dynamic_cast<const codex::SegmentsLog&>(*log);
        std::vector<codex::Segment> segments = thread.segments();
        auto growing = std::make_shared<GrowingLog>(*segments.back().file->read(0, segments.back().length));
        segments.back().file = growing;
        samples.push_back({&codex::format(), growing,
                           std::make_shared<codex::SegmentsLog>(std::move(segments), thread.facts(), log->opened())});
      }
    }
  }
  return samples;
}

std::vector<Sample> all_samples() {
  std::vector<Sample> samples = claude_samples();
  for (auto more : {codex_samples(), goat_samples()}) {
    std::move(more.begin(), more.end(), std::back_inserter(samples));
  }
  return samples;
}

/// How many steps needed a new index.
int grow_along(const Sample& sample, const std::vector<std::size_t>& sizes) {
  sample.growing->show(0);
  Follower follower(*sample.format, *sample.whole);
  int anew = 0;
  for (const std::size_t size : sizes) {
    sample.growing->show(size);
    anew += follower.follow() ? 0 : 1;
    EXPECT_EQ(follower.dump(), follower.dump_of_fresh_one()) << "at " << size;
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  return anew;
}

std::string bytes_of(const Sample& sample) {
  return sample.growing->all();
}

std::vector<std::size_t> line_ends(const std::string& bytes) {
  std::vector<std::size_t> ends;
  for (std::size_t at = bytes.find('\n'); at != std::string::npos; at = bytes.find('\n', at + 1)) {
    ends.push_back(at + 1);
  }
  return ends;
}

TEST(GrowingIndex, SamplesGrowLineByLineWithoutBeingReadAnew) {
  const auto samples = all_samples();
  ASSERT_GE(samples.size(), 15U);
  for (const Sample& sample : samples) {
    EXPECT_EQ(grow_along(sample, line_ends(bytes_of(sample))), 0) << sample.format->name;
  }
}

TEST(GrowingIndex, SamplesGrowAtAnyByte) {
  std::mt19937 random(11);
  for (const Sample& sample : all_samples()) {
    const std::size_t whole = bytes_of(sample).size();
    for (int round = 0; round < 3; ++round) {
      std::vector<std::size_t> sizes;
      for (std::size_t size = random() % 200; size < whole;
           size += 1 + random() % std::max<std::size_t>(60, whole / 12)) {
        sizes.push_back(size);
      }
      sizes.push_back(whole);
      grow_along(sample, sizes);
    }
  }
}

/// Lines that refer to each other, and some without meaning.
std::string claude_line(std::mt19937& random) {
  const auto any = [&random](std::initializer_list<const char*> words) {
    return *(words.begin() + random() % words.size());
  };
  const std::string id = std::string("u") + std::to_string(random() % 12);
  const std::string parent = random() % 6 == 0 ? "null" : "\"u" + std::to_string(random() % 12) + "\"";
  const std::string node = R"("uuid":")" + id + R"(","parentUuid":)" + parent +
                           R"(,"sessionId":"s","cwd":"/w","timestamp":"2026-02-16T10:20:3)" +
                           std::to_string(random() % 10) + R"(.000Z")";
  switch (random() % 10) {
    case 0:
      return R"({"type":"progress",)" + node + "}\n";
    case 1:
      return R"({"type":"last-prompt","leafUuid":)" + std::string(any({"null", "\"u1\"", "\"u2\"", "\"u5\""})) +
             any({"", R"(,"explicit":true)"}) + "}\n";
    case 2:
    case 3:
      return R"({"type":"assistant","message":{"id":")" + std::string(any({"m1", "m2"})) +
             R"(","content":[{"type":"tool_use","name":"Read","input":{}}],"usage":{"input_tokens":3}},)" + node +
             "}\n";
    case 4:
      return R"({"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]},)" + node + "}\n";
    case 5:
      return R"({"type":"system","subtype":"compact_boundary","isSidechain":)" + std::string(any({"true", "false"})) +
             "," + node + "}\n";
    case 6:
      return any({"{\"a\":1}{\"b\":2}\n", "{\n", "\n", "  \r\n", "nul", "[1]\n",
                  "{\"type\":\"custom-title\",\"customTitle\":\"T\"}\n", "\xEF\xBB\xBF{}\n"});
    default:
      return R"({"type":"user","message":{"role":"user","content":"said"},)" + node + "}" +
             any({"\n", "\n", "\r\n", "\n\n", " tail\n", ""});
  }
}

std::string codex_line(std::mt19937& random) {
  const auto any = [&random](std::initializer_list<const char*> words) {
    return *(words.begin() + random() % words.size());
  };
  const std::string head = R"({"timestamp":"2026-02-16T10:20:30.000Z",)" +
                           (random() % 3 == 0 ? "\"ordinal\":" + std::to_string(random() % 30) + "," : "");
  switch (random() % 9) {
    case 0:
      return head + R"("type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":)" +
             std::to_string(random() % 3) + "}}\n";
    case 1:
    case 2:
      return head +
             R"("type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":)" +
             std::to_string(random() % 2) + "}}}}\n";
    case 3:
      return any({"{\n", "\n", "nul", "[1]\n", "{\"type\":\"compacted\",\"payload\":{}}\n",
                  "{\"type\":\"turn_context\",\"payload\":{}}\n"});
    case 4:
      return head + R"("type":"session_meta","payload":{"id":"t","cwd":"/w"}})" + any({"\n", ""});
    case 5:
      return head + R"("type":"token_usage_record","payload":{"a":1}})" + any({"\n", "\n", ""});
    default:
      return head + R"("type":"response_item","payload":{"type":"message","id":")" + any({"a", "b", "c", "", "0:3"}) +
             R"(","role":")" + any({"user", "assistant"}) + R"(","content":[{"type":"input_text","text":"hi"}]}})" +
             any({"\n", "\n", " \r\n", ""});
  }
}

std::string goat_line(std::mt19937& random) {
  const auto any = [&random](std::initializer_list<const char*> words) {
    return *(words.begin() + random() % words.size());
  };
  if (random() % 6 == 0) {
    return any({"{\n", "\n", "nul", "[1]\n", "{\"uuid\":1}\n", "{\"uuid\":\"x\",\"timestamp\":\"no\"}\n"});
  }
  return R"({"UUID":")" + std::string(any({"a", "b", "", "#2", "a#2"})) +
         R"(","timestamp":"2026-02-16T10:20:30Z","message":{"role":")" + any({"user", "assistant", "tool"}) +
         R"(","content":"x"}})" + any({"\n", "\n", "\n", "\r\n", ""});
}

using MakeLine = std::string (*)(std::mt19937&);

TEST(GrowingIndex, RandomLinesGrowAtAnyByte) {
  std::mt19937 random(5);
  const std::vector<std::pair<const Format*, MakeLine>> formats = {
      {&claude::format(), claude_line}, {&codex::format(), codex_line}, {&goat::format(), goat_line}};
  for (const auto& [format, make_line] : formats) {
    for (int round = 0; round < 60 && !HasFailure(); ++round) {
      std::string bytes;
      for (std::size_t i = 0, lines = 1 + random() % 30; i < lines; ++i) {
        bytes += make_line(random);
      }
      std::vector<std::size_t> sizes;
      for (std::size_t size = random() % 40; size < bytes.size(); size += 1 + random() % 90) {
        sizes.push_back(size);
      }
      sizes.push_back(bytes.size());
      grow_along(sample_of(*format, bytes, R"({"id":"s"})"), sizes);
    }
  }
}

/// A log of `lines` lines of one kind.
std::string long_log(const Format& format, int lines) {
  std::string bytes;
  for (int i = 0; i < lines; ++i) {
    const std::string id = std::to_string(100'000 + i);
    const std::string parent = i == 0 ? "null" : '"' + std::to_string(100'000 + i - 1) + '"';
    if (&format == &claude::format()) {
      bytes += R"({"type":"user","uuid":")" + id + R"(","parentUuid":)" + parent +
               R"(,"sessionId":"s","cwd":"/w","message":{"role":"user","content":"said"}})";
    } else if (&format == &codex::format()) {
      bytes += R"({"timestamp":"2026-02-16T10:20:30.000Z","type":")" +
               std::string(i == 0 ? R"(session_meta","payload":{"id":"t","cwd":"/w"}})"
                                  : R"(response_item","payload":{"type":"message","role":"user","id":")" + id +
                                        R"(","content":[{"type":"input_text","text":"said"}]}})");
    } else {
      bytes += R"({"uuid":")" + id + R"(","message":{"role":"user","content":"said"}})";
    }
    bytes += '\n';
  }
  return bytes;
}

/// How many bytes are read for one line that was added.
std::uint64_t reads_of_growth(const Format& format, int lines) {
  std::string bytes = long_log(format, lines + 1);
  const std::size_t all = bytes.size();
  const std::size_t before = bytes.rfind('\n', all - 2) + 1;
  const GrowingLog* log = nullptr;
  const Sample sample = sample_of(format, std::move(bytes), R"({"id":"s"})");
  log = sample.growing.get();
  sample.growing->show(before);
  Follower follower(format, *log);
  EXPECT_EQ(follower.index().size() + (&format == &codex::format() ? 1U : 0U), static_cast<Ordinal>(lines));
  static_cast<void>(log->take_reads());
  sample.growing->show(all);
  EXPECT_TRUE(follower.follow());
  return log->take_reads();
}

TEST(GrowingIndex, GrowthReadsLittleHoweverLongTheLogIs) {
  constexpr std::uint64_t kTitleAtBothEnds = 2 * 64 * 1024;  // of Claude Code
  for (const Format* format : {&claude::format(), &codex::format(), &goat::format()}) {
    const std::uint64_t of_short = reads_of_growth(*format, 4'000);
    EXPECT_LE(of_short, 16U * 1024 + (format == &claude::format() ? kTitleAtBothEnds + 4096 : 0)) << format->name;
    EXPECT_EQ(reads_of_growth(*format, 40'000), of_short) << format->name;
  }
}

TEST(GrowingIndex, ChangesToKnownLinesNeedANewIndex) {
  for (const Format* format : {&claude::format(), &codex::format(), &goat::format()}) {
    const std::string bytes = long_log(*format, 20);
    const std::string rest = "{}\n";
    for (const std::string& changed :
         {"X" + bytes.substr(1) + rest, bytes.substr(0, bytes.size() - 9) + "Y" + bytes.substr(bytes.size() - 8) + rest,
          bytes.substr(0, bytes.size() - 30)}) {
      const auto log = log_from_bytes(bytes);
      auto index = format->reader->index(*log, {});
      ASSERT_TRUE(index.has_value());
      const auto growth = (*index)->read_growth(*log_from_bytes(changed));
      ASSERT_TRUE(growth.has_value());
      EXPECT_EQ(*growth, nullptr) << format->name;
    }
  }
}

TEST(GrowingIndex, AnIdThatIsNamedBeforeNeedsANewIndex) {
  std::string bytes = long_log(claude::format(), 3);
  for (const char* const id : {"100001", "missing"}) {
    const auto known =
        log_from_bytes(bytes + R"({"type":"user","uuid":"u","parentUuid":"missing","sessionId":"s"})" + "\n");
    const auto grown =
        log_from_bytes(bytes + R"({"type":"user","uuid":"u","parentUuid":"missing","sessionId":"s"})" + "\n" +
                       R"({"type":"user","uuid":")" + id + R"(","parentUuid":null,"sessionId":"s"})" + "\n");
    const auto index = claude::format().reader->index(*known, {});
    ASSERT_TRUE(index.has_value());
    const auto growth = (*index)->read_growth(*grown);
    ASSERT_TRUE(growth.has_value());
    EXPECT_EQ(*growth, nullptr) << id;
  }
}

}  // namespace
}  // namespace arborfs
