#include "core/formats/omp/writer/entry_copy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/oversized.h"
#include "core/formats/omp/write/header_text.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/json/document.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kLongestScalar = 4096;

bool is_key(const PlacedMember& member, std::string_view key) {
  if (member.key.find('\\') == std::string::npos) {
    return member.key == key;
  }
  json::Document unescaped;
  return json::parse("\"" + member.key + "\"", unescaped) && json::is_string(&unescaped, key);
}

/// The edits that change members of one object in a log, with the same result as with_member() on a text.
class MemberEdits {
 public:
  static Result<MemberEdits> of(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
    ASSIGN_OR_RETURN(auto members, placed_members(log, offset, length));
    return MemberEdits(offset, std::move(members));
  }
  /// The last member with that key, or null.
  [[nodiscard]] const PlacedMember* find(std::string_view key) const {
    const auto found =
        std::find_if(members_.rbegin(), members_.rend(), [key](const auto& member) { return is_key(member, key); });
    return found == members_.rend() ? nullptr : &*found;
  }
  void set(std::string_view key, std::string_view value_json) {
    if (const PlacedMember* member = find(key)) {
      replace(*member, std::string(value_json));
      return;
    }
    added_ += added_.empty() && members_.empty() ? "" : ",";
    json::stringify_string(key, added_);
    added_.append(":").append(value_json);
  }
  void replace(const PlacedMember& member, std::string text) {
    edits_.push_back({member.offset, member.offset + member.length, std::move(text)});
  }
  /// Edits inside a member's value.
  void add(std::vector<LogEdit> edits) {
    edits_.insert(edits_.end(), std::make_move_iterator(edits.begin()), std::make_move_iterator(edits.end()));
  }
  void remove(std::string_view key);
  /// All of them, in order.
  std::vector<LogEdit> take();

 private:
  MemberEdits(std::uint64_t offset, std::vector<PlacedMember> members)
      : offset_(offset), members_(std::move(members)) {}
  [[nodiscard]] std::uint64_t end_of(std::size_t member) const {
    return members_[member].offset + members_[member].length;
  }

  std::uint64_t offset_;
  std::vector<PlacedMember> members_;
  std::vector<LogEdit> edits_;
  std::string added_;             // members to add after the last one
  std::size_t last_removed_ = 0;  // how many members at the end are removed
};

void MemberEdits::remove(std::string_view key) {
  std::size_t kept = members_.size();
  while (kept != 0 && is_key(members_[kept - 1], key)) {
    --kept;
  }
  last_removed_ = members_.size() - kept;
  for (std::size_t i = 0; i + 1 < kept; ++i) {
    if (is_key(members_[i], key)) {
      edits_.push_back({members_[i].start, members_[i + 1].start, ""});
    }
  }
}

std::vector<LogEdit> MemberEdits::take() {
  const std::size_t kept = members_.size() - last_removed_;
  if (last_removed_ != 0) {
    const bool has_more = !added_.empty();
    const std::uint64_t from = has_more || kept == 0 ? members_[kept].start : end_of(kept - 1);
    edits_.push_back({from, end_of(members_.size() - 1), has_more ? added_.substr(1) : ""});
  } else if (!added_.empty()) {
    const std::uint64_t at = members_.empty() ? offset_ + 1 : end_of(members_.size() - 1);
    edits_.push_back({at, at, added_});
  }
  std::sort(edits_.begin(), edits_.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return std::move(edits_);
}

/// The value of a member that is a short scalar; null for others.
Result<json::Document> short_value(const LogSource& log, const PlacedMember& member) {
  json::Document value;
  if (member.length <= kLongestScalar) {
    ASSIGN_OR_RETURN(auto text, log.read(member.offset, member.length));
    static_cast<void>(json::parse(text, value));
  }
  return value;
}

Result<void> name_kept_entry(const LogSource& log, const IdOfValue& id_of, MemberEdits& edits) {
  const PlacedMember* index = edits.find("firstKeptEntryIndex");
  if (index == nullptr) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto value, short_value(log, *index));
  if (!value.IsNumber()) {
    return {};
  }
  if (const std::string id = id_of_kept(value.GetDouble(), id_of); !id.empty()) {
    edits.set("firstKeptEntryId", id);
  }
  edits.remove("firstKeptEntryIndex");
  return {};
}

Result<void> rename_role(const LogSource& log, MemberEdits& edits) {
  const PlacedMember* message = edits.find("message");
  if (message == nullptr) {
    return {};
  }
  ASSIGN_OR_RETURN(auto inner, MemberEdits::of(log, message->offset, message->length));
  const PlacedMember* role = inner.find("role");
  if (role == nullptr) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto value, short_value(log, *role));
  if (json::is_string(&value, "hookMessage")) {
    inner.replace(*role, "\"custom\"");
    edits.add(inner.take());
  }
  return {};
}

Result<std::vector<LogEdit>> edits_of(const LogSource& log, std::uint64_t offset, std::uint64_t length,
                                      const EntryChange& change, const IdOfValue& id_of) {
  ASSIGN_OR_RETURN(const auto first, log.read(offset, 1));
  if (first != "{") {
    return std::vector<LogEdit>();
  }
  ASSIGN_OR_RETURN(auto edits, MemberEdits::of(log, offset, length));
  const bool gives_ids = change.migration && !change.migration->id_json.empty();
  if (gives_ids) {
    edits.set("id", change.migration->id_json);
  }
  if (gives_ids || !change.parent_json.empty()) {
    edits.set("parentId", change.parent_json.empty() ? change.migration->parent_json : change.parent_json);
  }
  if (gives_ids && change.migration->type == EntryType::compaction) {
    RETURN_IF_ERROR(name_kept_entry(log, id_of, edits));
  }
  if (change.migration && change.migration->renames_roles && change.migration->type == EntryType::message) {
    RETURN_IF_ERROR(rename_role(log, edits));
  }
  return edits.take();
}

/// Changes a short entry as text.
Result<std::string> changed_text(std::string text, const EntryChange& change, const IdOfValue& id_of) {
  if (change.migration) {
    text = migrate_entry(text, *change.migration, id_of);
  }
  return change.parent_json.empty() ? Result<std::string>(std::move(text))
                                    : with_member(text, "parentId", change.parent_json);
}

}  // namespace

Result<void> copy_entry(const LogSource& log, std::uint64_t offset, std::uint64_t length, const EntryChange& change,
                        const IdOfValue& id_of, const ByteSink& write, std::uint64_t longest_held) {
  if (!change.migration && change.parent_json.empty()) {
    return copy_bytes(log, offset, offset + length, write);
  }
  if (length <= longest_held) {
    ASSIGN_OR_RETURN(auto bytes, log.read(offset, length));
    ASSIGN_OR_RETURN(const auto text, changed_text(std::move(bytes), change, id_of));
    return write(text);
  }
  ASSIGN_OR_RETURN(const auto edits, edits_of(log, offset, length, change, id_of));
  std::uint64_t at = offset;
  for (const LogEdit& edit : edits) {
    auto done = copy_bytes(log, at, edit.offset, write);
    done = done && !edit.text.empty() ? write(edit.text) : done;
    if (!done) {
      return done;
    }
    at = edit.end;
  }
  return copy_bytes(log, at, offset + length, write);
}

}  // namespace arborfs
