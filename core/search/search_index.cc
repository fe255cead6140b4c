#include "core/search/search_index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/search/terms.h"

namespace arborfs::search {

void ChunkSet::add(std::uint64_t id) {
  if (id / 64 >= bits_.size()) {
    bits_.resize(id / 64 + 1);
  }
  bits_[id / 64] |= std::uint64_t{1} << (id & 63U);
}

void ChunkSet::add(const ChunkSet& other) {
  is_all_ = is_all_ || other.is_all_;
  bits_.resize(std::max(bits_.size(), other.bits_.size()));
  for (std::size_t i = 0; i < other.bits_.size(); ++i) {
    bits_[i] |= other.bits_[i];
  }
}

void ChunkSet::keep_only(const ChunkSet& other) {
  if (other.is_all_) {
    return;
  }
  if (is_all_) {
    *this = other;
    return;
  }
  bits_.resize(std::min(bits_.size(), other.bits_.size()));
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    bits_[i] &= other.bits_[i];
  }
}

void ChunkSet::remove(const ChunkSet& other) {
  for (std::size_t i = 0; i < std::min(bits_.size(), other.bits_.size()); ++i) {
    bits_[i] &= ~other.bits_[i];
  }
}

std::size_t ChunkSet::count() const {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const auto add = [](std::size_t sum, std::uint64_t bits) {
    return sum + static_cast<std::size_t>(std::popcount(bits));
  };
  return is_all_ ? kAll : std::accumulate(bits_.begin(), bits_.end(), std::size_t{0}, add);
}

namespace {

/// Fewer rows are looked up in less time than a search takes anyway.
constexpr std::size_t kFrequent = 512;
constexpr std::size_t kMostKept = std::size_t{4} << 20U;
/// Each look-up of a term costs some 10 microseconds. Of more terms that have the word, the first are looked up, which
/// are the most frequent ones; all chunks may have the others.
constexpr std::size_t kMostLookups = 512;
/// Each part of a text so long is in one term (kLongestTerm).
constexpr std::size_t kSurePart = kLongestTerm / 2 + 1;

using Terms = std::vector<TermId>;
constexpr std::string_view kBlank = " ";

/// The term as a string of the full-text index's query language.
std::string match_of(TermId term) {
  std::string token;
  append_token(term, token);
  std::string match = "\"";
  for (const char c : token) {
    match += c == '"' ? "\"\"" : std::string(1, c);
  }
  return match + '"';
}

}  // namespace

Result<TermChunks> TermChunks::make(const sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT rowid FROM words WHERE words MATCH ?1"));
  return TermChunks(std::move(rows));
}

Result<ChunkSet> TermChunks::of(TermId term, std::uint64_t last_chunk) {
  if (last_chunk != last_chunk_ || bytes_ > kMostKept) {
    kept_.clear();
    bytes_ = 0;
    last_chunk_ = last_chunk;
  }
  if (const auto kept = kept_.find(term); kept != kept_.end()) {
    return kept->second;
  }
  auto chunks = look_up(term, last_chunk);
  rows_.reset();  // so that it holds no lock
  if (chunks && chunks->count() >= kFrequent) {
    bytes_ += chunks->bytes();
    kept_.emplace(term, *chunks);
  }
  return chunks;
}

Result<ChunkSet> TermChunks::look_up(TermId term, std::uint64_t last_chunk) {
  const std::string match = match_of(term);
  rows_.reset();
  rows_.bind(1, match);
  ChunkSet chunks;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows_.step());
    if (!has_row) {
      return chunks;
    }
    const auto chunk = static_cast<std::uint64_t>(rows_.integer(0));
    if (chunk > last_chunk) {
      return index_is_damaged();
    }
    chunks.add(chunk);
  }
}

namespace {

/// The terms that may stand at each place of a phrase: at the first and the last one those that end and begin with the
/// phrase's ends, between them one each. At least two places; none is empty.
using Places = std::vector<Terms>;

/// Whether the codes of a chunk have a phrase. Any thread.
class PhraseMatcher {
 public:
  PhraseMatcher(const TermSegment& segment, const Places& places)
      : first_(segment, places.front()), last_(segment, places.back()) {
    for (const Terms& place : places) {
      if (place.size() == 1) {
        add_fixed(place.front());
      }
    }
  }

