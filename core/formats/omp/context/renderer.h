// The renderer of omp's and pi's records, and the readable text of one entry. One renderer makes bytes and sizes: with
// a counting sink it finds the exact size of the text without making it (listing a folder needs the sizes of its
// files). Thread-safe; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/entry/text_sizes.h"
#include "core/entry/usage.h"
#include "core/formats/omp/log/dialect.h"
#include "core/log/log_index.h"

namespace arborfs::omp {

const RecordRenderer& renderer();

/// Appends the text of one entry to `out`; `raw` is its JSON value as it is in the log. Readable for every type; an
/// entry of an unknown type is shown as an outline. Ends with exactly one newline; an entry without text is only
/// that newline.
void render_text(EntryType type, std::string_view raw, std::string& out);
/// The size of that text.
std::uint64_t text_size(EntryType type, std::string_view raw);
/// The size of that text, its images, and the usage as omp counts it.
TextMeasure measure_text(EntryType type, std::string_view raw);
/// The usage of the entry (omp/FORMAT.md C24, pi/FORMAT.md C10); nullopt if it has none, which is usually cheap to
/// detect.
std::optional<Usage> find_usage(EntryType type, std::string_view raw);
/// render_text with only the slow parser and without limits; tests compare the two.
void render_text_slowly(EntryType type, std::string_view raw, std::string& out);

/// The first words of that text as one line, at most `columns` characters.
std::string first_words(EntryType type, std::string_view raw, std::size_t columns);

/// Appends the image blocks of an entry in the order in which its text numbers them. A `blob:sha256:` reference without
/// 64 lower-case hex digits takes its number but is left out: it has no bytes to show (omp/FORMAT.md D7).
void find_images(Ordinal ordinal, EntryType type, std::string_view raw, std::vector<ImageRef>& images);

/// The agents' object of a usage, as JSON text: {"input":1,...,"cost":0.25}; omp18 has more keys than omp13.
std::string usage_json(const UsageTotals& totals, Dialect dialect);

}  // namespace arborfs::omp
