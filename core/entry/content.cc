#include "core/entry/content.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/error.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kCheckedAtOnce = 1 << 20;

}  // namespace

// Caches the bytes of the last rendered segment while it is being read piece by piece.
struct Content::LastRendered {
  std::mutex mutex;  // a leaf: nothing is called under it
  std::shared_ptr<const Renderer> of;
  std::shared_ptr<const std::string> bytes;

  std::shared_ptr<const std::string> find(const std::shared_ptr<const Renderer>& render) {
    const std::scoped_lock lock(mutex);
    return of == render ? bytes : nullptr;
  }
  void keep(std::shared_ptr<const Renderer> render, std::shared_ptr<const std::string> text) {
    const std::scoped_lock lock(mutex);
    of = std::move(render);
    bytes = std::move(text);
  }
  void forget(const std::shared_ptr<const Renderer>& render) {
    const std::scoped_lock lock(mutex);
    if (of == render) {
      of = nullptr;
      bytes = nullptr;
    }
  }
};

Content::Content() : last_rendered_(std::make_shared<LastRendered>()) {}

Content::Segment& Content::add_segment(std::uint64_t size) {
  Segment& segment = segments_.emplace_back();
  segment.start = size_;
  segment.size = size;
  size_ += size;
  return segment;
}

void Content::add_text(std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (segments_.empty() || segments_.back().log || segments_.back().render) {
    add_segment(0);
  }
  segments_.back().text.append(text);
  segments_.back().size += text.size();
  size_ += text.size();
}

void Content::add_range(std::shared_ptr<const LogSource> log, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) {
    return;
  }
  if (!segments_.empty() && segments_.back().log == log &&
      segments_.back().log_offset + segments_.back().size == offset) {
    segments_.back().size += length;
    size_ += length;
    return;
  }
  Segment& segment = add_segment(length);
  segment.log = std::move(log);
  segment.log_offset = offset;
}

Result<void> Content::add_json(const std::shared_ptr<const LogSource>& log, std::uint64_t offset, std::uint64_t length,
                               std::string (*decode)(std::string_view)) {
  const std::uint64_t end = offset + length;
  std::uint64_t valid_from = offset;
  while (offset < end) {
    ASSIGN_OR_RETURN(auto bytes, log->read(offset, std::min(kCheckedAtOnce, end - offset)));
    if (offset + bytes.size() < end) {
      bytes.resize(bytes.size() - json::cut_at_end(bytes));
    }
    if (!json::is_valid_utf8(bytes)) {
      add_range(log, valid_from, offset - valid_from);
      add_rendered(decode(bytes).size(), [log, offset, size = bytes.size(), decode]() -> Result<std::string> {
        ASSIGN_OR_RETURN(const auto again, log->read(offset, size));
        return decode(again);
      });
      valid_from = offset + bytes.size();
    }
    offset += bytes.size();
  }
  add_range(log, valid_from, end - valid_from);
  return {};
}

void Content::add_rendered(std::uint64_t size, Renderer render, std::size_t kept) {
  if (size != 0) {
    Segment& segment = add_segment(size);
    segment.render = std::make_shared<const Renderer>(std::move(render));
    segment.kept = kept;
  }
}

Result<std::string> Content::read(std::uint64_t offset, std::uint64_t length) const {
  std::string out;
  if (offset >= size_ || length == 0) {
    return out;
  }
  const std::uint64_t end = offset + std::min(length, size_ - offset);
  out.reserve(end - offset);
  for (std::size_t at = segment_at(offset); offset < end; ++at) {
    const Segment& segment = segments_[at];
    const std::uint64_t from = offset - segment.start;
    const std::uint64_t count = std::min(end - offset, segment.size - from);
    RETURN_IF_ERROR(read_segment(segment, from, count, out));
    offset += count;
  }
  return out;
}

Content::Stretch Content::stretch_at(std::uint64_t offset, std::uint64_t length) const {
  Stretch stretch;
  if (offset >= size_) {
    return stretch;
  }
  const Segment& segment = segments_[segment_at(offset)];
  const std::uint64_t from = offset - segment.start;
  stretch.length = std::min(length, segment.size - from);
  if (segment.log && (stretch.keep = segment.log->splice_file())) {
    stretch.fd = stretch.keep->fd();
    stretch.offset = segment.log_offset + from;
  }
  return stretch;
}

// `offset` must be inside the content.
std::size_t Content::segment_at(std::uint64_t offset) const {
  const auto behind =
      std::upper_bound(segments_.begin(), segments_.end(), offset,
                       [](std::uint64_t value, const Segment& segment) { return value < segment.start; });
  return static_cast<std::size_t>(behind - segments_.begin()) - 1;
}

Result<void> Content::read_segment(const Segment& segment, std::uint64_t from, std::uint64_t length,
                                   std::string& out) const {
  if (segment.render) {
    return read_rendered(segment, from, length, out);
  }
  if (!segment.log) {
    out.append(segment.text, from, length);
    return {};
  }
  const std::size_t had = out.size();
  out.resize(had + length);
  ASSIGN_OR_RETURN(auto got, segment.log->read_at(segment.log_offset + from, std::span<char>(out).subspan(had)));
  if (got < length) {
    return {Errc::stale, "the log changed during the read; open the file again"};
  }
  return {};
}

Result<void> Content::read_rendered(const Segment& segment, std::uint64_t from, std::uint64_t length,
                                    std::string& out) const {
  std::shared_ptr<const std::string> bytes = last_rendered_->find(segment.render);
  if (!bytes) {
    ASSIGN_OR_RETURN(auto rendered, (*segment.render)());
    if (rendered.size() != segment.size) {
      return {Errc::stale, "the log changed while an entry was rendered; try again"};
    }
    bytes = std::make_shared<const std::string>(std::move(rendered));
  }
  out.append(*bytes, from, length);
  if (from + length < segment.size) {
    last_rendered_->keep(segment.render, std::move(bytes));
  } else {
    last_rendered_->forget(segment.render);
  }
  return {};
}

std::size_t Content::memory_bytes() const {
  std::size_t bytes = segments_.capacity() * sizeof(Segment);
  for (const auto& segment : segments_) {
    bytes += segment.text.capacity() + segment.kept;
  }
  return bytes;
}

}  // namespace arborfs
