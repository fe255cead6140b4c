#include "core/views/conversation_page.h"

#include <algorithm>
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
#include "core/session/session_name.h"
#include "core/store/blob_store.h"
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
constexpr std::uint64_t kPart = 256 << 10;         // bytes of the log that are rendered together
constexpr std::size_t kPartEntries = 64;           // at most
constexpr std::uint64_t kKept = 1 << 20;           // of a page of so many bytes, the text is kept
constexpr std::uint64_t kLongestTurns = 16 << 20;  // a longer entry is shown by its text
constexpr std::size_t kMostBranches = 100;         // that are listed

std::string time_of(std::int64_t time_ms) {
  return time_ms == Entry::kNoTime ? "" : local_time(time_ms, "%Y-%m-%d %H:%M:%S");
}

std::string time_html(std::int64_t time_ms) {
  const std::string time = time_of(time_ms);
  return time.empty() ? "" : " <time datetime=\"" + text(json::iso_time(time_ms)) + "\">" + text(time) + "</time>";
}

std::uint64_t tokens(double number) {
  return std::isnan(number) || number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

std::string dollars(const stats::Row& row) {
  const std::string cost = stats::cost_words(row);
  return cost == "-" ? "" : (cost.starts_with('~') ? "~$" + cost.substr(1) : "$" + cost);
}

/// "1,234 in · 56 out · $0.0123"
std::string usage_words(const stats::Row& row) {
  const Usage& usage = row.usage;
  const std::string cost = dollars(row);
  return grouped(tokens(usage.input) + tokens(usage.cache_read) + tokens(usage.cache_write)) + " in · " +
         grouped(tokens(usage.output)) + " out" + (cost.empty() ? "" : " · " + cost);
}

/// A word of the role as a class; the roles that all agents share have a look of their own.
std::string class_of(std::string_view role) {
  static const std::set<std::string_view> kShared = {"user", "assistant", "tool", "summary", "system"};
  return kShared.contains(role) ? std::string(role) : "other";
}

/// An entry of the path, copied from the index.
struct PageStep {
  Ordinal ordinal = kNoEntry;
  Entry entry;
  std::uint64_t length = 0;
  std::string name;  // the agent's own word
  std::string role;  // the word that all agents share
  std::string id;
  std::string before;  // HTML: what lies between it and the entry above
};

/// Where another branch leaves the path.
struct Parting {
  Ordinal end = kNoEntry;    // of the other branch
  Ordinal first = kNoEntry;  // its first entry that is not on the path; kNoEntry: it ends on the path
  Ordinal after = kNoEntry;  // the last entry of the page that both have; kNoEntry: none
};

/// The other branches, newest first. `path` is that of the page, of which it shows `shown`.
std::vector<Parting> partings_of(const LogIndex& index, Ordinal end, const std::vector<PeopleStep>& path,
                                 const std::vector<PageStep>& shown) {
  std::set<Ordinal> on_path;
  for (const PeopleStep& step : path) {
    on_path.insert(step.ordinal);
  }
  std::set<Ordinal> on_page;
  for (const PageStep& step : shown) {
    on_page.insert(step.ordinal);
  }
  std::vector<Parting> partings;
  auto ends = conversation_ends(index, end);
  std::reverse(ends.begin(), ends.end());
  for (const Ordinal other : ends) {
    if (on_path.contains(other) || partings.size() == kMostBranches) {
      continue;
    }
    Parting parting{other, kNoEntry, kNoEntry};
    for (const Ordinal ordinal : people_entries(index, other)) {
      if (on_path.contains(ordinal)) {
        parting.after = on_page.contains(ordinal) ? ordinal : parting.after;
        parting.first = kNoEntry;
      } else if (parting.first == kNoEntry && is_talk(index, ordinal)) {
        parting.first = ordinal;
      }
    }
    parting.first = parting.first == kNoEntry ? other : parting.first;
    partings.push_back(parting);
  }
  return partings;
}

/// Renders the entries of a page. Shared by the parts of the page, which may be read at any time.
class PageEntries {
 public:
  PageEntries(const Session& session, const Session::Guard& guard, std::string to_session)
      : format_(session.format()),
        log_(guard.log()),
        turns_(format_, ImageFiles(guard), to_session + "images/"),
        to_session_(std::move(to_session)) {}

  void set_spent(const SessionSpent& spent) {
    for (const Spent& one : spent.messages) {
      Told& told = told_[one.entry];
      told.row.add(stats::addend_of(one, spent));
      told.model = one.model;
      all_.add(stats::addend_of(one, spent));
      if (!one.model.empty()) {
        models_.insert(one.model);
      }
    }
    if (spent.whole_cost) {
      all_.usage.cost = (std::isnan(all_.usage.cost) ? 0 : all_.usage.cost) + *spent.whole_cost;
    }
  }
  [[nodiscard]] const stats::Row& all() const { return all_; }
  [[nodiscard]] const std::set<std::string>& models() const { return models_; }
  [[nodiscard]] const TurnHtml& turns() const { return turns_; }
  [[nodiscard]] const std::string& to_session() const { return to_session_; }
  std::vector<PageStep> steps;

  /// Of the steps from `first` to before `last`. Errors: stale, io.
  [[nodiscard]] Result<std::string> render(std::size_t first, std::size_t last) const {
    std::string out;
    for (std::size_t at = first; at < last; ++at) {
      ASSIGN_OR_RETURN(const auto body, body_of(steps[at]));
      article(steps[at], body, out);
    }
    return out;
  }

  /// What an entry says. Errors: stale, io.
  [[nodiscard]] Result<std::string> body_of(const PageStep& step) const {
    std::string out;
    if (step.length <= kLongestTurns) {
      ASSIGN_OR_RETURN(const auto raw, log_->read(step.entry.offset, step.length));
      std::vector<Turn> said;
      format_.renderer->add_turns({step.entry.type, step.name, raw, step.entry.timestamp_ms, *blobs_}, said);
      std::uint32_t image = 0;
      for (const Turn& turn : said) {
        turns_.add(step.ordinal, turn, image, out);
      }
    }
    if (out.empty()) {  // what the agent never sends to a model
      ASSIGN_OR_RETURN(const auto shown,
                       read_text(*format_.renderer, *log_, step.entry.type, step.entry.offset, step.length));
      out = "<div class=\"notes\">\n" + html::markdown(shown) + "</div>\n";
    }
    return out;
  }

  [[nodiscard]] std::string first_words(const PageStep& step) const {
    const auto raw = step.length <= kLongestTurns ? log_->read(step.entry.offset, step.length)
                                                  : Result<std::string>(Errc::too_large, "");
    return raw ? format_.renderer->first_words(step.entry.type, *raw, kWords) : "";
  }

 private:
  struct Told {
    stats::Row row;
    std::string model;
  };

  void article(const PageStep& step, const std::string& body, std::string& out) const {
    const std::string number = std::to_string(step.ordinal);
    out += step.before + "<article id=\"e" + number + "\" class=\"" + class_of(step.role) + "\" data-item=\"" +
           text(step.role) + "\">\n<header><h2>" + text(visible_line(step.role, kWords)) + "</h2> <a href=\"#e" +
           number + "\">#" + number + "</a>" + time_html(step.entry.timestamp_ms);
    if (const auto told = told_.find(step.ordinal); told != told_.end()) {
      out += told->second.model.empty() ? "" : " <span>" + text(visible_line(told->second.model, kWords)) + "</span>";
      out += " <span>" + text(usage_words(told->second.row)) + "</span>";
    }
    out += " <span class=\"more\"><a href=\"" + html::path(to_session_ + "branches/" + number) +
           "/context.html\">what the model saw</a> <a href=\"" + html::path(to_session_ + "entries/" + number) +
           ".json\">record</a></span></header>\n" + body + "</article>\n";
  }

  const Format& format_;
  const std::shared_ptr<const LogSource> log_;
  const TurnHtml turns_;
  const std::string to_session_;
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
          std::string(index.id(ordinal).text),
          ""};
}

