#include "core/formats/omp/context/context_messages.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/context_compaction.h"
#include "core/formats/omp/context/context_notes.h"
#include "core/formats/omp/context/context_pi.h"
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

namespace {

void drop_blocks(json::Value& message, const std::vector<std::uint32_t>& dropped) {
  json::Value* content = json::member(message, "content");
  if (content == nullptr || !content->IsArray()) {
    return;
  }
  rapidjson::SizeType kept = 0;
  auto next_dropped = dropped.begin();
  for (rapidjson::SizeType i = 0; i < content->Size(); ++i) {
    json::Value& block = (*content)[i];
    if (next_dropped != dropped.end() && *next_dropped == i) {
      ++next_dropped;
    } else if (!json::is_string(json::member(block, "type"), "redactedThinking")) {
      if (json::is_string(json::member(block, "type"), "thinking") &&
          json::is_truthy(json::member(block, "thinkingSignature"))) {
        json::erase(block, "thinkingSignature");
      }
      if (kept != i) {
        (*content)[kept] = std::move(block);
      }
      ++kept;
    }
  }
  while (content->Size() > kept) {
    content->PopBack();
  }
}

std::string message_json(json::Document& entry, const Change* change) {
  json::Value* message = json::member(static_cast<json::Value&>(entry), "message");
  if (message == nullptr) {
    return {};
  }
  if (change != nullptr) {
    drop_blocks(*message, change->dropped_blocks);
  }
  return json::stringify(*message);
}

std::string custom_json(const json::Document& entry, Dialect dialect) {
  const json::Value* type = json::member(entry, "customType");
  const json::Value* display = json::member(entry, "display");
  const json::Value* attribution = json::member(entry, "attribution");
  std::string out = "{\"role\":\"custom\"";
  if (dialect != Dialect::omp18) {
    add_member(out, "customType", type);
    add_member(out, "content", json::member(entry, "content"));
    add_member(out, "display", display);
    add_member(out, "details", json::member(entry, "details"));
    add_member(out, "attribution", dialect == Dialect::pi ? nullptr : attribution);
  } else {
    const bool is_named = type != nullptr && type->IsString() && json::is_truthy(type);
    add_member_json(out, "customType", is_named ? json::stringify(*type) : "\"custom-message\"");
    add_member(out, "content", json::member(entry, "content"));
    add_member_json(out, "display", display != nullptr && display->IsTrue() ? "true" : "false");
    add_member(out, "details", json::member(entry, "details"));
    if (attribution != nullptr) {
      add_member_json(out, "attribution", json::is_string(attribution, "user") ? "\"user\"" : "\"agent\"");
    }
  }
  add_member_json(out, "timestamp", date_json(json::member(entry, "timestamp")));
  return out + "}";
}

std::string branch_summary_json(const json::Document& entry) {
  std::string out = "{\"role\":\"branchSummary\"";
  add_member(out, "summary", json::member(entry, "summary"));
  add_member(out, "fromId", json::member(entry, "fromId"));
  add_member_json(out, "timestamp", date_json(json::member(entry, "timestamp")));
  return out + "}";
}

}  // namespace

Result<std::string> render_piece(const Piece& piece, const Source& source) {
  if (piece.kind == Piece::Kind::copy) {
    return source.log->read(piece.offset, piece.length);
  }
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, piece.offset, piece.length, entry));
  const ContextEdit* edit = piece.change && piece.change->edit ? &*piece.change->edit : nullptr;
  switch (piece.kind) {
    case Piece::Kind::custom:
      if (edit != nullptr) {
        RETURN_IF_ERROR(replace_content(entry, "custom", *edit, source, entry));
      }
      return custom_json(entry, source.dialect);
    case Piece::Kind::branch_summary:
      return branch_summary_json(entry);
    case Piece::Kind::compaction:
      return compaction_message(entry, source, piece.change ? piece.change->history_rewrite_at : std::nullopt);
    case Piece::Kind::notes:
      return notes_message(entry);
    case Piece::Kind::system_message:
      return pi_system_message_json(entry);
    default:
      if (source.dialect == Dialect::pi) {
        return pi_message_json(entry, edit, source);
      }
      return message_json(entry, piece.change.get());
  }
}

