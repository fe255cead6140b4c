#include "core/views/conversation_page.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/base/words.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/entry/views.h"
#include "core/html/html.h"
#include "core/html/page.h"
#include "core/json/date.h"
#include "core/log/log_stretches.h"
#include "core/session/session_name.h"
#include "core/store/blob_store.h"
#include "core/views/context_marks.h"
#include "core/views/page_head.h"
#include "core/views/page_parts.h"
#include "core/views/page_words.h"
#include "core/views/partings.h"
#include "core/views/session_facts.h"
#include "core/views/spent.h"
#include "core/views/turn_html.h"

namespace arborfs {
namespace {

using html::text;
using stats::SessionSpent;
using stats::Spent;

constexpr std::size_t kTitle = 200;                // characters
constexpr std::size_t kWords = 80;                 // of an entry in a list
constexpr std::uint64_t kPart = 48 << 10;          // bytes of the log that are rendered together
constexpr std::size_t kSectionEntries = 8;         // at most, which a browser lays out together
constexpr std::uint64_t kLongestTurns = 16 << 20;  // a longer entry is shown by its text
// A browser lays a section out only when it is near the window. There are sections of sections, because each step down
// a page takes the longer the more of them are beside each other.
constexpr std::string_view kPartBegin = "<section class=\"parts\" data-group>\n";
constexpr std::string_view kSectionBegin = "<section class=\"part\" data-group>\n";
constexpr std::string_view kSectionEnd = "</section>\n";
constexpr std::size_t kMostBranches = 100;        // that are listed
constexpr std::uint64_t kMostBeside = 256 << 10;  // bytes of such entries, of all branches

class PageEntries;

/// A session that this one started, in its page.
struct StartedShown {
  std::string title;
  std::string path;                           // of its own page; "" if it has none
  std::shared_ptr<const PageEntries> inside;  // null for a link
  std::string why;                            // it is not inside; "" if it was not to be
};

/// An entry of the path, copied from the index.
struct PageStep {
  Ordinal ordinal = kNoEntry;
  Entry entry;
  std::uint64_t length = 0;
  std::string name;                   // the agent's own word
  std::string role;                   // the word that all agents share
  std::string before;                 // HTML: what lies between it and the entry above
  std::vector<StartedShown> started;  // that it names
};

/// Renders the entries of a page. Shared by the parts of the page, which may be read at any time.
class PageEntries {
 public:
  PageEntries(const Session& session, const Session::Guard& guard, const PagePlace& place)
      : format_(session.format()),
        log_(guard.log()),
        turns_(format_, ImageFiles(guard), place.images ? place.images : files_below(place.to_session)),
        to_branches_(names::address(place.to_session + "branches/")),
        to_entries_(names::address(place.to_session + "entries/")),
        is_alone_(place.is_alone),
        id_prefix_(place.id_prefix),
        filter_(place.filter) {}

  /// `of`: whether what an entry tells is of the page.
  void set_spent(const SessionSpent& spent, const std::function<bool(Ordinal entry)>& of) {
    std::map<std::string_view, std::string> models;
    for (const Spent& one : spent.messages) {
      if (!of(one.entry)) {
        continue;
      }
      Told& told = told_[one.entry];
      told.row.add(stats::addend_of(one, spent));
      std::string& shown = models[one.model];
      shown = one.model.empty() || !shown.empty() ? shown : " <span>" + words(one.model) + "</span>";
      told.model = shown;
      all_.add(stats::addend_of(one, spent));
      if (!one.model.empty()) {
        models_.insert(one.model);
      }
    }
    if (spent.whole_cost && of(kNoEntry)) {
      all_.usage.cost = (std::isnan(all_.usage.cost) ? 0 : all_.usage.cost) + *spent.whole_cost;
    }
  }
  [[nodiscard]] const stats::Row& all() const { return all_; }
  [[nodiscard]] const std::set<std::string>& models() const { return models_; }
  [[nodiscard]] const TurnHtml& turns() const { return turns_; }
  std::vector<PageStep> steps;

