#include "core/views/head_problem.h"

#include "core/log/log_index.h"

namespace arborfs {

std::string head_problem(const Session::Head& head) {
  if (!head.problem.empty()) {
    return head.problem;
  }
  const Header& header = head.header;
  const bool is_empty = head.stat.size == 0 && header.problem == kNoRecords;
  if (header.valid || is_empty) {
    return "";
  }
  return header.problem.empty() ? "the log has no session header" : header.problem;
}

}  // namespace arborfs
