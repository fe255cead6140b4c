// Any bytes as the files of a session of OpenCode: entries are in the log and one line each, texts have their promised
// sizes, the context is JSON. The first line of an input is the session's own data; then come messages, a line each,
// with the lines of their parts after them, which begin with a space.
#include <string>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/formats/opencode/format.h"
#include "core/formats/opencode/session_archive.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "tests/fuzz/support/check.h"
#include "tests/fuzz/support/visible.h"

namespace arborfs::fuzz {
namespace {

constexpr std::size_t kLongest = 32 * 1024;
constexpr std::size_t kColumns = 20;

/// A session in memory with data of its own.
class Session final : public LogSource {
 public:
  Session(std::string metadata, const std::string& bytes)
      : LogSource(FileStat()), metadata_(std::move(metadata)), bytes_(log_from_bytes(bytes)) {}
  [[nodiscard]] Result<std::uint64_t> size() const override { return bytes_->size(); }
  [[nodiscard]] Result<FileStat> stat() const override { return opened(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    return bytes_->read_at(offset, into);
  }
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return metadata_; }

 private:
  const std::string metadata_;
  const std::shared_ptr<const LogSource> bytes_;
};

/// The session that the input describes.
std::shared_ptr<const Session> session_of(std::string_view input) {
  json::Text metadata = json::Text::object();
  std::string bytes;
  std::vector<opencode::EntryText> open;
  const auto end_entry = [&] {
    if (!open.empty()) {
      bytes += std::move(open.back()).take();
      open.clear();
    }
  };
  for (bool is_first = true; !input.empty(); is_first = false) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (is_first) {
      opencode::add_value(metadata, "info", line);
    } else if (line.starts_with(' ') && !open.empty()) {
      open.back().add_part(line.substr(1), R"("messageID":"m")");
    } else {
      end_entry();
      open.emplace_back().set_info(line, "");
    }
  }
  end_entry();
  return std::make_shared<Session>(metadata.str(), bytes);
}

void check_entry(const Format& format, const LogSource& log, const LogIndex& index, Ordinal ordinal) {
  const Entry& entry = index.entry(ordinal);
  const auto raw = log.read(entry.offset, index.length(ordinal));
  check(raw.has_value(), "an entry outside of the log");
  check(raw->find('\n') == std::string::npos, "an entry of several lines", *raw);
  json::Document record;
  check(json::parse(*raw, record), "an entry that is not JSON", *raw);
  check(json::member(record, "info") != nullptr && json::member(record, "parts") != nullptr, "no entry", *raw);
  std::string text;
  format.renderer->render(entry.type, *raw, text);
  check_equal(format.renderer->measure(entry.type, *raw).size, text.size(), "measured size of a text");
  check(text.ends_with('\n'), "a text ends with a line feed", text);
  check(json::is_valid_utf8(text), "a text that is not UTF-8", text);
  check_visible(text, "\n\t");
  check_visible(format.renderer->first_words(entry.type, *raw, kColumns));
}

void check_context(const Format& format, const std::shared_ptr<const Session>& log, const LogIndex& index,
                   Ordinal leaf) {
  const auto context = format.renderer->context(context_path(index, leaf), log, nullptr);
  const auto text = context ? (*context)->read_all() : Result<std::string>(context.error());
  check(text.has_value(), "a context cannot be read");
  json::Document parsed;
  check(json::parse(*text, parsed), "a context that is not JSON", *text);
  check(json::member(parsed, "messages")->GetArray().Size() <= leaf, "more messages than there are");
}

void check_format(const Format& format, const std::shared_ptr<const Session>& log) {
  const auto built = format.reader->index(*log, {});
  check(built.has_value(), "an index of bytes in memory cannot fail");
  const LogIndex& index = **built;
  check(!index.has_duplicate_ids(), "two entries with one id");
  check(index.leaf() <= index.size(), "a leaf that is no entry");
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    check_equal(index.parent(ordinal), ordinal - 1, "parent of a message");
    check_entry(format, *log, index, ordinal);
  }
  check_context(format, log, index, index.leaf());
  check_context(format, log, index, index.size());
}

}  // namespace

void run(std::string_view input) {
  if (input.size() > kLongest) {
    return;
  }
  const auto log = session_of(input);
  check_format(opencode::format(), log);
  check_format(opencode::files_format(), log);
}

}  // namespace arborfs::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  arborfs::fuzz::run(arborfs::fuzz::as_text(data, size));
  return 0;
}