  /// The part of the page with the steps from `first` to before `last`. Errors: stale, io.
  [[nodiscard]] Result<std::string> render(std::size_t first, std::size_t last) const {
    std::vector<LogStretches::Place> places;
    std::uint64_t bytes = 0;
    for (std::size_t at = first; at < last; ++at) {
      places.push_back({steps[at].entry.offset, is_too_long(steps[at]) ? 0 : steps[at].length});
      bytes += places.back().length;
    }
    ASSIGN_OR_RETURN(const auto raw, LogStretches::read(*log_, std::move(places)));
    std::string out;
    out.reserve(bytes + bytes / 2);
    out += kPartBegin;
    for (std::size_t at = first; at < last; ++at) {
      const std::size_t place = (at - first) % kSectionEntries;
      out += place == 0 ? kSectionBegin : "";
      RETURN_IF_ERROR(article(steps[at], raw[at - first], out));
      out += place + 1 == kSectionEntries || at + 1 == last ? kSectionEnd : "";
    }
    return out.append(kSectionEnd);
  }

  /// About what the steps from `first` to before `last` take.
  [[nodiscard]] std::size_t memory_of(std::size_t first, std::size_t last) const {
    std::size_t bytes = (last - first) * (sizeof(PageStep) + sizeof(Told));
    for (std::size_t at = first; at < last; ++at) {
      bytes += steps[at].before.capacity();
    }
    return bytes;
  }

  /// What an entry says. Errors: stale, io.
  [[nodiscard]] Result<std::string> body_of(const PageStep& step) const {
    std::string out;
    ASSIGN_OR_RETURN(const auto raw, log_->read(step.entry.offset, is_too_long(step) ? 0 : step.length));
    RETURN_IF_ERROR(add_body(step, raw, out));
    return out;
  }

  [[nodiscard]] std::vector<Turn> turns_in(const PageStep& step, std::string_view raw) const {
    std::vector<Turn> said;
    format_.renderer->add_turns({step.entry.type, step.name, raw, step.entry.timestamp_ms, *blobs_}, said);
    return said;
  }

  /// The bytes of an entry. Errors: stale, io, too_large.
  [[nodiscard]] Result<std::string> raw_of(const PageStep& step) const {
    if (is_too_long(step)) {
      return Error{Errc::too_large, "the entry is too long"};
    }
    ASSIGN_OR_RETURN(auto raw, log_->read(step.entry.offset, step.length));
    return filter_ ? filtered(step, raw) : std::move(raw);
  }

  [[nodiscard]] std::string first_words(const PageStep& step) const {
    const auto raw = raw_of(step);
    return raw ? format_.renderer->first_words(step.entry.type, *raw, kWords) : "";
  }

  /// Words of the log on one line, as HTML.
  [[nodiscard]] std::string words(std::string_view said) const {
    return text(visible_line(filter_ ? filter_->words(said) : std::string(said), kWords));
  }

 private:
  static bool is_too_long(const PageStep& step) { return step.length > kLongestTurns; }

  [[nodiscard]] std::string filtered(const PageStep& step, std::string_view raw) const {
    return filter_->record(raw, id_prefix_ + "entry " + std::to_string(step.ordinal));
  }

  /// `raw`: the bytes of the entry unless it is too long. Errors: stale, io.
  Result<void> add_body(const PageStep& step, std::string_view raw, std::string& out) const {
    const std::string shown = filter_ && !is_too_long(step) ? filtered(step, raw) : "";
    raw = filter_ ? shown : raw;
    const std::size_t before = out.size();
    if (!is_too_long(step)) {
      std::uint32_t image = 0;
      for (const Turn& turn : turns_in(step, raw)) {
        turns_.add(step.ordinal, turn, image, out);
      }
    }
    if (out.size() == before) {
      ASSIGN_OR_RETURN(const auto text, text_of(step, raw));
      out.append("<div class=\"notes\">\n").append(html::markdown(text)).append("</div>\n");
    }
    return {};
  }

  /// The text of an entry that says nothing to a model, or is too long to be parsed.
  [[nodiscard]] Result<std::string> text_of(const PageStep& step, std::string_view raw) const {
    std::string text;
    if (!is_too_long(step)) {
      format_.renderer->render(step.entry.type, raw, text);
    } else if (filter_) {
      text = "(" + std::to_string(step.length) + " bytes, which are too long to be looked through, are left out)\n";
    } else {
      return read_text(*format_.renderer, *log_, step.entry.type, step.entry.offset, step.length);
    }
    return text;
  }

  struct Told {
    stats::Row row;
    std::string model;  // HTML
  };

