#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "core/entry/markdown.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/entry/text_sizes.h"
#include "core/entry/value_text.h"
#include "core/formats/omp/context/context_source.h"
#include "core/formats/omp/context/renderer.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/log_index.h"

namespace arborfs::omp {

namespace {

/// The text of a `message` entry, by role, and of content blocks in any entry.
template <class Node, class Sink>
class MessageText : public Blocks<Node, Sink> {
  using Base = Blocks<Node, Sink>;

 public:
  using Base::Base;
  using typename Base::Text;

  void message(const Node& entry) {
    const Node message = entry.member("message");
    if (message.kind() != NodeKind::object) {
      return this->plain_value(entry);
    }
    const Text role = Base::text_of(message.member("role"));
    if (role == "bashExecution") {
      execution(message, "", "$ ", "command");
    } else if (role == "pythonExecution") {
      execution(message, "python", "", "code");
    } else if (role == "fileMention") {
      file_mention(message);
    } else if (role == "compactionSummary" || role == "branchSummary") {
      this->text_or_value(message.member("summary"));
    } else if (message.member("content").kind() == NodeKind::missing && role != "assistant") {
      this->plain_value(message);
    } else {
      conversation(message, role);
    }
  }

  /// A record that is not JSON.
  void verbatim(std::string_view raw) {
    this->fenced_text("", raw);
    this->end();
  }

  /// `content`, then 18's `images`, of a message or a custom message.
  void content_of(const Node& owner) {
    const Node content = owner.member("content");
    if (content.kind() == NodeKind::array) {
      each(content, [this](const Node& block) { content_block(block); });
    } else if (is_output_ && Base::is_text(content)) {
      this->fenced_text("", content.text());
    } else {
      this->text_or_value(content);
    }
    const Node images = owner.member("images");
    if (images.kind() == NodeKind::array) {
      each(images, [this](const Node& block) { content_block(block); });
    }
  }

  void custom_type(const Node& owner) {
    if (owner.member("customType").kind() != NodeKind::missing) {
      sentence(owner, "[{customType}]");
    }
  }

 private:
  template <class Each>
  static void each(const Node& list, Each visit) {
    typename Node::Cursor cursor(list);
    Text key;
    while (!cursor.done()) {
      visit(cursor.next(key));
    }
  }

  void conversation(const Node& message, const Text& role) {
    if (role == "custom" || role == "hookMessage") {
      custom_type(message);
    }
    if (role == "toolResult" && Base::is_true(message.member("isError"))) {
      sentence(message, "**error** from {toolName}");
    }
    is_output_ = role == "toolResult";
    content_of(message);
    if (role == "system") {
      sections(message.member("sections"));
    }
    if (role == "assistant") {
      const Text reason = Base::text_of(message.member("stopReason"));
      if (reason == "aborted" || reason == "error") {
        sentence(message, "**stopped**: {stopReason}");
      }
      this->paragraph(Base::text_of(message.member("errorMessage")));
    }
  }

  /// pi's system prompt (pi/FORMAT.md C3).
  void sections(const Node& sections) {
    if (sections.kind() == NodeKind::object) {
      this->in_order_ = this->in_order_ && sections.in_order();
      each(sections, [this](const Node& section) { this->text_or_value(section); });
    }
  }

  void content_block(const Node& block) {
    const Text type = Base::text_of(block.member("type"));
    const bool is_known = type == "text" || type == "thinking";
    const Node words = is_known ? block.member(type == "text" ? "text" : "thinking") : Node();
    if (Base::is_text(words) && type == "text" && is_output_) {
      this->fenced_text("", words.text());
    } else if (Base::is_text(words) && type == "text") {
      this->paragraph(words.text());
    } else if (Base::is_text(words)) {
      this->quote(words.text());
    } else if (type == "redactedThinking") {
      this->quote(std::string_view("(redacted)"));
    } else if (type == "toolCall") {
      tool_call(block);
    } else if (type == "image" && Base::is_text(block.member("data"))) {
      image(block);
    } else {
      this->text_or_value(block);
    }
  }

