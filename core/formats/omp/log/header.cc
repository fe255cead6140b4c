#include "core/formats/omp/log/header.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/log/log_source.h"

namespace arborfs::omp {

namespace {

constexpr std::size_t kLongestSlot = 64 * 1024;             // the agents write 256 bytes
constexpr std::uint64_t kLongestHeader = 16 * 1024 * 1024;  // held in memory as a document
constexpr double kCurrentVersion = 3;
constexpr std::string_view kBom = "\xEF\xBB\xBF";

double string_to_number(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\v\f");
  if (begin == std::string_view::npos) {
    return 0;
  }
  text = text.substr(begin, text.find_last_not_of(" \t\r\n\v\f") - begin + 1);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() && std::isfinite(number)
             ? number
             : std::numeric_limits<double>::quiet_NaN();
}

// ECMAScript ToNumber, as the comparisons with `version` apply it (omp/FORMAT.md E8).
double to_number(const json::Value* value) {
  while (value != nullptr && value->IsArray() && value->Size() == 1) {
    value = &(*value)[0];
    if (value->IsBool()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (value == nullptr || value->IsNull() || value->IsFalse() || (value->IsArray() && value->Empty())) {
    return 0;
  }
  if (value->IsTrue()) {
    return 1;
  }
  if (value->IsNumber()) {
    return value->GetDouble();
  }
  return value->IsString() ? string_to_number(json::as_string(*value)) : std::numeric_limits<double>::quiet_NaN();
}

double version_of(const json::Value& header) {
  const json::Value* version = json::member(header, "version");
  return version == nullptr || version->IsNull() ? 1 : to_number(version);
}

void put_or_erase(json::Document& header, std::string_view key, const std::string& text) {
  if (text.empty()) {
    json::erase(header, key);
  } else {
    json::set(header, key, json::make_string(text, header), header);
  }
}

// Why the value is not a header; "" if it is one (omp/FORMAT.md A12).
std::string problem_of(const json::Value& value) {
  if (!value.IsObject() || !json::is_string(json::member(value, "type"), "session")) {
    return "the log does not start with a session header";
  }
  const json::Value* id = json::member(value, "id");
  return id != nullptr && id->IsString() ? "" : "the session header has no id";
}

// Migrates the document to the current version, and records in `out` the consequences of the old version for the
// entries.
void migrate(json::Document& document, Header& out) {
  const double version = version_of(document);
  out.writable_version = !(version > kCurrentVersion);
  out.migrated = !(version >= kCurrentVersion);
  out.gives_ids = version < 2;
  if (version < kCurrentVersion) {
    json::set(document, "version", json::Value(kCurrentVersion), document);
  }
}

// A cheap check that avoids parsing, because most first lines are not slots. Keys may be spelled with escapes.
bool looks_like_slot(std::string_view line) {
  const auto has = [line](std::string_view text) { return line.find(text) != std::string_view::npos; };
  return has("title") && (has("\"pad\"") || has("\\"));
}

constexpr std::string_view kType = "\"session_info\"";
constexpr std::uint64_t kSearched = 4 << 20;

/// The name that a line gives the session; nothing when the line is not a session_info.
std::optional<std::string> name_in(std::string_view line) {
  json::Document entry;
  if (!json::parse(line, entry) || !entry.IsObject() || !json::is_string(json::member(entry, "type"), "session_info")) {
    return std::nullopt;
  }
  return std::string(trimmed(json::string_member(entry, "name").value_or("")));
}

Header invalid_header(std::string problem, bool has_slot) {
  Header header;
  header.problem = std::move(problem);
  header.has_slot = has_slot;
  return header;
}

}  // namespace

std::optional<TitleSlot> parse_title_slot_line(std::string_view line) {
  json::Document value;
  line.remove_prefix(line.starts_with(kBom) ? kBom.size() : 0);
  if (!looks_like_slot(line) || !json::parse(line, value) || !value.IsObject() ||
      !json::is_string(json::member(value, "type"), "title")) {
    return std::nullopt;
  }
  const json::Value* version = json::member(value, "v");
  const json::Value* source = json::member(value, "source");
  const bool source_fits = source == nullptr || json::is_string(source, "auto") || json::is_string(source, "user");
  const auto title = json::string_member(value, "title");
  if (version == nullptr || !version->IsNumber() || version->GetDouble() != 1 || !source_fits || !title ||
      !json::string_member(value, "updatedAt") || !json::string_member(value, "pad")) {
    return std::nullopt;
  }
  return TitleSlot{std::string(*title), source == nullptr ? "" : std::string(json::as_string(*source))};
}

Result<LogHead> read_head(LogWindow& window, std::optional<Dialect> dialect) {
  LogHead head;
  if (dialect == Dialect::omp13) {
    return head;
  }
  ASSIGN_OR_RETURN(auto text, window.view(0, 1));
  if (text.find('\n') == std::string_view::npos) {
    ASSIGN_OR_RETURN(text, window.view(0, kLongestSlot));
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() == text.size()) {
    head.may_be_slot = line.size() < kLongestSlot;
    return head;
  }
  if (line.size() < kLongestSlot) {
    head.slot = parse_title_slot_line(line);
    head.slot_end = head.slot ? line.size() + 1 : 0;
  }
  return head;
}

Header missing_header(bool has_slot) {
  return invalid_header(std::string(kNoRecords), has_slot);
}

void set_name(Header& header, const std::string& name) {
  header.is_named = true;
  header.title = name;
  json::Document document;
  if (json::parse(header.json, document) && document.IsObject()) {
    put_or_erase(document, "title", name);
    header.json = json::stringify(document);
  }
}

Header make_header(std::string_view json, std::uint64_t offset, const std::optional<TitleSlot>& slot) {
  json::Document document;
  static_cast<void>(json::parse(json, document));
  Header out = invalid_header(problem_of(document), slot.has_value());
  out.offset = offset;
  out.length = json.size();
  out.valid = out.problem.empty();
  if (!out.valid) {
    return out;
  }
  if (slot) {
    put_or_erase(document, "title", slot->title);
    put_or_erase(document, "titleSource", slot->source);
  }
  migrate(document, out);
  json::stringify(document, out.json);
  out.id = json::text_member(document, "id");
  out.cwd = json::text_member(document, "cwd");
  out.title = json::text_member(document, "title");
  out.parent_session = json::text_member(document, "parentSession");
  out.timestamp = json::text_member(document, "timestamp");
  return out;
}

Result<Header> read_session_header(LogWindow& window, std::uint64_t offset, std::uint64_t length,
                                   const std::optional<TitleSlot>& slot) {
  if (length > kLongestHeader) {
    Header out = invalid_header("the log's first record is too long for a session header", slot.has_value());
    out.offset = offset;
    out.length = length;
    return out;
  }
  const auto size = static_cast<std::size_t>(length);
  ASSIGN_OR_RETURN(auto text, window.view(offset, size));
  return make_header(text.substr(0, size), offset, slot);
}

bool is_uuid(std::string_view id) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return id.size() == kShape.size() && std::equal(id.begin(), id.end(), kShape.begin(), [](char c, char shape) {
           return shape == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

Result<std::optional<std::string>> read_session_name(LogWindow& window, std::uint64_t offset, std::uint64_t length) {
  const auto size = static_cast<std::size_t>(length);
  ASSIGN_OR_RETURN(const auto text, window.view(offset, size));
  return std::optional(name_in(text.substr(0, size)).value_or(""));
}

/// From the last line to the first, each parsed once at most.
Result<std::optional<std::string>> find_session_name(const LogSource& log) {
  ASSIGN_OR_RETURN(const auto size, log.size());
  const std::uint64_t from = size - std::min(size, kSearched);
  auto read = log.read(from, size - from);
  if (!read) {
    return read.error().code == Errc::stale ? Result<std::optional<std::string>>(std::nullopt) : read.error();
  }
  std::string_view left = *read;
  for (std::size_t at = left.rfind(kType); at != std::string_view::npos; at = left.rfind(kType)) {
    const std::size_t line_feed = left.rfind('\n', at);
    if (line_feed == std::string_view::npos && from != 0) {
      break;  // the line begins before the bytes read so far
    }
    const std::size_t start = line_feed == std::string_view::npos ? 0 : line_feed + 1;
    const std::string_view line = left.substr(start, left.find('\n', at) - start);
    if (auto name = line.size() <= kLongestNamingEntry ? name_in(line) : std::nullopt) {
      return name;
    }
    left = left.substr(0, start);
  }
  return std::optional<std::string>();
}

}  // namespace arborfs::omp