  static ImageSource files_below(const std::string& to_session) {
    return [to_session](const ImageFiles::File& file) { return names::address(to_session + "images/" + file.name); };
  }

  /// Errors: those of render().
  Result<void> article(const PageStep& step, std::string_view raw, std::string& out) const {
    const std::string number = std::to_string(step.ordinal);
    const std::string id = id_prefix_ + "e" + number;
    const std::string look = role_class(step.role);
    const std::string role = look == step.role ? look : words(step.role);
    out.append(step.before).append("<article id=\"").append(id).append("\" class=\"").append(look);
    out.append("\" data-item=\"").append(role).append("\">\n<header><h2>").append(role);
    out.append("</h2> <a href=\"#").append(id).append("\">#").append(number).append("</a>");
    out += time_html(step.entry.timestamp_ms);
    if (const auto told = told_.find(step.ordinal); told != told_.end()) {
      out.append(told->second.model).append(" <span>").append(usage_words(told->second.row)).append("</span>");
    }
    if (!is_alone_) {
      out.append(" <span class=\"more\"><a href=\"").append(to_branches_).append(number);
      out.append("/context.html\">what the model saw</a> <a href=\"").append(to_entries_).append(number);
      out += ".json\">record</a></span>";
    }
    out += "</header>\n";
    RETURN_IF_ERROR(add_body(step, raw, out));
    for (const StartedShown& one : step.started) {
      RETURN_IF_ERROR(add_started(one, out));
    }
    out += "</article>\n";
    return {};
  }

  static Result<void> add_started(const StartedShown& one, std::string& out) {
    const std::string title = "sub-agent: " + std::string(one.inside == nullptr ? "" : "<b>") + text(one.title) +
                              std::string(one.inside == nullptr ? "" : "</b>");
    const std::string own = one.path.empty() ? "" : "<a href=\"" + names::address(one.path) + "\">";
    if (one.inside == nullptr) {
      out += "<p class=\"tools\">" + own + title + (own.empty() ? "" : "</a>") +
             (one.why.empty() ? "" : " <span class=\"note\">(" + text(one.why) + ")</span>") + "</p>\n";
      return {};
    }
    ASSIGN_OR_RETURN(const auto inside, one.inside->render(0, one.inside->steps.size()));
    out += "<details class=\"tools started\"><summary>" + title + " · " +
           counted(one.inside->steps.size(), "entry", "entries") +
           (one.inside->all().messages == 0 ? "" : " · " + text(usage_words(one.inside->all()))) + "</summary>\n" +
           (own.empty() ? "" : "<p>" + own + "its own page</a></p>\n") + inside + "</details>\n";
    return {};
  }

