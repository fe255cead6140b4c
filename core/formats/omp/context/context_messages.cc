#include "core/formats/omp/context/context_messages.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/log/log_window.h"

namespace arborfs::context {
namespace {

constexpr std::size_t kReadAhead = 256 * 1024;

bool is_blank_member(std::string_view block, std::string_view key) {
  const std::string_view literal = skim::member(block, key);
  return literal.empty() || is_blank(skim::string_value(literal).value_or(""));
}

// True for a block that has nothing to show in a turn that ended in an error.
bool is_empty_block(std::string_view block) {
  if (block[0] != '{') {
    return false;
  }
  const std::string_view type = skim::member(block, "type");
  if (skim::is_string(type, "text")) {
    return is_blank_member(block, "text");
  }
  if (skim::is_string(type, "thinking")) {
    return is_blank_member(block, "thinking") && is_blank_member(block, "thinkingSignature");
  }
  if (skim::is_string(type, "redactedThinking")) {
    return is_blank_member(block, "data");
  }
  return skim::is_string(type, "fallback");
}

bool has_only_empty_blocks(std::string_view content) {
  if (content.empty() || content[0] != '[') {
    return false;
  }
  for (skim::Cursor block(content); block.next();) {
    if (!is_empty_block(block.value())) {
      return false;
    }
  }
  return true;
}

std::string identity(std::string_view literal) {
  if (literal.empty()) {
    return "undefined";
  }
  std::string id;
  if (literal[0] != '{' && literal[0] != '[') {
    json::canonicalize(literal, id);
  }
  return id;
}

// The members of a message that omp18's rules depend on.
struct Fields {
  explicit Fields(std::string_view message);
  std::string_view role, content, stop_reason, retry_recovery, tool_call_id, custom_type;
};

Fields::Fields(std::string_view message) {
  const auto take = [](const skim::Cursor& member, std::string_view name, std::string_view& field) {
    if (member.key_is(name)) {
      field = member.value();
    }
  };
  if (message[0] != '{') {
    return;
  }
  for (skim::Cursor member(message); member.next();) {
    take(member, "role", role);
    take(member, "content", content);
    take(member, "stopReason", stop_reason);
    take(member, "retryRecovery", retry_recovery);
    take(member, "toolCallId", tool_call_id);
    take(member, "customType", custom_type);
  }
}

}  // namespace

class MessageReader::Drafter {
 public:
  Drafter(const Source& source, std::uint64_t log_size, bool shows_compactions)
      : source_(source), window_(*source.log, log_size, nullptr, kReadAhead), shows_compactions_(shows_compactions) {}
  Result<void> take(const ContextPath::Step& step, std::size_t place);
  Result<void> take_lead(const ContextPath& path, const Plan& plan);
  /// Gives the message that the step has just made, if it made one, another content.
  void edit_last(const ContextPath::Step& step, std::size_t place, const ContextEdit& edit);
  Drafts drafts() { return std::exchange(drafts_, {}); }

 private:
  Draft* add(Piece::Kind kind, const ContextPath::Step& step, std::size_t place);
  void take_message(std::string_view entry, const ContextPath::Step& step, std::size_t place);
  void take_custom(std::string_view entry, const ContextPath::Step& step, std::size_t place);
  void note_facts(Draft& draft, const Fields& fields);
  void note_calls(Draft& draft, std::string_view content);
  [[nodiscard]] bool is_18() const { return source_.dialect == Dialect::omp18; }