  [[nodiscard]] bool is_in(std::string_view codes) const {
    if (fixed_.empty()) {
      return has_pair(codes);
    }
    for (std::size_t at = find_fixed(codes, 0); at != std::string_view::npos; at = find_fixed(codes, at + 1)) {
      if (has_neighbours(codes, at, at + fixed_.size())) {
        return true;
      }
    }
    return false;
  }

 private:
  class TermSet {
   public:
    TermSet(const TermSegment& segment, const Terms& terms)
        : is_one_(terms.size() == 1), first_(segment.first), has_(segment.count()) {
      for (const TermId term : terms) {
        has_[term - first_] = true;
      }
    }
    [[nodiscard]] bool has(TermId term) const { return term - first_ < has_.size() && has_[term - first_]; }
    [[nodiscard]] bool is_one() const { return is_one_; }

   private:
    bool is_one_;
    TermId first_;
    std::vector<bool> has_;
  };

  static bool is_end_of_code(char byte) { return static_cast<std::uint8_t>(byte) >= 0x80; }

  void add_fixed(TermId term) {
    append_code(term, fixed_);
    if (term > rarest_) {  // terms that are frequent tend to be seen early
      rarest_ = term;
      rare_byte_ = fixed_.size() - 1;
    }
  }

  /// Where the fixed terms follow each other, from `at` on; npos if nowhere.
  [[nodiscard]] std::size_t find_fixed(std::string_view codes, std::size_t at) const {
    for (std::size_t rare = codes.find(fixed_[rare_byte_], at + rare_byte_); rare != std::string_view::npos;
         rare = codes.find(fixed_[rare_byte_], rare + 1)) {
      const std::size_t begin = rare - rare_byte_;
      const bool is_at_code = begin == 0 || is_end_of_code(codes[begin - 1]);
      if (is_at_code && codes.substr(begin, fixed_.size()) == fixed_) {
        return begin;
      }
    }
    return std::string_view::npos;
  }

  /// True if the terms before and after the fixed ones, as far as they are not among these, are the first and the last
  /// of the phrase.
  [[nodiscard]] bool has_neighbours(std::string_view codes, std::size_t begin, std::size_t end) const {
    if (!last_.is_one()) {
      const auto last = take_code(codes, end);
      if (!last || !last_.has(*last)) {
        return false;
      }
    }
    if (first_.is_one()) {
      return true;
    }
    if (begin == 0) {
      return false;
    }
    std::size_t before = begin - 1;
    while (before > 0 && !is_end_of_code(codes[before - 1])) {
      --before;
    }
    const auto first = take_code(codes, before);
    return first && first_.has(*first);
  }

  [[nodiscard]] bool has_pair(std::string_view codes) const {
    bool follows_first = false;
    for (std::size_t at = 0; at < codes.size();) {
      const auto term = take_code(codes, at);
      if (!term || (follows_first && last_.has(*term))) {
        return term.has_value();
      }
      follows_first = first_.has(*term);
    }
    return false;
  }

  TermSet first_;
  TermSet last_;
  std::string fixed_;  // codes of the terms that the phrase surely has
  TermId rarest_ = 0;
  std::size_t rare_byte_ = 0;  // the place of the last byte of its code
};

/// The terms with which a phrase may begin or end. A blank there stands next to a word, or at the edge of a term.
TermsWith terms_at_end(const TermSegment& segment, std::string_view run) {
  if (run != kBlank) {
    return terms_with(segment, run);
  }
  TermsWith found;
  for (TermId id = segment.first; id < segment.next(); ++id) {
    const std::string_view term = segment.at(id);
    if (is_word(term) || term.ends_with(kBlank)) {
      found.end.push_back(id);
    }
    if (is_word(term) || term.starts_with(kBlank)) {
      found.begin.push_back(id);
    }
  }
  return found;
}

/// What is read of an index: through two connections at once, unless `second` is null.
struct WordIndex {
  const sqlite::Connection& first;
  const sqlite::Connection* second;
  const IndexTable& table;
  TermChunks& terms;
};

/// Finds the chunks that have a word or phrase. A word is a part of terms; a phrase is terms that follow each other, of
/// which it may begin within the first and end within the last. Used once.
class WordFinder {
 public:
  /// Unless `needs_all`, chunks of sessions that surely have the word elsewhere may be left out.
  WordFinder(const WordIndex& index, bool needs_all, const IsOver& is_over)
      : index_(index), table_(index.table), needs_all_(needs_all), is_over_(is_over) {}