  const Format& format_;
  const std::shared_ptr<const LogSource> log_;
  const TurnHtml turns_;
  const std::string to_branches_;
  const std::string to_entries_;
  const bool is_alone_;
  const std::string id_prefix_;
  const std::optional<TextFilter> filter_;
  const std::shared_ptr<const BlobSource> blobs_ = make_no_blobs();  // pages show the files of images
  std::map<Ordinal, Told> told_;
  stats::Row all_;
  std::set<std::string> models_;
};

PageStep step_of(const LogIndex& index, Ordinal ordinal) {
  return {ordinal,
          index.entry(ordinal),
          index.length(ordinal),
          std::string(index.name(ordinal)),
          std::string(index.role(ordinal)),
          "",
          {}};
}

/// Filtered before it is cut: a part of a secret is none that the filter knows.
std::string name_of(const Session& session, const PagePlace& place, std::size_t columns) {
  constexpr std::size_t kWhole = 1 << 16;
  return place.filter ? visible_line(place.filter->words(session_name(session, kWhole)), columns)
                      : session_name(session, columns);
}

std::string title_of(const Session& session, const PagePlace& place, std::size_t columns) {
  return place.title.empty() ? name_of(session, place, columns) : place.title;
}

std::string page_of(const StartedSession& one, const PagePlace& place) {
  return place.to_session + one.folder + "/transcript.html";
}

/// The pages of the sessions that it started.
std::string started_list(const PagePlace& place) {
  std::vector<html::Link> links;
  for (const StartedSession& one : place.started) {
    if (!place.is_alone) {
      links.push_back({session_name(*one.session, kWords), page_of(one, place)});
    }
  }
  return links.empty() ? ""
                       : "<details><summary>" + counted(links.size(), "sub-agent") + "</summary>\n" +
                             html::link_list(links, "Sub-agents") + "</details>\n";
}

/// With what the page has and spent.
std::string head_of(PageFacts facts, const PageEntries& pages, const PagePlace& place, const std::string& says) {
  for (const std::string& model : pages.models()) {
    facts.models += (facts.models.empty() ? "" : ", ") + (place.filter ? place.filter->words(model) : model);
  }
  std::map<std::string, std::size_t> by_role;
  for (const PageStep& step : pages.steps) {
    ++by_role[role_class(step.role)];
  }
  facts.entries = entry_counts(by_role);
  facts.tokens = pages.all().messages == 0 ? "" : usage_words(pages.all());
  return page_head(facts, place.links, says);
}

Result<Ordinal> leaf_of(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  return guard.leaf();
}

Result<void> go_on() {
  return Cancellation::is_requested() ? Result<void>(Errc::interrupted, "the reader is gone") : Result<void>();
}

/// Where each part ends, as a number of steps; 0 at first.
std::vector<std::size_t> ends_of_parts(const std::vector<PageStep>& steps) {
  std::vector<std::size_t> ends{0};
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    bytes += steps[at].length;
    if (bytes >= kPart || at + 1 == steps.size()) {
      ends.push_back(at + 1);
      bytes = 0;
    }
  }
  return ends;
}

/// Adds the articles and says whether one of them has_code().
Result<bool> add_articles(const std::shared_ptr<const PageEntries>& pages, const PagePlace& place, Content& content) {
  const auto ends = std::make_shared<const std::vector<std::size_t>>(ends_of_parts(pages->steps));
  const auto is_coloured = std::make_shared<std::atomic<bool>>(false);
  const auto render = [pages, ends, is_coloured](std::size_t number) -> Result<std::string> {
    RETURN_IF_ERROR(go_on());
    ASSIGN_OR_RETURN(auto made, pages->render(ends->at(number), ends->at(number + 1)));
    *is_coloured = *is_coloured || has_code(made);
    return made;
  };
  const auto memory = [pages, ends](std::size_t number) {
    return pages->memory_of((*ends)[number], (*ends)[number + 1]);
  };
  RETURN_IF_ERROR(add_parts({ends->size() - 1, render, memory, place.filter.has_value()}, content));
  return is_coloured->load();
}

/// The list of the branches above the conversation, and the cards where they part.
class Branches {
 public:
  /// Needs the guard's index only during the call. `shown` is what the page shows of the path.
  void read(const LogIndex& index, Ordinal end, const std::set<Ordinal>& on_path, const PagePlace& place,
            const std::vector<PageStep>& shown) {
    is_inside_ = place.branches == PagePlace::Branches::inside;
    id_prefix_ = place.id_prefix;
    path_steps_ = shown.size();
    std::set<Ordinal> on_page;
    for (const PageStep& step : shown) {
      on_page.insert(step.ordinal);
    }
    partings_ = partings_of(index, end, on_path, on_page, is_inside_ ? index.size() : kMostBranches);
    std::uint64_t bytes = 0;
    for (const Parting& parting : partings_) {
      for (const Ordinal ordinal : is_inside_ ? std::vector<Ordinal>() : parting.next) {
        bytes += index.length(ordinal);
        if (bytes <= kMostBeside) {
          beside_[parting.end].push_back(step_of(index, ordinal));
        }
      }
      firsts_.emplace(parting.first, step_of(index, parting.first));
      stems_.emplace(parting.end, names::branch_stem(index, parting.end));
    }
  }
  [[nodiscard]] const std::vector<Parting>& partings() const { return partings_; }

  [[nodiscard]] std::string list(const PageEntries& entries) const {
    if (partings_.empty()) {
      return "";
    }
    std::string out = "<nav class=\"branches\" aria-label=\"Branches\"><details open><summary>" +
                      counted(partings_.size() + 1, "branch", "branches") + "</summary>\n<ul>\n";
    out += "<li class=\"here\">this one, which the agent goes on with</li>\n";
    for (const Parting& parting : partings_) {
      const std::string after = std::to_string(parting.after);
      out += "<li>" +
             (parting.after == kNoEntry ? ""
                                        : "after <a href=\"#" + id_prefix_ + "e" + after + "\">#" + after + "</a>: ") +
             "<a href=\"" + address_of(parting) + "\">" + text(entries.first_words(firsts_.at(parting.first))) +
             "</a></li>\n";
    }
    return out + "</ul></details></nav>\n";
  }

