// The texts and the context of goat's messages (goat/FORMAT.md C2, C3). Thread-safe.
#pragma once

#include "core/render/message_renderer.h"

namespace arborfs::goat {

class Renderer : public MessageRenderer {
 public:
  /// `{"messages":[` newline, each message on its own line, `]}` newline. A message is the bytes of its object in the
  /// nested shape; in the flat shape, the bytes of its members without uuid and timestamp.
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(const ContextPath& path,
                                                               std::shared_ptr<const LogSource> log,
                                                               std::shared_ptr<const BlobSource> blobs) const override;

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType type, const json::Value& record) const override;
  bool add_turns_of(const SpokenEntry& entry, const json::Value& record, std::vector<Turn>& turns) const override;
};

}  // namespace arborfs::goat
