#include "core/views/session_views.h"

#include <algorithm>
#include <array>

#include "core/base/result_macros.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/render/views.h"
#include "core/views/conversation.h"
#include "core/views/session_status.h"
#include "core/views/tree_view.h"

namespace arborfs {

namespace {

constexpr std::size_t kWholeTitle = 100'000;

ContentResult make_session_json(const ViewRequest& request) {
  const Session& session = request.session;
  const SessionOrigin origin{session.agent(), session.format_name(), session.format().is_plain};
  return literal_content(session_json(session.head().header, origin));
}

ContentResult make_title(const ViewRequest& request) {
  const std::string title = request.session.title();
  return literal_content(title.empty() ? "" : visible_line(title, kWholeTitle) + "\n");
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

/// The bytes as they are on disk, except that the title slot, which is overwritten in place, is as it was in this
/// state.
ContentResult make_raw(const ViewRequest& request) {
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

ContentResult make_context(const ViewRequest& request) {
  return context_at(request, kNoEntry);
}

ContentResult make_transcript(const ViewRequest& request) {
  return transcript_at(request, kNoEntry);
}

ContentResult make_tree(const ViewRequest& request) {
  return tree_document(request.session);
}

ContentResult make_usage(const ViewRequest& request) {
  const auto guard = request.session.read();
  if (!guard || !guard->has_details()) {
    return session_changed();
  }
  const RecordRenderer& renderer = *request.session.format().renderer;
  return literal_content(renderer.usage_json(guard->details().usage(), guard->index().dialect()) + "\n");
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

constexpr std::array kRows = {
    ViewRow{"session.json", Depth::head, Validity::epoch, MadeFrom::memory, make_session_json},
    ViewRow{"title", Depth::head, Validity::epoch, MadeFrom::memory, make_title},
    ViewRow{"raw.jsonl", Depth::raw, Validity::raw_generation, MadeFrom::bytes, make_raw, "raw", raw_size},
    ViewRow{"context.json", Depth::index, Validity::epoch, MadeFrom::entries, make_context, "context"},
    ViewRow{"transcript.md", Depth::details, Validity::transcript, MadeFrom::entries, make_transcript, "transcript"},
    ViewRow{"tree.txt", Depth::index, Validity::epoch, MadeFrom::entries, make_tree, "tree"},
    ViewRow{"usage.json", Depth::details, Validity::epoch, MadeFrom::memory, make_usage, "usage"},
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

}  // namespace arborfs