  void image(const Node& block) {
    this->begin_block();
    this->sink_.raw("[image ");
    this->sink_.raw(std::to_string(++this->images_));
    words(block, block.member("mimeType").kind() == NodeKind::missing ? "]" : ": {mimeType}]");
  }

  void tool_call(const Node& call) {
    const Node name = call.member("name");
    const Node arguments = call.member("arguments");
    this->fenced("", [&](auto& sink) {
      if (Base::is_text(name)) {
        put_line(sink, name.text());
      } else {
        sink.raw("(tool without a name)");
      }
      if (arguments.kind() == NodeKind::missing || Base::is_empty_container(arguments)) {
        return;
      }
      sink.raw("\n");
      if (is_container(arguments)) {
        this->outline(arguments, sink);
      } else if (Base::is_text(arguments)) {
        put_text(sink, without_end_newlines(arguments.text()));
      } else {
        put_plain_scalar(arguments, sink);
      }
    });
  }

  void execution(const Node& message, std::string_view language, std::string_view prompt, std::string_view key) {
    const Text code = without_end_newlines(Base::text_of(message.member(key)));
    this->fenced(language, [&](auto& sink) {
      sink.raw(prompt);
      put_text(sink, code);
    });
    this->fenced_text("", Base::text_of(message.member("output")));
    const Node exit_code = message.member("exitCode");
    if (exit_code.kind() == NodeKind::number && exit_code.number() != 0) {
      sentence(message, "exit code {exitCode}");
    }
    if (Base::is_true(message.member("cancelled"))) {
      this->paragraph(std::string_view("cancelled"));
    }
    if (Base::is_true(message.member("truncated"))) {
      this->paragraph(std::string_view("output truncated"));
    }
  }

  void file_mention(const Node& message) {
    const Node files = message.member("files");
    if (files.kind() != NodeKind::array) {
      return this->plain_value(message);
    }
    each(files, [this](const Node& file) {
      if (!Base::is_text(file.member("path"))) {
        return this->fenced_value(file);
      }
      sentence(file, "file {path}");
      this->fenced_text("", Base::text_of(file.member("content")));
      if (file.member("skippedReason").kind() != NodeKind::missing) {
        sentence(file, "skipped: {skippedReason}");
      }
    });
  }

 protected:
  bool is_output_ = false;  // NOLINT: the content is the output of a tool

  /// A block of one line, as words().
  void sentence(const Node& owner, std::string_view pattern) {
    this->begin_block();
    words(owner, pattern);
  }

  /// Puts the pattern with the values of the members of `owner`, or of an object in it, that are named in braces.
  void words(const Node& owner, std::string_view pattern) {
    for (std::size_t open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{')) {
      const std::size_t end = pattern.find('}', open);
      const std::string_view path = pattern.substr(open + 1, end - open - 1);
      const std::size_t dot = path.find('.');
      const Node outer = owner.member(path.substr(0, dot));
      this->sink_.raw(pattern.substr(0, open));
      this->phrase(dot == std::string_view::npos ? outer : outer.member(path.substr(dot + 1)));
      pattern.remove_prefix(end + 1);
    }
    this->sink_.raw(pattern);
  }
};

/// The text of an entry, by type.
template <class Node, class Sink>
class EntryText : public MessageText<Node, Sink> {
  using Base = MessageText<Node, Sink>;

 public:
  using Base::Base;

  /// Renders the whole entry. If false, the sink's content must be discarded (value_text.h).
  bool render(EntryType type, const Node& entry) {
    if (entry.kind() != NodeKind::object || !known(type, entry)) {
      this->plain_value(entry);
    }
    this->end();
    return this->in_order();
  }

