#include "core/formats/omp/context/context.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/context_messages.h"
#include "core/formats/omp/context/context_pi.h"
#include "core/formats/omp/context/context_plan.h"
#include "core/formats/omp/context/context_settings.h"
#include "core/log/log_window.h"

namespace arborfs {

namespace context {
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

}  // namespace
}  // namespace context

namespace {

constexpr std::size_t kStepsAtOnce = 4096;

/// omp18's repairs need the whole list of messages; omp13's messages are taken as they are read.
template <class Take>
Result<void> each_draft(const ContextPath& path, const context::Plan& plan, const context::Source& source,
                        const Take& take) {
  const bool is_18 = dialect_of(path) == Dialect::omp18 && !plan.is_whole;
  context::MessageReader reader(path, plan, source);
  for (;;) {
    ASSIGN_OR_RETURN(auto drafts, reader.next(is_18 ? SIZE_MAX : kStepsAtOnce));
    if (!drafts) {
      return {};
    }
    if (is_18) {
      context::repair_as_18(*drafts, path);
    }
    for (const context::Draft& draft : drafts->list) {
      if (!draft.is_dropped) {
        RETURN_IF_ERROR(take(draft));
      }
    }
  }
}

Result<std::shared_ptr<const Content>> content_of(const ContextPath& path,
                                                  const std::shared_ptr<const context::Source>& source) {
  using namespace context;
  ASSIGN_OR_RETURN(const auto plan, plan_of(path, *source));
  Layout layout(source);
  RETURN_IF_ERROR(each_draft(path, plan, *source, [&](const Draft& draft) { return layout.add(draft.piece); }));
  if (dialect_of(path) == Dialect::pi) {
    ASSIGN_OR_RETURN(const auto settings, pi_settings_json(path, *source));
    return layout.finish(settings);
  }
  ASSIGN_OR_RETURN(const auto settings, read_settings(path, *source));
  return layout.finish(settings.json(dialect_of(path)));
}

/// Keeps the file of a context that is refused in its folder: only reading it fails.
std::shared_ptr<const Content> refused_content(const ContextPath& path, const Error& refusal) {
  std::uint64_t longest = 0;
  for (const ContextPath::Step& step : path.steps) {
    longest = std::max(longest, step.length);
  }
  auto content = std::make_shared<Content>();
  content->add_rendered(longest, [refusal]() -> Result<std::string> { return refusal; });
  return content;
}

}  // namespace

Error entry_too_long(std::uint64_t length) {
  return {Errc::too_large, "an entry of " + std::to_string(length) +
                               " bytes is too long to be held in memory; at most " +
                               std::to_string(kLongestHeld >> 20U) + " MiB are"};
}

Result<void> each_message(const ContextPath& path, std::shared_ptr<const LogSource> log,
                          std::shared_ptr<const BlobSource> blobs, ContextScope scope,
                          const std::function<Result<void>(std::size_t step, const std::string& message)>& take) {
  using namespace context;
  const Source source{std::move(log), std::move(blobs), dialect_of(path), path.version_below_3};
  ASSIGN_OR_RETURN(const auto plan, scope == ContextScope::whole ? whole_plan(path, source) : plan_of(path, source));
  return each_draft(path, plan, source, [&](const Draft& draft) -> Result<void> {
    const Piece& piece = draft.piece;
    ASSIGN_OR_RETURN(const auto text, piece.kind == Piece::Kind::copy ? source.log->read(piece.offset, piece.length)
                                                                      : render_piece(piece, source));
    return text.empty() ? Result<void>() : take(draft.step, text);
  });
}

Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                     std::shared_ptr<const BlobSource> blobs) {
  auto made = content_of(path, std::make_shared<const context::Source>(context::Source{
                                   std::move(log), std::move(blobs), dialect_of(path), path.version_below_3}));
  return !made && made.error().code == Errc::too_large ? refused_content(path, made.error()) : made;
}

}  // namespace arborfs
