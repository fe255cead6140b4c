#include "tests/support/text_format.h"

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/json/document.h"
#include "core/log/line_reader.h"
#include "core/log/record_reader.h"
#include "core/store/log_listing.h"

namespace arborfs::testing {
namespace {

FieldValue text_value(std::string_view text) {
  FieldValue value;
  value.kind = FieldValue::Kind::string;
  value.text = text;
  return value;
}

Header header_of(const LineReader::Line* line) {
  Header header;
  header.valid = line != nullptr;
  header.problem = line == nullptr ? "the file is empty" : "";
  header.json = "{}";
  header.title = line == nullptr ? "" : line->text;
  return header;
}

std::string_view spoken_by(std::string_view line) {
  return line.substr(0, line.find(':'));
}

class TextReader : public RecordReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override {
    ASSIGN_OR_RETURN(const auto size, log.size());
    LineReader lines(log, size, {});
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    return header_of(line);
  }

  Result<void> read(const LogSource& log, RecordSink& sink, const std::stop_token& stop) const override {
    ASSIGN_OR_RETURN(const auto size, log.size());
    LineReader lines(log, size, stop);
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    sink.set_header(header_of(line));
    for (int number = 1; line != nullptr; ++number) {
      ASSIGN_OR_RETURN(line, lines.next());
      if (line != nullptr) {
        RETURN_IF_ERROR(add(*line, number, sink));
      }
    }
    return {};
  }

 private:
  static Result<void> add(const LineReader::Line& line, int number, RecordSink& sink) {
    const std::string id = std::to_string(number);
    const std::string parent = std::to_string(number - 1);
    RecordFields fields;
    fields.offset = line.offset;
    fields.length = line.length;
    fields.id = text_value(id);
    fields.parent = number == 1 ? FieldValue() : text_value(parent);
    fields.type = text_value("message");
    fields.role = text_value(spoken_by(line.text));
    return sink.add(fields, xxh64(line.text));
  }
};

class TextRenderer : public RecordRenderer {
 public:
  void render(EntryType /*type*/, std::string_view raw, std::string& out) const override {
    out += visible(words_of(raw)) + "\n";
  }
  [[nodiscard]] TextMeasure measure(EntryType type, std::string_view raw) const override {
    std::string text;
    render(type, raw, text);
    return TextMeasure{text.size(), {}, {}};
  }
  [[nodiscard]] std::optional<EntryUsage> usage(EntryType /*type*/, std::string_view /*raw*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::string first_words(EntryType /*type*/, std::string_view raw, std::size_t columns) const override {
    return visible_line(words_of(raw), columns);
  }
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(
      const ContextPath& path, std::shared_ptr<const LogSource> log,
      std::shared_ptr<const BlobSource> /*blobs*/) const override {
    std::string messages;
    for (const auto& step : path.steps) {
      ASSIGN_OR_RETURN(const auto raw, log->read(step.entry.offset, step.length));
      messages += messages.empty() ? "\n" : ",\n";
      messages += R"({"role":)" + json::stringify_string(spoken_by(raw)) + R"(,"content":)" +
                  json::stringify_string(words_of(raw)) + "}";
    }
    auto content = std::make_shared<Content>();
    content->add_text("{\"messages\":[" + messages + "\n]}\n");
    return std::shared_ptr<const Content>(std::move(content));
  }

 private:
  static std::string_view words_of(std::string_view raw) {
    const std::size_t colon = raw.find(": ");
    return colon == std::string_view::npos ? raw : raw.substr(colon + 2);
  }
};

}  // namespace

const Format& text_format() {
  static const TextReader reader;
  static const TextRenderer renderer;
  static const Format format{.agent = "text", .name = "text-lines", .reader = &reader, .renderer = &renderer};
  return format;
}

std::shared_ptr<Store> make_text_store(const std::string& folder, Disk& disk) {
  const std::filesystem::path path(folder);
  StorePaths paths;
  paths.agent_dir = path.parent_path();
  paths.sessions = path.parent_path();
  return std::make_shared<LogFolderStore>(text_format(), std::move(paths), path.filename(), ".txt", disk);
}

}  // namespace arborfs::testing
