#include "core/formats/omp/write/dialect_rules.h"

#include <array>
#include <cstddef>

namespace arborfs {

namespace {

/// In the order of Dialect.
constexpr std::array kRules = {
    DialectRules{
        .agent = "omp",
        .filters_entries = true,
        .names_by_entry = false,
        .tells_left_leaf = false,
        .parent_is_path = false,
        .lists_old_places = false,
    },
    DialectRules{
        .agent = "omp",
        .filters_entries = true,
        .names_by_entry = false,
        .tells_left_leaf = false,
        .parent_is_path = false,
        .lists_old_places = true,
    },
    DialectRules{
        .agent = "pi",
        .filters_entries = false,
        .names_by_entry = true,
        .tells_left_leaf = true,
        .parent_is_path = true,
        .lists_old_places = false,
    },
};
static_assert(kRules.size() == static_cast<std::size_t>(Dialect::pi) + 1);

}  // namespace

const DialectRules& rules_of(Dialect dialect) {
  return kRules.at(static_cast<std::size_t>(dialect));
}

}  // namespace arborfs
