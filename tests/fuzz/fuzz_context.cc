// Any bytes as a log: every walk over its tree ends, and the context at every tip is JSON of the promised size.
#include <algorithm>
#include <string>

#include "core/entry/names.h"
#include "core/entry/tree.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "tests/fuzz/support/check.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 16 * 1024;
constexpr std::size_t kMostTips = 24;

// Has only some of the blobs.
class SomeBlobs : public BlobSource {
 public:
  [[nodiscard]] std::optional<std::string> read_blob(std::string_view hash) const override {
    check_equal(hash.size(), 64, "a blob's name");
    check(hash.find_first_not_of("0123456789abcdef") == std::string_view::npos, "a blob's name is hex");
    if (hash.front() > '9') {
      return std::nullopt;
    }
    return std::string(hash.substr(0, static_cast<std::size_t>(hash.front() - '0'))) + "\xff";
  }
};

void check_context(const LogIndex& index, const std::shared_ptr<const LogSource>& log, Ordinal leaf) {
  static const auto blobs = std::make_shared<const SomeBlobs>();
  const auto content = omp::build_context(context_path(index, leaf), log, blobs);
  check(content.has_value(), "a context of bytes in memory fails", content ? "" : content.error().message);
  const auto text = (*content)->read_all();
  check(text.has_value(), "a context cannot be read", text ? "" : text.error().message);
  check_equal(text->size(), (*content)->size(), "size of a context");
  json::Document document;
  check(json::parse(*text, document), "a context is no JSON");
  check(json::member(document, "messages") != nullptr, "a context without messages");
  const std::uint64_t middle = text->size() / 2;
  const auto back = (*content)->read(middle, text->size());
  check(back.has_value() && *back == text->substr(middle), "a context reads differently from its middle");
}

void check_tree(const LogIndex& index) {
  const Tree tree = tree_of(index);
  std::vector<bool> seen(index.size() + std::size_t{1});
  for (const TreeNode& node : tree.nodes) {
    check(node.ordinal >= 1 && node.ordinal <= index.size(), "a node that is no entry");
    seen[node.ordinal] = true;
  }
  for (const Ordinal lost : tree.unreachable) {
    check(lost >= 1 && lost <= index.size(), "a lost node that is no entry");
    check(!seen[lost], "a node that is in the tree and is not");
    seen[lost] = true;
  }
  check_equal(index.tips().size(), index.tip_count(), "number of tips");
  for (const NamedLabel& label : named_labels(index)) {
    check(label.target >= 1 && label.target <= index.size(), "a label of no entry");
  }
}

void check_names(const LogIndex& index) {
  const Ordinal last = std::min<Ordinal>(index.size(), 64);
  for (Ordinal o = 1; o <= last; ++o) {
    const std::string stem = names::entry_stem(index, o);
    check(stem.size() <= 250 && !stem.empty(), "length of a stem", stem);
    check(names::leading_ordinal(stem) == o, "ordinal of a stem", stem);
    check(path_to(index, o).size() <= index.size(), "a path longer than the log");
    resolve_entry(index, stem);
  }
}

void check_log(std::string_view input, omp::Dialect dialect) {
  const auto log = log_from_bytes(std::string(input));
  const auto index = omp::reader(dialect).index(*log, {});
  check(index.has_value(), "an index of bytes in memory cannot fail");
  check_tree(**index);
  check_names(**index);
  auto leaves = (*index)->tips();
  leaves.resize(std::min(leaves.size(), kMostTips));
  leaves.push_back((*index)->leaf());
  leaves.push_back(kNoEntry);
  for (const Ordinal leaf : leaves) {
    check_context(**index, log, leaf);
  }
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest) {
    return;
  }
  check_log(input, omp::Dialect::omp13);
  check_log(input, omp::Dialect::omp18);
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
