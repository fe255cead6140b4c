#include "tools/generate/shapes.h"

#include "tools/generate/entry_text.h"
#include "tools/generate/entry_writer.h"
#include "tools/generate/session_log.h"

namespace arborfs::generate {
namespace {

constexpr std::uint64_t kSeed = 7;

class ShapeWriter {
 public:
  explicit ShapeWriter(const std::string& path) : entries_(path, kSeed, kFirstStartMs) {
    entries_.line(R"({"type":"session","version":3,"id":"1470cb256c2cc736","timestamp":"2026-01-05T08:00:00.000Z",)"
                  R"("cwd":"/srv/shapes"})");
  }
  IdNumber user(std::string_view text) {
    begin_user();
    entries_.out() += text;
    return end_user();
  }
  void begin_user() {
    entries_.pass_time(1000);
    entries_.begin("message");
    entries_.out() += R"(,"message":{"role":"user","content":")";
  }
  IdNumber end_user() {
    entries_.out() += "\",";
    add_number(entries_.out(), "timestamp", static_cast<std::uint64_t>(entries_.now_ms()));
    entries_.out() += '}';
    return entries_.end();
  }
  EntryWriter& entries() { return entries_; }

 private:
  EntryWriter entries_;
};

}  // namespace

Result<void> write_small_entries(const std::string& path, std::uint64_t count) {
  ShapeWriter shape(path);
  Random random(kSeed);
  std::vector<IdNumber> last(100);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i >= last.size() && random.one_in(100)) {
      shape.entries().move_leaf(last[random.below(last.size())]);
    }
    last[i % last.size()] = shape.user("note " + std::to_string(i));
  }
  return shape.entries().close();
}

Result<void> write_chain(const std::string& path, std::uint64_t depth) {
  ShapeWriter shape(path);
  for (std::uint64_t i = 0; i < depth; ++i) {
    shape.user("x");
  }
  return shape.entries().close();
}

Result<void> write_giant_line(const std::string& path, std::uint64_t megabytes) {
  ShapeWriter shape(path);
  std::string megabyte(1'000'000, 'a');
  for (std::size_t i = 79; i < megabyte.size(); i += 80) {
    megabyte.replace(i - 1, 2, "\\n");
  }
  shape.user("before");
  shape.begin_user();
  for (std::uint64_t i = 0; i < megabytes; ++i) {
    shape.entries().add_part(megabyte);
  }
  shape.end_user();
  shape.user("after");
  return shape.entries().close();
}

Result<void> write_brackets(const std::string& path, std::uint64_t count) {
  ShapeWriter shape(path);
  shape.user("before");
  shape.entries().line(std::string(count, '['));
  shape.user("after");
  shape.user("last");
  return shape.entries().close();
}

}  // namespace arborfs::generate
