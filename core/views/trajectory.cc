#include "core/views/trajectory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/entry/record_renderer.h"
#include "core/entry/turn.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/views/image_files.h"
#include "core/views/session_facts.h"
#include "core/views/spent.h"

namespace arborfs {
namespace {

using Kind = TurnPart::Kind;
using stats::SessionSpent;
using stats::Spent;

/// Texts and images.
struct Said {
  struct Part {
    std::string text;        // of an image its path
    std::string media_type;  // "" for a text
  };
  std::vector<Part> parts;

  void add_text(std::string text) {
    if (!text.empty()) {
      parts.push_back({std::move(text), ""});
    }
  }
  void add_image(std::string media_type, std::string path) {
    parts.push_back({std::move(path), std::move(media_type)});
  }
  [[nodiscard]] bool has(std::string_view words) const {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return part.text.find(words) != std::string::npos; });
  }

  /// A text, in which an empty line is between two, or content parts if there are images.
  [[nodiscard]] std::string json() const {
    if (std::any_of(parts.begin(), parts.end(), [](const Part& part) { return !part.media_type.empty(); })) {
      return list();
    }
    std::string text;
    for (const Part& part : parts) {
      text += (text.empty() ? "" : "\n\n") + part.text;
    }
    return json::stringify_string(text);
  }

 private:
  [[nodiscard]] std::string list() const {
    json::Text list = json::Text::array();
    for (const Part& part : parts) {
      if (part.media_type.empty()) {
        list.item_json(json::Text::object().add("type", "text").add("text", part.text).str());
      } else {
        const std::string source = json::Text::object().add("media_type", part.media_type).add("path", part.text).str();
        list.item_json(json::Text::object().add("type", "image").add_json("source", source).str());
      }
    }
    return list.str();
  }
};

struct Call {
  std::string id;  // unique in its step
  std::string tool;
  std::string arguments;  // a JSON object
};

struct Output {
  std::string call;  // Call::id; "" for one whose call is not known
  Said said;
  bool has_failed = false;
};

struct Step {
  enum class Source : std::uint8_t { user, agent, system };
  Source source = Source::user;
  std::vector<Ordinal> entries;
  std::int64_t time_ms = Entry::kNoTime;
  std::string model;
  Said said;
  std::string reasoning;
  std::vector<Call> calls;
  std::vector<Output> outputs;
  Usage usage = untold_usage();
  bool is_computed = false;  // its cost
};

/// ATIF's arguments are an object.
std::string arguments_of(const std::string& text) {
  json::Document parsed;
  if (!json::parse(text, parsed)) {
    return json::Text::object().add("input", text).str();
  }
  const std::string json = json::stringify(parsed);
  return parsed.IsObject() ? json : json::Text::object().add_json("input", json).str();
}

/// ATIF takes four types; an image of another one, or without its bytes, is named in the text.
void add_image(const ImageFiles& files, const ImageFiles::Place& place, const TurnImage& image, Said& into) {
  static const std::set<std::string_view> kTypes = {"image/png", "image/jpeg", "image/gif", "image/webp"};
  const ImageFiles::File* const file = files.find(place);
  const std::string_view type = file == nullptr ? "" : names::image_media_type(file->extension);
  if (!kTypes.contains(type)) {
    into.add_text("[image" + (image.url.empty() ? "" : ": " + image.url) + "]");
  } else {
    into.add_image(std::string(type), "images/" + file->name);
  }
}

class StepMaker {
 public:
  StepMaker(const SpokenPath& spoken, const SessionSpent& spent, ImageFiles images) : images_(std::move(images)) {
    std::map<Ordinal, const Spent*> by_entry;
    for (const Spent& one : spent.messages) {
      by_entry[one.entry] = &one;
    }
    for (std::size_t at = 0; at < spoken.path.steps.size(); ++at) {
      const Ordinal entry = spoken.path.steps[at].ordinal;
      places_[entry] = at;
      if (const auto found = by_entry.find(entry); found != by_entry.end()) {
        spent_[at] = found->second;
      }
    }
  }

  /// Errors: too_large.
  Result<void> take(Ordinal entry, const std::vector<Turn>& turns) {
    for (const Turn& turn : turns) {
      take_message(entry, turn);
    }
    return bytes_ > kMaxTrajectory ? Result<void>(Errc::too_large, "the session's texts are too long for a trajectory")
                                   : Result<void>();
  }

  /// Tokens belong to the request that they are told with, or else before.
  std::vector<Step> finish() {
    std::map<std::size_t, Step*> agents;  // by the place of their first entry
    for (Step& step : steps_) {
      if (step.source == Step::Source::agent) {
        agents[place_of(step.entries.front())] = &step;
      }
    }
    for (const auto& [at, spent] : spent_) {
      const auto next = agents.upper_bound(at);
      if (next != agents.begin()) {
        Step& step = *std::prev(next)->second;
        add_usage(step.usage, spent->usage);
        step.is_computed = step.is_computed || spent->is_computed;
        step.model = step.model.empty() ? spent->model : step.model;
      }
    }
    return std::move(steps_);
  }