 private:
  bool known(EntryType type, const Node& entry) {
    switch (type) {
      case EntryType::message:
        this->message(entry);
        return true;
      case EntryType::compaction:
      case EntryType::branch_summary:
        return summary(entry);
      case EntryType::custom_message:
        this->custom_type(entry);
        this->content_of(entry);
        return true;
      case EntryType::custom:
        this->custom_type(entry);
        this->text_or_value(entry.member("data"));
        return true;
      case EntryType::session_init:
        session_init(entry);
        return true;
      default:
        return one_sentence(type, entry);
    }
  }

  /// The types that are shown as one plain sentence.
  bool one_sentence(EntryType type, const Node& entry) {
    switch (type) {
      case EntryType::label:
        return label(entry);
      case EntryType::model_change:
        return model_change(entry);
      case EntryType::thinking_level_change:
        return change("Thinking level", entry.member("thinkingLevel"), "off");
      case EntryType::service_tier_change:
        return change("Service tier", entry.member("serviceTier"), "none");
      case EntryType::mode_change:
        return change("Mode", entry.member("mode"), "none") && details(entry.member("data"));
      case EntryType::title_change:
        return title_change(entry);
      case EntryType::session_info:
        return session_info(entry);
      case EntryType::context_edit:
        return context_edit(entry);
      case EntryType::ttsr_injection:
        return list("Rules injected: ", entry.member("injectedRules"), "No rules injected.");
      case EntryType::mcp_tool_selection:
        return list("MCP tools selected: ", entry.member("selectedToolNames"), "No MCP tools selected.");
      case EntryType::usage:
        return say(entry, "Model {provider}/{model} used for {kind}: {usage.input} tokens in, {usage.output} out.");
      case EntryType::model_usage:
        return say(entry, "Model {provider}/{model} used for {purpose}: {usage.input} tokens in, {usage.output} out.");
      case EntryType::credential_pin:
        return say(entry, "Credential pinned for {provider}.");
      case EntryType::reset_boundary:
        return say(entry, "Context reset: nothing before this is sent to the model.");
      default:
        return false;
    }
  }

  bool say(const Node& entry, std::string_view pattern) {
    this->sentence(entry, pattern);
    return true;
  }

  bool summary(const Node& entry) {
    const Node summary = entry.member("summary");
    this->text_or_value(summary);
    return summary.kind() != NodeKind::missing;
  }

  bool label(const Node& entry) {
    const Node text = entry.member("label");
    const bool clears = text.kind() == NodeKind::missing || text.kind() == NodeKind::null ||
                        (Base::is_text(text) && text.text().empty());
    return say(entry, clears ? "label cleared on {targetId}" : "label \"{label}\" on {targetId}");
  }

  bool model_change(const Node& entry) {
    const bool is_pis = entry.member("model").kind() == NodeKind::missing;
    this->sentence(entry, is_pis ? "Model changed to {provider}/{modelId}" : "Model changed to {model}");
    const Node role = entry.member("role");
    this->words(entry, Base::is_text(role) && !(role.text() == "default") ? " for the role {role}." : ".");
    return true;
  }

  bool change(std::string_view what, const Node& value, std::string_view nothing) {
    this->begin_block();
    this->sink_.raw(what);
    if (is_container(value)) {
      this->sink_.raw(" changed:");
      return details(value);
    }
    this->sink_.raw(" changed to ");
    if (value.kind() == NodeKind::missing || value.kind() == NodeKind::null) {
      this->sink_.raw(nothing);
    } else {
      this->phrase(value);
    }
    this->sink_.raw(".");
    return true;
  }

  bool details(const Node& value) {
    if (value.kind() != NodeKind::missing && value.kind() != NodeKind::null) {
      this->fenced_value(value);
    }
    return true;
  }

  bool title_change(const Node& entry) {
    this->sentence(entry, "Title changed to \"{title}\"");
    this->words(entry, Base::is_text(entry.member("previousTitle")) ? " from \"{previousTitle}\"." : ".");
    return true;
  }

  bool session_info(const Node& entry) {
    const Node name = entry.member("name");
    const bool clears = !Base::is_text(name) || name.text().empty();
    return say(entry, clears ? "Title cleared." : "Title changed to \"{name}\".");
  }

