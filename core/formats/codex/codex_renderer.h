// The texts, usage and context of Codex's records (codex/FORMAT.md E, F). Thread-safe.
#pragma once

#include "core/render/message_renderer.h"

namespace arborfs::codex {

class Renderer : public MessageRenderer {
 public:
  /// Excludes messages that Codex inserted for the model, and the records of usage.
  [[nodiscard]] bool is_in_transcript(std::string_view name) const override;
  /// As build_context() of codex_context.h.
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;
  Result<void> read_turns(const SpokenPath& spoken, const TakeTurns& take) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  /// Without what editors and Codex put before the request (codex/FORMAT.md E1).
  [[nodiscard]] std::string typed_in(std::string_view text) const override;
  [[nodiscard]] std::string command_in(std::string_view text) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
  [[nodiscard]] std::optional<RecordUsage> usage_of(EntryType type, const json::Value& record) const override;
};

}  // namespace arborfs::codex