  /// `word` is folded. Errors: corrupt, busy, io; interrupted once it is over.
  Result<WordChunks> find(std::string_view word) {
    if (word.empty() || word == kBlank) {
      found_.may = ChunkSet::all();
      return std::move(found_);
    }
    split(word);
    for (const TermSegment& segment : table_.segments()) {
      RETURN_IF_ERROR(runs_.size() == 1 ? find_part(segment) : find_phrase(segment));
    }
    if (!is_exact_) {
      found_.may.add(found_.has);
      found_.has = ChunkSet();
    }
    return std::move(found_);
  }

 private:
  /// A blank between two words is no term, so it is left out; a blank at an end is kept.
  void split(std::string_view word) {
    while (!word.empty()) {
      const std::string_view run = word.substr(0, end_of_run(word));
      word.remove_prefix(run.size());
      const bool is_end = runs_.empty() || word.empty();
      if (run != kBlank || is_end) {
        runs_.push_back(run);
      }
    }
    if (runs_.front().size() > kSurePart) {
      is_exact_ = false;
      runs_.front().remove_prefix(runs_.front().size() - kSurePart);
    }
    if (runs_.back().size() > kSurePart) {
      is_exact_ = false;
      runs_.back() = runs_.back().substr(0, kSurePart);
    }
  }

  /// True if each session surely has the word, so that no other term matters.
  bool is_everywhere() {
    if (needs_all_ || !is_exact_ || new_chunks_ < table_.rows()->size()) {
      return false;
    }
    new_chunks_ = 0;
    const auto has = [&](const Chunk& chunk) { return found_.surely_in(chunk); };
    return std::all_of(table_.rows()->begin(), table_.rows()->end(), [&](const auto& row) {
      const IndexedSession& session = *row.second;
      return session.is_part() || std::any_of(session.chunks.begin(), session.chunks.end(), has);
    });
  }

  Result<void> find_part(const TermSegment& segment) {
    const Terms terms = terms_with(segment, runs_.front()).all;
    for (std::size_t i = 0; i < std::min(terms.size(), kMostLookups); ++i) {
      ASSIGN_OR_RETURN(const ChunkSet chunks, index_.terms.of(terms[i], table_.last_chunk()));
      found_.has.add(chunks);
      new_chunks_ += chunks.count();
      if (i + 1 < terms.size() && is_everywhere()) {
        found_.is_partial = true;
        return {};
      }
    }
    if (terms.size() > kMostLookups) {
      found_.may = ChunkSet::all();
    }
    return {};
  }

  /// Empty if the segment lacks a term of the phrase.
  [[nodiscard]] Places places_in(const TermSegment& segment) const {
    Places places{terms_at_end(segment, runs_.front()).end};
    for (std::size_t i = 1; i + 1 < runs_.size(); ++i) {
      const TermId term = terms_with(segment, runs_[i]).equal;
      places.push_back(term == kBreak ? Terms{} : Terms{term});
    }
    places.push_back(terms_at_end(segment, runs_.back()).begin);
    const bool lacks_one = std::any_of(places.begin(), places.end(), [](const Terms& place) { return place.empty(); });
    return lacks_one ? Places{} : places;
  }

  Result<void> find_phrase(const TermSegment& segment) {
    const bool has_long =
        std::any_of(runs_.begin() + 1, runs_.end() - 1, [](std::string_view run) { return run.size() > kLongestTerm; });
    if (has_long) {
      found_.may = ChunkSet::all();
      return {};
    }
    const Places places = places_in(segment);
    if (places.empty()) {
      return {};
    }
    ChunkSet chunks = ChunkSet::all();
    for (const Terms& place : places) {
      ASSIGN_OR_RETURN(const ChunkSet with, with_any(place));
      chunks.keep_only(with);
    }
    RETURN_IF_ERROR(leave_out_by_pairs(places, chunks));
    return scan(PhraseMatcher(segment, places), chunks);
  }