  bool context_edit(const Node& entry) {
    const Node replacement = entry.member("replacement");
    if (replacement.kind() != NodeKind::object) {
      return say(entry, "Taken out of the context: {targetId}");
    }
    this->sentence(entry, "Replaced in the context: {targetId}");
    this->content_of(replacement);
    return true;
  }

  bool list(std::string_view before, const Node& names, std::string_view nothing) {
    if (names.kind() == NodeKind::missing || Base::is_empty_container(names)) {
      this->paragraph(nothing);
      return true;
    }
    this->begin_block();
    this->sink_.raw(before);
    this->names(names);
    this->sink_.raw(".");
    return true;
  }

  void session_init(const Node& entry) {
    const Node tools = entry.member("tools");
    list("Started with the tools ", tools, "Started without tools.");
    section("**Task**", entry.member("task"));
    section("**System prompt**", entry.member("systemPrompt"));
    section("**Output schema**", entry.member("outputSchema"));
  }

  void section(std::string_view title, const Node& value) {
    if (value.kind() != NodeKind::missing && value.kind() != NodeKind::null) {
      this->paragraph(title);
      this->text_or_value(value);
    }
  }
};

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The number that JavaScript's `sum += value` adds for a JSON value: null and false count as 0, true as 1. NaN for an
// absent value, a string or a container.
template <class Node>
double as_addend(const Node& value) {
  switch (value.kind()) {
    case NodeKind::null:
      return 0;
    case NodeKind::boolean:
      return value.boolean() ? 1 : 0;
    case NodeKind::number:
      return value.number();
    default:
      return kMissing;
  }
}

// The last two numbers are optional.
constexpr Usage kNothing{kMissing, kMissing, kMissing, kMissing, kMissing, 0, 0, kMissing, 0};

constexpr std::uint8_t sum_of(Dialect dialect) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(dialect));
}
constexpr std::uint8_t kOfOmp = sum_of(Dialect::omp13) | sum_of(Dialect::omp18);
constexpr std::uint8_t kOfAll = kOfOmp | sum_of(Dialect::pi);
static_assert(static_cast<std::size_t>(Dialect::pi) < UsageTotals::kSums);

/// The dialects that count the usage of such an entry, since a log may show its dialect only at its end.
std::uint8_t counts_in(EntryType type, bool is_task) {
  switch (type) {
    case EntryType::model_usage:
      return sum_of(Dialect::omp18);
    case EntryType::usage:
    case EntryType::compaction:
    case EntryType::branch_summary:
      return sum_of(Dialect::pi);
    default:
      return is_task ? kOfOmp : kOfAll;
  }
}

// The sum for a member with that key; null for other members.
struct Field {
  std::string_view key;
  double Usage::*sum;
};
double* sum_of(Usage& usage, std::string_view key) {
  constexpr std::array kFields{Field{"input", &Usage::input},
                               Field{"output", &Usage::output},
                               Field{"cacheRead", &Usage::cache_read},
                               Field{"cacheWrite", &Usage::cache_write},
                               Field{"totalTokens", &Usage::total_tokens},
                               Field{"premiumRequests", &Usage::premium_requests}};
  const auto* const found =
      std::find_if(kFields.begin(), kFields.end(), [key](const Field& field) { return key == field.key; });
  return found == kFields.end() ? nullptr : &(usage.*found->sum);
}

template <class Node>
bool is_text(const Node& value, std::string_view text) {
  return value.kind() == NodeKind::string && value.text() == text;
}

// The usage object of an entry; missing if it has none. Sets `is_task` for that of a sub-agent, as omp's task tool
// reports it.
template <class Node>
Node usage_of(EntryType type, const Node& entry, bool& is_task) {
  if (type != EntryType::message) {
    return entry.member("usage");
  }
  const Node message = entry.member("message");
  const Node role = message.member("role");
  if (is_text(role, "assistant")) {
    return message.member("usage");
  }
  is_task = is_text(role, "toolResult") && is_text(message.member("toolName"), "task");
  return is_task ? message.member("details").member("usage") : Node();
}

bool may_have_usage(EntryType type) {
  switch (type) {
    case EntryType::message:
    case EntryType::model_usage:
    case EntryType::usage:  // this one and the next two of pi only (pi/FORMAT.md C10)
    case EntryType::compaction:
    case EntryType::branch_summary:
      return true;
    default:
      return false;
  }
}

template <class Node>
std::optional<Usage> find_usage_in(EntryType type, const Node& entry) {
  bool is_task = false;
  const Node object = may_have_usage(type) ? usage_of(type, entry, is_task) : Node();
  if (object.kind() != NodeKind::object) {
    return std::nullopt;
  }
  Usage usage = kNothing;
  usage.counts_in = counts_in(type, is_task);
  std::string_view key;
  for (typename Node::Cursor members(object); !members.done();) {
    const Node value = members.next(key);
    if (double* const sum = sum_of(usage, key)) {
      *sum = as_addend(value);
    } else if (key == "cost") {
      usage.cost = value.kind() == NodeKind::null ? 0 : as_addend(value.member("total"));
    }
  }
  return usage;
}

/// Entries whose text would be longer than this are treated as too long.
constexpr std::uint64_t kMaxText = std::uint64_t{64} << 20U;
/// No entry up to this size can have such a text (value_text.h bounds the growth).
constexpr std::uint64_t kCannotSwell = std::uint64_t{1} << 20U;
/// A parser that grew beyond this is not kept; it holds fourteen times as much memory, in each thread.
constexpr std::size_t kKeptParser = std::size_t{64} << 10U;
constexpr std::size_t kLongEntry = std::size_t{8} << 20U;
constexpr std::ptrdiff_t kManyValues = 500'000;

/// The parser of this thread, whose buffers are made once; it is replaced if a giant entry enlarged them.
class BorrowedParser {
 public:
  ~BorrowedParser() {
    if (kept().capacity() > kKeptParser) {
      kept() = simdjson::dom::parser();
    }
  }
  simdjson::dom::parser* operator->() { return &kept(); }

