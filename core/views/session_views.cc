#include "core/views/session_views.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/entry/context_path.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/entry/tree.h"
#include "core/entry/views.h"
#include "core/log/log_reader.h"
#include "core/session/awaited_blobs.h"
#include "core/session/view_cache.h"
#include "core/views/conversation_page.h"
#include "core/views/session_changes.h"
#include "core/views/session_facts.h"
#include "core/views/session_work.h"
#include "core/views/stats.h"
#include "core/views/trajectory.h"

namespace arborfs {

namespace {

constexpr std::size_t kWordColumns = 60;
constexpr std::uint64_t kMaxWordedEntry = 4 << 20;
constexpr int kAttempts = 3;

struct Place {
  Entry entry;
  std::uint64_t length = 0;
};

Result<std::vector<std::string>> collect_words(const RecordRenderer& renderer, const LogSource& log,
                                               const std::vector<Place>& places, std::size_t columns) {
  std::vector<std::string> words;
  words.reserve(places.size());
  for (const auto& place : places) {
    if (place.length > kMaxWordedEntry) {
      words.emplace_back("(" + std::to_string(place.length) + " bytes)");
      continue;
    }
    ASSIGN_OR_RETURN(auto raw, log.read(place.entry.offset, place.length));
    words.push_back(renderer.first_words(place.entry.type, raw, columns));
  }
  return words;
}

/// Draws a tree from one state of a session. Within one generation an index does not change its entries, so each step
/// may take a guard of its own.
class Making {
 public:
  Making(const Session::Guard& guard, const TreeLook& look)
      : generation_(guard.generation_of(Session::Guard::kLastEntry)),
        log_(guard.log()),
        reader_(guard.index()),
        drawing_(guard.index(), guard.leaf(), look),
        columns_(std::max(kWordColumns, look.width)),
        size_(guard.index().size()) {}

  Result<std::shared_ptr<const Content>> finish(const Session& session) {
    std::vector<Place> places;
    auto done = in_steps(session, [&](const LogIndex& index) {
      add_places(index, places);
      return reader_.read(index, kStep);
    });
    auto words = done ? collect_words(*session.format().renderer, *log_, places, columns_)
                      : Result<std::vector<std::string>>(done.error());
    if (!words) {
      return words.error();
    }
    drawing_.set_tree(reader_.take());
    const auto first_words = [&](Ordinal ordinal) {
      return ordinal <= words->size() ? (*words)[ordinal - 1] : std::string();
    };
    const auto content = std::make_shared<Content>();
    done = in_steps(session, [&](const LogIndex& index) {
      std::string lines;
      const bool has_more = drawing_.draw(index, first_words, kStep, lines);
      content->add_text(lines);
      return has_more;
    });
    return done ? Result<std::shared_ptr<const Content>>(content) : done.error();
  }

 private:
  static constexpr Ordinal kStep = 4096;

  /// `step` returns false when it is finished.
  template <class Step>
  Result<void> in_steps(const Session& session, Step step) {
    for (bool has_more = true; has_more;) {
      const auto guard = session.read();
      if (!guard || guard->generation_of(Session::Guard::kLastEntry) != generation_) {
        return Error{Errc::stale, "the session changed while its tree was drawn; try again"};
      }
      has_more = step(guard->index());
      if (has_more && Cancellation::is_requested()) {
        return Error{Errc::interrupted, "the mount is being unmounted"};
      }
    }
    return {};
  }
  void add_places(const LogIndex& index, std::vector<Place>& places) const {
    const Ordinal end = size_ > kMaxWorded ? 0 : std::min<Ordinal>(size_, static_cast<Ordinal>(places.size()) + kStep);
    for (auto ordinal = static_cast<Ordinal>(places.size()) + 1; ordinal <= end; ++ordinal) {
      places.push_back({index.entry(ordinal), index.length(ordinal)});
    }
  }

