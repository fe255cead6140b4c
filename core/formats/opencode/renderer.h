// Renders the messages of OpenCode: core/entry/message_renderer.h over their parts (opencode/FORMAT.md C4).
// Thread-safe.
#pragma once

#include "core/entry/message_renderer.h"
#include "core/formats/opencode/reader.h"

namespace arborfs::opencode {

class Renderer : public MessageRenderer {
 public:
  explicit Renderer(Era era) : era_(era) {}
  /// Without the texts that OpenCode put in (opencode/FORMAT.md C4).
  [[nodiscard]] Saying saying(const SpokenEntry& entry) const override;
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override;
  /// By `time.completed`, `error` and `finish`.
  [[nodiscard]] TurnEnd turn_end(std::string_view raw) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
  [[nodiscard]] std::optional<RecordUsage> usage_of(EntryType type, const json::Value& record) const override;

 private:
  const Era era_;
};

}  // namespace arborfs::opencode
