#include "core/formats/opal/write/opal_writer.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/formats/opal/write/tool_calls.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/writer/command_text.h"
#include "core/writer/resolve_target.h"

namespace arborfs {
namespace {

std::string id_of(const LogIndex& index, Ordinal ordinal) {
  return ordinal == kNoEntry ? "" : std::string(index.id(ordinal).text);
}

Result<std::vector<std::string>> new_ids(std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto id, opal::new_message_id());
    ids.push_back(std::move(id));
  }
  return ids;
}

Error leaf_has_moved() {
  return {Errc::stale, "the leaf is no longer that entry"};
}

}  // namespace

RoomWanted OpalWriter::room_for(const SessionPtr& session, std::string_view /*verb*/, std::uint64_t bytes) {
  const auto log = session->store().stat(session->place());
  return {bytes + (log ? log->size : 0) + RoomWanted::kBeside, 2};
}

Result<void> OpalWriter::apply(const SessionPtr& session, Change change, bool force, Shares shares) {
  Command command;
  command.change = change_of<opal::Plan>(std::move(change));
  command.policy = live_policy(force);
  command.is_alone = shares == Shares::nothing;
  return changes_.make(session, std::move(command));
}

Result<void> OpalWriter::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto messages, opal::new_messages({std::string(text), true, ""}));
  return check(session, messages.force);
}

Result<AppendResult> OpalWriter::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto messages, opal::new_messages(text));
  ASSIGN_OR_RETURN(const auto ids, new_ids(messages.members.size()));
  AppendResult result{ids.back(), ""};
  const auto append = [&](opal::Plan& plan) -> Result<void> {
    std::string parent = plan.leaf;
    if (!messages.if_leaf.empty() && messages.if_leaf != parent) {
      return leaf_has_moved();
    }
    if (!text.at.empty()) {
      ASSIGN_OR_RETURN(const auto ordinal, find_leaf_target(*plan.index, text.at));
      parent = id_of(*plan.index, ordinal);
    }
    result.parent_id = parent;
    plan.move_leaf(plan.add(ids, messages.members, parent));
    return {};
  };
  RETURN_IF_ERROR(apply(session, append, messages.force));
  return result;
}

Result<std::size_t> OpalWriter::put_back_erased(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_writable(session->format()));
  const auto erased = catalog().state_of(*session).erased.of(session->place().file);
  std::size_t count = 0;
  const auto put_back = [&](opal::Plan& plan) -> Result<void> {
    count = 0;
    for (const auto& entry : erased) {
      if (plan.index->find(entry.id) == kNoEntry) {
        plan.lines += entry.json + "\n";
        plan.puts_back = true;
        ++count;
      }
    }
    return {};
  };
  RETURN_IF_ERROR(apply(session, put_back, force, Shares::nothing));
  return count;
}

Result<void> OpalWriter::check_branch(const SessionPtr& session, const std::string& target) {
  RETURN_IF_ERROR(check(session, false));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  RETURN_IF_ERROR(find_leaf_target(guard.index(), target));
  return {};
}

Result<MovedLeaf> OpalWriter::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                     bool force, bool /*pin*/) {
  RETURN_IF_ERROR(check(session, force));
  if (!json::is_valid_utf8(summary)) {
    return Error{Errc::not_utf8, "the summary is not UTF-8"};
  }
  Ordinal ordinal = kNoEntry;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    ASSIGN_OR_RETURN(ordinal, find_leaf_target(guard.index(), target));
  }
  if (ordinal != kNoEntry && !force) {
    RETURN_IF_ERROR(opal::check_answered(*session, ordinal));
  }
  ASSIGN_OR_RETURN(const auto id, opal::new_message_id());
  MovedLeaf moved;
  const auto move = [&](opal::Plan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(const auto found, find_leaf_target(*plan.index, target));
    const std::string to = id_of(*plan.index, found);
    if (!summary.empty()) {
      plan.lines += opal::message_line(id, to, opal::branch_summary(summary, plan.leaf));
      moved.summary_id = id;
    }
    plan.move_leaf(summary.empty() ? to : id);
    moved.leaf = plan.leaf.empty() ? "root" : plan.leaf;
    return {};
  };
  RETURN_IF_ERROR(apply(session, move, force));
  return moved;
}

Result<std::string> OpalWriter::set_title(const SessionPtr& session, std::string_view title, bool force,
                                          std::string_view source) {
  ASSIGN_OR_RETURN(const std::string wanted, checked_title(title));
  RETURN_IF_ERROR(check_writable(session->format()));
  std::string in_force = wanted;
  const auto change = [&](opal::Plan& plan) -> Result<void> {
    in_force = wanted;
    const std::string_view metadata = skim::member(plan.header, "metadata");
    const std::string present = skim::string_value(skim::member(metadata, "title")).value_or("");
    if (present == wanted || (source == "auto" && !present.empty())) {
      in_force = present;
      return {};
    }
    const std::string object = metadata.starts_with('{') ? std::string(metadata) : "{}";
    plan.header = skim::set_member(std::move(plan.header), "metadata",
                                   skim::set_member(object, "title", json::stringify_string(wanted)));
    return {};
  };
  RETURN_IF_ERROR(apply(session, change, force));
  return in_force;
}

Result<AppendResult> OpalWriter::replace(const SessionPtr& session, const Replacement& wanted, bool force) {
  ASSIGN_OR_RETURN(const auto messages, opal::new_messages_of(wanted.messages));
  RETURN_IF_ERROR(check(session, force || messages.force));
  opal::Run run;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    ASSIGN_OR_RETURN(run, opal::find_run(guard.index(), wanted.first, wanted.last));
  }
  if (!force && !messages.force) {
    RETURN_IF_ERROR(opal::check_replaced(*session, run.first, run.last, messages.members));
  }
  ASSIGN_OR_RETURN(const auto ids, new_ids(messages.members.size()));
  AppendResult result;
  const auto change = [&](opal::Plan& plan) -> Result<void> {
    if (!messages.if_leaf.empty() && messages.if_leaf != plan.leaf) {
      return leaf_has_moved();
    }
    ASSIGN_OR_RETURN(const auto found, opal::find_run(*plan.index, wanted.first, wanted.last));
    auto segment = opal::replace_segment(*plan.index, found);
    result = {ids.empty() ? "" : ids.back(), segment.parent};
    plan.new_parent = plan.add(ids, messages.members, segment.parent);
    plan.edits = std::move(segment.edits);
    plan.removed = std::move(segment.removed);
    if (segment.moves_leaf) {
      plan.move_leaf(plan.new_parent);
    }
    return {};
  };
  RETURN_IF_ERROR(apply(session, change, force || messages.force, Shares::nothing));
  return result;
}

}  // namespace arborfs
