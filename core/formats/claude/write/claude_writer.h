// Creates sessions of Claude Code from those of other agents; never changes an existing session. Threads: any.
#pragma once

#include <string>
#include <utility>

#include "core/writer/writer.h"

namespace arborfs {

class ClaudeWriter final : public Writer {
 public:
  /// `catalog` must outlive this object.
  ClaudeWriter(Catalog& catalog, WriteSettings settings) : Writer(catalog, std::move(settings)) {}

  void take_back_parts() override;
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
};

}  // namespace arborfs