  const Source& source_;
  LogWindow window_;
  const bool shows_compactions_;
  Drafts drafts_;
};

Draft* MessageReader::Drafter::add(Piece::Kind kind, const ContextPath::Step& step, std::size_t place) {
  Draft& draft = drafts_.list.emplace_back();
  draft.piece = {kind, step.entry.offset, step.length, nullptr};
  draft.step = place;
  return &draft;
}

// Drafts the messages before the plan's ranges: notes, compaction summary and request.
Result<void> MessageReader::Drafter::take_lead(const ContextPath& path, const Plan& plan) {
  if (plan.notes) {
    add(Piece::Kind::notes, path.steps[*plan.notes], *plan.notes);
  }
  if (plan.has_system_message) {
    add(Piece::Kind::system_message, path.steps[*plan.compaction], *plan.compaction);
  }
  if (plan.compaction) {
    Draft* draft = add(Piece::Kind::compaction, path.steps[*plan.compaction], *plan.compaction);
    if (plan.history_rewrite_at) {
      draft->piece.change = std::make_shared<Change>(Change{{}, plan.history_rewrite_at, std::nullopt});
    }
  }
  return plan.request ? take(path.steps[*plan.request], *plan.request) : Result<void>();
}

Result<void> MessageReader::Drafter::take(const ContextPath::Step& step, std::size_t place) {
  const EntryType type = step.entry.type;
  if (type == EntryType::compaction && shows_compactions_) {
    add(Piece::Kind::compaction, step, place);
    return {};
  }
  if (type != EntryType::message && type != EntryType::custom_message && type != EntryType::branch_summary) {
    return {};
  }
  if (step.length > kLongestHeld) {
    return entry_too_long(step.length);
  }
  ASSIGN_OR_RETURN(auto bytes, window_.view(step.entry.offset, step.length));
  if (bytes.size() < step.length) {
    return {Errc::stale, "the log was truncated during the read; try again"};
  }
  const std::string_view entry = bytes.substr(0, step.length);
  if (type == EntryType::message) {
    take_message(entry, step, place);
  } else if (type == EntryType::custom_message) {
    take_custom(entry, step, place);
  } else if (skim::is_truthy(skim::member(entry, "summary"))) {
    add(Piece::Kind::branch_summary, step, place);
  }
  return {};
}

void MessageReader::Drafter::take_message(std::string_view entry, const ContextPath::Step& step, std::size_t place) {
  const std::string_view message = skim::member(entry, "message");
  if (message.empty() || message == "null") {
    return;
  }
  const bool is_copy = can_copy(source_, message, step.is_assistant());
  const auto make = [&] {
    Draft* draft = add(is_copy ? Piece::Kind::copy : Piece::Kind::message, step, place);
    if (is_copy) {
      draft->piece.offset = step.entry.offset + static_cast<std::uint64_t>(message.data() - entry.data());
      draft->piece.length = message.size();
    }
    return draft;
  };
  if (!is_18()) {
    make();
    return;
  }
  const Fields fields(message);
  const bool is_empty_error = skim::is_string(fields.stop_reason, "error") && has_only_empty_blocks(fields.content);
  if (!step.is_assistant() || !(skim::is_truthy(fields.retry_recovery) || is_empty_error)) {
    note_facts(*make(), fields);
  }
}

void MessageReader::Drafter::edit_last(const ContextPath::Step& step, std::size_t place, const ContextEdit& edit) {
  if (drafts_.list.empty() || drafts_.list.back().step != place) {
    return;
  }
  const bool is_custom = step.entry.type == EntryType::custom_message;
  Piece& piece = drafts_.list.back().piece;
  piece = {is_custom ? Piece::Kind::custom : Piece::Kind::message, step.entry.offset, step.length, nullptr};
  piece.change = std::make_shared<Change>(Change{{}, std::nullopt, edit});
}

void MessageReader::Drafter::note_facts(Draft& draft, const Fields& fields) {
  if (skim::is_string(fields.role, "assistant")) {
    draft.role = Draft::Role::assistant;
    draft.has_failed = skim::is_string(fields.stop_reason, "aborted") || skim::is_string(fields.stop_reason, "error");
    note_calls(draft, fields.content);
  } else if (skim::is_string(fields.role, "toolResult")) {
    draft.role = Draft::Role::tool_result;
    draft.first_call = static_cast<std::uint32_t>(drafts_.calls.size());
    draft.calls = 1;
    drafts_.calls.push_back({identity(fields.tool_call_id), 0});
  } else if (skim::is_string(fields.custom_type, "interrupted-thinking") &&
             (skim::is_string(fields.role, "custom") ||
              (source_.version_below_3 && skim::is_string(fields.role, "hookMessage")))) {
    draft.role = Draft::Role::interruption;
  }
}

void MessageReader::Drafter::note_calls(Draft& draft, std::string_view content) {
  draft.first_call = static_cast<std::uint32_t>(drafts_.calls.size());
  if (content.empty() || content[0] != '[') {
    return;
  }
  for (skim::Cursor block(content); block.next(); ++draft.blocks) {
    const std::string_view type = skim::member(block.value(), "type");
    if (skim::is_string(type, "toolCall")) {
      drafts_.calls.push_back({identity(skim::member(block.value(), "id")), draft.blocks});
      ++draft.calls;
    } else if (skim::is_string(type, "redactedThinking")) {
      ++draft.redacted;
    }
  }
}

void MessageReader::Drafter::take_custom(std::string_view entry, const ContextPath::Step& step, std::size_t place) {
  if (!is_18()) {
    add(Piece::Kind::custom, step, place);
    return;
  }
  const std::string_view type = skim::member(entry, "customType");
  const std::string_view content = skim::member(entry, "content");
  const bool has_content = !content.empty() && (content[0] == '"' || content[0] == '[');
  if (!has_content || skim::is_string(type, "prewalk-plan") || skim::is_string(type, "vibe-mode-context")) {
    return;
  }
  Draft* draft = add(Piece::Kind::custom, step, place);
  if (skim::is_string(type, "interrupted-thinking")) {
    draft->role = Draft::Role::interruption;
  }
}

MessageReader::MessageReader(const ContextPath& path, const Plan& plan, const Source& source)
    : path_(path), plan_(plan), source_(source) {}
MessageReader::~MessageReader() = default;

/// For pi: messages that an edit removes, and a system prompt of which a compaction kept its own copy.
bool MessageReader::is_left_out(std::size_t place) const {
  const auto edit = plan_.edits.find(place);
  const bool is_old_prompt = dialect_of(path_) == Dialect::pi && plan_.compaction && place < *plan_.compaction &&
                             path_.steps[place].speaker == ContextPath::Step::Speaker::system;
  return is_old_prompt || (edit != plan_.edits.end() && edit->second.removes);
}

Result<std::optional<Drafts>> MessageReader::next(std::size_t steps) {
  if (!drafter_) {
    ASSIGN_OR_RETURN(const auto size, source_.log->size());
    drafter_ = std::make_unique<Drafter>(source_, size, plan_.is_whole);
    RETURN_IF_ERROR(drafter_->take_lead(path_, plan_));
  } else if (range_ == plan_.ranges.size()) {
    return std::optional<Drafts>();
  }
  for (std::size_t taken = 0; taken < steps && range_ < plan_.ranges.size();) {
    const auto& [begin, end] = plan_.ranges[range_];
    if (begin + step_ == end) {
      ++range_;
      step_ = 0;
      continue;
    }
    const std::size_t place = begin + step_++;
    ++taken;
    if (is_left_out(place)) {
      continue;
    }
    RETURN_IF_ERROR(drafter_->take(path_.steps[place], place));
    if (const auto edit = plan_.edits.find(place); edit != plan_.edits.end()) {
      drafter_->edit_last(path_.steps[place], place, edit->second);
    }
  }
  return std::optional(drafter_->drafts());
}

}  // namespace arborfs::context