  /// The chunks that have one of the terms; all if they are too many to be looked up.
  Result<ChunkSet> with_any(const Terms& terms) {
    if (terms.size() > kMostLookups) {
      return ChunkSet::all();
    }
    ChunkSet chunks;
    for (const TermId term : terms) {
      ASSIGN_OR_RETURN(const ChunkSet with, index_.terms.of(term, table_.last_chunk()));
      chunks.add(with);
    }
    return chunks;
  }

  /// Calls work(part, connection) for each part of the index at once. Errors: the first of theirs.
  template <class Work>
  Result<void> in_parts(const Work& work) {
    std::array<Result<void>, kParts> done;
    parallel_for(parts(),
                 [&](std::size_t part) { done.at(part) = work(part, part == 0 ? index_.first : *index_.second); });
    return done[0] ? done[1] : done[0];
  }
  [[nodiscard]] std::size_t parts() const { return index_.second == nullptr ? 1 : kParts; }

  /// Removes chunks that lack a pair of the phrase. Reading the filters of all chunks takes as long as the codes of one
  /// chunk in kFilterShare.
  Result<void> leave_out_by_pairs(const Places& places, ChunkSet& chunks) {
    constexpr std::size_t kFilterShare = 16;
    PhrasePairs pairs;
    for (std::size_t i = 1; i < places.size(); ++i) {
      pairs.need(places[i - 1], places[i]);
    }
    if (pairs.is_empty() || chunks.count() <= table_.last_chunk() / kFilterShare) {
      return {};
    }
    std::array<ChunkSet, kParts> lacking;
    RETURN_IF_ERROR(in_parts([&](std::size_t part, const sqlite::Connection& connection) {
      return add_lacking(connection, part, pairs, chunks, lacking.at(part));
    }));
    for (const ChunkSet& some : lacking) {
      chunks.remove(some);
    }
    return {};
  }

  /// Adds those of `chunks` in a part of the index that lack a pair.
  Result<void> add_lacking(const sqlite::Connection& connection, std::size_t part, const PhrasePairs& pairs,
                           const ChunkSet& chunks, ChunkSet& lacking) {
    ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT id, filter FROM pairs WHERE id > ?1 AND id <= ?2"));
    rows.bind(1, static_cast<std::int64_t>(table_.last_chunk() * part / parts()));
    rows.bind(2, static_cast<std::int64_t>(table_.last_chunk() * (part + 1) / parts()));
    for (;;) {
      if (is_over_()) {
        return search_is_over();
      }
      ASSIGN_OR_RETURN(const bool has_row, rows.step());
      if (!has_row) {
        return {};
      }
      const std::string_view filter = rows.blob(1);
      if (filter.size() != kPairFilterBytes) {
        return index_is_damaged();
      }
      if (chunks.has(rows.integer(0)) && !pairs.may_be_in(filter)) {
        lacking.add(static_cast<std::uint64_t>(rows.integer(0)));
      }
    }
  }

  /// Adds the chunks that have the phrase; if it is exact and not all are needed, of each session only the first
  /// surely.
  Result<void> scan(const PhraseMatcher& phrase, const ChunkSet& chunks) {
    std::vector<const IndexedSession*> sessions;
    sessions.reserve(table_.rows()->size());
    for (const auto& [key, session] : *table_.rows()) {
      sessions.push_back(session.get());
    }
    std::array<WordChunks, kParts> found_by;
    std::atomic<std::size_t> next{0};
    const auto scan_part = [&](std::size_t part, const sqlite::Connection& connection) -> Result<void> {
      ASSIGN_OR_RETURN(auto codes, connection.prepare("SELECT codes FROM chunks WHERE id=?1"));
      for (std::size_t i = next++; i < sessions.size(); i = next++) {
        if (is_over_()) {
          return search_is_over();
        }
        RETURN_IF_ERROR(scan_session(*sessions[i], codes, phrase, chunks, found_by.at(part)));
      }
      return {};
    };
    RETURN_IF_ERROR(in_parts(scan_part));
    for (const WordChunks& some : found_by) {
      found_.has.add(some.has);
      found_.may.add(some.may);
    }
    return {};
  }

