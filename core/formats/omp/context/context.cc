#include "core/formats/omp/context/context.h"

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

// omp18's repairs need the whole list of messages; omp13's messages are laid out as they are read.
Result<void> lay_out(const ContextPath& path, const context::Plan& plan, const context::Source& source,
                     context::Layout& layout) {
  const bool is_18 = dialect_of(path) == Dialect::omp18;
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
        RETURN_IF_ERROR(layout.add(draft.piece));
      }
    }
  }
}

}  // namespace

Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                     std::shared_ptr<const BlobSource> blobs) {
  using namespace context;
  const auto source =
      std::make_shared<const Source>(Source{std::move(log), std::move(blobs), dialect_of(path), path.version_below_3});
  ASSIGN_OR_RETURN(const auto plan, plan_of(path, *source));
  Layout layout(source);
  RETURN_IF_ERROR(lay_out(path, plan, *source, layout));
  if (dialect_of(path) == Dialect::pi) {
    ASSIGN_OR_RETURN(const auto settings, pi_settings_json(path, *source));
    return layout.finish(settings);
  }
  ASSIGN_OR_RETURN(const auto settings, read_settings(path, *source));
  return layout.finish(settings.json(dialect_of(path)));
}

}  // namespace arborfs
