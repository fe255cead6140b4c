#include "core/log/id_table.h"

#include <algorithm>

#include "core/base/hash.h"

namespace arborfs {

namespace {

constexpr std::size_t kHexDigits = 8;
constexpr std::size_t kFirstSlots = 16;

bool parse_hex(std::string_view text, std::uint32_t& value) {
  if (text.size() != kHexDigits) {
    return false;
  }
  value = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) {
      return false;
    }
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  return true;
}

std::string hex_text(std::uint32_t value) {
  std::string text(kHexDigits, '0');
  for (std::size_t i = kHexDigits; i > 0; --i, value >>= 4) {
    text[i - 1] = "0123456789abcdef"[value & 15];
  }
  return text;
}

// The finalizer of MurmurHash3; needed because the ids of migrated logs are consecutive numbers.
std::uint64_t hash_hex(std::uint32_t value) {
  std::uint64_t h = value + 0x9E3779B97F4A7C15U;
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDU;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53U;
  return h ^ h >> 33;
}

std::uint64_t hash_text(EntryId::Kind kind, std::string_view text) {
  return xxh64(text, static_cast<std::uint64_t>(kind));
}

}  // namespace

IdHandle IdTable::intern(const FieldValue& value) {
  std::uint32_t hex = 0;
  switch (value.kind) {
    case FieldValue::Kind::missing:
      return 0;
    case FieldValue::Kind::string:
      return parse_hex(value.text, hex) ? intern_hex(hex) : intern_text(EntryId::Kind::string, value.text);
    case FieldValue::Kind::container:
      return add_text(EntryId::Kind::other, value.text);
    default:
      return intern_text(EntryId::Kind::other, to_entry_id(value).text);
  }
}

IdHandle IdTable::intern_hex(std::uint32_t value) {
  auto handle = static_cast<IdHandle>(hex_ids_.size());
  if (handle != 0 && hex_ids_.back().value == value) {
    return handle;  // usual case: an entry's parent is the entry before it
  }
  if (const IdHandle known = find_hex(value)) {
    return known;
  }
  hex_ids_.push_back({value, {}});
  ++handle;
  insert(handle);
  return handle;
}

IdHandle IdTable::intern_text(EntryId::Kind kind, std::string_view text) {
  const auto last = static_cast<IdHandle>(text_ids_.size()) | kTextBit;
  if (kind == EntryId::Kind::string && !text_ids_.empty() && text_id(last).kind == kind && text_of(last) == text) {
    return last;  // usual case, as in intern_hex
  }
  if (const IdHandle known = find_text(kind, text)) {
    return known;
  }
  const IdHandle handle = add_text(kind, text);
  insert(handle);
  return handle;
}

IdHandle IdTable::add_text(EntryId::Kind kind, std::string_view text) {
  text_ids_.push_back({texts_.size(), static_cast<std::uint32_t>(text.size()), {}, kind});
  texts_.append(text);
  return static_cast<IdHandle>(text_ids_.size()) | kTextBit;
}

IdHandle IdTable::find(const EntryId& id) const {
  switch (id.kind) {
    case EntryId::Kind::missing:
      return 0;
    case EntryId::Kind::string:
      return find(id.text);
    default:
      return find_text(id.kind, id.text);
  }
}

IdHandle IdTable::find(const FieldValue& value) const {
  switch (value.kind) {
    case FieldValue::Kind::missing:
    case FieldValue::Kind::container:
      return 0;
    case FieldValue::Kind::string:
      return find(value.text);
    default:
      return find_text(EntryId::Kind::other, to_entry_id(value).text);
  }
}

IdHandle IdTable::find(std::string_view string_id) const {
  std::uint32_t hex = 0;
  return parse_hex(string_id, hex) ? find_hex(hex) : find_text(EntryId::Kind::string, string_id);
}

EntryId IdTable::get(IdHandle handle) const {
  if (handle == 0) {
    return {};
  }
  if ((handle & kTextBit) == 0) {
    return {EntryId::Kind::string, hex_text(hex_ids_[handle - 1].value)};
  }
  return {text_id(handle).kind, std::string(text_of(handle))};
}

bool IdTable::has_prefix(IdHandle handle, std::string_view prefix) const {
  if (handle == 0) {
    return false;
  }
  if ((handle & kTextBit) == 0) {
    return hex_text(hex_ids_[handle - 1].value).starts_with(prefix);
  }
  return text_id(handle).kind == EntryId::Kind::string && text_of(handle).starts_with(prefix);
}

void IdTable::set_owner(IdHandle handle, Ordinal ordinal) {
  use(handle).owner = ordinal & 0x7FFFFFFFU;
}

void IdTable::shrink() {
  hex_ids_.shrink_to_fit();
  text_ids_.shrink_to_fit();
  texts_.shrink_to_fit();
}

std::size_t IdTable::memory_bytes() const {
  return hex_ids_.capacity() * sizeof(HexId) + text_ids_.capacity() * sizeof(TextId) + texts_.capacity() +
         slots_.capacity() * sizeof(IdHandle);
}

IdTable::Use& IdTable::use(IdHandle handle) {
  return (handle & kTextBit) != 0 ? text_ids_[(handle & ~kTextBit) - 1].use : hex_ids_[handle - 1].use;
}

const IdTable::Use& IdTable::use(IdHandle handle) const {
  return (handle & kTextBit) != 0 ? text_id(handle).use : hex_ids_[handle - 1].use;
}

std::string_view IdTable::text_of(IdHandle handle) const {
  return std::string_view(texts_).substr(text_id(handle).offset, text_id(handle).length);
}

IdHandle IdTable::find_hex(std::uint32_t value) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_hex(value); !slots_.empty() && slots_[at & mask] != 0; ++at) {
    const IdHandle handle = slots_[at & mask];
    if ((handle & kTextBit) == 0 && hex_ids_[handle - 1].value == value) {
      return handle;
    }
  }
  return 0;
}

IdHandle IdTable::find_text(EntryId::Kind kind, std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_text(kind, text); !slots_.empty() && slots_[at & mask] != 0; ++at) {
    const IdHandle handle = slots_[at & mask];
    if ((handle & kTextBit) != 0 && text_id(handle).kind == kind && text_of(handle) == text) {
      return handle;
    }
  }
  return 0;
}

std::uint64_t IdTable::hash_of(IdHandle handle) const {
  return (handle & kTextBit) != 0 ? hash_text(text_id(handle).kind, text_of(handle))
                                  : hash_hex(hex_ids_[handle - 1].value);
}

void IdTable::insert(IdHandle handle) {
  if ((used_slots_ + 1) * 4 > slots_.size() * 3) {
    grow_slots();
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_of(handle) & mask;
  while (slots_[at] != 0) {
    at = (at + 1) & mask;
  }
  slots_[at] = handle;
  ++used_slots_;
}

void IdTable::grow_slots() {
  std::vector<IdHandle> old(std::max(kFirstSlots, slots_.size() * 2), 0);
  old.swap(slots_);
  used_slots_ = 0;
  for (const IdHandle handle : old) {
    if (handle != 0) {
      insert(handle);
    }
  }
}

}  // namespace arborfs