  /// What stands between `after` and the step at `at`, which follows it on the path if that goes on. Errors: stale, io.
  [[nodiscard]] Result<std::string> cards(const PageEntries& entries, std::size_t at, Ordinal after) const {
    std::string out;
    std::string columns;
    for (const Parting& parting : partings_) {
      if (parting.after != after) {
        continue;
      }
      const PageStep& first = firsts_.at(parting.first);
      ASSIGN_OR_RETURN(auto said, first.length <= kPart ? entries.body_of(first) : Result<std::string>(std::string()));
      out += "<div class=\"notes\"><p><a href=\"" + address_of(parting) +
             "\">another branch: " + entries.words(first.role) + " #" + std::to_string(parting.first) + "</a></p>\n" +
             said + "</div>\n";
      if (const auto others = beside_.find(parting.end); others != beside_.end()) {
        ASSIGN_OR_RETURN(const auto column, column_of(entries, others->second));
        columns += "<div>" + column + "</div>\n";
      }
    }
    if (out.empty()) {
      return out;
    }
    std::string own;
    if (!columns.empty()) {
      std::vector<PageStep> steps;
      for (std::size_t step = at; step < std::min(at + Parting::kBeside + 1, path_steps_); ++step) {
        if (entries.steps[step].length <= kMostBeside / Parting::kBeside) {
          steps.push_back(entries.steps[step]);
        }
      }
      ASSIGN_OR_RETURN(own, column_of(entries, steps));
    }
    std::string here = "<p>this branch ends here</p>";
    if (at < path_steps_) {
      const PageStep& next = entries.steps[at];
      const std::string number = std::to_string(next.ordinal);
      here = "<p><a href=\"#" + id_prefix_ + "e" + number + "\">this branch: " + entries.words(next.role) + " #" +
             number + "</a></p>\n<p>" + text(entries.first_words(next)) + "</p>";
    }
    return "<section class=\"parting\" aria-label=\"Branches part here\">\n<div class=\"here notes\">" + here +
           "</div>\n" + out + "</section>\n" +
           (columns.empty() ? ""
                            : "<details class=\"notes\"><summary>how they go on, side by side</summary>\n"
                              "<div class=\"parting\">\n<div class=\"here\">" +
                                  own + "</div>\n" + columns + "</div></details>\n");
  }

 private:
  [[nodiscard]] static Result<std::string> column_of(const PageEntries& entries, const std::vector<PageStep>& steps) {
    std::string out;
    for (const PageStep& step : steps) {
      ASSIGN_OR_RETURN(const auto said, entries.body_of(step));
      out += "<p class=\"facts\">" + entries.words(step.role) + " #" + std::to_string(step.ordinal) +
             time_html(step.entry.timestamp_ms) + "</p>\n" + said;
    }
    return out;
  }
  [[nodiscard]] std::string address_of(const Parting& parting) const {
    return (is_inside_ ? "" : names::address("branches/" + stems_.at(parting.end)) + "/transcript.html") + "#" +
           id_prefix_ + "e" + std::to_string(parting.first);
  }

