// transcript.html and context.html: a conversation as people read it, and what the model was sent, as pages for a
// browser (core/html/page.h). Sizes are exact: a long page is rendered once for its size and again, part by part, when
// it is read. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/session/session.h"

namespace arborfs {

/// Where a page is, and the pages that it links to.
struct PagePlace {
  struct Link {
    std::string words;  // WTF-8
    std::string path;   // from the page
  };
  std::string to_session;     // from the page to the folder of its session: "" or "../../"
  std::vector<Link> links;    // above the conversation
  std::vector<Link> started;  // the sessions that this one started
  bool has_branches = false;  // lists the other branches, and shows where they part
};

/// The path for people to `end`. Needs Depth::details. Errors: stale, io; interrupted once cancelled.
Result<std::shared_ptr<const Content>> conversation_page(const Session& session, Ordinal end, const PagePlace& place);
/// The messages of context.json after `end`. Needs Depth::details. Errors: the same; too_large above 256 MiB.
Result<std::shared_ptr<const Content>> context_page(const Session& session, Ordinal end, const PagePlace& place);

}  // namespace arborfs
