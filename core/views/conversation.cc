#include "core/views/conversation.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/model/context_path.h"
#include "core/model/people_path.h"
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

namespace {

/// The links to an entry's images. `images` are in the order of the entries.
std::string image_links(const LogIndex& index, const std::vector<ImageRef>& images, Ordinal ordinal,
                        std::string_view folder) {
  std::string links;
  auto image = std::lower_bound(images.begin(), images.end(), ordinal,
                                [](const ImageRef& row, Ordinal wanted) { return row.ordinal < wanted; });
  for (; image != images.end() && image->ordinal == ordinal; ++image) {
    links += image_link(index, *image, folder);
  }
  return links;
}

}  // namespace

ContentResult transcript_at(const ViewRequest& request, Ordinal ordinal) {
  std::vector<TranscriptStep> steps;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = request.session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const RecordRenderer& renderer = *request.session.format().renderer;
    const auto path = people_path(guard->index(), ordinal == kNoEntry ? guard->leaf() : ordinal);
    steps = transcript_steps(guard->index(), path,
                             {[&](std::string_view name) { return renderer.is_in_transcript(name); },
                              [&](Ordinal step) { return guard->details().text_size(step); },
                              [&](Ordinal step) {
                                return image_links(guard->index(), guard->details().images(), step,
                                                   ordinal == kNoEntry ? "images/" : "../../images/");
                              }});
    log = guard->log();
  }
  return build_transcript(std::move(steps), std::move(log), *request.session.format().renderer);
}

}  // namespace arborfs