namespace {

class Repair {
 public:
  Repair(Drafts& drafts, const ContextPath& path) : drafts_(drafts), path_(path) {}
  void run();

 private:
  void drop_dangling_calls(Draft& draft);
  void drop_failed_turns();
  void drop_results_of(const Draft& turn, std::size_t place);
  std::size_t next_alive(std::size_t place);
  [[nodiscard]] bool is_paired(const Call& call) const { return results_.contains(call.id); }

  Drafts& drafts_;
  const ContextPath& path_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> results_;  // places of tool results by call id
  std::vector<std::size_t> next_;  // for a dropped draft, a later one that is not past the next draft kept
};

void Repair::drop_dangling_calls(Draft& draft) {
  std::vector<std::uint32_t> dangling;
  for (std::size_t i = draft.first_call; i < draft.first_call + std::size_t{draft.calls}; ++i) {
    if (!is_paired(drafts_.calls[i])) {
      dangling.push_back(drafts_.calls[i].block);
    }
  }
  if (dangling.empty()) {
    return;
  }
  if (dangling.size() + draft.redacted == draft.blocks) {
    draft.is_dropped = true;
    return;
  }
  const ContextPath::Step& step = path_.steps[draft.step];
  draft.piece = {Piece::Kind::message, step.entry.offset, step.length,
                 std::make_shared<Change>(Change{std::move(dangling), std::nullopt, std::nullopt})};
}

std::size_t Repair::next_alive(std::size_t place) {
  std::size_t found = place;
  while (found < drafts_.list.size() && drafts_.list[found].is_dropped) {
    found = next_[found];
  }
  while (place < found) {
    const std::size_t next = next_[place];
    next_[place] = found;
    place = next;
  }
  return found;
}

void Repair::drop_results_of(const Draft& turn, std::size_t place) {
  for (std::size_t i = turn.first_call; i < turn.first_call + std::size_t{turn.calls}; ++i) {
    const auto found = results_.find(drafts_.calls[i].id);
    if (found == results_.end()) {
      continue;
    }
    auto& places = found->second;
    while (!places.empty() && places.back() > place) {
      drafts_.list[places.back()].is_dropped = true;
      places.pop_back();
    }
  }
}

void Repair::drop_failed_turns() {
  next_.resize(drafts_.list.size());
  std::iota(next_.begin(), next_.end(), std::size_t{1});
  for (std::size_t place = drafts_.list.size(); place-- > 0;) {
    Draft& draft = drafts_.list[place];
    if (draft.is_dropped || draft.role != Draft::Role::assistant || !draft.has_failed) {
      continue;
    }
    const std::size_t next = next_alive(place + 1);
    if (next < drafts_.list.size() && drafts_.list[next].role == Draft::Role::interruption) {
      continue;
    }
    draft.is_dropped = true;
    drop_results_of(draft, place);
  }
}

void Repair::run() {
  for (std::size_t place = 0; place < drafts_.list.size(); ++place) {
    const Draft& draft = drafts_.list[place];
    if (draft.role == Draft::Role::tool_result && !drafts_.calls[draft.first_call].id.empty()) {
      results_[drafts_.calls[draft.first_call].id].push_back(place);
    }
  }
  for (Draft& draft : drafts_.list) {
    if (draft.role == Draft::Role::assistant) {
      drop_dangling_calls(draft);
    }
  }
  drop_failed_turns();
}

}  // namespace

void repair_as_18(Drafts& drafts, const ContextPath& path) {
  Repair(drafts, path).run();
}

}  // namespace arborfs::context