 private:
  static simdjson::dom::parser& kept() {
    thread_local simdjson::dom::parser parser;
    return parser;
  }
};

/// What is found while an entry is rendered.
struct Rendered {
  std::uint32_t images = 0;  // that its text mentions
  std::optional<Usage> usage;
};

/// Renders into a sink.
template <class Sink>
Rendered render_slowly(EntryType type, std::string_view raw, Sink& sink) {
  json::Document document;
  if (!json::parse(raw, document)) {
    EntryText<SlowNode, Sink>(sink).verbatim(raw);
    return {};
  }
  EntryText<SlowNode, Sink> text(sink);
  text.render(type, SlowNode(&document));
  return {text.images(), find_usage_in(type, SlowNode(&document))};
}

template <class Sink>
Rendered render(EntryType type, std::string_view raw, Sink& sink) {
  BorrowedParser parser;
  simdjson::dom::element root;
  if (parser->parse(raw.data(), raw.size()).get(root) == simdjson::SUCCESS) {
    EntryText<FastNode, Sink> text(sink);
    if (text.render(type, FastNode(root))) {
      return {text.images(), find_usage_in(type, FastNode(root))};
    }
    sink.rewind();
  }
  return render_slowly(type, raw, sink);
}

/// True for a long entry of very many small values, whose parsed form would be many times its size.
bool is_dense(std::string_view raw) {
  return raw.size() > kLongEntry && std::count(raw.begin(), raw.end(), ',') > kManyValues;
}

bool is_swollen(EntryType type, std::string_view raw) {
  if (raw.size() <= kCannotSwell) {
    return false;
  }
  if (is_dense(raw)) {
    return true;
  }
  CountingSink sink;
  render(type, raw, sink);
  return sink.size() > kMaxText;
}

/// As omp counts for its own statistics: a line that was written twice counts twice (omp/FORMAT.md C24).
std::optional<UsageReport> report_of(const std::optional<Usage>& usage) {
  std::optional<UsageReport> report;
  if (usage) {
    report.emplace().usage = *usage;
  }
  return report;
}

/// Sets where the image's data is; false for a reference that is not a valid hash. `literal` is a string within `raw`.
bool locate(std::string_view raw, std::string_view literal, ImageRef& image) {
  const std::string_view spelled = literal.substr(1, literal.size() - 2);
  const bool escaped = spelled.find('\\') != std::string_view::npos;
  const std::string text =
      escaped ? skim::string_value(literal).value_or("") : std::string(spelled.substr(0, 2 * kBlobPrefix.size() + 64));
  if (text.starts_with(kBlobPrefix)) {
    image.blob = blob_hash(text);
    return !image.blob.empty();
  }
  locate_base64(raw, spelled, image);
  return true;
}

void find_in(std::string_view raw, std::string_view list, ImageRef& next, std::vector<ImageRef>& images) {
  if (!list.starts_with('[')) {
    return;
  }
  skim::Cursor items(list);
  while (items.next()) {
    const std::string_view data = skim::member(items.value(), "data");
    if (!data.starts_with('"') || !skim::is_string(skim::member(items.value(), "type"), "image")) {
      continue;
    }
    ++next.number;
    ImageRef image = next;
    const auto mime_type = skim::string_value(skim::member(items.value(), "mimeType"));
    image.extension = names::image_extension(mime_type.value_or(""));
    if (locate(raw, data, image)) {
      images.push_back(std::move(image));
    }
  }
}

}  // namespace

