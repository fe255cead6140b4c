#include "core/writer/arranged_turns.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/json/base64.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/writer/accepted_parts.h"

namespace arborfs {
namespace {

using Kind = TurnPart::Kind;

class Arranger {
 public:
  Arranger(std::vector<Turn> said, AsText& counts) : said_(std::move(said)), counts_(counts) {}

  std::vector<Turn> arrange() {
    for (Turn& turn : said_) {
      settle_images(turn);
      settle_names(turn);
      drop_blanks(turn);
      if (turn.speaker == Turn::Speaker::tool) {
        take_results(std::move(turn));
      } else if (!turn.parts.empty()) {
        take_turn(std::move(turn));
      }
    }
    return finish();
  }

 private:
  /// A turn, and the results of its calls by the call's place in it.
  struct Placed {
    Turn turn;
    std::map<std::size_t, TurnPart> results;
    std::int64_t results_ms = Entry::kNoTime;
  };
  struct Call {
    std::size_t turn = 0;
    std::size_t part = 0;
  };

  /// An image without bytes or of a type that models refuse becomes text, and so does an image of the assistant, which
  /// no agent can represent. The base64 of other images is normalised so that every program can read it.
  void settle_images(Turn& turn) {
    for (TurnPart& part : turn.parts) {
      const bool is_image = part.kind == Kind::image;
      std::erase_if(part.images, [&](TurnImage& image) {
        const std::string bytes = json::decode_base64(image.base64);
        image.base64 = json::encode_base64(bytes);
        std::string type = accepted_image_type(bytes, image.media_type);
        const bool is_text = bytes.empty() || type.empty() || turn.speaker == Turn::Speaker::assistant;
        if (is_text) {
          part.text += (part.text.empty() ? "" : "\n") + image_as_text(image, counts_);
        }
        image.media_type = std::move(type);
        return is_text;
      });
      if (is_image && part.images.empty()) {
        part.kind = Kind::text;
      }
    }
  }

  void settle_names(Turn& turn) {
    for (TurnPart& part : turn.parts) {
      if (part.kind == Kind::tool_call) {
        std::string name = accepted_tool_name(part.tool);
        counts_.names += name == part.tool ? 0 : 1;
        part.tool = std::move(name);
      }
    }
  }

  void drop_blanks(Turn& turn) {
    counts_.blanks += std::erase_if(turn.parts, [](const TurnPart& part) {
      return (part.kind == Kind::text || part.kind == Kind::reasoning) && is_blank(part.text);
    });
  }

  void take_turn(Turn turn) {
    counts_.notes += turn.is_note ? 1 : 0;
    if (continues_last(turn)) {
      Turn& last = placed_.back().turn;
      std::move(turn.parts.begin(), turn.parts.end(), std::back_inserter(last.parts));
      last.model = last.model.empty() ? turn.model : last.model;
    } else {
      placed_.push_back({std::move(turn), {}, Entry::kNoTime});
    }
    note_calls();
  }

  /// Consecutive records of one answer, without a result in between, are one turn.
  [[nodiscard]] bool continues_last(const Turn& turn) const {
    if (placed_.empty() || !placed_.back().results.empty()) {
      return false;
    }
    const Turn& last = placed_.back().turn;
    return turn.speaker == Turn::Speaker::assistant && last.speaker == turn.speaker && !turn.is_note && !last.is_note &&
           (last.model == turn.model || last.model.empty() || turn.model.empty());
  }

  /// Gives the new calls of the last turn ids of their own, and arguments that are an object.
  void note_calls() {
    auto& parts = placed_.back().turn.parts;
    for (std::size_t i = noted_of_ == placed_.size() ? noted_parts_ : 0; i < parts.size(); ++i) {
      if (parts[i].kind != Kind::tool_call) {
        continue;
      }
      open_[parts[i].call_id].push_back({placed_.size() - 1, i});
      parts[i].call_id = unused_id(parts[i].call_id);
      parts[i].text = as_object(parts[i].text);
    }
    noted_of_ = placed_.size();
    noted_parts_ = parts.size();
  }

