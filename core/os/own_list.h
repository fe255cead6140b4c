// Lists of rows with named columns: those that are built in, and those of the user in $XDG_CONFIG_HOME/arborfs, such as
// prices.tsv. Tabs separate the fields of a row. The first line names the columns; lines that are empty or start with
// `#` say nothing.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace arborfs {

/// One row, which refers to the text of the list.
class ListRow {
 public:
  ListRow(const std::vector<std::string_view>& columns, std::vector<std::string_view> fields)
      : columns_(columns), fields_(std::move(fields)) {}
  /// "" for a column that the list, or this row, lacks.
  [[nodiscard]] std::string_view operator[](std::string_view column) const;

 private:
  const std::vector<std::string_view>& columns_;
  std::vector<std::string_view> fields_;
};

/// Calls `take` with each row of a list that has the columns `needed`. It returns what is wrong with the row, "" for
/// nothing. Errors: invalid_argument, with the number of the first line that is wrong; the other rows are taken.
Result<void> read_list(std::string_view list, std::initializer_list<const char*> needed,
                       const std::function<std::string(const ListRow&)>& take);

/// A list of the user's own.
struct OwnList {
  std::string path;     // "" if there is none
  std::string problem;  // what is wrong with it; "" for nothing
};

/// Hands the text of the user's list of that name to `add`, if there is one. What is wrong with it goes to the log,
/// too.
OwnList read_own_list(const std::string& name, const std::function<Result<void>(std::string_view)>& add);

}  // namespace arborfs
