#include "core/formats/omp/context/context.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/omp/context/context_compaction.h"
#include "core/formats/omp/context/context_plan.h"
#include "core/formats/omp/context/context_source.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/log/log_source.h"

namespace arborfs::omp {

namespace {

/// How a message differs from the one that its entry alone gives.
struct Change {
  std::vector<std::uint32_t> dropped_blocks;  // of an assistant's content, ascending; thinking loses its signature too
  std::optional<double> history_rewrite_at;   // for a compaction
  std::optional<ContextEdit> edit;            // for pi
};

/// One message: copied from the log, or rendered from an entry.
struct Piece {
  enum class Kind : std::uint8_t { copy, message, custom, branch_summary, compaction, notes, system_message };
  Kind kind = Kind::copy;
  std::uint64_t offset = 0;  // for `copy`, of the message's text; else of the entry
  std::uint64_t length = 0;
  std::shared_ptr<const Change> change;
};

struct Draft {
  enum class Role : std::uint8_t { other, assistant, tool_result, interruption };
  Piece piece;
  std::size_t step = 0;
  Role role = Role::other;
  bool has_failed = false;  // an assistant's turn that was aborted or ended in an error
  bool is_dropped = false;
  std::uint32_t blocks = 0;    // number of blocks in an assistant's content
  std::uint32_t redacted = 0;  // how many of these are redactedThinking
  std::uint32_t first_call = 0;
  std::uint32_t calls = 0;
};

/// A tool call of an assistant, or the one that a tool result answers.
struct Call {
  std::string id;  // JSON text; "" if it can equal no other id
  std::uint32_t block = 0;
};

struct Drafts {
  std::vector<Draft> list;
  std::vector<Call> calls;  // Draft::first_call is an index into it
};

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
  for (skim::Cursor member(message); member.next();) {
    take(member, "role", role);
    take(member, "content", content);
    take(member, "stopReason", stop_reason);
    take(member, "retryRecovery", retry_recovery);
    take(member, "toolCallId", tool_call_id);
    take(member, "customType", custom_type);
  }
}

/// Makes the messages of a path, a step at a time.
class Drafter {
 public:
  /// All must outlive it.
  Drafter(const ContextPath& path, const ContextPlan& plan, const ContextSource& source, std::uint64_t log_size)
      : path_(path), plan_(plan), source_(source), window_(*source.log, log_size, {}, kReadAhead) {}
  /// Those before the plan's ranges: notes, compaction summary and request.
  Result<void> take_lead();
  /// That of a step of the plan's ranges, if it has one.
  Result<void> take_step(std::size_t place);

  Drafts drafts;

 private:
  [[nodiscard]] bool is_left_out(std::size_t place) const;
  Draft& add(Piece::Kind kind, std::size_t place);
  Result<void> take(std::size_t place);
  void take_message(std::string_view entry, std::size_t place);
  void take_custom(std::string_view entry, std::size_t place);
  void edit_last(std::size_t place, const ContextEdit& edit);
  void note_facts(Draft& draft, const Fields& fields);
  void note_calls(Draft& draft, std::string_view content);
  [[nodiscard]] bool is_18() const { return source_.dialect == Dialect::omp18; }