  const std::uint32_t generation_;
  const std::shared_ptr<const LogSource> log_;
  TreeReader reader_;
  TreeDrawing drawing_;
  const std::size_t columns_;  // of the first words
  const Ordinal size_;
};

}  // namespace

Result<std::shared_ptr<const Content>> tree_document(const Session& session, const TreeLook& look) {
  Result<std::shared_ptr<const Content>> made =
      Error{Errc::stale, "the session changed while its tree was drawn; try again"};
  for (int attempt = 0; attempt < kAttempts && !made && made.error().code == Errc::stale; ++attempt) {
    std::optional<Making> making;
    if (const auto guard = session.read()) {
      making.emplace(*guard, look);
    }
    if (!making) {
      break;
    }
    made = making->finish(session);
  }
  return made;
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

Result<std::shared_ptr<const Content>> transcript_document(const Session& session, Ordinal end,
                                                           std::string_view images) {
  std::vector<TranscriptStep> steps;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const RecordRenderer& renderer = *session.format().renderer;
    const auto links = [&](Ordinal step) {
      return images.empty() ? "" : image_links(guard->index(), guard->details().images(), step, images);
    };
    const auto path = people_path(guard->index(), end == kNoEntry ? guard->leaf() : end);
    steps = transcript_steps(guard->index(), path,
                             {[&](std::string_view name) { return renderer.is_in_transcript(name); },
                              [&](Ordinal step) { return guard->details().text_size(step); }, links});
    log = guard->log();
  }
  return build_transcript(std::move(steps), std::move(log), *session.format().renderer);
}

namespace {

/// What the agent would send to a model after an entry, or after the leaf.
ContentResult make_context(const ViewRequest& request) {
  ContextPath path;
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
    path = context_path(guard.index(), request.item == kNoEntry ? guard.leaf() : request.item);
    log = guard.log();
  }
  auto blobs = std::make_shared<const NotedBlobs>(request.session.store().blobs(),
                                                  request.catalog.state_of(request.session).awaited_blobs,
                                                  request.session.number());
  return request.session.format().renderer->context(path, std::move(log), std::move(blobs));
}

ContentResult make_transcript(const ViewRequest& request) {
  return transcript_document(request.session, request.item, request.item == kNoEntry ? "images/" : "../../images/");
}

constexpr std::uint64_t kImageStep = 768 * 1024;  // a multiple of 3, so that base64 splits there

constexpr std::string_view kHashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// An image that is base64 in its entry.
std::shared_ptr<const Content> inline_image(const std::shared_ptr<const LogSource>& log, const Entry& entry,
                                            const ImageRef& image) {
  auto content = std::make_shared<Content>();
  const std::uint64_t step = image.plain_base64 ? kImageStep : image.size;
  for (std::uint64_t from = 0; from < image.size; from += step) {
    const std::uint64_t length = std::min(step, image.size - from);
    content->add_rendered(
        length, [log, entry, image, from, length] { return read_inline_image(*log, entry, image, from, length); });
  }
  return content;
}

}  // namespace

Result<std::shared_ptr<const Content>> blob_image(BlobStore& blobs, const std::string& hash) {
  auto file = blobs.open(hash);
  if (!file) {
    return Error{Errc::corrupt, "blob " + hash + ": " + file.error().message};
  }
  ASSIGN_OR_RETURN(auto st, (*file)->stat());
  auto content = std::make_shared<Content>();
  for (std::uint64_t from = 0; from < st.size; from += kImageStep) {
    const std::uint64_t step = std::min(kImageStep, st.size - from);
    content->add_rendered(step, [file = *file, from, step]() -> Result<std::string> { return file->read(from, step); });
  }
  return std::shared_ptr<const Content>(content);
}

std::uint64_t shown_blob_size(const BlobStore& blobs, const std::string& hash) {
  const auto st = blobs.stat(hash);
  const std::uint64_t size = st ? st->size : 0;
  return size == 0 && hash != kHashOfNothing ? 1 : size;
}