/// The facts of a session and the links above its pages.
struct PageFacts {
  std::string title;
  std::string agent;
  std::string id;
  std::string folder;
  std::int64_t first_ms = Entry::kNoTime;
  std::int64_t last_ms = Entry::kNoTime;
};

std::string fact(std::string_view name, const std::string& value) {
  return value.empty() ? "" : "<div><dt>" + std::string(name) + "</dt><dd>" + text(value) + "</dd></div>\n";
}

std::string list_of(const std::vector<PagePlace::Link>& links, std::string_view label) {
  if (links.empty()) {
    return "";
  }
  std::string out = "<nav aria-label=\"" + std::string(label) + "\"><ul class=\"links\">\n";
  for (const PagePlace::Link& link : links) {
    out += "<li><a href=\"" + html::path(link.path) + "\">" + text(link.words) + "</a></li>\n";
  }
  return out + "</ul></nav>\n";
}

std::string head_of(const PageFacts& facts, const PageEntries& pages, const PagePlace& place, const std::string& says) {
  std::string models;
  for (const std::string& model : pages.models()) {
    models += (models.empty() ? "" : ", ") + model;
  }
  std::string out = "<a class=\"skip\" href=\"#main\">Skip to the conversation</a>\n<header class=\"top\">\n<h1>" +
                    text(facts.title) + "</h1>\n" + (says.empty() ? "" : "<p class=\"note\">" + says + "</p>\n") +
                    "<dl class=\"facts\">\n";
  out += fact("agent", facts.agent) + fact("project", facts.folder) + fact("session", facts.id) +
         fact("from", time_of(facts.first_ms)) + fact("to", time_of(facts.last_ms)) + fact("models", models);
  out += pages.all().messages == 0 ? "" : fact("tokens", usage_words(pages.all()));
  return out + "</dl>\n" + list_of(place.links, "Other views") + list_of(place.started, "Sub-agents") + "</header>\n";
}