void render_text(EntryType type, std::string_view raw, std::string& out) {
  if (raw.size() > kMaxRenderedEntry || is_swollen(type, raw)) {
    return render_too_long(raw.size(), out);
  }
  StringSink sink(out);
  render(type, raw, sink);
}

TextMeasure measure_text(EntryType type, std::string_view raw) {
  if (raw.size() > kMaxRenderedEntry || is_dense(raw)) {
    return {too_long_size(raw.size()), {}, {}};
  }
  CountingSink sink;
  const Rendered rendered = render(type, raw, sink);
  if (sink.size() > kMaxText) {
    return {too_long_size(raw.size()), {}, report_of(rendered.usage)};
  }
  TextMeasure found{sink.size(), {}, report_of(rendered.usage)};
  if (rendered.images > 0) {
    find_images(kNoEntry, type, raw, found.images);
  }
  return found;
}

std::uint64_t text_size(EntryType type, std::string_view raw) {
  return measure_text(type, raw).size;
}

std::optional<Usage> find_usage(EntryType type, std::string_view raw) {
  if (type != EntryType::model_usage && !skim::contains(raw, "usage") && !skim::contains(raw, "\\u")) {
    return std::nullopt;
  }
  BorrowedParser parser;
  simdjson::dom::element root;
  if (parser->parse(raw.data(), raw.size()).get(root) == simdjson::SUCCESS) {
    return find_usage_in(type, FastNode(root));
  }
  json::Document document;
  return json::parse(raw, document) ? find_usage_in(type, SlowNode(&document)) : std::nullopt;
}

void render_text_slowly(EntryType type, std::string_view raw, std::string& out) {
  StringSink sink(out);
  render_slowly(type, raw, sink);
}

std::string first_words(EntryType type, std::string_view raw, std::size_t columns) {
  if (raw.size() > kMaxRenderedEntry || is_dense(raw)) {
    return first_words_of_too_long(raw.size(), columns);
  }
  HeadSink sink(columns * 8 + 64);
  render(type, raw, sink);
  return first_line_of(sink.head(), columns);
}

void find_images(Ordinal ordinal, EntryType type, std::string_view raw, std::vector<ImageRef>& images) {
  const std::string_view owner = type == EntryType::message ? skim::member(raw, "message") : raw;
  ImageRef next;
  next.ordinal = ordinal;
  find_in(raw, skim::member(owner, "content"), next, images);
  find_in(raw, skim::member(owner, "images"), next, images);
}

}  // namespace arborfs::omp