namespace {

constexpr std::size_t kWholeTitle = 100'000;

ContentResult make_session_json(const ViewRequest& request) {
  const Session& session = request.session;
  const SessionOrigin origin{session.agent(), session.format_name(), session.format().is_plain,
                             noted_json(*session.noted())};
  return literal_content(session_json(session.head().header, origin));
}

ContentResult make_title(const ViewRequest& request) {
  const std::string title = request.session.title();
  return literal_content(title.empty() ? "" : visible_line(title, kWholeTitle) + "\n");
}

ContentResult make_tags(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto noted, request.catalog.noted_of(request.session));
  std::string lines;
  for (const std::string& tag : tags_of(request.session, *noted)) {
    lines += tag + "\n";
  }
  return literal_content(lines);
}

template <Mark kMark>
bool has_mark(const Session& session) {
  return session.format().takes(mark_name(kMark));
}

template <Mark kMark>
ContentResult make_mark(const ViewRequest& request) {
  const Session& session = request.session;
  if (!has_mark<kMark>(session)) {
    return Error{Errc::not_found, "the session's agent keeps no such mark"};
  }
  return literal_content(is_marked(session.store(), session.place(), kMark) ? "true\n" : "false\n");
}

/// The raw bytes of a log that is decoded.
class RawBytes final : public LogSource {
 public:
  explicit RawBytes(std::shared_ptr<const LogSource> log) : LogSource(log->opened()), log_(std::move(log)) {}

  [[nodiscard]] Result<std::uint64_t> size() const override { return log_->raw_size(); }
  [[nodiscard]] Result<FileStat> stat() const override { return log_->stat(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    return log_->read_raw_at(offset, into);
  }

 private:
  const std::shared_ptr<const LogSource> log_;
};

bool has_raw(const Session& session) {
  return session.store().redaction() == nullptr;
}

/// The bytes as they are on disk, except that the title slot, which is overwritten in place, is as it was in this
/// state.
ContentResult make_raw(const ViewRequest& request) {
  if (!has_raw(request.session)) {
    return Error{Errc::not_found, "the log as it is on disk is not in a redacted mount"};
  }
  const auto raw = request.session.raw();
  if (!raw) {
    return session_changed();
  }
  auto content = std::make_shared<Content>();
  if (raw->log->is_decoded()) {
    content->add_range(std::make_shared<const RawBytes>(raw->log), 0, raw->log->raw_size());
    return ContentPtr(content);
  }
  const std::uint64_t slot = raw->slot_bytes.size();
  content->add_text(raw->slot_bytes);
  if (raw->stat.size > slot) {
    content->add_range(raw->log, slot, raw->stat.size - slot);
  }
  return ContentPtr(content);
}

std::optional<std::uint64_t> raw_size(const ViewRequest& request) {
  const auto raw = request.session.raw();
  return !raw                     ? std::nullopt
         : raw->log->is_decoded() ? std::optional(raw->log->raw_size())
                                  : std::optional(raw->stat.size);
}

ContentResult make_tree(const ViewRequest& request) {
  return tree_document(request.session);
}

ContentResult make_usage(const ViewRequest& request) {
  std::string usage;
  {
    const auto guard = request.session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const RecordRenderer& renderer = *request.session.format().renderer;
    usage = renderer.usage_json(guard->details().usage(), guard->index().dialect());
  }
  ASSIGN_OR_RETURN(const auto use, stats::use_as_read(request.session));
  return literal_content(stats::with_computed_cost(std::move(usage), use) + "\n");
}

ContentResult make_status(const ViewRequest& request) {
  return literal_content(session_status_json(session_status(request.session, request.catalog)));
}

bool has_startup(const Session& session) {
  return session.format().startup_json != nullptr;
}

ContentResult make_startup(const ViewRequest& request) {
  const Session& session = request.session;
  if (!has_startup(session)) {
    return Error{Errc::not_found, "the session's agent has no settings for a start"};
  }
  return literal_content(session.format().startup_json(session.store(), session.head().header));
}

ContentResult make_files(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto work, session_work(request.session));
  return literal_content(files_tsv(work));
}

