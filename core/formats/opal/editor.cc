#include "core/formats/opal/editor.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/tree.h"
#include "core/formats/opal/new_lines.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/write/resolve_target.h"

namespace arborfs::opal {
namespace {

/// True if the last line with the same id as this one is removed.
bool is_dead_line_of(std::string_view line, const std::vector<std::string>& removed) {
  const auto id = skim::string_value(skim::member(line, "id"));
  return id && std::find(removed.begin(), removed.end(), *id) != removed.end();
}

/// The end of the line whose record ends at `at`.
Result<std::uint64_t> end_of_line(const LogSource& log, std::uint64_t at, std::uint64_t end) {
  constexpr std::uint64_t kAhead = 256;
  while (at < end) {
    ASSIGN_OR_RETURN(const auto bytes, log.read(at, std::min(kAhead, end - at)));
    const std::size_t feed = bytes.find('\n');
    if (feed != std::string::npos || bytes.empty()) {
      return feed == std::string::npos ? end : at + feed + 1;
    }
    at += bytes.size();
  }
  return end;
}

/// The new file of a log, and in what it differs from the present one.
class NewLog {
 public:
  NewLog(TempFile& file, const LogPlan& plan) : file_(file), plan_(plan), log_(*plan.log) {}

  Result<void> write() {
    RETURN_IF_ERROR(put(plan_.header, plan_.header_before));
    std::uint64_t at = plan_.header_end;
    for (const LineEdit& edit : plan_.edits) {
      RETURN_IF_ERROR(copy(at, edit.offset));
      ASSIGN_OR_RETURN(at, write_edited(edit));
    }
    RETURN_IF_ERROR(copy(at, plan_.stat.size));
    return put((last_ == '\n' ? "" : "\n") + plan_.lines, "");
  }
  [[nodiscard]] FileChange change(std::string path) && {
    return {std::move(path), false, change_.size, std::move(change_.runs), plan_.stat.mtime_ns};
  }

 private:
  /// The offset behind the line.
  Result<std::uint64_t> write_edited(const LineEdit& edit) {
    using What = LineEdit::What;
    ASSIGN_OR_RETURN(auto line, log_.read(edit.offset, edit.length));
    std::uint64_t end = edit.offset + edit.length;
    if (edit.what == What::relinked) {
      const std::string parent = plan_.new_parent.empty() ? "null" : json::stringify_string(plan_.new_parent);
      std::string relinked = skim::set_member(line, "parent_id", parent);
      RETURN_IF_ERROR(put(relinked, std::move(line)));
    } else if (edit.what == What::removed || is_dead_line_of(line, plan_.removed)) {
      ASSIGN_OR_RETURN(end, end_of_line(log_, end, plan_.stat.size));
      ASSIGN_OR_RETURN(line, log_.read(edit.offset, end - edit.offset));
      RETURN_IF_ERROR(put("", std::move(line)));
    } else {
      RETURN_IF_ERROR(add(line));
    }
    return end;
  }
  Result<void> copy(std::uint64_t from, std::uint64_t until) {
    return copy_bytes(log_, from, until, [&](std::string_view bytes) { return add(bytes); });
  }
  Result<void> put(std::string_view bytes, std::string before) {
    if (bytes != before) {
      change_.runs.push_back({change_.size, bytes.size(), xxh64(bytes), std::move(before)});
    }
    return add(bytes);
  }
  Result<void> add(std::string_view bytes) {
    change_.size += bytes.size();
    last_ = bytes.empty() ? last_ : bytes.back();
    return file_.write(bytes);
  }

  TempFile& file_;
  const LogPlan& plan_;
  const LogSource& log_;
  FileChange change_;
  char last_ = '\n';
};

LineEdit edit_of(const LogIndex& index, Ordinal ordinal, LineEdit::What what) {
  return {what, index.entry(ordinal).offset, index.length(ordinal)};
}

}  // namespace

Result<void> LogPlan::start(const Session::Guard& now) {
  if (!(now.stat() == stat)) {
    return session_changed();
  }
  index = &now.index();
  leaf = now.leaf() == kNoEntry ? "" : index->id(now.leaf()).text;
  return {};
}

std::string LogPlan::add(const std::vector<std::string>& ids, const std::vector<std::string>& members,
                         std::string parent) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    lines += message_line(ids[i], parent, members[i]);
    parent = ids[i];
  }
  return parent;
}

void LogPlan::move_leaf(std::string to) {
  leaf = std::move(to);
  is_moved = true;
}

Result<void> Editor::check(const Session::Guard& now) const {
  RETURN_IF_ERROR(check_writable(now.format()));
  RETURN_IF_ERROR(now.index().header().check_valid());
  const auto& damage = now.index().damage();
  if (now.log()->is_decoded() ||
      std::any_of(damage.begin(), damage.end(), [](const Damage& run) { return !run.is_replaced(); })) {
    return Error{Errc::read_only, "the log has damaged lines, with which Opal does not load it"};
  }
  return {};
}

