#include "core/views/conversation.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/model/context_path.h"
#include "core/model/tree.h"
#include "core/render/record_renderer.h"
#include "core/render/views.h"
#include "core/session/awaited_blobs.h"

namespace arborfs {

ContentResult context_at(const ViewRequest& request, Ordinal ordinal) {
  ContextPath path;
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
    path = context_path(guard.index(), ordinal == kNoEntry ? guard.leaf() : ordinal);
    log = guard.log();
  }
  auto blobs = std::make_shared<const NotedBlobs>(request.session.store().blobs(),
                                                  request.catalog.state_of(request.session).awaited_blobs,
                                                  request.session.number());
  return request.session.format().renderer->context(path, std::move(log), std::move(blobs));
}

ContentResult transcript_at(const ViewRequest& request, Ordinal ordinal) {
  std::vector<TranscriptStep> steps;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = request.session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const RecordRenderer& renderer = *request.session.format().renderer;
    auto path = path_to(guard->index(), ordinal == kNoEntry ? guard->leaf() : ordinal);
    std::erase_if(path, [&](Ordinal step) { return !renderer.is_in_transcript(guard->index().name(step)); });
    std::vector<std::uint32_t> sizes;
    sizes.reserve(path.size());
    for (const Ordinal step : path) {
      sizes.push_back(static_cast<std::uint32_t>(guard->details().text_size(step)));
    }
    steps = transcript_steps(guard->index(), path, sizes);
    log = guard->log();
  }
  return build_transcript(std::move(steps), std::move(log), *request.session.format().renderer);
}

}  // namespace arborfs
