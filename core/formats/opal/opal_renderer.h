// The texts and the context of Opal's messages (opal/FORMAT.md B3, C3). Thread-safe.
#pragma once

#include "core/render/message_renderer.h"

namespace arborfs::opal {

class Renderer : public MessageRenderer {
 public:
  /// `{"messages":[` newline, each message of the path on its own line as it is in the log, `]}` newline.
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
};

}  // namespace arborfs::opal
