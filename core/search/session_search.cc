#include "core/search/session_search.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/render/names.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"
#include "core/search/fold.h"

namespace arborfs::search {

namespace {

/// An entry as the index has it, copied so that no lock is held while its text is read.
struct Candidate {
  Ordinal ordinal = kNoEntry;
  EntryType type = EntryType::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct Candidates {
  std::shared_ptr<const LogSource> log;
  FileStat state;
  Ordinal of = kNoEntry;  // how many entries the session has
  std::vector<Candidate> entries;
};

bool passes(const LogIndex& index, Ordinal ordinal, const Query& query) {
  const std::int64_t time = index.entry(ordinal).timestamp_ms;
  if ((query.after_ms || query.before_ms) && time == Entry::kNoTime) {
    return false;
  }
  return (query.role.empty() || folded(index.name(ordinal)) == folded(query.role)) &&
         (!query.after_ms || time >= *query.after_ms) && (!query.before_ms || time < *query.before_ms);
}

std::vector<Ordinal> labelled(const LogIndex& index, const std::string& label) {
  std::vector<Ordinal> entries;
  for (const Label& one : index.labels()) {
    if (one.text == label) {
      entries.push_back(index.find(one.target));
    }
  }
  return entries;
}

Result<Candidates> candidates_of(const Session& session, const Query& query) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  const auto chosen = query.label.empty() ? std::vector<Ordinal>() : labelled(index, query.label);
  Candidates found{guard.log(), guard.stat(), index.size(), {}};
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    const bool has_label = query.label.empty() || std::find(chosen.begin(), chosen.end(), ordinal) != chosen.end();
    if (has_label && passes(index, ordinal, query)) {
      const Entry& entry = index.entry(ordinal);
      found.entries.push_back({ordinal, entry.type, entry.offset, index.length(ordinal)});
    }
  }
  return found;
}

/// True if the folded text has a code block whose first line is the tool's name: how a text shows a tool call.
bool calls_tool(std::string_view text, std::string_view tool) {
  for (std::size_t at = text.find("```"); at != std::string_view::npos; at = text.find("```", at + 1)) {
    const std::size_t line = text.find('\n', at);
    if (line == std::string_view::npos) {
      return false;
    }
    const std::string_view rest = text.substr(line + 1);
    if (rest.starts_with(tool) && (rest.size() == tool.size() || rest[tool.size()] == '\n')) {
      return true;
    }
  }
  return false;
}

std::uint64_t count_of(std::string_view text, std::string_view word) {
  std::uint64_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) {
    ++count;
  }
  return count;
}

class SessionSearch {
 public:
  SessionSearch(const SessionPtr& session, const Query& query, const Options& options, std::optional<TextsToRead> texts)
      : session_(session), query_(query), options_(options), texts_(std::move(texts)) {
    findings_.counts.resize(query.wanted.size());
    findings_.match.session = session;
  }

  Result<std::optional<SessionFindings>> run() {
    ASSIGN_OR_RETURN(const auto candidates, candidates_of(*session_, query_));
    const auto indexed = indexed_entries(candidates);
    for (const Candidate& one : candidates.entries) {
      if (indexed && !texts_->has(one.ordinal)) {
        findings_.text_bytes += query_.tool.empty() ? (*indexed)[one.ordinal - 1].text_size : 0;
        continue;
      }
      if (options_.is_over()) {
        return Error{Errc::interrupted, "the search was cancelled"};
      }
      ASSIGN_OR_RETURN(const auto text,
                       read_text(*session_->format().renderer, *candidates.log, one.type, one.offset, one.length));
      if (!take(one.ordinal, text)) {
        return std::optional<SessionFindings>();
      }
    }
    if (!is_match(candidates.entries.empty())) {
      return std::optional<SessionFindings>();
    }
    name_hits();
    return std::optional(std::move(findings_));
  }

 private:
  /// The entries as they are indexed; nothing if all texts are to be read.
  std::optional<std::vector<IndexedEntry>> indexed_entries(const Candidates& now) const {
    const bool is_indexed = texts_ && is_state_of(*texts_->indexed, now.state) && texts_->indexed->count() == now.of;
    return is_indexed ? texts_->indexed->entries() : std::nullopt;
  }

