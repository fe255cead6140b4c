#include "core/views/turn_html.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/entry/unified_diff.h"
#include "core/html/html.h"
#include "core/json/document.h"
#include "core/views/tool_calls.h"

namespace arborfs {
namespace {

using Kind = TurnPart::Kind;
using html::text;

constexpr std::size_t kSummary = 100;     // characters of a call beside its name
constexpr std::size_t kShortOutput = 12;  // lines that need no folding

/// The class of a block of code, by the name of a file; "" for a language that pages do not colour.
std::string language_of(std::string_view path) {
  static const std::map<std::string_view, std::string_view> kLanguages = {
      {"bash", "bash"},      {"sh", "bash"},        {"c", "c"},       {"h", "cpp"},     {"cc", "cpp"},
      {"cpp", "cpp"},        {"hpp", "cpp"},        {"cs", "csharp"}, {"css", "css"},   {"diff", "diff"},
      {"go", "go"},          {"ini", "ini"},        {"toml", "ini"},  {"java", "java"}, {"js", "javascript"},
      {"jsx", "javascript"}, {"mjs", "javascript"}, {"json", "json"}, {"kt", "kotlin"}, {"php", "php"},
      {"py", "python"},      {"rb", "ruby"},        {"rs", "rust"},   {"sql", "sql"},   {"ts", "typescript"},
      {"tsx", "typescript"}, {"xml", "xml"},        {"html", "xml"},  {"svg", "xml"},   {"yaml", "yaml"},
      {"yml", "yaml"}};
  const auto found = kLanguages.find(path.substr(std::min(path.rfind('.') + 1, path.size())));
  return found == kLanguages.end() ? "" : "language-" + std::string(found->second);
}

std::string code(std::string_view source, const std::string& language) {
  return "<pre tabindex=\"0\"><code" + (language.empty() ? "" : " class=\"" + language + "\"") + ">" + text(source) +
         "</code></pre>\n";
}

std::string first_line(std::string_view text) {
  return visible_line(take_line(text), kSummary);
}

/// The lines that change, without the names of the files; "" if the record has none. The texts of an edit need not end
/// with their lines.
std::string diff_of(std::string before, std::string after) {
  if (before.empty() && after.empty()) {
    return "";
  }
  for (std::string* const side : {&before, &after}) {
    *side += side->empty() || side->back() == '\n' ? "" : "\n";
  }
  const std::string diff = unified_diff({"a", "b"}, before, after);
  std::string_view lines = diff;
  take_line(lines);
  take_line(lines);
  return "<pre tabindex=\"0\">" + html::diff(lines) + "</pre>\n";
}

std::string text_in(const json::Value& object, std::string_view key) {
  return key.empty() ? "" : json::text_member(object, key);
}

std::string edits_of(const ToolShape& shape, const json::Value& arguments) {
  std::string out;
  const auto add = [&](const json::Value& edit) {
    out += diff_of(text_in(edit, shape.before), text_in(edit, shape.after));
  };
  const json::Value* const list = shape.list.empty() ? nullptr : json::member(arguments, shape.list);
  if (list != nullptr && list->IsArray()) {
    for (const json::Value& edit : list->GetArray()) {
      add(edit);
    }
  } else {
    add(arguments);
  }
  return out;
}

/// What a call shows: words beside its name, and what is below it.
struct Shown {
  std::string words;  // plain text
  std::string body;   // HTML
  bool is_open = false;
};

Shown shown_by_shape(const ToolShape& shape, const json::Value& arguments, const std::string& whole) {
  const json::Value* const member = shape.subject.empty() ? nullptr : json::member(arguments, shape.subject);
  const std::string subject = member != nullptr      ? command_of(*member)
                              : arguments.IsString() ? command_of(arguments)
                                                     : whole;
  switch (shape.does) {
    case ToolShape::Does::runs:
      return is_patch(subject) ? Shown{"", "<pre tabindex=\"0\">" + html::diff(subject) + "</pre>\n", true}
                               : Shown{first_line(subject), code(subject, "language-bash"), true};
    case ToolShape::Does::edits:
      return {subject, edits_of(shape, arguments), true};
    case ToolShape::Does::writes:
      return {subject, code(text_in(arguments, shape.after), language_of(subject)), false};
    case ToolShape::Does::patches:
      return {"", "<pre tabindex=\"0\">" + html::diff(subject) + "</pre>\n", true};
    case ToolShape::Does::reads:
      break;
  }
  return {subject, "", false};
}

/// The list below one of these names, or null.
const json::Value* list_in(const json::Value& arguments, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const json::Value* const list = json::member(arguments, name);
    if (list != nullptr && list->IsArray()) {
      return list;
    }
  }
  return nullptr;
}

/// A list of tasks with their states, as agents keep one.
std::optional<std::string> tasks_of(const json::Value& arguments) {
  const json::Value* const list = list_in(arguments, {"todos", "plan", "tasks"});
  if (list == nullptr || list->Empty()) {
    return std::nullopt;
  }
  std::string out = "<ul class=\"todo\">\n";
  for (const json::Value& task : list->GetArray()) {
    std::string words = json::text_member(task, "content");
    words = words.empty() ? json::text_member(task, "step") : words;
    const std::string status = json::text_member(task, "status");
    if (words.empty() || status.empty()) {
      return std::nullopt;
    }
    const std::string_view mark = status == "completed" ? "☑ " : status == "in_progress" ? "▶ " : "☐ ";
    out.append("<li>").append(mark).append(text(words));
    out += status == "completed" || status == "pending" ? "" : " <i>(" + text(status) + ")</i>";
    out += "</li>\n";
  }
  return out + "</ul>\n";
}

/// Questions to the user with the answers that they can choose.
std::optional<std::string> questions_of(const json::Value& arguments) {
  const json::Value* const list = list_in(arguments, {"questions"});
  if (list == nullptr || list->Empty()) {
    return std::nullopt;
  }
  std::string out;
  for (const json::Value& question : list->GetArray()) {
    const std::string words = json::text_member(question, "question");
    if (words.empty()) {
      return std::nullopt;
    }
    out += "<p>" + text(words) + "</p>\n<ul>\n";
    if (const json::Value* const options = list_in(question, {"options"})) {
      for (const json::Value& option : options->GetArray()) {
        const std::string said = json::text_member(option, "description");
        out += "<li><b>" +
               text(option.IsString() ? std::string(json::as_string(option)) : json::text_member(option, "label")) +
               "</b>" + (said.empty() ? "" : " " + text(said)) + "</li>\n";
      }
    }
    out += "</ul>\n";
  }
  return out;
}

/// The arguments of a tool that is not known: each member with its text, or its JSON.
Shown shown_by_members(const json::Value& arguments) {
  Shown shown;
  shown.body = "<dl>\n";
  for (const json::Value::Member& member : json::members(arguments)) {
    const std::string value =
        member.value.IsString() ? std::string(json::as_string(member.value)) : json::stringify(member.value);
    shown.words = shown.words.empty() && member.value.IsString() ? first_line(value) : shown.words;
    shown.body += "<dt><code>" + text(json::as_string(member.name)) + "</code></dt><dd>" +
                  (value.find('\n') == std::string::npos && value.size() <= kSummary
                       ? text(value)
                       : "<pre class=\"plain\" tabindex=\"0\">" + text(value) + "</pre>") +
                  "</dd>\n";
  }
  shown.body += "</dl>\n";
  return shown;
}

Shown shown(const Format& format, const TurnPart& call) {
  json::Document arguments;
  if (const ToolShape* const shape = shape_of(format, call, arguments)) {
    return shown_by_shape(*shape, arguments, call.text);
  }
  json::Document parsed;
  if (!json::parse(call.text, parsed) || !parsed.IsObject()) {
    return {first_line(call.text), "<pre class=\"plain\" tabindex=\"0\">" + text(call.text) + "</pre>\n", false};
  }
  if (const auto tasks = tasks_of(parsed)) {
    return {"", *tasks, true};
  }
  if (const auto questions = questions_of(parsed)) {
    return {"", *questions, true};
  }
  if (const std::string plan = json::text_member(parsed, "plan"); !plan.empty()) {
    return {"", html::markdown(plan), true};
  }
  return parsed.MemberCount() == 0 ? Shown{} : shown_by_members(parsed);
}

/// Begins what can be folded below its first line; kFoldEnd ends it. No `details`: with ten thousands of them, browsers
/// take long for each step down a page.
void begin_fold(std::string_view classes, bool is_open, std::string_view summary, std::string& out) {
  out.append("<div class=\"").append(classes).append(is_open ? " fold open" : " fold");
  out.append("\"><div class=\"sum\">").append(summary).append("</div>\n");
}
constexpr std::string_view kFoldEnd = "</div>\n";

std::string_view class_of(const Turn& turn) {
  return turn.is_note                               ? "notes"
         : turn.speaker == Turn::Speaker::user      ? "people"
         : turn.speaker == Turn::Speaker::assistant ? "answers"
                                                    : "tools";
}

}  // namespace

