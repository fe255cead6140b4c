#include "core/formats/omp/context/context_layout.h"

#include "core/base/result_macros.h"
#include "core/log/log_window.h"

namespace arborfs::context {
namespace {

constexpr std::uint64_t kShortMessage = 16 * 1024;
constexpr std::uint64_t kBlock = 64 * 1024;
constexpr std::size_t kWindowBytes = 128 * 1024;
constexpr std::string_view kSeparator = ",\n";

struct Block {
  std::shared_ptr<const Source> source;
  std::vector<Piece> pieces;
  bool is_first = false;  // no separator before its first message
};

Result<std::string> render_block(const Block& block) {
  ASSIGN_OR_RETURN(const auto size, block.source->log->size());
  LogWindow window(*block.source->log, size, nullptr, kWindowBytes);
  std::string out;
  for (const Piece& piece : block.pieces) {
    if (!block.is_first || &piece != &block.pieces.front()) {
      out += kSeparator;
    }
    if (piece.kind != Piece::Kind::copy) {
      ASSIGN_OR_RETURN(auto text, render_piece(piece, *block.source));
      out += text;
      continue;
    }
    ASSIGN_OR_RETURN(auto bytes, window.view(piece.offset, piece.length));
    out += bytes.substr(0, piece.length);
  }
  return out;
}

}  // namespace

Layout::Layout(std::shared_ptr<const Source> source)
    : source_(std::move(source)), content_(std::make_shared<Content>()) {
  content_->add_text("{\"messages\":[\n");
}

void Layout::flush() {
  if (block_.empty()) {
    return;
  }
  block_.shrink_to_fit();
  auto block = std::make_shared<const Block>(Block{source_, std::move(block_), starts_with_block_});
  content_->add_rendered(block_size_, [block] { return render_block(*block); });
  block_.clear();
  block_size_ = 0;
  starts_with_block_ = false;
}

// Called before a message that does not go into a block.
void Layout::separate() {
  flush();
  if (has_messages_) {
    content_->add_text(kSeparator);
  }
  has_messages_ = true;
}

void Layout::add_long_copy(const Piece& piece) {
  separate();
  content_->add_range(source_->log, piece.offset, piece.length);
}

Result<void> Layout::add(const Piece& piece) {
  const bool is_copy = piece.kind == Piece::Kind::copy;
  if (is_copy && piece.length > kShortMessage) {
    add_long_copy(piece);
    return {};
  }
  std::uint64_t size = piece.length;
  if (!is_copy) {
    ASSIGN_OR_RETURN(const auto text, render_piece(piece, *source_));
    if (text.empty()) {
      return {};
    }
    size = text.size();
  }
  if (size > kShortMessage || block_size_ + size > kBlock) {
    flush();
  }
  starts_with_block_ = starts_with_block_ || !has_messages_;
  block_size_ += size + (has_messages_ ? kSeparator.size() : 0);
  has_messages_ = true;
  block_.push_back(piece);
  return {};
}

std::shared_ptr<const Content> Layout::finish(std::string_view rest) {
  flush();
  content_->add_text(has_messages_ ? "\n" : "");
  content_->add_text(rest);
  content_->add_text("\n");
  return std::move(content_);
}

}  // namespace arborfs::context