  /// False if the text has an unwanted word.
  bool take(Ordinal ordinal, const std::string& text) {
    const std::string folded_text = folded(text);
    const auto has = [&](const std::string& word) { return folded_text.find(word) != std::string::npos; };
    if (std::any_of(query_.unwanted.begin(), query_.unwanted.end(), has)) {
      return false;
    }
    if (!query_.tool.empty() && !calls_tool(folded_text, query_.tool)) {
      return true;
    }
    findings_.text_bytes += text.size();
    std::size_t words = 0;
    for (std::size_t i = 0; i < query_.wanted.size(); ++i) {
      const std::uint64_t count = count_of(folded_text, query_.wanted[i]);
      findings_.counts[i] += count;
      words += count > 0 ? 1 : 0;
    }
    if (words > 0 || (query_.wanted.empty() && query_.filters_entries())) {
      keep(ordinal, words, text);
    }
    return true;
  }

  /// Keeps the entries with the most words; of entries with equally many, the first ones.
  void keep(Ordinal ordinal, std::size_t words, const std::string& text) {
    auto& hits = findings_.match.hits;
    ++findings_.match.hit_count;
    if (hits.size() >= options_.most_hits) {
      const auto least = std::min_element(words_.rbegin(), words_.rend());
      if (least == words_.rend() || *least >= words) {
        return;
      }
      const auto at = std::distance(words_.begin(), least.base()) - 1;
      words_.erase(words_.begin() + at);
      hits.erase(hits.begin() + at);
    }
    words_.push_back(words);
    hits.push_back({ordinal, "", Entry::kNoTime, excerpt_of(text, query_.wanted, options_.excerpt_characters)});
  }

  [[nodiscard]] bool is_match(bool has_no_entries) const {
    const bool has_all = std::all_of(findings_.counts.begin(), findings_.counts.end(), [](auto n) { return n > 0; });
    return has_all && (!query_.filters_entries() || (findings_.match.hit_count > 0 && !has_no_entries));
  }

  void name_hits() {
    const auto guard = session_->read();
    for (Hit& hit : findings_.match.hits) {
      if (guard && hit.ordinal <= guard->index().size()) {
        hit.stem = names::entry_stem(guard->index(), hit.ordinal);
        hit.time_ms = guard->index().entry(hit.ordinal).timestamp_ms;
      }
    }
  }

  const SessionPtr& session_;
  const Query& query_;
  const Options& options_;
  const std::optional<TextsToRead> texts_;
  SessionFindings findings_;
  std::vector<std::size_t> words_;  // of each kept hit
};

/// False if the texts to read lack a wanted word. Reads until each has been found, without the log's index: most of the
/// sessions that the search index names by mistake are left out here.
bool has_words(const Session& session, const Query& query, const TextsToRead& texts, const Options& options) {
  const auto log = session.store().open(session.place());
  const auto entries = texts.indexed->entries();
  if (!log || !entries || !is_state_of(*texts.indexed, (*log)->opened())) {
    return true;
  }
  std::vector<std::string_view> missing(query.wanted.begin(), query.wanted.end());
  for (const Chunk& chunk : texts.chunks) {
    for (Ordinal ordinal = chunk.first; ordinal <= chunk.last; ++ordinal) {
      const IndexedEntry& entry = (*entries)[ordinal - 1];
      const auto text = read_text(*session.format().renderer, **log, entry.type, entry.offset, entry.length);
      if (!text || options.is_over()) {
        return true;
      }
      const std::string folded_text = folded(*text);
      std::erase_if(missing, [&](std::string_view word) { return folded_text.find(word) != std::string::npos; });
      if (missing.empty()) {
        return true;
      }
    }
  }
  return false;
}

/// What to read of a session according to the search index; nothing if all is to be read.
std::optional<TextsToRead> texts_to_read(const Session& session, const Query& query, const Options& options,
                                         const IndexLookup* lookup) {
  const auto now = lookup == nullptr ? Result<FileStat>(FileStat()) : session.store().stat(session.place());
  auto texts = lookup != nullptr && now ? lookup->texts_of(session, *now) : std::nullopt;
  if (texts && texts->may_match && !query.wanted.empty() && !session.has(Depth::index)) {
    texts->may_match = has_words(session, query, *texts, options);
  }
  return texts;
}

}  // namespace

Result<std::optional<SessionFindings>> search_session(const SessionPtr& session, const Query& query,
                                                      const Options& options, const IndexLookup* lookup) {
  auto texts = texts_to_read(*session, query, options, lookup);
  if (texts && !texts->may_match) {
    return std::optional<SessionFindings>();
  }
  if (texts && texts->chunks.empty() && !query.filters_entries()) {  // not even a word is wanted
    SessionFindings findings;
    findings.match.session = session;
    return std::optional(std::move(findings));
  }
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index, options.cancelled));
  return SessionSearch(session, query, options, std::move(texts)).run();
}

}  // namespace arborfs::search