 private:
  [[nodiscard]] std::size_t place_of(Ordinal entry) const {
    const auto found = places_.find(entry);
    return found == places_.end() ? 0 : found->second;
  }
  /// Records of one request follow one another, and tokens are told of it once.
  [[nodiscard]] bool goes_on(Ordinal entry) const {
    if (steps_.empty() || steps_.back().source != Step::Source::agent || !steps_.back().outputs.empty()) {
      return false;
    }
    const Ordinal last = steps_.back().entries.back();
    const auto next = spent_.upper_bound(place_of(last));
    return entry == last || next == spent_.end() || next->first > place_of(entry);
  }

  /// Outputs go to their calls; a turn that has nothing else is no step.
  void take_message(Ordinal entry, const Turn& turn) {
    std::optional<std::size_t> made;
    for (const TurnPart& part : turn.parts) {
      bytes_ += part.text.size();
      if (part.kind == Kind::tool_result) {
        add_output(entry, part);
        continue;
      }
      made = made ? made : begin_message(entry, turn);
      Step& step = steps_[*made];
      if (part.kind == Kind::text) {
        step.said.add_text(part.text);
      } else if (part.kind == Kind::reasoning) {
        step.reasoning += (step.reasoning.empty() ? "" : "\n\n") + part.text;
      } else if (part.kind == Kind::tool_call) {
        add_call(*made, part);
      } else {
        add_images(entry, part, step.said);
      }
    }
  }

  /// The place of its step.
  std::size_t begin_message(Ordinal entry, const Turn& turn) {
    const bool is_agent = turn.speaker == Turn::Speaker::assistant;
    if (!is_agent || !goes_on(entry)) {
      Step step;
      step.source = is_agent                                              ? Step::Source::agent
                    : turn.is_note || turn.speaker == Turn::Speaker::tool ? Step::Source::system
                                                                          : Step::Source::user;
      step.time_ms = turn.time_ms;
      steps_.push_back(std::move(step));
    }
    Step& step = steps_.back();
    step.entries.push_back(entry);
    step.model = is_agent && names_model(turn.model) ? turn.model : step.model;
    return steps_.size() - 1;
  }

  void add_call(std::size_t at, const TurnPart& part) {
    Step& step = steps_[at];
    std::string id = part.call_id.empty() ? "call" : part.call_id;
    const std::string stem = id;
    for (std::size_t number = 2;
         std::any_of(step.calls.begin(), step.calls.end(), [&](const Call& call) { return call.id == id; }); ++number) {
      id = stem + "-" + std::to_string(number);
    }
    open_.add(part.call_id, {at, id});
    step.calls.push_back({std::move(id), part.tool, arguments_of(part.text)});
  }

  /// An output whose call is not on the path is what the system says.
  void add_output(Ordinal entry, const TurnPart& part) {
    const auto call = open_.take(part.call_id);
    if (!call) {
      Step step;
      step.source = Step::Source::system;
      step.entries.push_back(entry);
      steps_.push_back(std::move(step));
    }
    Step& step = steps_[call ? call->first : steps_.size() - 1];
    step.outputs.push_back({call ? call->second : "", {}, part.is_error});
    step.outputs.back().said.add_text(part.text);
    add_images(entry, part, step.outputs.back().said);
  }

  void add_images(Ordinal entry, const TurnPart& part, Said& into) {
    for (const TurnImage& image : part.images) {
      add_image(images_, {entry, ++numbers_[entry]}, image, into);
    }
  }

  const ImageFiles images_;
  std::map<Ordinal, std::size_t> places_;      // on the path
  std::map<std::size_t, const Spent*> spent_;  // by the place of the entry that tells of it
  std::map<Ordinal, std::uint32_t> numbers_;
  OpenCalls<std::pair<std::size_t, std::string>> open_;
  std::vector<Step> steps_;
  std::uint64_t bytes_ = 0;
};

double told(double number) {
  return std::isnan(number) ? 0 : number;
}

std::string metrics_of(const Step& step) {
  json::Text metrics = json::Text::object();
  metrics.add_json("prompt_tokens", json::number_text(prompt_tokens(step.usage)));
  metrics.add_json("completion_tokens", json::number_text(told(step.usage.output)));
  metrics.add_json("cached_tokens", json::number_text(told(step.usage.cache_read)));
  if (!std::isnan(step.usage.cost)) {
    metrics.add_json("cost_usd", json::number_text(step.usage.cost));
  }
  if (step.is_computed) {
    metrics.add_json("extra", json::Text::object().add("cost", "computed from list prices").str());
  }
  return metrics.str();
}

