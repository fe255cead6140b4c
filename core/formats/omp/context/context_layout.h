// Lays the messages of a context out as Content. Internal to core/model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/formats/omp/context/context_messages.h"

namespace arborfs::context {

/// Groups short messages into blocks that are rendered when they are read; long messages become ranges of the log. A
/// context takes about 40 bytes per message.
class Layout {
 public:
  explicit Layout(std::shared_ptr<const Source> source);
  /// Adds a message. Errors: io, stale.
  Result<void> add(const Piece& piece);
  /// Ends the list of messages; `rest` is the text from its closing `]` on. Call it once.
  std::shared_ptr<const Content> finish(std::string_view rest);

 private:
  void add_long_copy(const Piece& piece);
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
