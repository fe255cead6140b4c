#include "core/formats/omp/context/context.h"

#include <algorithm>
#include <cstdint>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/context_layout.h"
#include "core/formats/omp/context/context_messages.h"
#include "core/formats/omp/context/context_pi.h"
#include "core/formats/omp/context/context_plan.h"
#include "core/formats/omp/context/context_settings.h"

namespace arborfs {

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