std::string outputs_of(const Step& step, const std::vector<StartedSession>& started) {
  json::Text results = json::Text::array();
  for (const Output& output : step.outputs) {
    json::Text result = json::Text::object();
    if (!output.call.empty()) {
      result.add("source_call_id", output.call);
    }
    result.add_json("content", output.said.json());
    json::Text refs = json::Text::array();
    for (const StartedSession& one : started) {
      if (!one.id.empty() && output.said.has(named_in_outputs(one.id))) {
        refs.item_json(json::Text::object()
                           .add("session_id", one.id)
                           .add("trajectory_path", one.folder + "/trajectory.json")
                           .str());
      }
    }
    if (!refs.is_empty()) {
      result.add_json("subagent_trajectory_ref", refs.str());
    }
    if (output.has_failed) {
      result.add_json("extra", json::Text::object().add("is_error", true).str());
    }
    results.item_json(result.str());
  }
  return json::Text::object().add_json("results", results.str()).str();
}

std::string json_of(const Step& step, std::size_t number, const std::vector<StartedSession>& started) {
  json::Text json = json::Text::object();
  json.add("step_id", std::uint64_t{number});
  if (step.time_ms != Entry::kNoTime) {
    json.add("timestamp", json::iso_time(step.time_ms));
  }
  json.add("source", step.source == Step::Source::agent  ? "agent"
                     : step.source == Step::Source::user ? "user"
                                                         : "system");
  if (!step.model.empty()) {
    json.add("model_name", step.model);
  }
  json.add_json("message", step.said.json());
  if (!step.reasoning.empty()) {
    json.add("reasoning_content", step.reasoning);
  }
  if (!step.calls.empty()) {
    json::Text calls = json::Text::array();
    for (const Call& call : step.calls) {
      calls.item_json(json::Text::object()
                          .add("tool_call_id", call.id)
                          .add("function_name", call.tool)
                          .add_json("arguments", call.arguments)
                          .str());
    }
    json.add_json("tool_calls", calls.str());
  }
  if (!step.outputs.empty()) {
    json.add_json("observation", outputs_of(step, started));
  }
  if (is_told(step.usage)) {
    json.add_json("metrics", metrics_of(step));
  }
  return json.str();
}

/// Of the steps; the cost is the session's where only that is told.
std::string final_metrics(const std::vector<Step>& steps, const SessionSpent& spent) {
  Usage sums = untold_usage();
  for (const Step& step : steps) {
    add_usage(sums, step.usage);
  }
  const double cost = spent.whole_cost ? told(sums.cost) + *spent.whole_cost : sums.cost;
  json::Text metrics = json::Text::object();
  if (is_told(sums)) {
    metrics.add_json("total_prompt_tokens", json::number_text(prompt_tokens(sums)));
    metrics.add_json("total_completion_tokens", json::number_text(told(sums.output)));
    metrics.add_json("total_cached_tokens", json::number_text(told(sums.cache_read)));
  }
  if (!std::isnan(cost)) {
    metrics.add_json("total_cost_usd", json::number_text(cost));
  }
  return metrics.add("total_steps", std::uint64_t{steps.size()}).str();
}

/// No agent's records tell one version for all of a session.
std::string agent_of(const Session& session, const std::vector<Step>& steps) {
  json::Text agent = json::Text::object();
  agent.add("name", session.agent()).add("version", "unknown");
  const auto last = std::find_if(steps.rbegin(), steps.rend(), [](const Step& step) { return !step.model.empty(); });
  if (last != steps.rend()) {
    agent.add("model_name", last->model);
  }
  return agent.str();
}

}  // namespace

Result<std::shared_ptr<const Content>> trajectory(const Session& session, Ordinal end,
                                                  const std::vector<StartedSession>& started) {
  SpokenPath spoken;
  std::optional<ImageFiles> images;
  std::uint32_t generation = 0;
  {
    const auto guard = session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    spoken = spoken_path(session, *guard, end, Reach::path);
    images.emplace(*guard);
    generation = guard->generation();
  }
  ASSIGN_OR_RETURN(const auto spent, stats::session_spent(session, *Prices::in_force()));
  StepMaker maker(spoken, spent, *std::move(images));
  const auto read = session.format().renderer->read_turns(
      spoken, [&](Ordinal entry, const std::vector<Turn>& turns) { return maker.take(entry, turns); });
  const bool is_cut = !read && read.error().code == Errc::too_large;
  RETURN_IF_ERROR(is_cut ? Result<void>() : read);
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    RETURN_IF_ERROR(guard.generation() == generation ? Result<void>() : Result<void>(session_changed()));
  }
  auto steps = maker.finish();
  const std::string metrics = final_metrics(steps, spent);
  auto content = std::make_shared<Content>();
  content->add_text("{\"schema_version\":\"ATIF-v1.7\",\"session_id\":" + json::stringify_string(session.id()) +
                    ",\"agent\":" + agent_of(session, steps) + ",\"steps\":[");
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (Cancellation::is_requested()) {
      return Error{Errc::interrupted, "the reader is gone"};
    }
    content->add_text((at == 0 ? "\n" : ",\n") + json_of(steps[at], at + 1, started));
    steps[at] = {};  // so that the session is not in memory twice
  }
  const std::string notes = is_cut ? ",\"notes\":\"What follows is left out: it is too long.\"" : "";
  content->add_text("\n],\"final_metrics\":" + metrics + notes + "}\n");
  return std::shared_ptr<const Content>(content);
}

}  // namespace arborfs
