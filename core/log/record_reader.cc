#include "core/log/record_reader.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/log/index_state.h"

namespace arborfs {

namespace {

/// Makes the index of what a reader finds.
class IndexSink : public RecordSink {
 public:
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
  void set_leaf(Ordinal leaf) override { state_.leaf = leaf; }
  [[nodiscard]] Ordinal find(std::string_view id) const override {
    const IdHandle handle = state_.ids.find(id);
    return handle == 0 ? kNoEntry : state_.ids.owner(handle);
  }
  [[nodiscard]] Ordinal parent(Ordinal ordinal) const override {
    const IdHandle handle = state_.entries.at(ordinal).parent;
    return handle == 0 ? kNoEntry : state_.ids.owner(handle);
  }

 private:
  IndexState& state_;
};

}  // namespace

Result<std::unique_ptr<LogIndex>> RecordReader::index(const LogSource& log, const IndexOptions& options) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  auto state = std::make_unique<IndexState>();
  state->header.problem = "the log is empty";
  state->has_hashes = true;
  IndexSink sink(*state);
  RETURN_IF_ERROR(read(log, sink, options.cancelled));
  state->scanned_size = size;
  state->finish();
  return std::make_unique<LogIndex>(std::move(state));
}

}  // namespace arborfs
