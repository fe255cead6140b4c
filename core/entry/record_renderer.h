// Renders the records of one agent for people and for models. One constant object per format. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/content.h"
#include "core/entry/context_path.h"
#include "core/entry/text_sizes.h"
#include "core/entry/turn.h"
#include "core/entry/usage.h"

namespace arborfs {

/// One entry of a conversation.
struct SpokenEntry {
  EntryType type = EntryType::none;
  std::string_view name;                  // the word in its file name
  std::string_view raw;                   // its bytes, at most kMaxRenderedEntry (text.h)
  std::int64_t time_ms = Entry::kNoTime;  // its own
  const BlobSource& blobs;
};

/// What a conversation takes from a path of the tree.
enum class Reach : std::uint8_t {
  context,  // the messages of RecordRenderer::context(): what the model had
  path,     // the content of every entry, except what its agent never sends to a model
};

/// A path of the tree, copied from an index, whose conversation is read.
struct SpokenPath {
  ContextPath path;
  std::vector<std::string> names;  // of the steps: the words in their file names
  std::shared_ptr<const LogSource> log;
  std::shared_ptr<const BlobSource> blobs;
  Reach reach = Reach::context;
};

/// Receives the turns of one message. `entry` is the entry of the path that it comes from, kNoEntry for one of
/// another branch.
using TakeTurns = std::function<Result<void>(Ordinal entry, std::vector<Turn> turns)>;

/// The bytes of an entry, or of a part of one, that belong to a conversation. Errors: too_large above
/// kMaxRenderedEntry (text.h), stale, io.
Result<std::string> read_spoken(const LogSource& log, std::uint64_t offset, std::uint64_t length);
/// The most bytes that the turns of a conversation may have.
inline constexpr std::uint64_t kMaxConversation = std::uint64_t{256} << 20U;
/// Errc::too_large: a conversation is longer than arborfs translates.
Error conversation_too_long();

/// The tokens and cost that one entry reports, for sums over sessions.
struct EntryUsage {
  UsageReport report;
  /// Names the request among all sessions of the agent; "" if the entry has no such name.
  std::string request;
  std::string model;  // "" if it names none
};

/// What an entry says, for the name of its session.
struct Saying {
  /// What goes before in a name comes later here.
  enum class By : std::uint8_t {
    nobody,   // nothing, or only what a program put in
    other,    // an answer, the output of a tool, a summary
    command,  // of the agent's own, that a person typed
    person,
  };
  By by = By::nobody;
  std::string text;
};

/// What the record of an answer says of the turn that it is in.
enum class TurnEnd : std::uint8_t {
  by_calls,  // nothing: the turn is over unless the answer has calls without results
  over,
  goes_on,
  not_told,  // its agent is still adding to it, or never says that it has ended
};

class RecordRenderer {
 public:
  virtual ~RecordRenderer() = default;
  /// Appends the text of an entry, whose bytes are `raw`, ending in one newline. It is not called for entries longer
  /// than kMaxRenderedEntry (text.h).
  virtual void render(EntryType type, std::string_view raw, std::string& out) const = 0;
  /// The size of that text, its images and its usage.
  [[nodiscard]] virtual TextMeasure measure(EntryType type, std::string_view raw) const = 0;
  /// Adds the measures of `entries`, which follow one another in the index, to `delta`. Two threads work. Errors:
  /// stale, io, interrupted.
  [[nodiscard]] Result<TextSizes::Delta> measure(const LogSource& log, TextSizes::Delta delta,
                                                 const std::vector<Entry>& entries, const std::stop_token& stop) const;
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
  /// For the entry of an answer, whose bytes are `raw`.
  [[nodiscard]] virtual TurnEnd turn_end(std::string_view /*raw*/) const { return TurnEnd::by_calls; }
  /// Adds the content of an entry to a conversation: the turns of its session in order. Adds nothing for an entry
  /// without content, such as a setting, or for content that the agent adds again at each start. The default adds the
  /// entry's text, below its name if that is neither user nor assistant.
  virtual void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const;
  /// Translates the messages of a path, in the order in which the model receives them. Those of Reach::context are the
  /// messages that context() has. The default takes every entry, as a context does that is the whole path. Errors:
  /// too_large, stale, io; those of `take`.
  virtual Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const;
  /// Made from add_turns(), typed_in() and command_in(). The entry is read without its images.
  [[nodiscard]] virtual Saying saying(const SpokenEntry& entry) const;
  /// What the agent would send to the model: as one JSON object. Errors: stale, io.
  [[nodiscard]] virtual Result<std::shared_ptr<const Content>> context(
      const ContextPath& path, std::shared_ptr<const LogSource> log, std::shared_ptr<const BlobSource> blobs) const = 0;

 protected:
  /// What a person typed of a text in the user's name: without what the agent put in, "" if that is all.
  [[nodiscard]] virtual std::string typed_in(std::string_view text) const { return std::string(text); }
  /// The command of the agent with its arguments, as a person typed it, if the text is the record of one; else "".
  [[nodiscard]] virtual std::string command_in(std::string_view /*text*/) const { return ""; }
};

/// The turns of a path. Errors: those of RecordRenderer::read_turns; too_large above kMaxConversation.
Result<std::vector<SaidTurn>> said_turns(const RecordRenderer& renderer, const SpokenPath& spoken);

/// The sizes, images and usage of a whole log. Errors: stale, io, interrupted.
Result<TextSizes> measure_log(const RecordRenderer& renderer, const LogSource& log, const LogIndex& index,
                              const std::stop_token& stop = {});

}  // namespace arborfs
