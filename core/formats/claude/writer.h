// Creates sessions of Claude Code from those of other agents; never changes an existing session. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/write/writer.h"

namespace arborfs::claude {

class Writer final : public arborfs::Writer {
 public:
  /// `catalog` must outlive this object.
  Writer(Catalog& catalog, WriteSettings settings) : arborfs::Writer(catalog, std::move(settings)) {}

  void take_back_parts() override;
  Result<AdoptResult> adopt(const Conversation& conversation, const std::string& agent) override;
  Result<AdoptResult> adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                const Conversation& conversation) override;

 private:
  /// Creates the transcript of a new session.
  Result<CreateResult> write_transcript(const std::string& agent, const std::string& cwd, const std::string& id,
                                        const std::string& rows);
};

/// The name of the folder in which the program looks for the sessions of a working directory.
std::string project_folder_of(std::string_view cwd);

}  // namespace arborfs::claude
