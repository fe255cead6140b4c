// transcript.html and context.html: a conversation as people read it, and what the model was sent, as pages for a
// browser (core/html/page.h). Sizes are exact: a page is rendered when it is made, in parts (page_parts.h). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/html/page.h"
#include "core/session/session.h"
#include "core/views/started_sessions.h"
#include "core/views/turn_html.h"

namespace arborfs {

/// What becomes of the texts of a log before they are in a page, which is then made once and kept whole: what a filter
/// learns from a text may change what it makes of others.
struct TextFilter {
  std::function<std::string(std::string_view record, std::string_view place)> record;  // JSON to JSON
  std::function<std::string(std::string_view text)> words;                             // of titles, names and facts
};

/// Where a page is, what it has, and the pages that it links to.
struct PagePlace {
  enum class Branches : std::uint8_t {
    none,
    links,   // they are listed, and shown by their first words where they part
    inside,  // their entries follow those of the path
  };
  std::string title;                    // "" for the session's name
  std::string to_session;               // from the page to the folder of its session: "" or "../../"
  std::vector<html::Link> links;        // above the conversation
  std::vector<StartedSession> started;  // shown where an output names them
  Branches branches = Branches::none;
  /// The page never changes, although the session does: it tells no cost of the session or by list prices.
  bool is_lasting = false;
  bool is_alone = false;  // a file of its own, without links to files of the mount
  ImageSource images;     // null: the files of images/
  /// The page of a started session that is to be shown within this one; else why it is not, in words. Null: links to
  /// all.
  std::function<Result<PagePlace>(const StartedSession&)> inside;
  std::optional<TextFilter> filter;  // then an entry that is too long for it is left out
  std::string id_prefix;             // of the articles; other than "" for a page within a page
};

/// The path for people to `end`. Needs Depth::details. Errors: stale, io; interrupted once cancelled.
Result<std::shared_ptr<const Content>> conversation_page(const Session& session, Ordinal end, const PagePlace& place);
/// The messages of context.json after `end`; of the place, it takes the title and the links. What
/// begins with a giant entry, or is above 256 MiB, is left out, as the page says. Needs Depth::details. Errors: the
/// same.
Result<std::shared_ptr<const Content>> context_page(const Session& session, Ordinal end, const PagePlace& place);

}  // namespace arborfs