constexpr std::string_view kBar =
    "<div class=\"bar\" role=\"toolbar\" aria-label=\"What is shown\">\n"
    "<label><input type=\"checkbox\" id=\"show-people\" checked> people</label>\n"
    "<label><input type=\"checkbox\" id=\"show-answers\" checked> answers</label>\n"
    "<label><input type=\"checkbox\" id=\"show-thinking\" checked> thinking</label>\n"
    "<label><input type=\"checkbox\" id=\"show-tools\" checked> tools</label>\n"
    "<label><input type=\"checkbox\" id=\"show-notes\" checked> notes</label>\n"
    "<span class=\"needs-script\"><input type=\"search\" id=\"find\" aria-label=\"Find in the conversation\" "
    "placeholder=\"find ( / )\"> <output id=\"found\"></output> <button type=\"button\" id=\"fold\">fold</button> "
    "<button type=\"button\" id=\"theme\">light or dark</button></span>\n</div>\n";

std::string foot() {
  return "<footer class=\"foot\"><p class=\"facts\">arborfs " + std::string(ARBORFS_VERSION) + "</p></footer>\n";
}

Result<void> go_on() {
  return Cancellation::is_requested() ? Result<void>(Errc::interrupted, "the reader is gone") : Result<void>();
}

/// Adds the articles in parts, and says whether any has code of a language.
Result<bool> add_articles(const std::shared_ptr<const PageEntries>& pages, Content& content) {
  bool has_code = false;
  for (std::size_t first = 0; first < pages->steps.size();) {
    RETURN_IF_ERROR(go_on());
    std::size_t last = first;
    for (std::uint64_t bytes = 0; last < pages->steps.size() && last - first < kPartEntries && bytes < kPart; ++last) {
      bytes += pages->steps[last].length;
    }
    ASSIGN_OR_RETURN(const auto part, pages->render(first, last));
    has_code = has_code || part.find("<code class=\"language-") != std::string::npos;
    if (content.size() + part.size() <= kKept) {
      content.add_text(part);
    } else {
      content.add_rendered(part.size(), [pages, first, last] { return pages->render(first, last); });
    }
    first = last;
  }
  return has_code;
}

PageFacts facts_of(const Session& session, const LogIndex& index, Ordinal end) {
  PageFacts facts;
  facts.agent = session.agent();
  facts.id = index.header().id;
  facts.folder = index.header().cwd;
  for (const Ordinal ordinal : people_entries(index, end)) {
    const std::int64_t time = index.entry(ordinal).timestamp_ms;
    if (time != Entry::kNoTime) {
      facts.first_ms = facts.first_ms == Entry::kNoTime ? time : std::min(facts.first_ms, time);
      facts.last_ms = facts.last_ms == Entry::kNoTime ? time : std::max(facts.last_ms, time);
    }
  }
  return facts;
}

