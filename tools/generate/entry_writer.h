// Writes the frame that all entries share: ids, parents, times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/generate/output.h"
#include "tools/generate/random.h"

namespace arborfs::generate {

using IdNumber = std::uint32_t;

/// An id in the agents' form: 8 hex digits.
std::string id_text(IdNumber id);

class EntryWriter {
 public:
  EntryWriter(const std::string& path, std::uint64_t seed, std::int64_t start_ms)
      : output_(path), id_salt_(static_cast<IdNumber>(Random(seed).next())), now_ms_(start_ms) {}

  std::string& out() { return output_.buffer(); }
  [[nodiscard]] std::uint64_t size() const { return output_.size(); }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  void pass_time(std::int64_t milliseconds) { now_ms_ += milliseconds; }

  /// Between begin and end the caller appends `,"key":value` members.
  void begin(std::string_view type);
  /// For types whose own members come before id and parent (omp/FORMAT.md H5).
  void begin_own_first(std::string_view type);
  IdNumber end();
  IdNumber end_own_first();
  /// Adds a long piece of the current entry, which need not fit into memory as a whole.
  void add_part(std::string_view text) {
    out() += text;
    output_.flush_if_full();
  }
  /// Writes one whole line that is not an entry.
  void line(std::string_view text);

  void move_leaf(IdNumber to) { leaf_ = to; }
  Result<void> close() { return output_.close(); }

 private:
  void add_frame();
  Output output_;
  const IdNumber id_salt_;
  std::int64_t now_ms_;
  std::optional<IdNumber> leaf_;
  IdNumber current_ = 0;
  std::uint32_t entries_ = 0;
};

}  // namespace arborfs::generate