void TurnHtml::add(Ordinal entry, const Turn& turn, std::uint32_t& image, std::string& out) const {
  for (const TurnPart& part : turn.parts) {
    switch (part.kind) {
      case Kind::text:
        out.append("<div class=\"").append(class_of(turn)).append("\">\n").append(html::markdown(part.text));
        out += "</div>\n";
        break;
      case Kind::reasoning:
        begin_fold("thinking", false, "thinking", out);
        out.append("<div>\n").append(html::markdown(part.text)).append("</div>").append(kFoldEnd);
        break;
      case Kind::tool_call:
        add_call(part, out);
        break;
      case Kind::tool_result:
        add_result(entry, part, image, out);
        break;
      case Kind::image:
        out.append("<div class=\"").append(class_of(turn)).append("\">");
        add_images(entry, part, image, out);
        out += "</div>\n";
        break;
    }
  }
}

void TurnHtml::add_call(const TurnPart& call, std::string& out) const {
  const Shown made = shown(format_, call);
  const std::string summary =
      "<b>" + text(call.tool.empty() ? "(tool without a name)" : visible_line(call.tool, kSummary)) + "</b>" +
      (made.words.empty() ? "" : " <code>" + text(visible_line(made.words, kSummary)) + "</code>");
  if (made.body.empty()) {
    out += "<p class=\"tools\">" + summary + "</p>\n";
  } else {
    begin_fold("tools", made.is_open, summary, out);
    out.append(made.body).append(kFoldEnd);
  }
}