/// The list of the branches above the conversation, and the cards where they part.
struct Branches {
  std::vector<Parting> partings;
  std::map<Ordinal, PageStep> firsts;    // by Parting::first
  std::map<Ordinal, std::string> stems;  // by Parting::end

  [[nodiscard]] std::string page_of(const Parting& parting) const {
    return html::path("branches/" + stems.at(parting.end)) + "/transcript.html";
  }
  [[nodiscard]] std::string list(const PageEntries& pages) const {
    if (partings.empty()) {
      return "";
    }
    std::string out = "<nav class=\"branches\" aria-label=\"Branches\"><details open><summary>" +
                      counted(partings.size() + 1, "branch", "branches") + "</summary>\n<ul>\n";
    out += "<li class=\"here\">this one, which the agent goes on with</li>\n";
    for (const Parting& parting : partings) {
      const std::string first = std::to_string(parting.first);
      out += "<li>" +
             (parting.after == kNoEntry ? ""
                                        : "after <a href=\"#e" + std::to_string(parting.after) + "\">#" +
                                              std::to_string(parting.after) + "</a>: ") +
             "<a href=\"" + page_of(parting) + "#e" + first + "\">" +
             text(pages.first_words(firsts.at(parting.first))) + "</a></li>\n";
    }
    return out + "</ul></details></nav>\n";
  }
  /// What stands between `after` and the step that follows it on the path. Errors: stale, io.
  [[nodiscard]] Result<std::string> cards(const PageEntries& pages, const PageStep& next, Ordinal after) const {
    std::string out;
    for (const Parting& parting : partings) {
      if (parting.after != after) {
        continue;
      }
      const PageStep& first = firsts.at(parting.first);
      ASSIGN_OR_RETURN(auto said, first.length <= kPart ? pages.body_of(first) : Result<std::string>(std::string()));
      out += "<div class=\"notes\"><p><a href=\"" + page_of(parting) + "#e" + std::to_string(parting.first) +
             "\">another branch: " + text(first.role) + " #" + std::to_string(parting.first) + "</a></p>\n" + said +
             "</div>\n";
    }
    if (out.empty()) {
      return out;
    }
    return "<section class=\"parting\" aria-label=\"Branches part here\">\n<div class=\"here notes\"><p><a href=\"#e" +
           std::to_string(next.ordinal) + "\">this branch: " + text(next.role) + " #" + std::to_string(next.ordinal) +
           "</a></p>\n<p>" + text(pages.first_words(next)) + "</p></div>\n" + out + "</section>\n";
  }
};

}  // namespace

Result<std::shared_ptr<const Content>> conversation_page(const Session& session, Ordinal end, const PagePlace& place) {
  std::shared_ptr<PageEntries> pages;
  PageFacts facts;
  Branches branches;
  std::uint32_t generation = 0;
  Ordinal newest = kNoEntry;
  {
    const auto guard = session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const LogIndex& index = guard->index();
    generation = guard->generation();
    newest = place.has_branches ? index.size() : end;
    pages = std::make_shared<PageEntries>(session, *guard, place.to_session);
    facts = facts_of(session, index, end);
    const auto path = people_path(index, end);
    std::string before;
    for (const PeopleStep& step : path) {
      const std::string sentence = break_sentence(step);
      before += sentence.empty() ? "" : "<p class=\"break\">" + text(sentence) + "</p>\n";
      if (session.format().renderer->is_in_transcript(index.name(step.ordinal))) {
        pages->steps.push_back(step_of(index, step.ordinal));
        pages->steps.back().before = std::exchange(before, "");
      }
    }
    if (place.has_branches) {
      branches.partings = partings_of(index, end, path, pages->steps);
      for (const Parting& parting : branches.partings) {
        branches.firsts.emplace(parting.first, step_of(index, parting.first));
        branches.stems.emplace(parting.end, names::branch_stem(index, parting.end));
      }
    }
  }
  facts.title = session_name(session, kTitle);
  ASSIGN_OR_RETURN(const auto spent, stats::session_spent_until(session, *Prices::in_force(), newest));
  pages->set_spent(spent);
  Ordinal after = kNoEntry;
  std::set<Ordinal> parted;
  for (PageStep& step : pages->steps) {
    if (parted.insert(after).second) {
      ASSIGN_OR_RETURN(const auto cards, branches.cards(*pages, step, after));
      step.before = cards + step.before;
    }
    after = step.ordinal;
  }
  auto content = std::make_shared<Content>();
  content->add_text(html::page_begin({facts.title, "conversation"}) + head_of(facts, *pages, place, "") +
                    std::string(kBar) + branches.list(*pages) + "<main id=\"main\">\n");
  ASSIGN_OR_RETURN(const bool has_code, add_articles(pages, *content));
  content->add_text("</main>\n" + foot() + html::page_end(has_code));
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  if (guard.generation() != generation) {
    return session_changed();
  }
  return std::shared_ptr<const Content>(content);
}