  const ContextPath& path_;
  const ContextPlan& plan_;
  const ContextSource& source_;
  LogWindow window_;
};

Draft& Drafter::add(Piece::Kind kind, std::size_t place) {
  const ContextPath::Step& step = path_.steps[place];
  Draft& draft = drafts.list.emplace_back();
  draft.piece = {kind, step.entry.offset, step.length, nullptr};
  draft.step = place;
  return draft;
}

Result<void> Drafter::take_lead() {
  if (plan_.notes) {
    add(Piece::Kind::notes, *plan_.notes);
  }
  if (plan_.has_system_message) {
    add(Piece::Kind::system_message, *plan_.compaction);
  }
  if (plan_.compaction) {
    Draft& draft = add(Piece::Kind::compaction, *plan_.compaction);
    if (plan_.history_rewrite_at) {
      draft.piece.change = std::make_shared<Change>(Change{{}, plan_.history_rewrite_at, std::nullopt});
    }
  }
  return plan_.request ? take(*plan_.request) : Result<void>();
}

/// For pi: messages that an edit removes, and a system prompt of which a compaction kept its own copy.
bool Drafter::is_left_out(std::size_t place) const {
  const auto edit = plan_.edits.find(place);
  const bool is_old_prompt = source_.dialect == Dialect::pi && plan_.compaction && place < *plan_.compaction &&
                             path_.steps[place].speaker == ContextPath::Step::Speaker::system;
  return is_old_prompt || (edit != plan_.edits.end() && edit->second.removes);
}

Result<void> Drafter::take_step(std::size_t place) {
  if (is_left_out(place)) {
    return {};
  }
  RETURN_IF_ERROR(take(place));
  if (const auto edit = plan_.edits.find(place); edit != plan_.edits.end()) {
    edit_last(place, edit->second);
  }
  return {};
}

Result<void> Drafter::take(std::size_t place) {
  const ContextPath::Step& step = path_.steps[place];
  const EntryType type = step.entry.type;
  if (type == EntryType::compaction && plan_.is_whole) {
    add(Piece::Kind::compaction, place);
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
    take_message(entry, place);
  } else if (type == EntryType::custom_message) {
    take_custom(entry, place);
  } else if (skim::is_truthy(skim::member(entry, "summary"))) {
    add(Piece::Kind::branch_summary, place);
  }
  return {};
}

void Drafter::take_message(std::string_view entry, std::size_t place) {
  const ContextPath::Step& step = path_.steps[place];
  const std::string_view message = skim::member(entry, "message");
  if (message.empty() || message == "null") {
    return;
  }
  const Fields fields(is_18() ? message : std::string_view());
  const bool is_empty_error = skim::is_string(fields.stop_reason, "error") && has_only_empty_blocks(fields.content);
  if (is_18() && step.is_assistant() && (skim::is_truthy(fields.retry_recovery) || is_empty_error)) {
    return;
  }
  Draft& draft = add(Piece::Kind::message, place);
  if (can_copy(source_, message, step.is_assistant())) {
    draft.piece.kind = Piece::Kind::copy;
    draft.piece.offset = step.entry.offset + static_cast<std::uint64_t>(message.data() - entry.data());
    draft.piece.length = message.size();
  }
  note_facts(draft, fields);
}

/// Gives the message that the step has just made, if it made one, another content.
void Drafter::edit_last(std::size_t place, const ContextEdit& edit) {
  if (drafts.list.empty() || drafts.list.back().step != place) {
    return;
  }
  const ContextPath::Step& step = path_.steps[place];
  const bool is_custom = step.entry.type == EntryType::custom_message;
  Piece& piece = drafts.list.back().piece;
  piece = {is_custom ? Piece::Kind::custom : Piece::Kind::message, step.entry.offset, step.length, nullptr};
  piece.change = std::make_shared<Change>(Change{{}, std::nullopt, edit});
}

void Drafter::note_facts(Draft& draft, const Fields& fields) {
  if (skim::is_string(fields.role, "assistant")) {
    draft.role = Draft::Role::assistant;
    draft.has_failed = skim::is_string(fields.stop_reason, "aborted") || skim::is_string(fields.stop_reason, "error");
    note_calls(draft, fields.content);
  } else if (skim::is_string(fields.role, "toolResult")) {
    draft.role = Draft::Role::tool_result;
    draft.first_call = static_cast<std::uint32_t>(drafts.calls.size());
    draft.calls = 1;
    drafts.calls.push_back({identity(fields.tool_call_id), 0});
  } else if (skim::is_string(fields.custom_type, "interrupted-thinking") &&
             (skim::is_string(fields.role, "custom") ||
              (source_.version_below_3 && skim::is_string(fields.role, "hookMessage")))) {
    draft.role = Draft::Role::interruption;
  }
}

void Drafter::note_calls(Draft& draft, std::string_view content) {
  draft.first_call = static_cast<std::uint32_t>(drafts.calls.size());
  if (content.empty() || content[0] != '[') {
    return;
  }
  for (skim::Cursor block(content); block.next(); ++draft.blocks) {
    const std::string_view type = skim::member(block.value(), "type");
    if (skim::is_string(type, "toolCall")) {
      drafts.calls.push_back({identity(skim::member(block.value(), "id")), draft.blocks});
      ++draft.calls;
    } else if (skim::is_string(type, "redactedThinking")) {
      ++draft.redacted;
    }
  }
}

void Drafter::take_custom(std::string_view entry, std::size_t place) {
  const std::string_view type = skim::member(entry, "customType");
  const std::string_view content = skim::member(entry, "content");
  const bool has_content = !content.empty() && (content[0] == '"' || content[0] == '[');
  if (is_18() &&
      (!has_content || skim::is_string(type, "prewalk-plan") || skim::is_string(type, "vibe-mode-context"))) {
    return;
  }
  Draft& draft = add(Piece::Kind::custom, place);
  if (is_18() && skim::is_string(type, "interrupted-thinking")) {
    draft.role = Draft::Role::interruption;
  }
}

Result<void> replace_content(json::Value& owner, std::string_view role, const ContextEdit& edit,
                             const ContextSource& source, json::Document& document) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, edit.offset, edit.length, entry));
  const json::Value* replacement = json::member(entry, "replacement");
  const json::Value* content = replacement == nullptr ? nullptr : json::member(*replacement, "content");
  if (content == nullptr) {
    return log_changed_meanwhile();
  }
  json::Value copied = json::copy(*content, document);
  const bool takes_blocks = role == "assistant" || role == "toolResult";
  if (takes_blocks && content->IsString()) {
    json::Value block(rapidjson::kObjectType);
    json::set(block, "type", json::make_string("text", document), document);
    json::set(block, "text", std::move(copied), document);
    copied = json::Value(rapidjson::kArrayType);
    copied.PushBack(std::move(block), document.GetAllocator());
  }
  json::set(owner, "content", std::move(copied), document);
  return {};
}

