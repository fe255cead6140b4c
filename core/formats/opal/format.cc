#include "core/formats/opal/format.h"

#include <optional>

#include "core/json/document.h"
#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::opal {
namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "title", "replace", "fork", "new", "remove"};
constexpr std::string_view kPrograms[] = {"opal_server", "opal"};
constexpr AgentPrograms kAgent{.names = kPrograms,
                               .package = "",
                               .runtime = "beam.smp",
                               .variable = "OPAL_DATA_DIR",
                               .home = "/.opal",
                               .is_server = true};
/// As opal/FORMAT.md A5 says.
constexpr ResumeCommand kResume{.program = "opal", .option = "--session", .variable = "OPAL_DATA_DIR"};
constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"tool_result\",...}          any message, as JSON\n"
    "The role is system, user, assistant, tool_call or tool_result; other members are content, thinking, tool_calls,\n"
    "call_id, name, is_error and metadata. arborfs sets id and parent_id.\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr OwnUsage kUsages[] = {{"append", kAppendUsage}};

constexpr std::string_view kCopilot = "copilot";
constexpr std::string_view kDefaultModel = "copilot:claude-sonnet-4";
constexpr std::size_t kLongestSettings = std::size_t{1} << 20U;

struct Model {
  std::string_view provider;
  std::string_view id;
};

/// The provider in Opal's spelling of a model: the part before the first colon (opal/FORMAT.md E1).
Model parsed(std::string_view spelled) {
  const std::size_t colon = spelled.find(':');
  return colon == std::string_view::npos ? Model{kCopilot, spelled}
                                         : Model{spelled.substr(0, colon), spelled.substr(colon + 1)};
}

/// "" without an object.
std::string text_in(const json::Value* object, std::string_view key) {
  return object == nullptr ? "" : json::text_member(*object, key);
}

/// The user's default model; "" if none is saved. Settings that cannot be read count as none.
std::string saved_model(const std::string& data_folder) {
  const auto folder = Dir::open_root(data_folder);
  if (!folder) {
    return "";
  }
  const auto file = File::open_in(*folder, "settings.json");
  const auto text = file ? file->read(0, kLongestSettings) : Result<std::string>(file.error());
  json::Document settings;
  return text && json::parse(*text, settings) && settings.IsObject() ? text_in(&settings, "default_model") : "";
}

std::string member(std::string_view key, std::string_view text) {
  return json::stringify_string(key) + ":" + json::stringify_string(text);
}

struct Choice {
  std::string value;
  std::string_view why;
};

Choice model_choice(const std::string& wanted, const std::string& data_folder) {
  if (!wanted.empty()) {
    return {wanted, "explicit"};
  }
  std::string saved = saved_model(data_folder);
  return saved.empty() ? Choice{std::string(kDefaultModel), "default"} : Choice{std::move(saved), "saved setting"};
}

/// The model and provider of a start with a session, and the reason: a JSON object and a line feed. Reads Opal's
/// settings.
std::string startup_json(const arborfs::Store& store, const Header& header) {
  json::Document parsed_header;
  const bool is_read = json::parse(header.json, parsed_header) && parsed_header.IsObject();
  const json::Value* metadata = is_read ? json::member(parsed_header, "metadata") : nullptr;
  metadata = metadata != nullptr && metadata->IsObject() ? metadata : nullptr;
  const std::string wanted_model = text_in(metadata, kModelKey);
  const std::string wanted_provider = text_in(metadata, kProviderKey);
  const Choice spelled = model_choice(wanted_model, store.paths().agent_dir);
  const Model model = parsed(spelled.value);
  const Choice provider = wanted_provider.empty() ? Choice{model.provider == kCopilot ? "Copilot" : "LLM", "derived"}
                                                  : Choice{wanted_provider, "explicit"};
  std::string options = wanted_model.empty() ? "" : member("model", wanted_model);
  if (!wanted_provider.empty()) {
    options += (options.empty() ? "" : ",") + member("provider", wanted_provider);
  }
  return "{\"model\":{" + member("provider", model.provider) + "," + member("id", model.id) + "," +
         member("why", spelled.why) + "},\"provider\":{" + member("name", provider.value) + "," +
         member("why", provider.why) + "}" + (options.empty() ? "" : ",\"options\":{" + options + "}") + "}\n";
}

constexpr ToolShape kTools[] = {
    {"shell", ToolShape::Does::runs, "cmd"},
    {"shell", ToolShape::Does::runs, "command"},
    {"read_file", ToolShape::Does::reads, "path"},
    {.tool = "edit_file", .does = ToolShape::Does::edits, .subject = "path", .before = "old", .after = "new"},
    {.tool = "edit_file",
     .does = ToolShape::Does::edits,
     .subject = "path",
     .before = "old_string",
     .after = "new_string"},
    {"edit_file", ToolShape::Does::edits, "path"},
    {.tool = "write_file", .does = ToolShape::Does::writes, .subject = "path", .after = "content"}};

}  // namespace

const Format& format() {
  static const Format format{.agent = "opal",
                             .name = "opal-jsonl",
                             .reader = &reader(),
                             .renderer = &renderer(),
                             .verbs = kVerbs,
                             .programs = &kAgent,
                             .startup_json = startup_json,
                             .resume = &kResume,
                             .usages = kUsages,
                             .pairing = {.calls = true, .results = true},
                             .tools = kTools,
                             .has_cwd = false};
  return format;
}

const Format& dets_format() {
  static const Format format{.agent = "opal",
                             .name = "opal-dets",
                             .reader = &reader(),
                             .renderer = &renderer(),
                             .resume = &kResume,
                             .has_cwd = false};
  return format;
}

std::string own_dir() {
  const std::string chosen = environment_variable("OPAL_DATA_DIR");
  return chosen.empty() ? environment_variable("HOME") + "/.opal" : chosen;
}

Result<std::string> model_to_start(std::string_view spelled) {
  const std::size_t mark = spelled.find_first_of(":/");
  const Model model = mark == std::string_view::npos ? Model{kCopilot, spelled}
                                                     : Model{spelled.substr(0, mark), spelled.substr(mark + 1)};
  if (model.provider.empty() || model.id.empty()) {
    return Error{Errc::invalid_argument, "a model has the form PROVIDER:MODEL, or is the name of one of Copilot's"};
  }
  return std::string(model.provider) + ":" + std::string(model.id);
}

}  // namespace arborfs::opal
