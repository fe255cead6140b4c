#include "core/formats/opal/startup.h"

#include <optional>

#include "core/json/document.h"

namespace arborfs::opal {
namespace {

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

/// "" if there is no such member, or it is not a string.
std::string text_in(const json::Value* object, std::string_view key) {
  return object == nullptr ? "" : std::string(json::string_member(*object, key).value_or(std::string_view()));
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

}  // namespace

Result<std::string> model_to_start(std::string_view spelled) {
  const std::size_t mark = spelled.find_first_of(":/");
  const Model model = mark == std::string_view::npos ? Model{kCopilot, spelled}
                                                     : Model{spelled.substr(0, mark), spelled.substr(mark + 1)};
  if (model.provider.empty() || model.id.empty()) {
    return Error{Errc::invalid_argument, "a model has the form PROVIDER:MODEL, or is the name of one of Copilot's"};
  }
  return std::string(model.provider) + ":" + std::string(model.id);
}

std::string startup_json(const SessionStore& store, const Header& header) {
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

}  // namespace arborfs::opal