std::string role_of(const json::Value& message) {
  return json::text_member(message, "role");
}

void fill_content(json::Value& message, json::Document& document) {
  const std::string role = role_of(message);
  const json::Value* content = json::member(message, "content");
  const bool takes_blocks = role == "user" || role == "assistant" || role == "toolResult";
  if ((content != nullptr && !content->IsNull()) || !(takes_blocks || role == "system")) {
    return;
  }
  json::set(message, "content", takes_blocks ? json::Value(rapidjson::kArrayType) : json::make_string("", document),
            document);
}

Result<std::string> pi_message_json(json::Document& entry, const ContextEdit* edit, const ContextSource& source) {
  json::Value* message = json::member(static_cast<json::Value&>(entry), "message");
  if (message == nullptr) {
    return std::string();
  }
  fill_content(*message, entry);
  if (edit != nullptr && message->IsObject()) {
    RETURN_IF_ERROR(replace_content(*message, role_of(*message), *edit, source, entry));
  }
  return json::stringify(*message);
}

std::string pi_system_message_json(json::Document& compaction) {
  json::Value* message = json::member(static_cast<json::Value&>(compaction), "systemMessage");
  if (message == nullptr) {
    return {};
  }
  fill_content(*message, compaction);
  return json::stringify(*message);
}

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