  Result<void> scan_session(const IndexedSession& session, sqlite::Statement& codes, const PhraseMatcher& phrase,
                            const ChunkSet& chunks, WordChunks& found) const {
    bool is_found = false;
    for (const Chunk& chunk : session.chunks) {
      if (chunk.id == Chunk::kUnread || !chunks.has(chunk.id)) {
        continue;
      }
      const auto id = static_cast<std::uint64_t>(chunk.id);
      if (is_found && is_exact_) {
        found.may.add(id);
        continue;
      }
      codes.reset();
      codes.bind(1, chunk.id);
      ASSIGN_OR_RETURN(const bool has_row, codes.step());
      if (!has_row) {
        found.may.add(id);  // another process has removed the session
      } else if (phrase.is_in(codes.blob(0))) {
        found.has.add(id);
        is_found = true;
      }
    }
    return {};
  }

  static constexpr std::size_t kParts = 2;
  const WordIndex& index_;
  const IndexTable& table_;
  bool needs_all_;
  const IsOver& is_over_;
  std::vector<std::string_view> runs_;
  bool is_exact_ = true;
  std::size_t new_chunks_ = 0;  // since is_everywhere() looked
  WordChunks found_;
};

}  // namespace

bool IndexedAnswer::is_sure() const {
  return may_match && !may_have_unwanted && std::all_of(counts.begin(), counts.end(), [](auto n) { return n > 0; });
}

namespace {

/// How many chunks surely have a word. If only the first one is known, as many as if the others had it as often.
double count_in(const std::vector<Chunk>& chunks, const WordChunks& word) {
  std::size_t count = 0;
  std::size_t first = 0;
  bool has_later = false;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (word.surely_in(chunks[i])) {
      first = count == 0 ? i : first;
      ++count;
    }
    has_later = has_later || word.may.has(chunks[i].id);
  }
  return count == 1 && has_later ? static_cast<double>(chunks.size()) / static_cast<double>(first + 1)
                                 : static_cast<double>(count);
}

}  // namespace

std::optional<IndexedAnswer> IndexLookup::answer_for(const Session& session, const FileStat& state) const {
  const auto found = rows_->find(key_of(session));
  if (found == rows_->end() || !is_state_of(*found->second, state)) {
    return std::nullopt;
  }
  IndexedAnswer answer;
  answer.indexed = found->second.get();
  answer.counts.resize(chunks_.wanted.size());
  const auto& chunks = answer.indexed->chunks;
  answer.may_match =
      !chunks_.tool || std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return may_call(chunk); });
  for (std::size_t i = 0; answer.may_match && i < chunks_.wanted.size(); ++i) {
    const WordChunks& word = chunks_.wanted[i];
    answer.may_match = std::any_of(chunks.begin(), chunks.end(),
                                   [&](const Chunk& chunk) { return word.perhaps_in(chunk) && may_call(chunk); });
    answer.counts[i] = answer.may_match ? count_in(chunks, word) : 0;
  }
  for (const WordChunks& word : chunks_.unwanted) {
    for (const Chunk& chunk : chunks) {
      answer.may_match = answer.may_match && (chunks_.filters_entries || !word.surely_in(chunk));
      answer.may_have_unwanted = answer.may_have_unwanted || word.perhaps_in(chunk);
    }
  }
  return answer;
}

