// The context that OpenCode sends to the model when a session continues (opencode/FORMAT.md E). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/opencode/opencode_reader.h"
#include "core/model/content.h"
#include "core/model/context_path.h"

namespace arborfs::opencode {

/// A message that the model receives, read and changed on demand.
struct SentMessage {
  std::shared_ptr<const LogSource> log;
  std::size_t step = 0;  // of the path
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string end_part;  // sent_message() in replayed_context.cc

  /// In the shape of an entry; "" if nothing of it is sent. Errors: stale, io.
  [[nodiscard]] Result<std::string> text() const;
};

/// In the order in which the model receives them. Errors: stale, io.
Result<std::vector<SentMessage>> sent_messages(const ContextPath& path, std::shared_ptr<const LogSource> log, Era era);

/// `{"messages":[…]}`, each message in the shape of an entry, with the parts that are sent. Errors: stale, io.
Result<std::shared_ptr<const Content>> replayed_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                        Era era);

}  // namespace arborfs::opencode
