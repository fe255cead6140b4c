#include "core/views/item_views.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/views/conversation.h"
#include "core/views/image_content.h"
#include "core/views/shown_damage.h"

namespace arborfs {

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

ContentResult make_branch_context(const ViewRequest& request) {
  return context_at(request, request.item);
}

ContentResult make_branch_transcript(const ViewRequest& request) {
  return transcript_at(request, request.item);
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
constexpr ViewRow branch_context = row(Depth::index, Validity::generation, MadeFrom::entries, make_branch_context);
constexpr ViewRow branch_transcript =
    row(Depth::details, Validity::generation, MadeFrom::entries, make_branch_transcript);

}  // namespace item_views

}  // namespace arborfs
