#include "core/formats/claude/editor.h"

#include <chrono>
#include <utility>

#include "core/base/error.h"
#include "core/os/processes.h"
#include "core/write/resolve_target.h"

namespace arborfs::claude {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};

/// The last compaction: the program drops what is before it.
Ordinal last_boundary(const LogIndex& index) {
  Ordinal at = index.size();
  while (at != kNoEntry && index.entry(at).type != EntryType::compaction) {
    --at;
  }
  return at;
}

Error not_read(std::string_view why) {
  return {Errc::invalid_argument, "Claude Code cannot go on at that entry: " + std::string(why)};
}

}  // namespace

std::optional<std::string> uuid_of(const LogIndex& index, Ordinal ordinal) {
  EntryId id = index.id(ordinal);
  const bool is_made = id.text == "row-" + std::to_string(index.entry(ordinal).offset);
  return is_made ? std::nullopt : std::optional(std::move(id.text));
}

std::string known_uuid(const LogIndex& index, Ordinal ordinal) {
  for (Ordinal steps = 0; ordinal != kNoEntry && steps <= index.size(); ++steps) {
    if (auto uuid = uuid_of(index, ordinal)) {
      return *std::move(uuid);
    }
    ordinal = index.parent(ordinal);
  }
  return "";
}

Result<std::string> find_place(const LogIndex& index, std::string_view spelled) {
  ASSIGN_OR_RETURN(const auto ordinal, find_leaf_target(index, spelled));
  if (ordinal == kNoEntry) {
    return std::string();
  }
  auto uuid = uuid_of(index, ordinal);
  if (!uuid) {
    return not_read("its row has no uuid");
  }
  if (index.is_aside(ordinal)) {
    return not_read("it is a sub-agent's");
  }
  if (ordinal < last_boundary(index)) {
    return not_read("it was compacted since; fork the session there instead");
  }
  return *std::move(uuid);
}

Result<void> LogPlan::start(const Session::Guard& now) {
  index = &now.index();
  frame = frame_of(index->header(), session);
  leaf = known_uuid(*index, now.leaf());
  return {};
}

Result<AppendResult> LogPlan::add(const NewRows& rows, const std::string& at) {
  RETURN_IF_ERROR(rows.check_leaf(leaf));
  std::string parent = leaf;
  if (!at.empty()) {
    ASSIGN_OR_RETURN(parent, find_place(*index, at));
  }
  AppendResult result{rows.rows.back().uuid, parent};
  Pin after{"", pin ? std::exchange(pin->prompt, "") : ""};
  for (const NewRow& row : rows.rows) {
    lines += row_line(frame, row, parent);
    parent = row.uuid;
    after.prompt = row.prompt.empty() ? std::move(after.prompt) : row.prompt;
  }
  after.leaf = leaf = parent;
  pin = std::move(after);
  last = {EntryId::Kind::string, leaf};
  return result;
}

Result<void> LogPlan::move(const std::string& target) {
  ASSIGN_OR_RETURN(auto to, find_place(*index, target));
  if (to != leaf) {
    leaf = std::move(to);
    pin = Pin{leaf, "", true};
  }
  return {};
}

void LogPlan::set_title(std::string_view title) {
  lines += title_line(title, session);
}

void LogPlan::set_tag(std::string_view tag) {
  lines += json::Text::object().add("type", "tag").add("tag", tag).add("sessionId", session).str() + "\n";
}

Result<void> Editor::check(const Session::Guard& now) const {
  RETURN_IF_ERROR(check_writable(now.format()));
  if (now.log()->is_decoded()) {
    return Error{Errc::read_only, "the transcript is not stored as UTF-8"};
  }
  return {};
}

Result<std::unique_ptr<LogWriter>> Editor::lock(const SessionPtr& session, Wait wait) {
  return lock_transcript(session->store(), session->place(), wait);
}

Result<std::unique_ptr<Plan>> Editor::begin(const SessionPtr& session) {
  return std::unique_ptr<Plan>(std::make_unique<LogPlan>(session->stem()));
}

/// A torn last line stays a line of its own.
Result<void> Editor::complete(const SessionPtr& /*session*/, const Held& held, Plan& planned) {
  auto& plan = static_cast<LogPlan&>(planned);
  if (plan.pin) {
    plan.lines += pin_line(*plan.pin, plan.session);
  }
  ASSIGN_OR_RETURN(const auto end, held.writer->version());
  plan.lead = end.lead();
  return {};
}

std::string Editor::instead(const Session& session) const {
  return ", write to a fork instead (arborfs fork --to claude " + session.stem() + ")";
}

Result<std::unique_ptr<LogWriter>> lock_transcript(const arborfs::Store& store, const LogPlace& place,
                                                   Editor::Wait wait) {
  ASSIGN_OR_RETURN(auto dir, store.folder(place));
  const auto folder = std::make_shared<const Dir>(std::move(dir));
  const auto patience = wait == Editor::Wait::yes ? kPatience : std::chrono::milliseconds(0);
  for (;;) {
    FileStat locked;
    ASSIGN_OR_RETURN(auto lock, File::open_in(*folder, place.file, &locked));
    ASSIGN_OR_RETURN(const bool is_taken, wait_for_flock(lock.fd(), patience));
    if (!is_taken && wait == Editor::Wait::no) {
      return std::unique_ptr<LogWriter>();
    }
    if (!is_taken) {
      return Error{Errc::busy, "another program holds the transcript; try again"};
    }
    FileStat stat;
    ASSIGN_OR_RETURN(auto log, File::open_in(*folder, place.file, &stat));
    if (stat.same_file(locked)) {
      return std::make_unique<LogWriter>(store.disk(), folder, place.file,
                                         std::make_shared<const File>(std::move(lock)), std::move(log), stat);
    }
  }
}

}  // namespace arborfs::claude
