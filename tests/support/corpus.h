// The logs, and the answers of the real agents about them: tests/corpus/README.md, tests/newest/README.md.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/omp/context/context.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs::conformance {

/// One log as one generation of the agent read it.
struct CorpusCase {
  std::string name;
  omp::Dialect dialect = omp::Dialect::omp13;
  std::string oracle = {};                  // its file next to the log; empty for the corpus' own oracle
  [[nodiscard]] std::string title() const;  // "h_bom_13", valid in a test's name
};
std::ostream& operator<<(std::ostream& out, const CorpusCase& corpus_case);

/// Every case that has a log, for each generation that has an oracle.
std::vector<CorpusCase> corpus_cases();

/// The logs that omp 18.3.4 answered for (tests/newest).
std::vector<CorpusCase> newest_cases();

/// The oracle as parsed JSON.
void read_oracle(const CorpusCase& corpus_case, json::Document& out);
std::string read_bytes(const std::string& path);

/// Log and index of a case, read by the rules of its generation.
struct CorpusSession {
  std::shared_ptr<const LogSource> log;
  std::unique_ptr<LogIndex> index;
};
CorpusSession open_session(const CorpusCase& corpus_case);

/// The case's blob folder. A checked one returns only blobs whose bytes match their name, as the store does; the agents
/// serve any bytes (omp/FORMAT.md D6).
class CorpusBlobs : public BlobSource {
 public:
  CorpusBlobs(const CorpusCase& corpus_case, bool is_checked);
  [[nodiscard]] std::optional<std::string> read_blob(std::string_view hash) const override;

 private:
  std::string folder_;
  bool is_checked_;
};

}  // namespace arborfs::conformance
