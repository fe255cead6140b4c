#include "core/log/log_index.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/log/entry_types.h"
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
    default:
      return "too_tangled";
  }
}

LogIndex::LogIndex() = default;
LogIndex::~LogIndex() = default;

Result<std::unique_ptr<LogIndex>> LogIndex::build(const LogSource& log, const Options& options) {
  ASSIGN_OR_RETURN(auto size, log.size());
  LogWindow window(log, size, options.cancelled);
  std::unique_ptr<LogIndex> index(new LogIndex);
  if (options.reader != nullptr) {
    index->impl_ = std::make_unique<Impl>(Dialect::foreign, Dialect::foreign);
    RETURN_IF_ERROR(index->impl_->read(log, size, *options.reader, options.cancelled));
    return index;
  }
  for (const Dialect assumed : {Dialect::omp13, Dialect::omp18}) {
    index->impl_ = std::make_unique<Impl>(options.dialect, assumed);
    ASSIGN_OR_RETURN(auto scanned, index->impl_->scan(log, window, options.noter));
    if (scanned) {
      break;
    }
  }
  return index;
}

bool LogIndex::begins_with(const LogIndex& before) const {
  if (!impl_->is_of_reader || !before.impl_->is_of_reader || before.size() > size()) {
    return false;
  }
  for (Ordinal ordinal = 1; ordinal <= before.size(); ++ordinal) {
    const bool is_same = impl_->hashes[ordinal - 1] == before.impl_->hashes[ordinal - 1];
    if (!is_same || parent(ordinal) != before.parent(ordinal)) {
      return false;
    }
  }
  return true;
}

Dialect LogIndex::dialect() const {
  return impl_->settled_dialect();
}
const Header& LogIndex::header() const {
  return impl_->header;
}
bool LogIndex::gives_ids() const {
  return impl_->gives_ids;
}
std::uint64_t LogIndex::scanned_size() const {
  return impl_->scanned_size;
}
Ordinal LogIndex::leaf() const {
  return impl_->leaf.value_or(size());
}
Ordinal LogIndex::size() const {
  return impl_->entries.size();
}
const Entry& LogIndex::entry(Ordinal ordinal) const {
  return impl_->entries.at(ordinal);
}

std::uint64_t LogIndex::length(Ordinal ordinal) const {
  const std::uint32_t length = entry(ordinal).length;
  return length == kLongLength ? impl_->long_lengths.at(ordinal) : length;
}

EntryId LogIndex::id(Ordinal ordinal) const {
  return impl_->ids.get(entry(ordinal).id);
}

EntryId LogIndex::parent_id(Ordinal ordinal) const {
  const Entry& entry = impl_->entries.at(ordinal);
  if (entry.parent != 0) {
    return impl_->ids.get(entry.parent);
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
  const std::string_view name = impl_->names.get(entry(ordinal).name, ordinal);
  return name.empty() ? "value" : name;
}

std::string_view LogIndex::type_text(Ordinal ordinal) const {
  const Entry& entry = impl_->entries.at(ordinal);
  return entry.type == EntryType::other ? impl_->names.get(entry.name, ordinal) : entry_type_word(entry.type);
}

bool LogIndex::is_assistant(Ordinal ordinal) const {
  return (entry(ordinal).flags & entry_flags::kAssistant) != 0;
}

Ordinal LogIndex::find(const EntryId& id) const {
  if (id.kind == EntryId::Kind::missing) {
    return impl_->last_without_id;
  }
  const IdHandle handle = impl_->ids.find(id);
  return handle == 0 ? kNoEntry : impl_->ids.owner(handle);
}

Ordinal LogIndex::find(std::string_view string_id) const {
  const IdHandle handle = impl_->ids.find(string_id);
  return handle == 0 ? kNoEntry : impl_->ids.owner(handle);
}

std::vector<Ordinal> LogIndex::find_prefix(std::string_view prefix, std::size_t limit) const {
  std::vector<Ordinal> found;
  for (Ordinal ordinal = 1; ordinal <= size() && found.size() < limit; ++ordinal) {
    if (impl_->ids.has_prefix(entry(ordinal).id, prefix)) {
      found.push_back(ordinal);
    }
  }
  return found;
}

Ordinal LogIndex::parent(Ordinal ordinal) const {
  const IdHandle parent = entry(ordinal).parent;
  return parent == 0 ? kNoEntry : impl_->ids.owner(parent);
}

bool LogIndex::is_orphan(Ordinal ordinal) const {
  const IdHandle parent = entry(ordinal).parent;
  return parent != 0 && impl_->ids.owner(parent) == kNoEntry;
}

bool LogIndex::has_children(Ordinal ordinal) const {
  const IdHandle id = entry(ordinal).id;
  return id != 0 && impl_->ids.is_parent(id) && impl_->ids.owner(id) == ordinal;
}

Ordinal LogIndex::tip_count() const {
  return impl_->tips;
}

std::vector<Ordinal> LogIndex::tips() const {
  std::vector<Ordinal> found;
  found.reserve(impl_->tips);
  for (Ordinal ordinal = 1; ordinal <= size(); ++ordinal) {
    if (!has_children(ordinal)) {
      found.push_back(ordinal);
    }
  }
  return found;
}

Ordinal LogIndex::entry_at_value(std::uint64_t index) const {
  if (index >= impl_->values || (impl_->header.valid && index == 0)) {
    return kNoEntry;
  }
  const auto& dropped = impl_->dropped_sessions;
  const auto before = std::lower_bound(dropped.begin(), dropped.end(), index);
  if (before != dropped.end() && *before == index) {
    return kNoEntry;
  }
  const std::uint64_t places = index + (impl_->header.valid ? 0 : 1);
  return static_cast<Ordinal>(places - static_cast<std::uint64_t>(before - dropped.begin()));
}

const std::vector<Label>& LogIndex::labels() const {
  return impl_->labels.labels();
}
std::vector<Damage> LogIndex::damage() const {
  return impl_->losses.damage;
}
std::uint64_t LogIndex::malformed_records() const {
  return impl_->losses.malformed;
}
bool LogIndex::has_duplicate_ids() const {
  return impl_->has_duplicates;
}

std::size_t LogIndex::memory_bytes() const {
  return sizeof(*this) + sizeof(Impl) + impl_->entries.memory_bytes() + impl_->ids.memory_bytes() +
         impl_->names.memory_bytes() + impl_->labels.memory_bytes() + impl_->losses.damage.capacity() * sizeof(Damage) +
         impl_->header.json.capacity() + impl_->dropped_sessions.capacity() * sizeof(std::uint64_t) +
         impl_->hashes.capacity() * sizeof(std::uint64_t) +
         impl_->long_lengths.size() * (sizeof(Ordinal) + sizeof(std::uint64_t) + 2 * sizeof(void*));
}

}  // namespace arborfs