  std::string unused_id(const std::string& told) {
    const std::string stem = told.empty() ? "call" : told;
    std::string id = told.empty() ? "call-1" : told;
    for (std::size_t n = 2; !ids_.insert(id).second; ++n) {
      id = stem + "-" + std::to_string(n);
    }
    return id;
  }

  static std::string as_object(const std::string& arguments) {
    json::Document parsed;
    if (json::parse(arguments, parsed) && parsed.IsObject()) {
      return json::stringify(parsed);
    }
    return arguments.empty() ? "{}" : R"({"input":)" + json::stringify_string(text_in(arguments, parsed)) + "}";
  }
  static std::string text_in(const std::string& arguments, const json::Document& parsed) {
    return parsed.IsString() ? std::string(json::as_string(parsed)) : arguments;
  }

  void take_results(Turn turn) {
    for (TurnPart& result : turn.parts) {
      const auto calls = open_.find(result.call_id);
      if (calls == open_.end() || calls->second.empty()) {
        add_stray(std::move(result), turn.time_ms);
        continue;
      }
      const Call call = calls->second.front();
      calls->second.erase(calls->second.begin());
      Placed& owner = placed_[call.turn];
      result.call_id = owner.turn.parts[call.part].call_id;
      result.tool = owner.turn.parts[call.part].tool;
      owner.results.emplace(call.part, std::move(result));
      owner.results_ms = std::max(owner.results_ms, turn.time_ms);
    }
  }

  /// A result without a call counts as input from the user.
  void add_stray(TurnPart result, std::int64_t time_ms) {
    ++counts_.results;
    Turn turn;
    turn.time_ms = time_ms;
    turn.add(Kind::text,
             stray_result_as_text(result.tool, result.is_error ? failure_as_text(result.text, counts_) : result.text));
    for (TurnImage& image : result.images) {
      turn.add_image(std::move(image));
    }
    placed_.push_back({std::move(turn), {}, Entry::kNoTime});
  }

  std::vector<Turn> finish() {
    std::vector<Turn> turns;
    if (!placed_.empty() && placed_.front().turn.speaker == Turn::Speaker::assistant) {
      ++counts_.starts;
      turns.emplace_back().add(Kind::text, "[The conversation begins with the assistant.]");
    }
    for (Placed& placed : placed_) {
      close_calls(placed);
      Turn results;
      results.speaker = Turn::Speaker::tool;
      results.time_ms = placed.results_ms;
      for (auto& [part, result] : placed.results) {
        results.parts.push_back(std::move(result));
      }
      turns.push_back(std::move(placed.turn));
      if (!results.parts.empty()) {
        turns.push_back(std::move(results));
      }
    }
    return turns;
  }

  /// Models refuse a call without a result, so it is written as text.
  void close_calls(Placed& placed) {
    for (std::size_t i = 0; i < placed.turn.parts.size(); ++i) {
      TurnPart& part = placed.turn.parts[i];
      if (part.kind == Kind::tool_call && !placed.results.contains(i)) {
        ++counts_.calls;
        part = {Kind::text, call_as_text(part.tool, part.text)};
      }
    }
  }

  std::vector<Turn> said_;
  AsText& counts_;
  std::vector<Placed> placed_;
  std::map<std::string, std::vector<Call>> open_;  // calls without a result, by the id that the source gave them
  std::set<std::string> ids_;
  std::size_t noted_of_ = 0;  // the turn, from 1, whose first noted_parts_ parts have gone through note_calls
  std::size_t noted_parts_ = 0;
};

}  // namespace

std::vector<Turn> arranged_turns(std::vector<Turn> said, AsText& counts) {
  return Arranger(std::move(said), counts).arrange();
}

}  // namespace arborfs
