#include "core/formats/omp/context/context_layout.h"

#include <array>
#include <span>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/oversized.h"
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

// The members of an oversized entry that go into its message, in order.
std::span<const std::string_view> shown_members(Piece::Kind kind) {
  static constexpr std::array<std::string_view, 5> kCustom = {"customType", "content", "display", "details",
                                                              "attribution"};
  static constexpr std::array<std::string_view, 2> kBranch = {"summary", "fromId"};
  static constexpr std::array<std::string_view, 3> kCompaction = {"summary", "shortSummary", "tokensBefore"};
  switch (kind) {
    case Piece::Kind::custom:
      return kCustom;
    case Piece::Kind::branch_summary:
      return kBranch;
    default:
      return kCompaction;
  }
}

std::string_view role_of(Piece::Kind kind) {
  return kind == Piece::Kind::custom           ? "custom"
         : kind == Piece::Kind::branch_summary ? "branchSummary"
                                               : "compactionSummary";
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

Result<void> Layout::add_oversized(const Piece& piece) {
  ASSIGN_OR_RETURN(auto members, placed_members(*source_->log, piece.offset, piece.length));
  if (piece.kind == Piece::Kind::message) {
    if (const PlacedMember* message = find_member(members, "message")) {
      separate();
      return content_->add_json(source_->log, message->offset, message->length);
    }
    return {};
  }
  separate();
  content_->add_text("{\"role\":\"" + std::string(role_of(piece.kind)) + "\"");
  for (const std::string_view key : shown_members(piece.kind)) {
    if (const PlacedMember* member = find_member(members, key)) {
      content_->add_text(",\"" + std::string(key) + "\":");
      RETURN_IF_ERROR(content_->add_json(source_->log, member->offset, member->length));
    }
  }
  json::Document entry;
  RETURN_IF_ERROR(load_entry(*source_, piece.offset, piece.length, entry));
  content_->add_text(",\"timestamp\":" + date_json(json::member(entry, "timestamp")) + "}");
  return {};
}

Result<void> Layout::add(const Piece& piece) {
  const bool is_copy = piece.kind == Piece::Kind::copy;
  if (!is_copy && piece.kind != Piece::Kind::notes && piece.length > kLongestLoaded) {
    return add_oversized(piece);
  }
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