Result<std::string> render_piece(const Piece& piece, const ContextSource& source) {
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

class Repair {
 public:
  Repair(Drafts& drafts, const ContextPath& path) : drafts_(drafts), path_(path) {}
  void run();

 private:
  void drop_dangling_calls(Draft& draft);
  void drop_failed_turns();
  void drop_results_of(const Draft& turn, std::size_t place);
  [[nodiscard]] bool is_paired(const Call& call) const { return results_.contains(call.id); }

  Drafts& drafts_;
  const ContextPath& path_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> results_;  // places of tool results by call id
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

/// A failed turn stays if an interruption follows it.
void Repair::drop_failed_turns() {
  std::vector<std::size_t> kept;  // of those behind `place`, the next one last
  for (std::size_t place = drafts_.list.size(); place-- > 0;) {
    Draft& draft = drafts_.list[place];
    if (draft.is_dropped) {
      continue;
    }
    while (!kept.empty() && drafts_.list[kept.back()].is_dropped) {
      kept.pop_back();
    }
    const bool is_interrupted = !kept.empty() && drafts_.list[kept.back()].role == Draft::Role::interruption;
    if (draft.role == Draft::Role::assistant && draft.has_failed && !is_interrupted) {
      draft.is_dropped = true;
      drop_results_of(draft, place);
    } else {
      kept.push_back(place);
    }
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

constexpr std::uint64_t kShortMessage = 16 * 1024;
constexpr std::uint64_t kBlock = 64 * 1024;
constexpr std::size_t kWindowBytes = 128 * 1024;
constexpr std::string_view kSeparator = ",\n";

struct Block {
  std::shared_ptr<const ContextSource> source;
  std::vector<Piece> pieces;
  bool is_first = false;  // no separator before its first message
};

Result<std::string> render_block(const Block& block) {
  ASSIGN_OR_RETURN(const auto size, block.source->log->size());
  LogWindow window(*block.source->log, size, {}, kWindowBytes);
  std::string out;
  for (const Piece& piece : block.pieces) {
    if (!block.is_first || &piece != &block.pieces.front()) {
      out += kSeparator;
    }
    if (piece.kind != Piece::Kind::copy) {
      ASSIGN_OR_RETURN(auto text, render_piece(piece, *block.source));
      out += text;
      continue;
    }
    ASSIGN_OR_RETURN(auto bytes, window.view(piece.offset, piece.length));
    out += bytes.substr(0, piece.length);
  }
  return out;
}

/// Groups short messages into blocks that are rendered when they are read; long messages become ranges of the log. A
/// context takes about 40 bytes per message.
class Layout {
 public:
  explicit Layout(std::shared_ptr<const ContextSource> source);
  /// Adds a message. Errors: io, stale.
  Result<void> add(const Piece& piece);
  /// Ends the list of messages; `rest` is the text from its closing `]` on. Call it once.
  std::shared_ptr<const Content> finish(std::string_view rest);

 private:
  void add_long_copy(const Piece& piece);
  void separate();
  void flush();

  std::shared_ptr<const ContextSource> source_;
  std::shared_ptr<Content> content_;
  std::vector<Piece> block_;
  std::uint64_t block_size_ = 0;
  bool has_messages_ = false;
  bool starts_with_block_ = false;
};

Layout::Layout(std::shared_ptr<const ContextSource> source)
    : source_(std::move(source)), content_(std::make_shared<Content>()) {
  content_->add_text("{\"messages\":[\n");
}

void Layout::flush() {
  if (block_.empty()) {
    return;
  }
  block_.shrink_to_fit();
  auto block = std::make_shared<const Block>(Block{source_, std::move(block_), starts_with_block_});
  content_->add_rendered(block_size_, [block] { return render_block(*block); });
  block_.clear();
  block_size_ = 0;
  starts_with_block_ = false;
}

// Called before a message that does not go into a block.
void Layout::separate() {
  flush();
  if (has_messages_) {
    content_->add_text(kSeparator);
  }
  has_messages_ = true;
}

void Layout::add_long_copy(const Piece& piece) {
  separate();
  content_->add_range(source_->log, piece.offset, piece.length);
}

Result<void> Layout::add(const Piece& piece) {
  const bool is_copy = piece.kind == Piece::Kind::copy;
  if (is_copy && piece.length > kShortMessage) {
    add_long_copy(piece);
    return {};
  }
  std::uint64_t size = piece.length;
  if (!is_copy) {
    ASSIGN_OR_RETURN(const auto text, render_piece(piece, *source_));
    if (text.empty()) {
      return {};
    }
    size = text.size();
  }
  if (size > kShortMessage || block_size_ + size > kBlock) {
    flush();
  }
  starts_with_block_ = starts_with_block_ || !has_messages_;
  block_size_ += size + (has_messages_ ? kSeparator.size() : 0);
  has_messages_ = true;
  block_.push_back(piece);
  return {};
}

std::shared_ptr<const Content> Layout::finish(std::string_view rest) {
  flush();
  content_->add_text(has_messages_ ? "\n" : "");
  content_->add_text(rest);
  content_->add_text("\n");
  return std::move(content_);
}

/// omp18's repairs need all messages at once; others are taken as they are read.
template <class Take>
Result<void> each_draft(const ContextPath& path, const ContextPlan& plan, const ContextSource& source,
                        const Take& take) {
  ASSIGN_OR_RETURN(const auto size, source.log->size());
  Drafter drafter(path, plan, source, size);
  const auto hand_over = [&]() -> Result<void> {
    for (const Draft& draft : drafter.drafts.list) {
      RETURN_IF_ERROR(draft.is_dropped ? Result<void>() : take(draft));
    }
    drafter.drafts.list.clear();
    drafter.drafts.calls.clear();
    return {};
  };
  const bool is_repaired = source.dialect == Dialect::omp18 && !plan.is_whole;
  RETURN_IF_ERROR(drafter.take_lead());
  for (const auto& [begin, end] : plan.ranges) {
    for (std::size_t place = begin; place < end; ++place) {
      RETURN_IF_ERROR(drafter.take_step(place));
      RETURN_IF_ERROR(is_repaired ? Result<void>() : hand_over());
    }
  }
  if (is_repaired) {
    Repair(drafter.drafts, path).run();
  }
  return hand_over();
}

Result<std::shared_ptr<const Content>> content_of(const ContextPath& path,
                                                  const std::shared_ptr<const ContextSource>& source) {
  ASSIGN_OR_RETURN(const auto plan, plan_of(path, *source));
  Layout layout(source);
  RETURN_IF_ERROR(each_draft(path, plan, *source, [&](const Draft& draft) { return layout.add(draft.piece); }));
  ASSIGN_OR_RETURN(const auto settings, settings_json(path, *source));
  return layout.finish(settings);
}

/// Keeps the file of a context that is refused in its folder: only reading it fails.
std::shared_ptr<const Content> refused_content(const ContextPath& path, const Error& refusal) {
  std::uint64_t longest = 0;
  for (const ContextPath::Step& step : path.steps) {
    longest = std::max(longest, step.length);
  }
  auto content = std::make_shared<Content>();
  content->add_rendered(longest, [refusal]() -> Result<std::string> { return refusal; });
  return content;
}

}  // namespace

Error entry_too_long(std::uint64_t length) {
  return {Errc::too_large, "an entry of " + std::to_string(length) +
                               " bytes is too long to be held in memory; at most " +
                               std::to_string(kLongestHeld >> 20U) + " MiB are"};
}

Result<void> each_message(const ContextPath& path, std::shared_ptr<const LogSource> log,
                          std::shared_ptr<const BlobSource> blobs, ContextScope scope,
                          const std::function<Result<void>(std::size_t step, const std::string& message)>& take) {
  const ContextSource source{std::move(log), std::move(blobs), dialect_of(path), path.version_below_3};
  ASSIGN_OR_RETURN(const auto plan, scope == ContextScope::whole ? whole_plan(path, source) : plan_of(path, source));
  return each_draft(path, plan, source, [&](const Draft& draft) -> Result<void> {
    ASSIGN_OR_RETURN(const auto text, render_piece(draft.piece, source));
    return text.empty() ? Result<void>() : take(draft.step, text);
  });
}

Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                     std::shared_ptr<const BlobSource> blobs) {
  auto made = content_of(path, std::make_shared<const ContextSource>(ContextSource{
                                   std::move(log), std::move(blobs), dialect_of(path), path.version_below_3}));
  return !made && made.error().code == Errc::too_large ? refused_content(path, made.error()) : made;
}

}  // namespace arborfs::omp