ContentResult make_commands(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto work, session_work(request.session));
  return literal_content(commands_text(work));
}

ContentResult make_changes(const ViewRequest& request) {
  const CallsOf calls{request.session, kNoEntry};
  ASSIGN_OR_RETURN(const auto changes, session_changes({&calls, 1}));
  return literal_content(changes_diff(changes));
}

Result<Ordinal> end_of(const ViewRequest& request) {
  if (request.item != kNoEntry) {
    return request.item;
  }
  ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
  return guard.leaf();
}

ContentResult make_trajectory(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto end, end_of(request));
  return trajectory(request.session, end, started_by(*request.catalog.view(), request.session));
}

constexpr std::uint64_t kMostOfStarted = 256 << 10;      // bytes of the log of a session that its starter's page shows
constexpr std::uint64_t kMostOfAllStarted = 1024 << 10;  // of the logs of all that a page shows

/// What a page has shown of the sessions that its session started.
struct ShownStarted {
  std::uint64_t bytes = 0;
  std::size_t pages = 0;
};

/// Nests the sessions that a session started in its page, and theirs in them, as far as they are short.
void nest_started(PagePlace& place, const CatalogViewPtr& view, const Session& session,
                  const std::shared_ptr<ShownStarted>& shown) {
  place.started = started_by(*view, session);
  place.inside = [view, shown, to_session = place.to_session](const StartedSession& one) -> Result<PagePlace> {
    RETURN_IF_ERROR(one.session->refresh(Depth::details));
    const auto raw = one.session->raw();
    if (!raw) {
      return session_changed();
    }
    ASSIGN_OR_RETURN(const std::uint64_t bytes, raw->log->size());
    if (bytes > kMostOfStarted || shown->bytes + bytes > kMostOfAllStarted) {
      return Error{Errc::too_large, "too long to be shown here"};
    }
    shown->bytes += bytes;
    PagePlace inside;
    inside.to_session = to_session + one.folder + "/";
    inside.id_prefix = "s" + std::to_string(++shown->pages) + "-";
    nest_started(inside, view, *one.session, shown);
    return inside;
  };
}

/// For a page in the folder of its session, or in that of a branch, which never changes within a generation.
Result<PagePlace> page_place(const ViewRequest& request) {
  PagePlace place;
  if (request.item != kNoEntry) {
    ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
    place.title = "Branch " + names::branch_stem(guard.index(), request.item);
    place.to_session = "../../";
    place.is_lasting = true;
    place.links = {{"the whole session", "../../transcript.html"}, {"what the model saw", "context.html"}};
    return place;
  }
  place.branches = PagePlace::Branches::links;
  const auto view = request.catalog.view();
  const std::string path = view->path_of(request.session.number());
  std::string to_root = path.empty() ? "" : "../";
  for (auto slashes = std::count(path.begin(), path.end(), '/'); slashes > 0; --slashes) {
    to_root += "../";
  }
  place.links = {{"all sessions", to_root + "index.html"},
                 {"what the model sees", "context.html"},
                 {"Markdown", "transcript.md"},
                 {"changes", "changes.diff"},
                 {"tree", "tree.txt"}};
  if (view->starter_of(request.session.number()) != 0) {
    place.links.push_back({"the session that started it", "../../transcript.html"});
  }
  return place;
}

ContentResult make_page(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto end, end_of(request));
  ASSIGN_OR_RETURN(auto place, page_place(request));
  if (request.item == kNoEntry) {
    nest_started(place, request.catalog.view(), request.session, std::make_shared<ShownStarted>());
  }
  return conversation_page(request.session, end, place);
}

ContentResult make_context_page(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto end, end_of(request));
  ASSIGN_OR_RETURN(auto place, page_place(request));
  place.links[1] = {"the conversation", "transcript.html"};
  return context_page(request.session, end, place);
}