  std::vector<Parting> partings_;
  std::map<Ordinal, PageStep> firsts_;               // by Parting::first
  std::map<Ordinal, std::vector<PageStep>> beside_;  // by Parting::end
  std::map<Ordinal, std::string> stems_;             // by Parting::end
  bool is_inside_ = false;
  std::string id_prefix_;
  std::size_t path_steps_ = 0;  // of the page: what follows is of other branches
};

struct Conversation {
  std::set<Ordinal> on_path;
  std::shared_ptr<PageEntries> entries;
  PageFacts facts;
  Branches branches;
  std::string end;  // HTML: what stands below the last step
};

/// The steps of the path, and behind them those of the branches if the page has their entries.
void add_steps(const Session& session, const LogIndex& index, Ordinal end, const PagePlace& place,
               Conversation& conversation) {
  std::vector<PageStep>& steps = conversation.entries->steps;
  const auto is_shown = [&](Ordinal ordinal) {
    return session.format().renderer->is_in_transcript(index.name(ordinal));
  };
  std::string before;
  for (const PeopleStep& step : people_path(index, end)) {
    conversation.on_path.insert(step.ordinal);
    const std::string sentence = break_sentence(step);
    before += sentence.empty() ? "" : "<p class=\"break\">" + text(sentence) + "</p>\n";
    if (is_shown(step.ordinal)) {
      steps.push_back(step_of(index, step.ordinal));
      steps.back().before = std::exchange(before, "");
    }
  }
  if (place.branches == PagePlace::Branches::none) {
    return;
  }
  conversation.branches.read(index, end, conversation.on_path, place, steps);
  if (place.branches != PagePlace::Branches::inside) {
    return;
  }
  std::set<Ordinal> there;
  for (const PageStep& step : steps) {
    there.insert(step.ordinal);
  }
  for (const Parting& parting : conversation.branches.partings()) {
    before = "<p class=\"break\">Another branch" +
             (parting.after == kNoEntry ? "" : ", which goes on after #" + std::to_string(parting.after)) + "</p>\n";
    for (const Ordinal ordinal : people_entries(index, parting.end)) {
      if (is_shown(ordinal) && there.insert(ordinal).second) {
        steps.push_back(step_of(index, ordinal));
        steps.back().before = std::exchange(before, "");
      }
    }
  }
}

Result<Conversation> read_conversation(const Session& session, Ordinal end, const PagePlace& place);

/// The last step that was there at a time; the last of all without one. There are steps.
PageStep& step_at(std::vector<PageStep>& steps, std::optional<std::int64_t> time_ms) {
  PageStep* found = nullptr;
  for (PageStep& step : steps) {
    const std::int64_t time = step.entry.timestamp_ms;
    if (time_ms && time != Entry::kNoTime && time <= *time_ms &&
        (found == nullptr || time >= found->entry.timestamp_ms)) {
      found = &step;
    }
  }
  return found == nullptr ? steps.back() : *found;
}

/// Puts each started session at the first entry of a tool that names it. What no entry names goes where the
/// conversation was when it started, if it is shown within the page. Errors: those of read_conversation().
Result<void> place_started(const PagePlace& place, PageEntries& entries) {
  std::vector<const StartedSession*> left;
  for (const StartedSession& one : place.started) {
    left.push_back(&one);
  }
  const auto shown = [&](const StartedSession& one) -> Result<StartedShown> {
    StartedShown made{name_of(*one.session, place, kWords), place.is_alone ? "" : page_of(one, place), nullptr, ""};
    if (!place.inside) {
      return made;
    }
    const auto inside = place.inside(one);
    if (!inside) {
      made.why = inside.error().code == Errc::too_large ? inside.error().message : "it could not be read";
      return made;
    }
    ASSIGN_OR_RETURN(const Ordinal leaf, leaf_of(*one.session));
    ASSIGN_OR_RETURN(const auto conversation, read_conversation(*one.session, leaf, *inside));
    made.inside = conversation.entries;
    return made;
  };
  for (PageStep& step : entries.steps) {
    if (left.empty()) {
      break;
    }
    RETURN_IF_ERROR(go_on());
    const auto raw = step.role == "tool" ? entries.raw_of(step) : Result<std::string>(std::string());
    for (const StartedSession*& one : left) {
      const std::string_view name = named_in_outputs(one->id);
      if (raw && !name.empty() && raw->find(name) != std::string::npos) {
        ASSIGN_OR_RETURN(auto made, shown(*std::exchange(one, nullptr)));
        step.started.push_back(std::move(made));
      }
    }
    std::erase(left, nullptr);
  }
  for (const StartedSession* const one : left) {
    if (place.inside && !entries.steps.empty()) {
      ASSIGN_OR_RETURN(auto made, shown(*one));
      step_at(entries.steps, json::parse_date(one->session->head().header.timestamp))
          .started.push_back(std::move(made));
    }
  }
  return {};
}

Result<Conversation> read_conversation(const Session& session, Ordinal end, const PagePlace& place) {
  Conversation made;
  std::uint32_t generation = 0;
  Ordinal newest = end;
  {
    const auto guard = session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    generation = guard->generation();
    newest = place.branches == PagePlace::Branches::none ? end : guard->index().size();
    made.entries = std::make_shared<PageEntries>(session, *guard, place);
    add_steps(session, guard->index(), end, place, made);
    made.facts = facts_of(session, guard->index(), made.on_path);
  }
  made.facts.title = title_of(session, place, kTitle);
  if (place.filter) {
    for (std::string* const fact : {&made.facts.id, &made.facts.folder}) {
      *fact = place.filter->words(*fact);
    }
  }
  const PricesPtr prices = place.is_lasting ? std::make_shared<const Prices>() : Prices::in_force();
  ASSIGN_OR_RETURN(const auto spent, stats::session_spent_until(session, *prices, newest));
  made.entries->set_spent(spent, [&](Ordinal entry) {
    return place.branches != PagePlace::Branches::none || made.on_path.contains(entry);
  });
  RETURN_IF_ERROR(place_started(place, *made.entries));
  Ordinal after = kNoEntry;
  std::set<Ordinal> parted;
  std::vector<PageStep>& steps = made.entries->steps;
  for (std::size_t at = 0; at <= steps.size(); ++at) {
    std::string& before = at < steps.size() ? steps[at].before : made.end;
    if (parted.insert(after).second) {
      ASSIGN_OR_RETURN(const auto cards, made.branches.cards(*made.entries, at, after));
      before = cards + before;
    }
    after = at < steps.size() ? steps[at].ordinal : after;
  }
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  return guard.generation() == generation ? Result<Conversation>(std::move(made)) : session_changed();
}

}  // namespace

