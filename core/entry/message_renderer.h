// Renders the records of agents that translate them to a Message (core/entry/turn.h). The text has the same form as
// that of omp's messages. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/entry/record_renderer.h"
#include "core/entry/turn.h"
#include "core/entry/usage.h"
#include "core/json/document.h"

namespace arborfs {

/// The tokens and cost that a record reports.
struct RecordUsage {
  Usage usage = untold_usage();
  Usage sums = untold_usage();  // UsageReport::sums
  /// Records with the same text here, other than "", tell of one request.
  std::string request;
  /// The same among all sessions of the agent.
  std::string request_anywhere;
  bool may_grow = false;      // UsageReport::may_grow
  bool is_inherited = false;  // UsageReport::is_inherited
  std::string model;          // "" if the record names none
};

class MessageRenderer : public RecordRenderer {
 public:
  /// Longer records are not parsed; their text is one line that says so.
  static constexpr std::uint64_t kLongestParsed = std::uint64_t{16} << 20U;

  void render(EntryType type, std::string_view raw, std::string& out) const override;
  [[nodiscard]] TextMeasure measure(EntryType type, std::string_view raw) const override;
  [[nodiscard]] std::optional<EntryUsage> usage(EntryType type, std::string_view raw) const override;
  [[nodiscard]] std::string first_words(EntryType type, std::string_view raw, std::size_t columns) const override;
  void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const override;

 protected:
  /// The content of the record; nothing if it is not a message of this agent: all of it is then shown, as an
  /// outline.
  [[nodiscard]] virtual std::optional<Message> message_of(EntryType type, const json::Value& record) const = 0;
  /// As add_turns(). False for a record whose text is to be added instead.
  virtual bool add_turns_of(const SpokenEntry& /*entry*/, const json::Value& /*record*/,
                            std::vector<Turn>& /*turns*/) const {
    return false;
  }
  /// The record's contribution to the session's usage.
  [[nodiscard]] virtual std::optional<RecordUsage> usage_of(EntryType type, const json::Value& record) const;

 private:
  template <class Sink>
  void put(EntryType type, std::string_view raw, Sink& sink) const;
};

}  // namespace arborfs