constexpr std::array kRows = {
    ViewRow{"session.json", Depth::head, Validity::epoch, MadeFrom::memory, make_session_json},
    ViewRow{"title", Depth::head, Validity::epoch, MadeFrom::memory, make_title},
    ViewRow{"tags", Depth::head, Validity::text, MadeFrom::memory, make_tags, "session-tags"},
    ViewRow{"archived", Depth::head, Validity::text, MadeFrom::memory, make_mark<Mark::archived>, "archived", nullptr,
            nullptr, has_mark<Mark::archived>},
    ViewRow{"pinned", Depth::head, Validity::text, MadeFrom::memory, make_mark<Mark::pinned>, "pinned", nullptr,
            nullptr, has_mark<Mark::pinned>},
    ViewRow{"raw.jsonl", Depth::raw, Validity::raw_generation, MadeFrom::bytes, make_raw, "raw", raw_size, nullptr,
            has_raw},
    ViewRow{"context.json", Depth::index, Validity::epoch, MadeFrom::entries, make_context, "context"},
    ViewRow{"transcript.md", Depth::details, Validity::transcript, MadeFrom::entries, make_transcript, "transcript"},
    ViewRow{"transcript.html", Depth::details, Validity::family, MadeFrom::entries, make_page},
    ViewRow{"context.html", Depth::details, Validity::epoch, MadeFrom::entries, make_context_page},
    ViewRow{"tree.txt", Depth::index, Validity::epoch, MadeFrom::entries, make_tree, "tree"},
    ViewRow{"files.tsv", Depth::index, Validity::epoch, MadeFrom::entries, make_files},
    ViewRow{"commands.txt", Depth::index, Validity::epoch, MadeFrom::entries, make_commands},
    ViewRow{"changes.diff", Depth::index, Validity::epoch, MadeFrom::entries, make_changes},
    ViewRow{"trajectory.json", Depth::details, Validity::epoch, MadeFrom::entries, make_trajectory},
    ViewRow{"usage.json", Depth::details, Validity::epoch, MadeFrom::entries, make_usage, "usage"},
    ViewRow{"status.json", Depth::details, Validity::text, MadeFrom::memory, make_status, "status"},
    ViewRow{"startup.json", Depth::head, Validity::text, MadeFrom::memory, make_startup, "startup.json", nullptr,
            nullptr, has_startup},
};

/// The item in a node's number identifies the state of a session that a view shows, so no view of a session has an item
/// of its own.
constexpr bool rows_are_of_sessions() {
  return std::all_of(kRows.begin(), kRows.end(),
                     [](const ViewRow& row) { return !row.name.empty() && row.validity != Validity::generation; });
}
static_assert(rows_are_of_sessions());

}  // namespace

std::span<const ViewRow> session_views() {
  return kRows;
}

const ViewRow* find_view(std::string_view name) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const ViewRow& row) { return row.name == name; });
  return found == kRows.end() ? nullptr : &*found;
}

