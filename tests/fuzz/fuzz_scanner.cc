// The index of any bytes holds exactly the values that the plain reader finds, however the bytes are split and whether
// the log is complete or grows.
#include <algorithm>
#include <string>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/log/log_index.h"
#include "tests/fuzz/support/check.h"
#include "tests/fuzz/support/compare_indexes.h"
#include "tests/fuzz/support/reference_reader.h"

namespace arborfs::fuzz {
namespace {

using Verdict = json::ValueScanner::Verdict;

std::unique_ptr<LogIndex> index_of(std::string_view bytes) {
  auto built = omp::reader().index(*log_from_bytes(std::string(bytes)), {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  return std::move(*built);
}

// The end of 18's title slot if the first line is one (omp/FORMAT.md E3), else `begin`.
std::size_t skip_slot(std::string_view text, std::size_t begin) {
  const std::size_t newline = text.find('\n', begin);
  const std::size_t end = newline == std::string_view::npos ? text.size() : newline;
  json::Document line;
  if (!json::parse(text.substr(begin, end - begin), line) || !json::is_string(json::member(line, "type"), "title")) {
    return begin;
  }
  const json::Value* version = json::member(line, "v");
  const json::Value* source = json::member(line, "source");
  const bool source_fits = source == nullptr || json::is_string(source, "auto") || json::is_string(source, "user");
  const bool is_slot = version != nullptr && version->IsNumber() && version->GetDouble() == 1 && source_fits &&
                       json::string_member(line, "title") && json::string_member(line, "updatedAt") &&
                       json::string_member(line, "pad");
  return is_slot ? std::min(end + 1, text.size()) : begin;
}

bool is_session_record(std::string_view text, const ReferenceValue& value) {
  json::Document record;
  check(json::parse(text.substr(value.offset, value.length), record), "json::parse refuses what the scanner took");
  return json::is_string(json::member(record, "type"), "session");
}

void check_against_reference(std::string_view text, const LogIndex& index) {
  const std::size_t begin = skip_slot(text, skip_bom(text));
  const ReferenceReading reading = read_leniently(text, begin);
  std::vector<ReferenceValue> wanted;
  for (std::size_t i = 0; i < reading.values.size(); ++i) {
    const bool is_session = is_session_record(text, reading.values[i]);
    const bool is_header = i == 0 && index.header().valid;
    check(!is_header || is_session, "a header that is no session record");
    const bool is_dropped = is_session && index.header().valid && omp::dialect_of(index) != omp::Dialect::omp18;
    if (!is_header && !is_dropped) {
      wanted.push_back(reading.values[i]);
    }
  }
  check_equal(index.size(), wanted.size(), "number of entries");
  for (Ordinal o = 1; o <= index.size(); ++o) {
    check_equal(index.entry(o).offset, wanted[o - 1].offset, "offset of an entry");
    check_equal(index.length(o), wanted[o - 1].length, "length of an entry");
  }
  check_equal(index.malformed_records(), reading.malformed, "malformed records");
}

// Feeding in pieces must give the same result as scanning the whole text.
void check_pieces(std::string_view text, std::size_t step) {
  std::size_t begin = 0;
  while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t' || text[begin] == '\n')) {
    ++begin;
  }
  if (begin == text.size()) {
    return;
  }
  const json::ValueEnd whole = json::scan_value(text, begin);
  json::ValueScanner scanner;
  Verdict verdict = Verdict::need_more;
  for (std::size_t at = begin; at < text.size() && verdict == Verdict::need_more; at += step) {
    std::size_t used = 0;
    verdict = scanner.feed(text.substr(at, step), used);
  }
  verdict = verdict == Verdict::need_more ? scanner.finish() : verdict;
  check(verdict == whole.verdict, "verdict depends on the pieces");
  if (verdict == Verdict::value) {
    check_equal(begin + scanner.length(), whole.end, "end of a value depends on the pieces");
  }
}

// Damage runs are in order, do not overlap, and end inside the text.
void check_damage(std::string_view text, const LogIndex& index) {
  std::uint64_t behind = 0;
  for (const Damage& run : index.damage()) {
    check(run.length > 0, "empty damage");
    check(run.offset >= behind, "damage out of order");
    behind = run.offset + run.length;
    check(behind <= text.size(), "damage beyond the end");
  }
}

void check_growth(std::string_view text, std::size_t cut) {
  const auto whole = index_of(text);
  const auto grown = index_of(text.substr(0, cut));
  auto growth = grown->read_growth(*log_from_bytes(std::string(text)));
  check(growth.has_value(), "growth in memory cannot fail");
  if (*growth) {
    grown->apply(std::move(*growth));
    check_same(*grown, *whole);
  }
}

}  // namespace

void run(std::string_view input) {
  constexpr std::size_t kLongest = 64 * 1024;
  if (input.size() < 2 || input.size() > kLongest) {
    return;
  }
  // The last two bytes choose the place where the log is cut for growth, and the size of the pieces.
  const auto choice = static_cast<unsigned char>(input.back());
  const auto step = static_cast<unsigned char>(input[input.size() - 2]) % 7U + 1U;
  const auto index = index_of(input);
  check_against_reference(input, *index);
  check_damage(input, *index);
  check_pieces(input, step);
  check_growth(input, input.size() * choice / 256);
  check_growth(input, input.size() - std::min<std::size_t>(input.size(), choice % 16U + 1U));
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
