// The bytes of one readable file of the mount, fixed when it is built: literal text, ranges of a log, and parts that
// are rendered when they are read but whose size is already known. Never mixes two states of a log (CONTRACT.md 2.5):
// reading a range that its log no longer has fails with `stale`.
// Built by one thread, then shared by many. Copies share the parts added so far; parts added later belong to one copy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/utf8.h"
#include "core/log/log_source.h"

namespace arborfs {

/// Provides the blobs for references. Implemented by core/store/blob_store.h. Thread-safe.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  /// The bytes of a blob, checked against its name (64 lower-case hex digits). Nullopt if it is missing, truncated or
  /// does not match its name: the reference then stays as it is (CONTRACT.md 7.7).
  [[nodiscard]] virtual std::optional<std::string> read_blob(std::string_view hash) const = 0;
};

class Content {
 public:
  using Renderer = std::function<Result<std::string>()>;

  Content();

  void add_text(std::string_view text);  // appended to a preceding literal segment, if any
  void add_range(std::shared_ptr<const LogSource> log, std::uint64_t offset, std::uint64_t length);
  /// The same for JSON text of the agent's: each part of it that is not UTF-8 is shown as `decode` returns it, because
  /// JSON is UTF-8 whatever its log is (CONTRACT.md 2.5). Reads the range, with bounded memory. Errors: stale, io.
  Result<void> add_json(const std::shared_ptr<const LogSource>& log, std::uint64_t offset, std::uint64_t length,
                        std::string (*decode)(std::string_view) = json::decode_utf8);
  /// `render` is called from any thread and must always return exactly `size` bytes; else reads fail with `stale`.
  /// `kept`: the bytes of memory that it alone keeps, for memory_bytes().
  void add_rendered(std::uint64_t size, Renderer render, std::size_t kept = 0);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Up to `length` bytes from `offset`, fewer only at the end. Errors: stale, io, and those of a renderer.
  /// The last rendered part is cached until its end is read, so reading it piece by piece renders it once.
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::uint64_t length) const;
  /// Everything, for tools and tests; memory as large as the content.
  [[nodiscard]] Result<std::string> read_all() const { return read(0, size_); }

  /// Approximate heap use in bytes, for caches with a memory limit.
  [[nodiscard]] std::size_t memory_bytes() const;

  /// A range that can be spliced from a descriptor instead of read; see stretch_at.
  struct Stretch {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::shared_ptr<const File> keep;  // holds `fd` open
  };
  /// The spliceable range that starts at `offset`, at most `length` bytes; fd is -1 if no file holds these bytes as
  /// they are, and `length` is then how many bytes that applies to.
  [[nodiscard]] Stretch stretch_at(std::uint64_t offset, std::uint64_t length) const;

 private:
  struct Segment {
    std::uint64_t start = 0;  // in the content
    std::uint64_t size = 0;
    std::string text;  // literal, used if log and render are null
    std::shared_ptr<const LogSource> log;
    std::uint64_t log_offset = 0;
    std::shared_ptr<const Renderer> render;
    std::size_t kept = 0;  // by `render`
  };
  struct LastRendered;
  Segment& add_segment(std::uint64_t size);
  [[nodiscard]] std::size_t segment_at(std::uint64_t offset) const;
  [[nodiscard]] Result<void> read_segment(const Segment& segment, std::uint64_t from, std::uint64_t length,
                                          std::string& out) const;
  [[nodiscard]] Result<void> read_rendered(const Segment& segment, std::uint64_t from, std::uint64_t length,
                                           std::string& out) const;
  std::vector<Segment> segments_;
  std::uint64_t size_ = 0;
  std::shared_ptr<LastRendered> last_rendered_;
};

/// `{"messages":[` newline, each item on its own line, `]}` newline. `add(content, item)` adds one and returns a
/// Result<void>. Errors: those of `add`.
template <class Items, class Add>
Result<std::shared_ptr<const Content>> message_list(const Items& items, const Add& add) {
  auto content = std::make_shared<Content>();
  content->add_text("{\"messages\":[");
  std::string_view before = "\n";
  for (const auto& item : items) {
    content->add_text(before);
    if (const Result<void> added = add(*content, item); !added) {
      return added.error();
    }
    before = ",\n";
  }
  content->add_text("\n]}\n");
  return std::shared_ptr<const Content>(std::move(content));
}

}  // namespace arborfs
