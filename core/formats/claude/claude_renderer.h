// The texts, images, usage and context of Claude Code's rows (claude/FORMAT.md B3, E, F). Thread-safe.
#pragma once

#include "core/render/message_renderer.h"

namespace arborfs::claude {

class Renderer : public MessageRenderer {
 public:
  [[nodiscard]] bool is_in_transcript(std::string_view name) const override;
  /// `{"messages":[` newline, each message that the program would send on its own line, `]}` newline (context.h).
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;
  /// What is sent of the row.
  void add_turns(const SpokenEntry& entry, std::vector<Turn>& turns) const override;
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  [[nodiscard]] std::string typed_in(std::string_view text) const override;
  [[nodiscard]] std::string command_in(std::string_view text) const override;
  [[nodiscard]] std::optional<RecordUsage> usage_of(EntryType type, const json::Value& record) const override;
};

}  // namespace arborfs::claude
