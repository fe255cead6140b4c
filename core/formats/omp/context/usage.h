// The usage that entries of omp and pi report (omp/FORMAT.md C24, pi/FORMAT.md C10). Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/model/usage.h"
#include "core/render/value_text.h"

namespace arborfs {

/// The usage of an entry; nullopt if it has none. For its JSON text, see omp_text.h.
std::optional<Usage> find_usage(EntryType type, const FastNode& entry);
std::optional<Usage> find_usage(EntryType type, const SlowNode& entry);

/// The model that an entry with usage names; "" if it names none.
std::string model_of(EntryType type, std::string_view raw);

/// The agents' object, as JSON text: {"input":1,...,"cost":0.25}; omp18 has more keys than omp13.
std::string usage_json(const UsageTotals& totals, Dialect dialect);

}  // namespace arborfs
