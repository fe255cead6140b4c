// The ids of a log: each is stored once, with a handle and the last entry that has it. An id of eight lower-case hex
// digits, the form that the agents generate (omp/FORMAT.md F1), takes 8 bytes plus its share of the hash table.
// Not thread-safe; const members may be called concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/record_fields.h"

namespace arborfs {

/// 0 means no id.
using IdHandle = std::uint32_t;

class IdTable {
 public:
  /// The handle of an id, created if the id is new; 0 for a missing id. In JavaScript, arrays and objects are equal
  /// only to themselves, so each gets its own handle, which no lookup finds.
  IdHandle intern(const FieldValue& value);
  IdHandle intern_hex(std::uint32_t value);

  [[nodiscard]] IdHandle find(const EntryId& id) const;
  [[nodiscard]] IdHandle find(const FieldValue& value) const;
  [[nodiscard]] IdHandle find(std::string_view string_id) const;
  [[nodiscard]] IdHandle find_hex(std::uint32_t value) const;
  [[nodiscard]] EntryId get(IdHandle handle) const;
  /// True if the id is a string that starts with the prefix.
  [[nodiscard]] bool has_prefix(IdHandle handle, std::string_view prefix) const;

  /// The last entry with the id; kNoEntry if the id occurs only as a parent.
  [[nodiscard]] Ordinal owner(IdHandle handle) const { return use(handle).owner; }
  void set_owner(IdHandle handle, Ordinal ordinal);
  /// True if some other entry names the id as its parent, as far as set_parent() says so.
  [[nodiscard]] bool is_parent(IdHandle handle) const { return use(handle).is_parent != 0; }
  void set_parent(IdHandle handle, bool is_parent) { use(handle).is_parent = is_parent ? 1 : 0; }

  void shrink();
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  // Ordinals stay below 2^31.
  struct Use {
    std::uint32_t owner : 31 = 0;
    std::uint32_t is_parent : 1 = 0;
  };
  struct HexId {
    std::uint32_t value = 0;
    Use use;
  };
  struct TextId {
    std::uint64_t offset = 0;  // in texts_
    std::uint32_t length = 0;
    Use use;
    EntryId::Kind kind = EntryId::Kind::string;
  };
  // Handles of TextIds have the top bit set; the other bits are the index, from 1.
  static constexpr IdHandle kTextBit = 0x80000000U;

  [[nodiscard]] Use& use(IdHandle handle);
  [[nodiscard]] const Use& use(IdHandle handle) const;
  [[nodiscard]] const TextId& text_id(IdHandle handle) const { return text_ids_[(handle & ~kTextBit) - 1]; }
  [[nodiscard]] std::string_view text_of(IdHandle handle) const;
  IdHandle intern_text(EntryId::Kind kind, std::string_view text);
  IdHandle add_text(EntryId::Kind kind, std::string_view text);
  [[nodiscard]] IdHandle find_text(EntryId::Kind kind, std::string_view text) const;
  [[nodiscard]] std::uint64_t hash_of(IdHandle handle) const;
  void insert(IdHandle handle);
  void grow_slots();

  std::vector<HexId> hex_ids_;
  std::vector<TextId> text_ids_;
  std::string texts_;
  std::vector<IdHandle> slots_;  // open addressing, a power of two, 0 = free
  std::size_t used_slots_ = 0;
};

}  // namespace arborfs
