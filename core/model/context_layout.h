// Lays the messages of a context out as Content. Internal to core/model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/model/context_messages.h"

namespace arborfs::context {

/// Short messages are put together into blocks that are made when they are read, long ones become ranges of the log:
/// a context holds some 40 bytes a message.
class Layout {
 public:
  explicit Layout(std::shared_ptr<const Source> source);
  /// Adds a message. Errors: io, stale.
  Result<void> add(const Piece& piece);
  /// Closes the list of messages; `rest` is what follows it, from its `]` on.
  std::shared_ptr<const Content> finish(std::string_view rest);

 private:
  void add_long_copy(const Piece& piece);
  Result<void> add_oversized(const Piece& piece);
  void separate();
  void flush();

  std::shared_ptr<const Source> source_;
  std::shared_ptr<Content> content_;
  std::vector<Piece> block_;
  std::uint64_t block_size_ = 0;
  bool has_messages_ = false;
  bool starts_with_block_ = false;
};

}  // namespace arborfs::context
