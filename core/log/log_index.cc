#include "core/log/log_index.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/index_state.h"

namespace arborfs {

std::string_view damage_word(Damage::Kind kind) {
  switch (kind) {
    case Damage::Kind::malformed:
      return "malformed";
    case Damage::Kind::fused:
      return "fused";
    case Damage::Kind::nul:
      return "nul";
    case Damage::Kind::unfinished:
      return "unfinished";
    case Damage::Kind::duplicate:
      return "duplicate";
    case Damage::Kind::repetition:
      return "repetition";
    default:
      return "too_tangled";
  }
}

LogIndex::LogIndex(std::unique_ptr<IndexState> state) : state_(std::move(state)) {}
LogIndex::~LogIndex() = default;

Result<bool> LogIndex::is_as_read(const LogSource& /*log*/) const {
  return false;
}

Result<LogIndex::GrowthPtr> LogIndex::read_growth(const LogSource& /*log*/) const {
  return GrowthPtr();
}
std::vector<Entry> LogIndex::new_entries(const Growth& /*growth*/) const {
  return {};
}
void LogIndex::apply(GrowthPtr /*growth*/) {}

bool LogIndex::begins_with(const LogIndex& before) const {
  return state_->has_hashes && before.state_->has_hashes && common_entries(before) == before.size();
}

bool LogIndex::lies_as(const LogIndex& before) const {
  if (size() != before.size() || !begins_with(before) || damage() != before.damage() ||
      header().json != before.header().json) {
    return false;
  }
  for (Ordinal ordinal = 1; ordinal <= size(); ++ordinal) {
    if (entry(ordinal).offset != before.entry(ordinal).offset) {
      return false;
    }
  }
  return true;
}

Ordinal LogIndex::common_entries(const LogIndex& before) const {
  const bool can_tell = state_->has_hashes && before.state_->has_hashes;
  const Ordinal most = can_tell ? std::min(size(), before.size()) : 0;
  for (Ordinal ordinal = 1; ordinal <= most; ++ordinal) {
    const bool is_moved = state_->keeps_places && entry(ordinal).offset != before.entry(ordinal).offset;
    const bool is_same = !is_moved && state_->hashes[ordinal - 1] == before.state_->hashes[ordinal - 1];
    if (!is_same || parent(ordinal) != before.parent(ordinal) ||
        named_before(ordinal) != before.named_before(ordinal)) {
      return ordinal - 1;
    }
  }
  return most;
}

Ordinal LogIndex::settled() const {
  return std::min(state_->settled.value_or(size()), size());
}

DialectNumber LogIndex::dialect() const {
  return state_->dialect;
}
const Header& LogIndex::header() const {
  return state_->header;
}
bool LogIndex::gives_ids() const {
  return state_->header.gives_ids;
}
std::uint64_t LogIndex::scanned_size() const {
  return state_->scanned_size;
}
Ordinal LogIndex::leaf() const {
  return state_->leaf.value_or(size());
}
Ordinal LogIndex::size() const {
  return state_->entries.size();
}
const Entry& LogIndex::entry(Ordinal ordinal) const {
  return state_->entries.at(ordinal);
}

std::uint64_t LogIndex::length(Ordinal ordinal) const {
  const std::uint32_t length = entry(ordinal).length;
  return length == kLongLength ? state_->long_lengths.at(ordinal) : length;
}

EntryId LogIndex::id(Ordinal ordinal) const {
  return state_->ids.get(entry(ordinal).id);
}

EntryId LogIndex::parent_id(Ordinal ordinal) const {
  const Entry& entry = state_->entries.at(ordinal);
  if (entry.parent != 0) {
    return state_->ids.get(entry.parent);
  }
  switch (entry.flags & entry_flags::kRootWord) {
    case entry_flags::kParentNull:
      return {EntryId::Kind::other, "null"};
    case entry_flags::kParentEmpty:
      return {EntryId::Kind::string, ""};
    case entry_flags::kParentZero:
      return {EntryId::Kind::other, "0"};
    case entry_flags::kParentFalse:
      return {EntryId::Kind::other, "false"};
    default:
      return {};
  }
}

std::string_view LogIndex::name(Ordinal ordinal) const {
  const std::string_view name = state_->names.get(entry(ordinal).name, ordinal);
  return name.empty() ? "value" : name;
}

std::string_view LogIndex::role(Ordinal ordinal) const {
  const EntryType type = entry(ordinal).type;
  if (type == EntryType::compaction || type == EntryType::branch_summary) {
    return "summary";
  }
  return state_->role_reader->role_of(name(ordinal));
}

std::string_view LogIndex::type_text(Ordinal ordinal) const {
  const Entry& entry = state_->entries.at(ordinal);
  return entry.type == EntryType::other ? state_->names.get(entry.name, ordinal) : entry_type_word(entry.type);
}

bool LogIndex::is_assistant(Ordinal ordinal) const {
  return (entry(ordinal).flags & entry_flags::kAssistant) != 0;
}

Ordinal LogIndex::find(const EntryId& id) const {
  if (id.kind == EntryId::Kind::missing) {
    return state_->last_without_id;
  }
  const IdHandle handle = state_->ids.find(id);
  return handle == 0 ? kNoEntry : state_->ids.owner(handle);
}

Ordinal LogIndex::find(std::string_view string_id) const {
  const IdHandle handle = state_->ids.find(string_id);
  return handle == 0 ? kNoEntry : state_->ids.owner(handle);
}

std::vector<Ordinal> LogIndex::find_prefix(std::string_view prefix, std::size_t limit) const {
  std::vector<Ordinal> found;
  for (Ordinal ordinal = 1; ordinal <= size() && found.size() < limit; ++ordinal) {
    if (state_->ids.has_prefix(entry(ordinal).id, prefix)) {
      found.push_back(ordinal);
    }
  }
  return found;
}

Ordinal LogIndex::parent(Ordinal ordinal) const {
  const IdHandle parent = entry(ordinal).parent;
  return parent == 0 ? kNoEntry : state_->ids.owner(parent);
}

Ordinal LogIndex::named_before(Ordinal ordinal) const {
  const auto named = state_->befores.find(ordinal);
  return named == state_->befores.end() ? kNoEntry : state_->ids.owner(named->second);
}

bool LogIndex::is_aside(Ordinal ordinal) const {
  return (entry(ordinal).flags & entry_flags::kAside) != 0;
}

Ordinal LogIndex::repeats(Ordinal ordinal) const {
  const auto found = state_->repetitions.find(ordinal);
  return found == state_->repetitions.end() ? kNoEntry : found->second;
}

bool LogIndex::is_orphan(Ordinal ordinal) const {
  const IdHandle parent = entry(ordinal).parent;
  return parent != 0 && state_->ids.owner(parent) == kNoEntry;
}

bool LogIndex::is_tip(Ordinal ordinal) const {
  const IdHandle id = entry(ordinal).id;
  return id == 0 || (state_->ids.owner(id) == ordinal && !state_->ids.is_parent(id));
}

Ordinal LogIndex::tip_count() const {
  return state_->tips;
}

std::vector<Ordinal> LogIndex::tips() const {
  std::vector<Ordinal> found;
  found.reserve(state_->tips);
  for (Ordinal ordinal = 1; ordinal <= size(); ++ordinal) {
    if (is_tip(ordinal)) {
      found.push_back(ordinal);
    }
  }
  return found;
}

Ordinal LogIndex::entry_at_value(std::uint64_t index) const {
  if (index >= state_->values || (state_->header.valid && index == 0)) {
    return kNoEntry;
  }
  const auto& dropped = state_->dropped_values;
  const auto before = std::lower_bound(dropped.begin(), dropped.end(), index);
  if (before != dropped.end() && *before == index) {
    return kNoEntry;
  }
  const std::uint64_t places = index + (state_->header.valid ? 0 : 1);
  return static_cast<Ordinal>(places - static_cast<std::uint64_t>(before - dropped.begin()));
}

const std::vector<Label>& LogIndex::labels() const {
  return state_->with_noted.empty() ? state_->labels.labels() : state_->with_noted;
}

void LogIndex::note_labels(std::vector<Label> noted) {
  state_->with_noted.clear();
  if (noted.empty()) {
    return;
  }
  std::vector<Label> all = state_->labels.labels();
  std::erase_if(all, [&](const Label& label) {
    return std::any_of(noted.begin(), noted.end(), [&](const Label& one) { return one.target == label.target; });
  });
  for (Label& label : noted) {
    label.set_by = size() + static_cast<Ordinal>(all.size()) + 1;
    label.is_noted = true;
    all.push_back(std::move(label));
  }
  state_->with_noted = std::move(all);
}
std::vector<Damage> LogIndex::damage() const {
  return state_->losses.damage;
}
std::uint64_t LogIndex::malformed_records() const {
  return state_->losses.malformed;
}
const RecordCounts& LogIndex::not_shown() const {
  return state_->not_shown;
}
bool LogIndex::has_duplicate_ids() const {
  return state_->has_duplicates;
}

std::size_t LogIndex::memory_bytes() const {
  return sizeof(*this) + sizeof(IndexState) + state_->entries.memory_bytes() + state_->ids.memory_bytes() +
         state_->names.memory_bytes() + state_->labels.memory_bytes() +
         state_->losses.damage.capacity() * sizeof(Damage) + state_->not_shown.memory_bytes() +
         state_->repetitions.size() * (sizeof(std::pair<Ordinal, Ordinal>) + 2 * sizeof(void*)) +
         state_->header.json.capacity() + state_->dropped_values.capacity() * sizeof(std::uint64_t) +
         state_->hashes.capacity() * sizeof(std::uint64_t) +
         state_->long_lengths.size() * (sizeof(Ordinal) + sizeof(std::uint64_t) + 2 * sizeof(void*)) +
         state_->befores.size() * (sizeof(Ordinal) + sizeof(IdHandle) + 2 * sizeof(void*));
}

namespace {

// In the order of EntryType.
constexpr std::array<std::string_view, 24> kWords = {
    "",
    "message",
    "compaction",
    "branch_summary",
    "custom_message",
    "custom",
    "label",
    "model_change",
    "thinking_level_change",
    "service_tier_change",
    "mode_change",
    "ttsr_injection",
    "mcp_tool_selection",
    "session_init",
    "title_change",
    "model_usage",
    "credential_pin",
    "reset_boundary",
    "session_info",
    "context_edit",
    "usage",
    "session",
    "inherited_usage",
    "",
};
static_assert(kWords.size() == static_cast<std::size_t>(EntryType::other) + 1);

}  // namespace

EntryType entry_type_of(std::string_view word) {
  for (std::size_t i = 1; i + 1 < kWords.size(); ++i) {
    if (kWords[i] == word) {
      return static_cast<EntryType>(i);
    }
  }
  return EntryType::other;
}

std::string_view entry_type_word(EntryType type) {
  return kWords[static_cast<std::size_t>(type)];
}

namespace {

constexpr std::size_t kLongestType = 80;
constexpr std::size_t kCountBytes = 96;  // approximate size of a map's node

}  // namespace

void RecordCounts::add(std::string_view type, std::uint64_t count) {
  const std::string name =
      json::as_utf8(std::string(type.empty() ? kNoType : json::whole_characters(type, kLongestType)));
  const auto known = by_type_.find(name);
  if (known != by_type_.end()) {
    known->second += count;
    return;
  }
  by_type_[by_type_.size() < kMostTypes ? name : std::string(kOthers)] += count;
}

void RecordCounts::add(const RecordCounts& more) {
  for (const auto& [type, count] : more.by_type_) {
    add(type, count);
  }
}

std::size_t RecordCounts::memory_bytes() const {
  std::size_t bytes = by_type_.size() * kCountBytes;
  for (const auto& [type, count] : by_type_) {
    bytes += type.capacity();
  }
  return bytes;
}

std::string id_json(const EntryId& id) {
  switch (id.kind) {
    case EntryId::Kind::missing:
      return "null";
    case EntryId::Kind::string:
      return json::stringify_string(id.text);
    case EntryId::Kind::other:
      break;
  }
  return id.text;
}

}  // namespace arborfs