std::vector<Chunk> IndexLookup::chunks_with_words(const IndexedAnswer& answer) const {
  std::vector<std::pair<std::ptrdiff_t, Chunk>> chosen;
  for (const Chunk& chunk : answer.indexed->chunks) {
    const auto words = std::count_if(chunks_.wanted.begin(), chunks_.wanted.end(),
                                     [&](const WordChunks& word) { return word.perhaps_in(chunk); });
    if (may_call(chunk) && (words > 0 || chunks_.wanted.empty())) {
      chosen.emplace_back(words, chunk);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Chunk> chunks;
  chunks.reserve(chosen.size());
  for (const auto& [words, chunk] : chosen) {
    chunks.push_back(chunk);
  }
  return chunks;
}

bool IndexLookup::leaves_out_chunks(const IndexedAnswer& answer) const {
  const auto& chunks = answer.indexed->chunks;
  return std::any_of(chunks_.wanted.begin(), chunks_.wanted.end(), [&](const WordChunks& word) {
    return word.is_partial &&
           !std::all_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return word.perhaps_in(chunk); });
  });
}

std::vector<Chunk> IndexLookup::chunks_to_check(const IndexedAnswer& answer) const {
  std::vector<Chunk> chunks;
  for (const Chunk& chunk : answer.indexed->chunks) {
    const auto has = [&](const WordChunks& word) { return word.perhaps_in(chunk); };
    bool is_open = std::any_of(chunks_.unwanted.begin(), chunks_.unwanted.end(), has);
    for (std::size_t i = 0; i < chunks_.wanted.size(); ++i) {
      is_open =
          is_open || (may_call(chunk) && (chunks_.filters_entries || answer.counts[i] == 0) && has(chunks_.wanted[i]));
    }
    if (is_open || (chunks_.filters_entries && chunks_.wanted.empty() && may_call(chunk))) {
      chunks.push_back(chunk);
    }
  }
  return chunks;
}

namespace {

/// True if an index can save reading texts for the query.
bool can_use_index(const Query& query) {
  return !query.wanted.empty() || !query.tool.empty() || !query.filters_entries();
}

}  // namespace

std::optional<bool> TouchedLookup::has_touched(const Session& session, const FileStat& state) const {
  const std::uint32_t number = session.number();
  const IndexedSession* const row = number < shown_->rows.size() ? shown_->rows[number].get() : nullptr;
  const bool is_known = row != nullptr && row->has_files && is_state_of(*row, state);
  return is_known ? std::optional(touched_.contains(row)) : std::nullopt;
}

namespace {

ShownKeys keys_shown(const CatalogView& view) {
  ShownKeys keys(view.shown.size());
  parallel_for(keys.size(), [&](std::size_t i) {
    const Session& session = *view.shown[i]->session();
    keys[i] = {session.number(), key_of(session)};
  });
  return keys;
}

std::shared_ptr<const ShownRows> rows_shown(const IndexTable& table, const CatalogView& view, const ShownKeys& keys) {
  auto shown = std::make_shared<ShownRows>();
  shown->view = view.version;
  shown->change = table.last_change();
  std::uint32_t last = 0;
  for (const auto& [number, key] : keys) {
    last = std::max(last, number);
  }
  shown->rows.resize(last + std::size_t{1});
  parallel_for(keys.size(), [&](std::size_t i) { shown->rows[keys[i].first] = table.find(keys[i].second); });
  return shown;
}

}  // namespace

/// What is read under the lock; null after an error. Only the index that is in place can be reported as damaged.
template <class Found>
std::shared_ptr<const Found> SearchIndex::found_by(
    const std::function<Result<std::shared_ptr<const Found>>()>& read_found) {
  bool is_damaged = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = read_found();
    if (found) {
      return *found;
    }
    if (found.error().code == Errc::interrupted && database_->connection().run("ROLLBACK")) {
      return nullptr;
    }
    is_damaged = found.error().code == Errc::corrupt && (!database_ || database_->is_in_place());
    close();
  }
  if (is_damaged && on_damage_) {
    on_damage_();
  }
  return nullptr;
}

std::shared_ptr<const IndexLookup> SearchIndex::look_up(const Query& query, const IsOver& is_over) {
  return can_use_index(query) ? found_by<IndexLookup>([&] { return read(query, is_over); }) : nullptr;
}

std::shared_ptr<const TouchedLookup> SearchIndex::look_up(const PathFilter& filter, const CatalogView& view) {
  auto found = found_by<TouchedLookup>([&] { return read(filter, view, nullptr); });
  if (found == nullptr || found->has_rows()) {
    return found;
  }
  const ShownKeys keys = keys_shown(view);  // without the lock, because it takes those of the sessions
  return found_by<TouchedLookup>([&] { return read(filter, view, &keys); });
}