Result<std::shared_ptr<const Content>> context_page(const Session& session, Ordinal end, const PagePlace& place) {
  SpokenPath spoken;
  std::optional<PageEntries> pages;
  PageFacts facts;
  std::map<Ordinal, std::string> roles;
  std::vector<Ordinal> talk;  // of the path for people
  {
    const auto guard = session.read();
    if (!guard || !guard->has_details()) {
      return session_changed();
    }
    const LogIndex& index = guard->index();
    spoken = spoken_path(session, *guard, end, Reach::context);
    pages.emplace(session, *guard, place.to_session);
    facts = facts_of(session, index, end);
    for (const Ordinal ordinal : people_entries(index, end)) {
      roles[ordinal] = std::string(index.role(ordinal));
      if (is_talk(index, ordinal)) {
        talk.push_back(ordinal);
      }
    }
  }
  facts.title = session_name(session, kTitle);
  std::vector<std::string> parts;  // of the articles
  bool has_code = false;
  std::string articles;
  const auto end_part = [&] {
    has_code = has_code || articles.find("<code class=\"language-") != std::string::npos;
    parts.push_back(std::exchange(articles, ""));
  };
  std::size_t messages = 0;
  std::set<Ordinal> sent;
  std::map<Ordinal, std::uint32_t> images;
  std::uint64_t bytes = 0;
  RETURN_IF_ERROR(
      session.format().renderer->read_turns(spoken, [&](Ordinal entry, const std::vector<Turn>& turns) -> Result<void> {
        for (const Turn& turn : turns) {
          std::string body;
          pages->turns().add(entry, turn, images[entry], body);
          if (body.empty()) {
            continue;
          }
          ++messages;
          sent.insert(entry);
          const std::string speaker = turn.is_note                               ? "summary"
                                      : turn.speaker == Turn::Speaker::user      ? "user"
                                      : turn.speaker == Turn::Speaker::assistant ? "assistant"
                                                                                 : "tool";
          const std::string number = std::to_string(entry);
          articles += "<article class=\"" + speaker + "\" data-item=\"" + speaker + "\">\n<header><h2>" +
                      (turn.is_note ? "user (put in)" : speaker) + "</h2>";
          articles += entry == kNoEntry ? "" : " <a href=\"transcript.html#e" + number + "\">#" + number + "</a>";
          articles += time_html(turn.time_ms) + "</header>\n" + body + "</article>\n";
          bytes += body.size();
          if (articles.size() >= kPart) {
            end_part();
          }
        }
        return bytes > kMaxConversation ? Result<void>(conversation_too_long()) : go_on();
      }));
  end_part();
  std::size_t left_out = 0;
  for (const Ordinal ordinal : talk) {
    left_out += sent.contains(ordinal) ? 0 : 1;
  }
  const std::string says =
      "What the agent would send the model after #" + std::to_string(end) + ": " + counted(messages, "message") +
      (left_out == 0 ? "."
                     : ". " + counted(left_out, "entry", "entries") + " of the conversation " +
                           (left_out == 1 ? "is" : "are") + " not sent, or only in a shorter form.");
  auto content = std::make_shared<Content>();
  content->add_text(html::page_begin({"What the model saw: " + facts.title, "context"}) +
                    head_of(facts, *pages, place, text(says)) + std::string(kBar) + "<main id=\"main\">\n");
  for (std::string& part : parts) {
    const auto kept = std::make_shared<const std::string>(std::move(part));
    content->add_rendered(kept->size(), [kept]() -> Result<std::string> { return *kept; });
  }
  content->add_text("</main>\n" + foot() + html::page_end(has_code));
  return std::shared_ptr<const Content>(content);
}

}  // namespace arborfs
