// The API calls with which the real agents wrote the logs of the corpus (ops.jsonl, tests/corpus/README.md), and the
// entries that each call appended.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs::conformance {

/// `value` with the macros of the corpus expanded ($rep, $cat, $b64, $num, $undef), made in `owner`. References to
/// other operations are kept.
json::Value expand_macros(const json::Value& value, json::Document& owner);

struct ReplayOp {
  std::string name;
  json::Document line;    // the whole line, macros expanded
  std::string result_id;  // of the entry that it appended; "" if it appended none
};

std::vector<ReplayOp> read_ops(const std::string& case_name);

/// The id of the entry that an operation, counted from 1, appended.
using IdOfOp = std::function<std::string(std::size_t op)>;

/// What the operation passes to its agent's append function, as objects with `type` and the entry's own fields: none
/// for operations that append no entry, several for a batch. Left out are a title_change of 18's setName, which the
/// agent makes from its state, and the fromId of a branch_summary, which is its parent (omp/FORMAT.md H7).
std::vector<json::Document> appended_entries(const ReplayOp& op, const IdOfOp& id_of);

/// Names of the cases written by an agent that have operations: w13-*, w18-*.
std::vector<std::string> written_cases();
omp::Dialect dialect_of_case(const std::string& case_name);

}  // namespace arborfs::conformance
