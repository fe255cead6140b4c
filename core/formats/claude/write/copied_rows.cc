#include "core/formats/claude/write/copied_rows.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/claude/sent_pieces.h"
#include "core/formats/claude/write/adopted_rows.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/writer/new_file.h"

namespace arborfs::claude {
namespace {

std::string text_at(std::string_view object, std::string_view key) {
  return skim::string_value(skim::member(object, key)).value_or("");
}

bool is_of_type(std::string_view block, std::string_view type) {
  return skim::is_string(skim::member(block, "type"), type);
}

std::string_view blocks_of(std::string_view row) {
  return skim::member(skim::member(row, "message"), "content");
}

/// The calls of a list of rows that have no result after them, and the results that have no call before them: each by
/// its number among all blocks.
class Unanswered {
 public:
  void take(std::string_view row) {
    for (skim::Cursor blocks(blocks_of(row)); blocks.next(); ++block_) {
      if (is_of_type(blocks.value(), "tool_use")) {
        open_[text_at(blocks.value(), "id")].push_back(block_);
        found_.insert(block_);
      } else if (is_of_type(blocks.value(), "tool_result")) {
        answer(text_at(blocks.value(), "tool_use_id"));
      }
    }
  }
  [[nodiscard]] bool contains(std::size_t block) const { return found_.contains(block); }

 private:
  void answer(const std::string& id) {
    const auto calls = open_.find(id);
    if (calls == open_.end() || calls->second.empty()) {
      found_.insert(block_);
      return;
    }
    found_.erase(calls->second.front());
    calls->second.erase(calls->second.begin());
  }

  std::map<std::string, std::vector<std::size_t>> open_;
  std::set<std::size_t> found_;
  std::size_t block_ = 0;
};

/// A call or a result as text that says what it was; images of a result stay.
std::string block_as_text(std::string_view block) {
  if (is_of_type(block, "tool_use")) {
    const std::string_view input = skim::member(block, "input");
    return text_block(call_as_text(text_at(block, "name"), input.empty() ? "{}" : std::string(input)));
  }
  const std::string_view content = skim::member(block, "content");
  std::string text = skim::string_value(content).value_or("");
  std::string images;
  for (skim::Cursor inner(content); inner.next();) {
    if (is_of_type(inner.value(), "image")) {
      images.append(",").append(inner.value());
    } else {
      text.append(text.empty() ? "" : "\n").append(text_at(inner.value(), "text"));
    }
  }
  return text_block(stray_result_as_text("", text)) + images;
}

class RowCopies {
 public:
  RowCopies(const Conversation& conversation, const std::string& session)
      : conversation_(conversation), session_(json::stringify_string(session)) {}

  Result<std::string> make(const SpokenPath& spoken) {
    ASSIGN_OR_RETURN(const auto pieces, sent_pieces(spoken.path, *spoken.log, spoken.reach));
    std::vector<Piece> rows;
    for (const Piece& piece : pieces) {
      if (rows.empty() || rows.back().row != piece.row) {
        rows.push_back(piece);
      }
    }
    for (const Piece& row : rows) {
      ASSIGN_OR_RETURN(const auto raw, read_spoken(*spoken.log, row.row, row.row_length));
      unanswered_.take(raw);
    }
    for (const Piece& row : rows) {
      ASSIGN_OR_RETURN(const auto raw, read_spoken(*spoken.log, row.row, row.row_length));
      RETURN_IF_ERROR(add(raw));
    }
    return std::move(lines_);
  }

 private:
  Result<void> add(std::string_view raw) {
    std::string uuid = text_at(raw, "uuid");
    if (uuid.empty() || !uuids_.insert(uuid).second) {
      ASSIGN_OR_RETURN(uuid, new_uuid());
    }
    const std::string parent = last_.empty() ? "null" : json::stringify_string(last_);
    first_cwd_ = lines_.empty() ? text_at(raw, "cwd") : first_cwd_;
    lines_ += R"({"parentUuid":)" + parent + R"(,"isSidechain":false,"uuid":)" + json::stringify_string(uuid) +
              R"(,"sessionId":)" + session_;
    for (skim::Cursor members(raw); members.next();) {
      if (!is_ours(members)) {
        lines_.append(",\"").append(members.key()).append("\":").append(value_of(members));
      }
    }
    lines_ += "}\n";
    last_ = std::move(uuid);
    return lines_.size() > kMaxConversation ? Result<void>(conversation_too_long()) : Result<void>();
  }

  static bool is_ours(const skim::Cursor& member) {
    return member.key_is("parentUuid") || member.key_is("isSidechain") || member.key_is("uuid") ||
           member.key_is("sessionId");
  }

  std::string value_of(const skim::Cursor& member) {
    if (member.key_is("message")) {
      return message_of(member.value());
    }
    const bool is_home = member.key_is("cwd") && skim::is_string(member.value(), first_cwd_);
    return is_home ? json::stringify_string(conversation_.cwd) : std::string(member.value());
  }

  /// The message with text in place of blocks that the model's interface refuses.
  std::string message_of(std::string_view message) {
    const std::string_view content = skim::member(message, "content");
    std::string blocks;
    bool is_changed = false;
    for (skim::Cursor list(content); list.next(); ++block_) {
      const bool is_refused = unanswered_.contains(block_);
      is_changed = is_changed || is_refused;
      blocks.append(blocks.empty() ? "" : ",")
          .append(is_refused ? block_as_text(list.value()) : std::string(list.value()));
    }
    if (!is_changed) {
      return std::string(message);
    }
    std::string made = "{";
    for (skim::Cursor members(message); members.next();) {
      made.append(made.size() > 1 ? ",\"" : "\"").append(members.key()).append("\":");
      made.append(members.key_is("content") ? "[" + blocks + "]" : std::string(members.value()));
    }
    return made + "}";
  }

  const Conversation& conversation_;
  const std::string session_;  // as JSON
  Unanswered unanswered_;
  std::size_t block_ = 0;  // the next one of all rows
  std::string lines_;
  std::string last_;  // the uuid of the last row
  std::string first_cwd_;
  std::set<std::string> uuids_;
};

}  // namespace

Result<std::string> copied_rows(const SpokenPath& spoken, const Conversation& conversation,
                                const std::string& session) {
  ASSIGN_OR_RETURN(auto rows, RowCopies(conversation, session).make(spoken));
  return rows + title_row(conversation.title, session);
}

}  // namespace arborfs::claude
