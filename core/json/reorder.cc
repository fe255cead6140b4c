#include "core/json/reorder.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "core/json/key_order.h"

namespace arborfs::json {
namespace {

struct Kept {
  std::uint64_t rank;  // the number of an integer-like key; larger than all of these for any other key
  std::size_t first;   // index of the key's first occurrence
  std::size_t last;    // index of its last occurrence
};

std::vector<Kept> kept_members(const std::vector<std::string_view>& keys) {
  std::vector<std::size_t> by_key(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    by_key[i] = i;
  }
  std::sort(by_key.begin(), by_key.end(),
            [&](std::size_t a, std::size_t b) { return std::tie(keys[a], a) < std::tie(keys[b], b); });
  std::vector<Kept> kept;
  for (const std::size_t i : by_key) {
    if (!kept.empty() && keys[kept.back().first] == keys[i]) {
      kept.back().last = i;
    } else {
      const auto index = array_index(keys[i]);
      kept.push_back({index ? *index : std::numeric_limits<std::uint64_t>::max(), i, i});
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return std::tie(a.rank, a.first) < std::tie(b.rank, b.first); });
  return kept;
}

void reorder_object(Value& object) {
  const std::span<Value::Member> entries = members(object);
  std::vector<std::string_view> keys;
  keys.reserve(entries.size());
  for (const auto& entry : entries) {
    keys.push_back(as_string(entry.name));
  }
  if (keys_in_order(keys)) {
    return;
  }
  std::vector<Value> names;
  std::vector<Value> values;
  const std::vector<Kept> kept = kept_members(keys);
  for (const Kept& member : kept) {
    names.push_back(std::move(entries[member.first].name));
    values.push_back(std::move(entries[member.last].value));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    entries[i].name = std::move(names[i]);
    entries[i].value = std::move(values[i]);
  }
  object.EraseMember(object.MemberBegin() + static_cast<std::ptrdiff_t>(kept.size()), object.MemberEnd());
}

}  // namespace

void reorder_keys(Value& root) {
  std::vector<Value*> todo{&root};
  while (!todo.empty()) {
    Value& value = *todo.back();
    todo.pop_back();
    if (value.IsObject()) {
      reorder_object(value);
      for (auto& entry : members(value)) {
        if (entry.value.IsObject() || entry.value.IsArray()) {
          todo.push_back(&entry.value);
        }
      }
    } else if (value.IsArray()) {
      for (auto& element : value.GetArray()) {
        if (element.IsObject() || element.IsArray()) {
          todo.push_back(&element);
        }
      }
    }
  }
}

}  // namespace arborfs::json
