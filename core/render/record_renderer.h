// Renders the records of one agent for people and for models. One constant object per format. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/blob_source.h"
#include "core/model/content.h"
#include "core/model/context_path.h"
#include "core/model/turn.h"
#include "core/model/usage.h"
#include "core/render/text_sizes.h"

namespace arborfs {

/// One entry of a conversation.
struct SpokenEntry {
  EntryType type = EntryType::none;
  std::string_view name;                  // the word in its file name
  std::string_view raw;                   // its bytes, at most kMaxRenderedEntry (text.h)
  std::int64_t time_ms = Entry::kNoTime;  // its own
  const BlobSource& blobs;
};

/// The tokens and cost that one entry reports, for sums over sessions.
struct EntryUsage {
  Usage usage = untold_usage();
  std::uint64_t key = 0;  // TextMeasure::usage_key
  /// Names the request among all sessions of the agent; "" if the entry has no such name.
  std::string request;
  std::string model;  // "" if it names none
};

class RecordRenderer {
 public:
  virtual ~RecordRenderer() = default;
  /// Appends the text of an entry, whose bytes are `raw`, ending in one newline. It is not called for entries longer
  /// than kMaxRenderedEntry (text.h).
  virtual void render(EntryType type, std::string_view raw, std::string& out) const = 0;
  /// The size of that text, its images and its usage.
  [[nodiscard]] virtual TextMeasure measure(EntryType type, std::string_view raw) const = 0;
  /// Adds the measures of `entries`, which follow one another in the index, to `delta`. Errors: stale, io, interrupted.
  [[nodiscard]] virtual Result<TextSizes::Delta> measure(const LogSource& log, TextSizes::Delta delta,
                                                         const std::vector<Entry>& entries,
                                                         const std::atomic<bool>* cancelled) const;
  /// Measures entries for a reader that serves_observers(); null if there is no such way. `log` outlives it.
  [[nodiscard]] virtual std::unique_ptr<TextSizesObserver> observe(const LogSource& /*log*/) const { return nullptr; }
  /// The usage of one entry alone, the same as measure() finds.
  [[nodiscard]] virtual std::optional<EntryUsage> usage(EntryType type, std::string_view raw) const = 0;
  /// The usage of a whole log as the agent prints it. `dialect` is LogIndex::dialect().
  [[nodiscard]] virtual std::string usage_json(const UsageTotals& totals, DialectNumber /*dialect*/) const {
    return plain_usage_json(totals);
  }
  /// The first words of that text on one line, at most `columns` characters.
  [[nodiscard]] virtual std::string first_words(EntryType type, std::string_view raw, std::size_t columns) const = 0;
  /// False for the entries that a transcript leaves out. `name` is the word in an entry's file name.
  [[nodiscard]] virtual bool is_in_transcript(std::string_view /*name*/) const { return true; }
  /// Adds the content of an entry to a conversation: the turns of its session in order. Adds nothing for an entry
  /// without content, such as a setting, or for content that the agent adds again at each start. The default adds the
  /// entry's text, below its name if that is neither user nor assistant.
  virtual void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const;
  /// What the agent would send to the model: as one JSON object. Errors: stale, io.
  [[nodiscard]] virtual Result<std::shared_ptr<const Content>> context(
      const ContextPath& path, std::shared_ptr<const LogSource> log, std::shared_ptr<const BlobSource> blobs) const = 0;
};

/// The sizes, images and usage of a whole log. Errors: stale, io, interrupted.
Result<TextSizes> measure_log(const RecordRenderer& renderer, const LogSource& log, const LogIndex& index,
                              const std::atomic<bool>* cancelled = nullptr);

}  // namespace arborfs
