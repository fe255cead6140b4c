#include "core/views/page_parts.h"

#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "core/os/disk.h"

namespace arborfs {
namespace {

constexpr std::uint64_t kInMemory = 1 << 20;

bool write_at(const File& file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const auto written = Disk::real().write_at(file.fd(), bytes, offset);
    if (!written || *written == 0) {
      return false;
    }
    bytes.remove_prefix(*written);
    offset += *written;
  }
  return true;
}

}  // namespace

std::shared_ptr<const File> PageParts::file() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_tried_, true)) {
    if (auto fd = make_scratch_file()) {
      file_ = std::make_shared<const File>(File::of(*std::move(fd)));
    }
  }
  return file_;
}

PageParts::Part PageParts::keep(std::string text, bool must_keep) {
  Part part;
  part.size = text.size();
  const bool fits = in_memory_.fetch_add(part.size) + part.size <= kInMemory;
  if (const auto file = fits ? nullptr : this->file()) {
    part.offset = in_file_.fetch_add(part.size);
    if (write_at(*file, text, part.offset)) {
      part.where = Part::Where::file;
      return part;
    }
  }
  if (fits || must_keep) {
    part.where = Part::Where::memory;
    part.text = std::move(text);
  }
  return part;
}

void PageParts::add(Part part, Content& content) const {
  if (part.where == Part::Where::memory) {
    content.add_text(part.text);
    return;
  }
  const auto read = [file = file_, offset = part.offset, size = part.size] { return file->read(offset, size); };
  content.add_rendered(part.size, read, part.size);
}

Result<void> add_parts(const PartList& list, Content& content) {
  PageParts kept;
  std::vector<PageParts::Part> parts(list.count);
  std::vector<Result<void>> done(list.count);
  std::atomic<bool> has_failed{false};
  const auto make = [&](std::size_t number) {
    if (has_failed) {
      return;
    }
    auto text = list.render(number);
    if (!text) {
      done[number] = text.error();
      has_failed = true;
    } else {
      parts[number] = kept.keep(*std::move(text), list.is_once);
    }
  };
  if (list.is_once) {
    for (std::size_t number = 0; number < list.count; ++number) {
      make(number);
    }
  } else {
    parallel_for(list.count, make);
  }
  for (const Result<void>& one : done) {
    RETURN_IF_ERROR(one);
  }
  for (std::size_t number = 0; number < list.count; ++number) {
    PageParts::Part& part = parts[number];
    if (part.where != PageParts::Part::Where::nowhere) {
      kept.add(std::move(part), content);
    } else {
      content.add_rendered(
          part.size, [render = list.render, number] { return render(number); }, list.memory_of(number));
    }
  }
  return {};
}

}  // namespace arborfs