Result<std::unique_ptr<Plan>> Editor::begin(const SessionPtr& session) {
  auto plan = std::make_unique<LogPlan>();
  Header header;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    plan->log = guard.log();
    plan->stat = guard.stat();
    header = guard.index().header();
  }
  ASSIGN_OR_RETURN(plan->header, plan->log->read(header.offset, header.length));
  plan->header_before = plan->header;
  plan->header_end = header.offset + header.length;
  return std::unique_ptr<Plan>(std::move(plan));
}

Result<void> Editor::complete(const SessionPtr& session, const Held& /*held*/, Plan& planned) {
  auto& plan = static_cast<LogPlan&>(planned);
  if (!plan.is_moved && plan.lines.empty() && plan.edits.empty() && plan.header == plan.header_before) {
    return {};
  }
  if (plan.is_moved) {
    plan.header = skim::set_member(std::move(plan.header), "current_id",
                                   plan.leaf.empty() ? "null" : json::stringify_string(plan.leaf));
  }
  plan.protects = !plan.puts_back;
  plan.rewrite = [this, session, &plan](Held&) { return replace_log(session, plan); };
  return {};
}

Result<void> Editor::replace_log(const SessionPtr& session, LogPlan& plan) {
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(place));
  ASSIGN_OR_RETURN(const auto file, TempFile::create(session->store().disk(), folder, 0600));
  ASSIGN_OR_RETURN(const auto original, File::open_in(folder, place.file));
  RETURN_IF_ERROR(file->keep_attributes(original));
  NewLog fresh(*file, plan);
  RETURN_IF_ERROR(fresh.write());
  RETURN_IF_ERROR(file->finish(syncs_));
  const std::string path = path_of(original.fd());
  ASSIGN_OR_RETURN(const auto held, hold_log(folder, place.file, plan.stat));
  ASSIGN_OR_RETURN(const auto written, file->stat());
  if (!plan.puts_back) {
    session->expect_own_log(written);  // else reading it shows that they are there again
  }
  ASSIGN_OR_RETURN(const bool is_done, file->replace(place.file, [&](const File& old) {
    const auto now = old.stat();
    return now && *now == plan.stat;
  }));
  RETURN_IF_ERROR(is_done ? Result<void>() : log_changed());
  plan.effects.push_back(effect_of(std::move(fresh).change(path)));
  if (!plan.removed.empty()) {
    catalog_.state_of(*session).erased.forget(place.file, plan.removed);
  }
  return {};
}

Result<void> Editor::sync(const Session& session) {
  ASSIGN_OR_RETURN(const auto folder, session.store().folder(session.place()));
  return session.store().disk().sync_folder(folder);
}

Result<Run> find_run(const LogIndex& index, const std::string& first, const std::string& last) {
  ASSIGN_OR_RETURN(const auto begin, find_target(index, first));
  ASSIGN_OR_RETURN(const auto end, find_target(index, last));
  const auto path = path_to(index, index.leaf());
  const auto from = std::find(path.begin(), path.end(), begin);
  if (from == path.end() || std::find(from, path.end(), end) == path.end()) {
    return Error{Errc::invalid_argument,
                 "the messages to replace must be on the path to the leaf, the first one before the last one"};
  }
  return Run{begin, end};
}

SegmentChange replace_segment(const LogIndex& index, const Run& run) {
  SegmentChange change;
  std::vector<bool> is_removed(index.size() + 1);
  const auto path = path_to(index, index.leaf());
  const auto begin = std::find(path.begin(), path.end(), run.first);
  const auto end = std::find(begin, path.end(), run.last);
  for (auto at = begin; at != path.end(); ++at) {
    is_removed[*at] = true;
    change.edits.push_back(edit_of(index, *at, LineEdit::What::removed));
    change.removed.push_back(index.id(*at).text);
    if (at == end) {
      break;
    }
  }
  const EntryId parent = index.parent_id(run.first);
  change.parent = parent.kind == EntryId::Kind::string ? parent.text : "";
  change.moves_leaf = is_removed[index.leaf()];
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (!is_removed[ordinal] && index.parent(ordinal) == run.last) {
      change.edits.push_back(edit_of(index, ordinal, LineEdit::What::relinked));
    }
  }
  for (const Damage& run_of_bytes : index.damage()) {
    if (run_of_bytes.is_replaced()) {
      change.edits.push_back({LineEdit::What::removed_if_dead, run_of_bytes.offset, run_of_bytes.length});
    }
  }
  std::sort(change.edits.begin(), change.edits.end(),
            [](const LineEdit& a, const LineEdit& b) { return a.offset < b.offset; });
  return change;
}

Result<File> hold_log(const Dir& folder, const std::string& name, const FileStat& as_read) {
  ASSIGN_OR_RETURN(auto log, File::open_in(folder, name));
  const bool is_held = ::flock(log.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ASSIGN_OR_RETURN(const auto now, folder.stat(name));
  ASSIGN_OR_RETURN(const auto opened, log.stat());
  if (is_held || !(now == as_read) || !opened.same_file(as_read)) {
    return log_changed();
  }
  return log;
}

}  // namespace arborfs::opal
