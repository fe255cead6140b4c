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
  Result<AdoptResult> adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                const Conversation& conversation) override;

 private:
  /// Creates the transcript of a new session.
  Result<CreateResult> write_transcript(const std::string& agent, const std::string& cwd, const std::string& id,
                                        const std::string& rows);
};

}  // namespace arborfs
