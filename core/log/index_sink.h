// Builds an index from the records that a reader finds. Internal to core/log.
#pragma once

#include <utility>

#include "core/base/result_macros.h"
#include "core/log/index_state.h"
#include "core/log/record_reader.h"

namespace arborfs {

class IndexSink : public RecordSink {
 public:
  /// Adds to `state`, which must keep hashes.
  explicit IndexSink(IndexState& state) : state_(state) {}

  void set_header(Header header) override {
    state_.header = std::move(header);
    state_.values = state_.header.valid ? 1 : 0;
  }
  Result<void> add(const RecordFields& record, std::uint64_t hash) override {
    if (!state_.has_room()) {
      return too_many_entries();
    }
    state_.admit(record);
    state_.hashes.push_back(hash);
    return {};
  }
  void add(const Damage& damage) override {
    state_.losses.damage.push_back(damage);
    ++state_.losses.malformed;
  }
  using RecordSink::leave_out;
  void leave_out(std::string_view type, std::uint64_t count) override { state_.not_shown.add(type, count); }
  void set_leaf(Ordinal leaf) override { state_.leaf = leaf; }
  void set_settled(Ordinal entries) override { state_.settled = entries; }
  [[nodiscard]] Ordinal find(std::string_view id) const override {
    const IdHandle handle = state_.ids.find(id);
    return handle == 0 ? kNoEntry : state_.ids.owner(handle);
  }
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const override {
    const IdHandle handle = state_.entries.at(ordinal).parent;
    return handle == 0 ? kNoEntry : state_.ids.owner(handle);
  }
  [[nodiscard]] std::string id(Ordinal ordinal) const override {
    return state_.ids.get(state_.entries.at(ordinal).id).text;
  }

 private:
  IndexState& state_;
};

}  // namespace arborfs