void SearchIndex::close() {
  terms_.reset();
  database_.reset();
  second_.reset();
}

Result<void> SearchIndex::open() {
  if (database_ && !database_->is_in_place()) {
    close();
  }
  if (!database_) {
    table_ = IndexTable();
    shown_.reset();
    ASSIGN_OR_RETURN(auto opened, IndexDatabase::open(folder_));
    ASSIGN_OR_RETURN(auto terms, TermChunks::make(opened.connection()));
    database_.emplace(std::move(opened));
    terms_.emplace(std::move(terms));
    if (auto second = IndexDatabase::open(folder_); second && second->is_in_place() && database_->is_in_place()) {
      second_.emplace(std::move(*second));
    }
  }
  return {};
}

/// The transaction makes rows and chunks those of one moment.
Result<std::shared_ptr<const IndexLookup>> SearchIndex::read(const Query& query, const IsOver& is_over) {
  RETURN_IF_ERROR(open());
  RETURN_IF_ERROR(database_->connection().run("BEGIN"));
  RETURN_IF_ERROR(table_.update(database_->connection()));
  const WordIndex index{database_->connection(), second_ ? &second_->connection() : nullptr, table_, *terms_};
  const auto find = [&](const std::string& word, bool needs_all) {
    return WordFinder(index, needs_all, is_over).find(word);
  };
  QueryChunks chunks;
  chunks.filters_entries = query.filters_entries();
  for (const auto& [words, sets] : {std::pair(&query.wanted, &chunks.wanted), {&query.unwanted, &chunks.unwanted}}) {
    for (const std::string& word : *words) {
      ASSIGN_OR_RETURN(auto found, find(word, query.filters_entries()));
      sets->push_back(std::move(found));
    }
  }
  if (!query.tool.empty()) {
    ASSIGN_OR_RETURN(chunks.tool, find(query.tool, true));
  }
  RETURN_IF_ERROR(database_->connection().run("COMMIT"));
  return std::shared_ptr<const IndexLookup>(std::make_shared<IndexLookup>(table_.rows(), std::move(chunks)));
}

/// Those of a folder are found among all, those of a name among those of the name.
Result<std::shared_ptr<const TouchedLookup>> SearchIndex::read(const PathFilter& filter, const CatalogView& view,
                                                               const ShownKeys* keys) {
  RETURN_IF_ERROR(open());
  RETURN_IF_ERROR(database_->connection().run("BEGIN"));
  RETURN_IF_ERROR(table_.update(database_->connection()));
  if (shown_ == nullptr || shown_->view != view.version || shown_->change != table_.last_change()) {
    shown_ = keys == nullptr ? nullptr : rows_shown(table_, view, *keys);
  }
  if (shown_ == nullptr) {
    RETURN_IF_ERROR(database_->connection().run("COMMIT"));
    return std::shared_ptr<const TouchedLookup>(std::make_shared<TouchedLookup>(nullptr, TouchedLookup::Touched()));
  }
  const std::string_view name = filter.name();
  const std::string_view path = filter.path();
  ASSIGN_OR_RETURN(auto rows, database_->connection().prepare("SELECT store, log, path FROM touched" +
                                                              std::string(name.empty() ? "" : " WHERE name=?1") +
                                                              (path.empty() ? "" : " AND path=?2")));
  if (!name.empty()) {
    rows.bind(1, name);
  }
  if (!path.empty()) {
    rows.bind(2, path);
  }
  TouchedLookup::Touched touched;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      break;
    }
    if (filter.fits(rows.text(2))) {
      touched.insert(table_.find({std::string(rows.text(0)), std::string(rows.text(1))}).get());
    }
  }
  rows.reset();
  RETURN_IF_ERROR(database_->connection().run("COMMIT"));
  return std::shared_ptr<const TouchedLookup>(std::make_shared<TouchedLookup>(shown_, std::move(touched)));
}

}  // namespace arborfs::search