void TurnHtml::add_result(Ordinal entry, const TurnPart& result, std::uint32_t& image, std::string& out) const {
  const std::size_t lines = chars::count_lines(result.text).all;
  const bool is_short = lines <= kShortOutput;
  const std::string summary = (result.is_error ? "<b>failed</b> · output" : "output") +
                              (result.tool.empty() ? "" : " of " + text(visible_line(result.tool, kSummary))) +
                              (is_short ? "" : " · " + counted(lines, "line"));
  begin_fold(result.is_error ? "tools output failed" : "tools output", is_short, summary, out);
  if (!result.text.empty()) {
    out.append("<pre class=\"terminal\" tabindex=\"0\">").append(html::terminal(result.text)).append("</pre>\n");
  }
  add_images(entry, result, image, out);
  out += kFoldEnd;
}

void TurnHtml::add_images(Ordinal entry, const TurnPart& part, std::uint32_t& image, std::string& out) const {
  for (std::size_t one = 0; one < part.images.size(); ++one) {
    const TurnImage& shown = part.images[one];
    const ImageFiles::File* const file = files_.find({entry, ++image});
    const std::string source = file == nullptr ? "" : source_(*file);
    const std::string_view why = file == nullptr ? "" : ", which is left out";
    out += source.empty() ? "<p class=\"note\">[image" + std::string(why) +
                                (shown.url.empty() ? "" : ": " + text(shown.url)) + "]</p>\n"
                          : "<p><img loading=\"lazy\" src=\"" + source + "\" alt=\"image " + std::to_string(image) +
                                " of entry " + std::to_string(entry) + "\"></p>\n";
  }
}

}  // namespace arborfs