namespace {

bool is_entry(const LogIndex& index, std::uint32_t item) {
  return item != kNoEntry && item <= index.size();
}

/// The bytes of one entry's JSON value.
struct EntryBytes {
  std::shared_ptr<const LogSource> log;
  Entry entry;
  std::uint64_t length = 0;
};

Result<EntryBytes> entry_bytes(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
  if (!is_entry(guard.index(), request.item)) {
    return Error{Errc::not_found, "no such entry"};
  }
  return EntryBytes{guard.log(), guard.index().entry(request.item), guard.index().length(request.item)};
}

Ordinal item_itself(const Session::Guard& /*guard*/, std::uint32_t item) {
  return item;
}

ContentResult make_entry_json(const ViewRequest& request) {
  ASSIGN_OR_RETURN(auto where, entry_bytes(request));
  auto content = std::make_shared<Content>();
  content->add_range(where.log, where.entry.offset, where.length);
  content->add_text("\n");
  return ContentPtr(content);
}

std::optional<std::uint64_t> entry_json_size(const ViewRequest& request) {
  const auto guard = request.session.read();
  return guard && is_entry(guard->index(), request.item) ? std::optional(guard->index().length(request.item) + 1)
                                                         : std::nullopt;
}

std::optional<std::uint64_t> entry_text_size(const ViewRequest& request) {
  const auto guard = request.session.read();
  const bool is_known = guard && is_entry(guard->index(), request.item) && guard->has_details();
  return is_known ? std::optional<std::uint64_t>(guard->details().text_size(request.item)) : std::nullopt;
}

/// Renders on read if the size is known: most opens are of texts whose bytes the kernel still caches.
ContentResult make_entry_text(const ViewRequest& request) {
  ASSIGN_OR_RETURN(auto where, entry_bytes(request));
  auto render = [renderer = request.session.format().renderer, log = where.log, type = where.entry.type,
                 offset = where.entry.offset,
                 length = where.length] { return read_text(*renderer, *log, type, offset, length); };
  if (const auto size = entry_text_size(request)) {
    auto content = std::make_shared<Content>();
    content->add_rendered(*size, std::move(render));
    return ContentPtr(content);
  }
  ASSIGN_OR_RETURN(const auto text, render());
  return literal_content(text);
}

Result<std::pair<EntryBytes, ImageRef>> image_at(const ViewRequest& request) {
  const auto guard = request.session.read();
  if (!guard || !guard->has_details()) {
    return session_changed();
  }
  if (request.item >= guard->details().images().size()) {
    return Error{Errc::not_found, "no such image"};
  }
  const ImageRef& image = guard->details().images()[request.item];
  const auto& index = guard->index();
  return std::pair{EntryBytes{guard->log(), index.entry(image.ordinal), index.length(image.ordinal)}, image};
}

ContentResult make_image(const ViewRequest& request) {
  ASSIGN_OR_RETURN(auto found, image_at(request));
  const auto& [where, image] = found;
  return image.blob.empty() ? ContentResult(inline_image(where.log, where.entry, image))
                            : blob_image(*request.session.store().blobs(), image.blob);
}

std::optional<std::uint64_t> image_size(const ViewRequest& request) {
  const auto guard = request.session.read();
  if (!guard || !guard->has_details() || request.item >= guard->details().images().size()) {
    return std::nullopt;
  }
  const ImageRef& image = guard->details().images()[request.item];
  if (image.blob.empty()) {
    return image.size;
  }
  return shown_blob_size(*request.session.store().blobs(), image.blob);
}

Ordinal image_entry(const Session::Guard& guard, std::uint32_t item) {
  const bool is_known = guard.has_details() && item < guard.details().images().size();
  return is_known ? guard.details().images()[item].ordinal : kNoEntry;
}

ContentResult damage_content(const Session::Guard& guard, const Damage& damage) {
  auto content = std::make_shared<Content>();
  content->add_range(guard.log(), damage.offset, damage.length);
  return ContentPtr(content);
}

ContentResult make_damage(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
  const auto damage = shown_damage(guard);
  if (request.item >= damage.size()) {
    return Error{Errc::not_found, "no such damage"};
  }
  return damage_content(guard, damage[request.item]);
}

ContentResult make_damage_tail(const ViewRequest& request) {
  ASSIGN_OR_RETURN(const auto guard, request.session.read_index());
  const auto damage = shown_damage(guard);
  if (damage.empty()) {
    return Error{Errc::not_found, "no such damage"};
  }
  return damage_content(guard, damage.back());
}

constexpr ViewRow row(Depth depth, Validity validity, MadeFrom from, decltype(ViewRow::make) make) {
  return {"", depth, validity, from, make};
}

}  // namespace