Result<std::shared_ptr<const Content>> conversation_page(const Session& session, Ordinal end, const PagePlace& place) {
  ASSIGN_OR_RETURN(const auto made, read_conversation(session, end, place));
  const std::string side = made.branches.list(*made.entries) + started_list(place);
  auto content = std::make_shared<Content>();
  content->add_text(
      html::page_begin({made.facts.title, side.empty() ? "conversation" : "conversation beside", place.is_alone}) +
      head_of(made.facts, *made.entries, place, "") + entries_bar() + "<div class=\"side\">" + side +
      "</div>\n<main id=\"main\">\n");
  ASSIGN_OR_RETURN(const bool is_coloured, add_articles(made.entries, place, *content));
  content->add_text(made.end + "</main>\n" + page_foot() + html::page_end(is_coloured || has_code(made.end)));
  return std::shared_ptr<const Content>(content);
}

Result<std::shared_ptr<const Content>> context_page(const Session& session, Ordinal end, const PagePlace& place) {
  SpokenPath spoken;
  std::optional<PageEntries> pages;
  PageFacts facts;
  std::vector<Ordinal> talk;      // that the transcript has
  std::vector<PageStep> prompts;  // of the system, which no turn has
  std::uint32_t generation = 0;
  {
    const auto guard = session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const LogIndex& index = guard->index();
    generation = guard->generation();
    spoken = spoken_path(session, *guard, end, Reach::context);
    pages.emplace(session, *guard, place);
    for (const ContextPath::Step& step : spoken.path.steps) {
      if (step.speaker == ContextPath::Step::Speaker::system) {
        prompts.push_back(step_of(index, step.ordinal));
      }
    }
    const auto entries = people_entries(index, end);
    const std::set<Ordinal> path(entries.begin(), entries.end());
    facts = facts_of(session, index, path);
    for (const Ordinal ordinal : path) {
      if (is_talk(index, ordinal) && session.format().renderer->is_in_transcript(index.name(ordinal))) {
        talk.push_back(ordinal);
      }
    }
  }
  facts.title = title_of(session, place, kTitle);
  PageParts kept;
  bool is_coloured = false;
  std::vector<SentMessage> messages;
  const auto kept_message = [&](Ordinal entry, std::string article) {
    is_coloured = is_coloured || has_code(article);
    return SentMessage{entry, "", kept.keep(std::move(article), true)};
  };
  std::set<Ordinal> sent;
  std::map<Ordinal, std::uint32_t> images;
  const auto dropped_of = [&](Ordinal entry, const Turn& turn) -> Result<std::size_t> {
    constexpr std::uint64_t kRest = 512;  // of a record, beside its output
    std::uint64_t least = kRest;
    bool has_output = false;
    for (const TurnPart& part : turn.parts) {
      has_output = has_output || part.kind == TurnPart::Kind::tool_result;
      least += part.text.size();
    }
    PageStep step;
    if (has_output && entry != kNoEntry) {
      const auto guard = session.read();
      step = guard && guard->generation() == generation ? step_of(guard->index(), entry) : PageStep();
    }
    if (step.length < least) {
      return std::size_t{0};
    }
    const auto raw = pages->raw_of(step);
    return raw ? dropped_bytes(pages->turns_in(step, *raw), turn) : std::size_t{0};
  };
  std::uint64_t bytes = 0;
  const auto read =
      session.format().renderer->read_turns(spoken, [&](Ordinal entry, const std::vector<Turn>& turns) -> Result<void> {
        for (const Turn& turn : turns) {
          std::string body;
          pages->turns().add(entry, turn, images[entry], body);
          if (body.empty()) {
            continue;
          }
          sent.insert(entry);
          ASSIGN_OR_RETURN(const std::size_t dropped, dropped_of(entry, turn));
          body +=
              dropped == 0 ? "" : "<p class=\"note\">" + counted(dropped, "byte") + " of this output are dropped</p>\n";
          const std::string speaker = turn.is_note                               ? "summary"
                                      : turn.speaker == Turn::Speaker::user      ? "user"
                                      : turn.speaker == Turn::Speaker::assistant ? "assistant"
                                                                                 : "tool";
          const std::string number = std::to_string(entry);
          std::string article = "<article class=\"" + speaker + "\" data-item=\"" + speaker + "\">\n<header><h2>" +
                                (turn.is_note ? "user (put in)" : speaker) + "</h2>";
          article += entry == kNoEntry ? "" : " <a href=\"transcript.html#e" + number + "\">#" + number + "</a>";
          article += time_html(turn.time_ms) + "</header>\n" + body + "</article>\n";
          bytes += body.size();
          messages.push_back(kept_message(entry, std::move(article)));
        }
        return bytes > kMaxConversation ? Result<void>(conversation_too_long()) : go_on();
      });
  const bool is_cut = !read && read.error().code == Errc::too_large;
  RETURN_IF_ERROR(is_cut ? Result<void>() : read);
  for (const PageStep& step : prompts) {
    if (!sent.insert(step.ordinal).second) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto said, pages->body_of(step));
    const auto next = std::find_if(messages.begin(), messages.end(),
                                   [&](const SentMessage& message) { return message.entry > step.ordinal; });
    const auto at = messages.insert(next, SentMessage());
    *at = kept_message(step.ordinal, "<article class=\"system\" data-item=\"system\">\n<header><h2>system</h2>" +
                                         time_html(step.entry.timestamp_ms) + "</header>\n" + said + "</article>\n");
  }
  const std::size_t count = messages.size();
  if (!is_cut) {
    mark_gaps(talk, sent, messages);
  }
  std::size_t left_out = 0;
  for (const Ordinal ordinal : talk) {
    left_out += sent.contains(ordinal) ? 0 : 1;
  }
  const std::string says =
      "What the agent would send the model after #" + std::to_string(end) + ": " + counted(count, "message") +
      (is_cut          ? ", as far as it is not too long to be shown."
       : left_out == 0 ? "."
                       : ". " + counted(left_out, "entry", "entries") + " of the conversation " +
                             (left_out == 1 ? "is" : "are") + " not sent, or only in a shorter form.");
  auto content = std::make_shared<Content>();
  content->add_text(html::page_begin({"What the model saw: " + facts.title, "context"}) +
                    head_of(facts, *pages, place, text(says)) + entries_bar() + "<main id=\"main\">\n");
  constexpr std::size_t kPartEntries = 8 * kSectionEntries;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    SentMessage& message = messages[at];
    std::string begin(at % kPartEntries == 0 ? kPartBegin : "");
    begin += at % kSectionEntries == 0 ? kSectionBegin : "";
    content->add_text(begin + message.before);
    if (message.article.size != 0) {
      kept.add(std::move(message.article), *content);
    }
    const bool is_last = at + 1 == messages.size();
    std::string behind(is_last || (at + 1) % kSectionEntries == 0 ? kSectionEnd : "");
    behind += is_last || (at + 1) % kPartEntries == 0 ? kSectionEnd : "";
    content->add_text(behind);
  }
  content->add_text("</main>\n" + page_foot() + html::page_end(is_coloured));
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  return guard.generation() == generation ? Result<std::shared_ptr<const Content>>(content) : session_changed();
}

}  // namespace arborfs
