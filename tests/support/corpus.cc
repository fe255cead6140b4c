#include "tests/support/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/base/hash.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/log/log_file.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNewestOracle = "oracle-18.3.4.json";

fs::path folder_of(const CorpusCase& corpus_case) {
  const std::string_view collection = corpus_case.oracle == kNewestOracle ? "newest" : "corpus";
  return fs::path(arborfs::tests::kTestData) / collection / corpus_case.name;
}

fs::path oracle_of(const CorpusCase& corpus_case) {
  const std::string_view own = corpus_case.dialect == omp::Dialect::omp13 ? "oracle-13.json" : "oracle-18.json";
  return folder_of(corpus_case) / (corpus_case.oracle.empty() ? own : std::string_view(corpus_case.oracle));
}

std::vector<CorpusCase> in_order(std::vector<CorpusCase> cases) {
  std::sort(cases.begin(), cases.end(), [](const CorpusCase& a, const CorpusCase& b) { return a.title() < b.title(); });
  return cases;
}

}  // namespace

std::string CorpusCase::title() const {
  std::string title = name + (dialect == omp::Dialect::omp13 ? "_13" : "_18");
  std::replace(title.begin(), title.end(), '-', '_');
  return title;
}

std::ostream& operator<<(std::ostream& out, const CorpusCase& corpus_case) {
  return out << corpus_case.title();
}

std::vector<CorpusCase> corpus_cases() {
  std::vector<CorpusCase> cases;
  for (const auto& entry : fs::directory_iterator(fs::path(arborfs::tests::kTestData) / "corpus")) {
    for (const omp::Dialect dialect : {omp::Dialect::omp13, omp::Dialect::omp18}) {
      CorpusCase corpus_case{entry.path().filename(), dialect, {}};
      if (fs::exists(entry.path() / "session.jsonl") && fs::exists(oracle_of(corpus_case))) {
        cases.push_back(std::move(corpus_case));
      }
    }
  }
  return in_order(std::move(cases));
}

std::vector<CorpusCase> newest_cases() {
  std::vector<CorpusCase> cases;
  for (const auto& entry : fs::directory_iterator(fs::path(arborfs::tests::kTestData) / "newest")) {
    if (entry.is_directory()) {
      cases.push_back({entry.path().filename(), omp::Dialect::omp18, std::string(kNewestOracle)});
    }
  }
  return in_order(std::move(cases));
}

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void read_oracle(const CorpusCase& corpus_case, json::Document& out) {
  if (!json::parse(read_bytes(oracle_of(corpus_case)), out)) {
    throw std::runtime_error("unreadable oracle of " + corpus_case.title());
  }
}

CorpusSession open_session(const CorpusCase& corpus_case) {
  CorpusSession session;
  auto dir = Dir::open_root(folder_of(corpus_case));
  if (!dir) {
    throw std::runtime_error(dir.error().message);
  }
  auto log = LogFile::open(*dir, "session.jsonl");
  if (!log) {
    throw std::runtime_error(log.error().message);
  }
  session.log = *log;
  auto index = omp::reader(corpus_case.dialect).index(*session.log, {});
  if (!index) {
    throw std::runtime_error(index.error().message);
  }
  session.index = std::move(*index);
  return session;
}

CorpusBlobs::CorpusBlobs(const CorpusCase& corpus_case, bool is_checked)
    : folder_(folder_of(corpus_case) / "blobs"), is_checked_(is_checked) {}

std::optional<std::string> CorpusBlobs::read_blob(std::string_view hash) const {
  const fs::path path = fs::path(folder_) / hash;
  if (!fs::is_regular_file(path)) {
    return std::nullopt;
  }
  std::string bytes = read_bytes(path);
  if (is_checked_ && sha256_hex(bytes) != hash) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace arborfs::conformance