namespace item_views {

constexpr ViewRow entry_json{"", Depth::index,    Validity::generation, MadeFrom::entry, make_entry_json,
                             "", entry_json_size, item_itself};
constexpr ViewRow entry_text{"", Depth::details,  Validity::generation, MadeFrom::entry, make_entry_text,
                             "", entry_text_size, item_itself};
constexpr ViewRow image{"", Depth::details, Validity::generation, MadeFrom::entry, make_image,
                        "", image_size,     image_entry};
constexpr ViewRow damage = row(Depth::index, Validity::generation, MadeFrom::bytes, make_damage);
constexpr ViewRow damage_tail = row(Depth::index, Validity::epoch, MadeFrom::bytes, make_damage_tail);
constexpr ViewRow branch_context = row(Depth::index, Validity::generation, MadeFrom::entries, make_context);
constexpr ViewRow branch_transcript = row(Depth::details, Validity::generation, MadeFrom::entries, make_transcript);
constexpr ViewRow branch_page = row(Depth::details, Validity::generation, MadeFrom::entries, make_page);
constexpr ViewRow branch_context_page = row(Depth::details, Validity::generation, MadeFrom::entries, make_context_page);

}  // namespace item_views

std::int64_t entry_time(const Session::Guard& guard, Ordinal ordinal) {
  const bool is_there = ordinal != kNoEntry && ordinal <= guard.index().size();
  const std::int64_t time = is_there ? guard.index().entry(ordinal).timestamp_ms : Entry::kNoTime;
  const bool fits = time > INT64_MIN / kNanosPerMilli && time < INT64_MAX / kNanosPerMilli;
  return time != Entry::kNoTime && fits ? time * kNanosPerMilli : guard.stat().mtime_ns;
}

namespace {

std::optional<ViewCache::Key> cache_key(const ViewRow& row, const ViewRequest& request) {
  const Session& session = request.session;
  if (row.from != MadeFrom::entries || row.validity == Validity::text) {
    return std::nullopt;
  }
  // The key has no place for the states of other sessions.
  if (row.validity == Validity::family && !request.catalog.view()->children_of(session.number()).empty()) {
    return std::nullopt;
  }
  const auto guard = session.read();
  if (!guard) {
    return std::nullopt;
  }
  const bool may_move = !session.format().reader->only_grow();  // entries of a generation, to other places in the log
  const std::uint32_t epoch = row.validity != Validity::generation || may_move ? guard->epoch() : 0;
  return ViewCache::Key{guard->generation(), reinterpret_cast<std::uintptr_t>(&row), request.item, epoch};
}

/// Caches a view only if the session's state did not change while it was made.
void keep(const ViewRow& row, const ViewRequest& request, const ViewCache::Key& key, const ContentPtr& content) {
  if (cache_key(row, request) == key) {
    request.catalog.documents().keep(key, content);
  }
}

std::int64_t mtime_of(const Session& session, const ViewRow& row, std::uint32_t item) {
  const auto guard = session.read();
  if (!guard) {
    return session.head().stat.mtime_ns;
  }
  const Ordinal ordinal = row.entry_of == nullptr ? kNoEntry : row.entry_of(*guard, item);
  return entry_time(*guard, ordinal);
}

}  // namespace

Result<View> make_view(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog) {
  const ViewRequest request{session, item, catalog};
  View view;
  view.mtime_ns = mtime_of(session, row, item);
  const auto key = cache_key(row, request);
  if (key && (view.content = catalog.documents().find(*key))) {
    return view;
  }
  ASSIGN_OR_RETURN(view.content, row.make(request));
  if (key) {
    keep(row, request, *key, view.content);
  }
  return view;
}

Result<ViewFacts> view_facts(const Session& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog) {
  const ViewRequest request{session, item, catalog};
  if (const auto size = row.known_size == nullptr ? std::nullopt : row.known_size(request)) {
    return ViewFacts{*size, mtime_of(session, row, item)};
  }
  if (const auto key = cache_key(row, request)) {
    if (const auto size = catalog.documents().size_of(*key)) {
      return ViewFacts{*size, mtime_of(session, row, item)};
    }
  }
  ASSIGN_OR_RETURN(auto view, make_view(session, row, item, catalog));
  return ViewFacts{view.content->size(), view.mtime_ns};
}

}  // namespace arborfs
