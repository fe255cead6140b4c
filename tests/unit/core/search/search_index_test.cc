// The search index: a search finds the same with it as without it, whatever state the index is in.
#include "core/search/search_index.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include "core/formats/omp/store/store.h"
#include "core/search/indexer.h"
#include "core/search/search.h"
#include "core/search/terms.h"
#include "core/sqlite/database.h"
#include "core/sqlite/fixed_width_tokenizer.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_store.h"

namespace arborfs::search {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using testing::TempStore;
namespace fs = std::filesystem;

std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> terms;
  each_term(text, [&](std::string_view term) { terms.emplace_back(term); });
  return terms;
}

TEST(SearchTerms, WordsAndWhatStandsBetweenThem) {
  EXPECT_THAT(terms_of("the race, a::b 日本"), ElementsAre("the", "race", ", ", "a", "::", "b", "日本"));
  EXPECT_THAT(terms_of(" the "), ElementsAre(" ", "the", " "));
  EXPECT_THAT(terms_of("a  b"), ElementsAre("a", "  ", "b"));
  EXPECT_THAT(terms_of(""), IsEmpty());
}

TEST(SearchTerms, PartsOfALongWordAreInATerm) {
  std::string word;
  for (unsigned i = 0; i < 200; ++i) {
    word += static_cast<char>('a' + i * i % 26);
  }
  const auto terms = terms_of("x " + word + " y");
  EXPECT_EQ(terms.front(), "x");
  EXPECT_EQ(terms.back(), "y");
  EXPECT_THAT(terms[2], IsEmpty()) << "the pieces do not touch";
  for (std::size_t at = 0; at + kLongestTerm / 2 < word.size(); ++at) {
    const std::string part = word.substr(at, kLongestTerm / 2 + 1);
    EXPECT_TRUE(std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
      return term.find(part) != std::string::npos;
    })) << at;
  }
}

TEST(SearchTerms, CodesAreReadAndShortForSmallNumbers) {
  std::string codes;
  const std::vector<TermId> terms{0, 127, 128, 16'511, 16'512, 2'113'663, 2'113'664, kMostTerms};
  for (const TermId term : terms) {
    append_code(term, codes);
  }
  EXPECT_EQ(codes.size(), 1U + 1 + 2 + 2 + 3 + 3 + 4 + 4);
  std::size_t at = 0;
  for (const TermId term : terms) {
    EXPECT_EQ(take_code(codes, at), term);
  }
  EXPECT_FALSE(take_code(codes, at));
}

TEST(SearchTerms, IdsFollowTheStoredTerms) {
  TermIds ids;
  TermSegment stored;
  ids.begin(stored);
  EXPECT_EQ(ids.id_of("one"), 1U);
  EXPECT_EQ(ids.id_of("two"), 2U);
  EXPECT_EQ(ids.id_of("one"), 1U);
  stored.add("other");
  ids.begin(stored);
  EXPECT_EQ(ids.id_of("one"), 2U) << "the new terms were not stored, those of another process were";
  EXPECT_EQ(ids.id_of("other"), 1U);
  TermSegment cut_otherwise;
  cut_otherwise.add("othe");
  cut_otherwise.add("rone");
  ids.begin(cut_otherwise);
  EXPECT_EQ(ids.id_of("other"), 3U);
  ids.begin(stored);
  ids.id_of("one");
  stored = ids.terms();
  stored.add("more");
  ids.begin(stored);
  EXPECT_EQ(ids.id_of("more"), 3U);
  for (unsigned i = 0; i < 5000; ++i) {
    ids.id_of("w" + std::to_string(i));
  }
  EXPECT_EQ(ids.id_of("w4999"), 5003U);
  EXPECT_EQ(ids.id_of("one"), 2U);
  TermSegment read;
  ASSERT_TRUE(unpack_terms(packed_terms(ids.terms(), 1, ids.terms().next()), read));
  EXPECT_EQ(read.bytes, ids.terms().bytes);
  EXPECT_FALSE(
      unpack_terms("\x05"
                   "abc",
                   read));
  const TermsWith with = terms_with(ids.terms(), "o");
  EXPECT_THAT(with.all, ElementsAre(1, 2, 3));
  EXPECT_THAT(with.begin, ElementsAre(1, 2));
  EXPECT_THAT(terms_with(ids.terms(), "one").end, ElementsAre(2));
  EXPECT_EQ(terms_with(ids.terms(), "one").equal, 2U);
}

TEST(SearchPairFilter, TellsThatAChunkLacksAPair) {
  std::vector<TermId> terms;
  for (TermId term = 1; term <= 2000; ++term) {
    terms.push_back(term % 100 == 0 ? kBreak : term);
  }
  const std::string filter = pair_filter_of(terms);
  ASSERT_EQ(filter.size(), kPairFilterBytes);
  const auto may_have = [&](const std::vector<TermId>& first, const std::vector<TermId>& second) {
    PhrasePairs pairs;
    pairs.need(first, second);
    return pairs.may_be_in(filter);
  };
  unsigned wrong = 0;
  for (TermId term = 1; term < 2000; ++term) {
    if (term % 100 != 0 && (term + 1) % 100 != 0) {
      ASSERT_TRUE(may_have({term}, {term + 1})) << term;
      ASSERT_TRUE(may_have({5000, term}, {term + 1, 6000})) << term;
    }
    wrong += may_have({term}, {term + 2}) ? 1 : 0;
  }
  EXPECT_LT(wrong, 1000U) << "of 2,000 pairs that it lacks";
  EXPECT_TRUE(PhrasePairs().may_be_in(std::string(kPairFilterBytes, '\0'))) << "no pair is needed";
  PhrasePairs too_many;
  too_many.need(terms, terms);
  EXPECT_TRUE(too_many.is_empty());
}

TEST(SearchIndexedSession, PackedFormsAreRead) {
  const std::vector<IndexedEntry> entries{{EntryType::message, 300, 17, 5, 1'771'200'000'000, "user-a"},
                                          {EntryType::none, 0, 300, 1U << 20U, Entry::kNoTime, ""}};
  const std::vector<Chunk> chunks{{7, 1, 1}, {Chunk::kUnread, 2, 2}};
  const IndexedSession session{{}, *unpacked_chunks(packed(chunks)), packed(entries)};
  ASSERT_THAT(session.chunks, SizeIs(2));
  EXPECT_EQ(session.chunks[0].id, 7);
  EXPECT_EQ(session.chunks[1].id, Chunk::kUnread);
  ASSERT_EQ(session.count(), 2U);
  ASSERT_TRUE(session.entries());
  EXPECT_EQ((*session.entries())[1].offset, 0U);
  EXPECT_EQ((*session.entries())[1].length, 300U);
  EXPECT_EQ((*session.entries())[0].text_size, 5U);
  EXPECT_EQ((*session.entries())[0].time_ms, 1'771'200'000'000);
  EXPECT_EQ((*session.entries())[0].name, "user-a");
  EXPECT_EQ((*session.entries())[1].time_ms, Entry::kNoTime);
}

TEST(SearchIndexedSession, DamagedFormsAreRefused) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 12, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random());
    }
    const auto chunks = unpacked_chunks(bytes);
    Ordinal last = 0;
    for (const Chunk& chunk : chunks.value_or(std::vector<Chunk>())) {
      ASSERT_EQ(chunk.first, last + 1);
      ASSERT_GE(chunk.last, chunk.first);
      last = chunk.last;
    }
    static_cast<void>(IndexedSession{{}, chunks.value_or(std::vector<Chunk>()), bytes}.entries());
  }
  EXPECT_FALSE(unpacked_chunks(std::string(9, '\xff') + '\x01'));
}

/// The sessions that a search finds. Each match with a word has hits, and each hit shows a word.
std::set<std::string> sessions_in(const Query& query, const Result<Found>& found) {
  std::set<std::string> ids;
  for (const Match& match : found->matches) {
    const std::string id = match.shown->session()->head().header.id;
    EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_EQ(match.hits.empty(), query.wanted.empty() && !query.filters_entries()) << id;
    for (const Hit& hit : match.hits) {
      EXPECT_THAT(hit.stem, MatchesRegex("[0-9]{6}-(user|assistant)-[0-9a-f]{8}")) << id;
      EXPECT_NE(hit.time_ms, Entry::kNoTime) << id;
      EXPECT_EQ(hit.excerpt.marks.empty(), query.wanted.empty()) << id << " " << hit.excerpt.text;
    }
  }
  return ids;
}

class SearchIndexTest : public ::testing::Test {
 protected:
  static std::string header(const std::string& id) {
    return R"({"type":"session","version":3,"id":")" + id +
           R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work","title":"Title of )" + id + "\"}\n";
  }
  static std::string message(unsigned number, const std::string& role, const std::string& text) {
    char id[16];
    std::snprintf(id, sizeof id, "%08x", number + 1);
    return std::string(R"({"type":"message","id":")") + id +
           R"(","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":")" + role +
           R"(","content":[{"type":"text","text":")" + text + "\"}]}}\n";
  }
  /// Some words of a small vocabulary, so that many are in several sessions.
  std::string some_text(std::size_t words) {
    static const std::vector<std::string> kWords{"race",  "Condition", "fooBar", "foo_bar", "a::b", "日本語", "Straße",
                                                 "ΣΟΦΌΣ", "cache",     "of",     "the",     "x",    "upload", "🙂"};
    std::string text;
    for (std::size_t i = 0; i < words; ++i) {
      text += (i == 0 ? "" : " ") +
              (random() % 5 == 0 ? "w" + std::to_string(random() % 4000) : kWords[random() % kWords.size()]);
    }
    return text;
  }
  std::string log_path(const std::string& id) { return temp.root() + "/sessions/-work/" + id + ".jsonl"; }
  /// Old enough to be indexed, and different from any time before.
  void age(const std::string& id) {
    const timespec time{::time(nullptr) - 100'000 + ++ages, 0};
    const timespec both[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, log_path(id).c_str(), both, 0), 0);
  }
  void put(const std::string& id, unsigned entries) {
    std::string text = header(id);
    for (unsigned i = 0; i < entries; ++i) {
      text += message(i, i % 2 == 0 ? "user" : "assistant", some_text(1 + random() % 80));
    }
    temp.write("-work", id, text);
    age(id);
  }
  void append(const std::string& id, unsigned number, const std::string& text) {
    std::ofstream(log_path(id), std::ios::app) << message(number, "user", text);
    age(id);
    catalog.rescan();
  }
  void put_some(const std::string& prefix, unsigned sessions) {
    for (unsigned i = 0; i < sessions; ++i) {
      put(prefix + std::to_string(i), 1 + static_cast<unsigned>(random() % 20));
    }
    catalog.rescan();
  }
  std::vector<std::string> queries(std::size_t count) {
    std::vector<std::string> all{"zyzzyva",
                                 "x",
                                 "of",
                                 "race -cache",
                                 "-w17 race",
                                 "project:work",
                                 "project:work -w23",
                                 "role:user",
                                 "role:assistant w1",
                                 "tool:bash",
                                 "tool:bash race",
                                 "w1 w2",
                                 "after:2026-02-16 w3",
                                 "before:2026-02-16 w3",
                                 "label:none race",
                                 "title:some race"};
    while (all.size() < count) {
      std::string text = some_text(1 + random() % 4);
      const auto blank = [&] { return random() % 4 == 0 ? " " : ""; };
      all.push_back(random() % 2 == 0 ? text : "\"" + (blank() + text) + blank() + "\"");
    }
    return all;
  }
  void expect_same(std::size_t count, const char* when) {
    std::size_t found = 0;
    for (const std::string& text : queries(count)) {
      const auto query = parse_query(text);
      ASSERT_TRUE(query) << text;
      Options with;
      with.index = &*index;
      const auto without = sessions_in(*query, search(catalog, *query));
      EXPECT_EQ(sessions_in(*query, search(catalog, *query, with)), without) << when << ": " << text;
      found += without.empty() ? 0 : 1;
    }
    EXPECT_GT(found, count / 4) << when;
  }
  /// True if the index says that a session, as it is now, cannot have the word.
  bool is_excluded(const std::string& id, const std::string& word) {
    const auto lookup = index->look_up(*parse_query(word), never_over);
    const auto session = catalog.view()->by_id_prefix(id);
    const auto state = session->store().stat(session->place());
    const auto answer = lookup == nullptr ? std::nullopt : lookup->answer_for(*session, *state);
    return answer && !answer->may_match;
  }
  /// True if the index says that a session, as it is now, has the words.
  bool is_sure(const std::string& id, const std::string& words) {
    const auto lookup = index->look_up(*parse_query(words), never_over);
    const auto session = catalog.view()->by_id_prefix(id);
    const auto state = session->store().stat(session->place());
    const auto answer = lookup == nullptr ? std::nullopt : lookup->answer_for(*session, *state);
    return answer && answer->is_sure();
  }
  Indexer::Settings settings() const { return {.folder = folder, .look_again = std::chrono::milliseconds(1)}; }
  void build() { build(settings()); }
  void build(const Indexer::Settings& with) {
    Indexer indexer(catalog, with);
    ASSERT_TRUE(indexer.wait_until_done());
  }
  std::string file() const { return folder + "/search.db"; }
  std::string aside() const { return folder + "/aside-search.db"; }

  const IsOver never_over = [] { return false; };
  TempStore temp;
  const std::string folder = temp.root() + "/cache/arborfs";
  std::mt19937 random{7};
  int ages = 0;
  Catalog catalog{omp::open_store(temp.root()), "/home/dev", ""};
  std::optional<SearchIndex> index{std::in_place, folder};
};

TEST_F(SearchIndexTest, SearchesFindTheSameWithAnIndex) {
  put_some("a", 15);
  expect_same(20 / testing::kSanitizedShare, "no index");
  build();
  expect_same(200 / testing::kSanitizedShare, "all is indexed");
  put_some("b", 15);
  expect_same(100 / testing::kSanitizedShare, "half is indexed");
  append("a3", 90, "race w1 afterthought");
  put("a4", 20);
  fs::remove(log_path("a5"));
  catalog.rescan();
  expect_same(100 / testing::kSanitizedShare, "the logs changed");
  build();
  expect_same(100 / testing::kSanitizedShare, "the index followed");
}

TEST_F(SearchIndexTest, TheFilesThatToolsTouchedAreKnownWithoutReadingTheLog) {
  const auto edits = [](unsigned number, const std::string& path) {
    return R"({"type":"message","id":"bbbb)" + std::to_string(1000 + number) +
           R"(","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"assistant","content":)"
           R"([{"type":"toolCall","id":"c)" +
           std::to_string(number) + R"(","name":"edit","arguments":{"path":")" + path + "\"}}]}}\n";
  };
  const auto knows = [&](const std::string& id, const std::string& path) {
    const auto lookup = index->look_up(PathFilter(path), *catalog.view());
    const auto session = catalog.view()->by_id_prefix(id);
    const auto state = session->store().stat(session->place());
    return lookup == nullptr ? std::nullopt : lookup->has_touched(*session, *state);
  };
  const auto found = [&](const std::string& path, bool with_index) {
    const auto query = parse_query("path:" + path);
    Options options;
    options.index = with_index ? &*index : nullptr;
    std::set<std::string> ids;
    const auto all = search(catalog, *query, options);
    for (const Match& match : all->matches) {
      ids.insert(match.shown->session()->head().header.id);
    }
    return ids;
  };
  const auto expect_same_files = [&] {
    for (const char* path : {"/work/src/main.cc", "main.cc", "src/", "/work/", "other.cc", "none.cc"}) {
      EXPECT_EQ(found(path, true), found(path, false)) << path;
    }
  };
  temp.write("-work", "one", header("one") + edits(1, "src/main.cc"));
  temp.write("-work", "two", header("two") + edits(1, "lib/other.cc") + message(9, "user", "see main.cc"));
  age("one");
  age("two");
  catalog.rescan();
  EXPECT_EQ(knows("one", "main.cc"), std::nullopt) << "no index yet";
  build();
  EXPECT_EQ(knows("one", "/work/src/main.cc"), true);
  EXPECT_EQ(knows("one", "main.cc"), true);
  EXPECT_EQ(knows("one", "/work/src/"), true);
  EXPECT_EQ(knows("two", "main.cc"), false) << "it only says the name";
  EXPECT_EQ(knows("two", "/work/src/"), false);
  expect_same_files();
  std::ofstream(log_path("two"), std::ios::app) << edits(2, "src/main.cc");
  age("two");
  catalog.rescan();
  EXPECT_EQ(knows("two", "main.cc"), std::nullopt) << "it has changed since";
  expect_same_files();
  build();
  EXPECT_EQ(knows("two", "main.cc"), true);
  fs::remove(log_path("one"));
  catalog.rescan();
  build();
  expect_same_files();
  EXPECT_EQ(found("main.cc", true), std::set<std::string>{"two"});
}

TEST_F(SearchIndexTest, IndexExcludesSessionsWithoutTheWord) {
  put("one", 3);
  append("one", 70, "the needle");
  put("two", 3);
  catalog.rescan();
  EXPECT_FALSE(is_excluded("two", "needle")) << "no index yet";
  build();
  EXPECT_TRUE(is_excluded("two", "needle"));
  EXPECT_FALSE(is_excluded("one", "NEEDLE"));
  EXPECT_TRUE(is_excluded("two", "eedl"));
  append("two", 70, "another needle");
  EXPECT_FALSE(is_excluded("two", "needle")) << "it has changed since";
}

TEST_F(SearchIndexTest, IndexKnowsWordsAndPhrasesWithoutTexts) {
  put("one", 3);
  append("one", 70, "The Needle, in a haystack_17 (deep) of " + std::string(300, 'z') + "end here");
  put("two", 3);
  catalog.rescan();
  build();
  const std::vector<std::string> present{"needle",
                                         "eedl",
                                         "\"needle, in\"",
                                         "\"edle, in a hay\"",
                                         "haystack_1",
                                         "\"in a haystack_17 (\"",
                                         "(deep)",
                                         "\"the needle\"",
                                         "\"a haystack\"",
                                         "needle haystack",
                                         "\"deep) of\"",
                                         "\" needle\"",
                                         "\" in \"",
                                         "\", in a \"",
                                         "\") of \"",
                                         "\" haystack_17 (\"",
                                         "\"zz"
                                         "zend here\""};
  for (const std::string& query : present) {
    EXPECT_TRUE(is_sure("one", query)) << query;
    EXPECT_TRUE(is_excluded("two", query)) << query;
  }
  for (const char* query :
       {"needles", "\"needle in\"", "\"needle,in\"", "\"needle a\"", "\"the haystack\"", "\"a  haystack\"", "\"z z\"",
        "(deep)x", "\" edle\"", "\"need \"", "\"needle \"", "\" (deep \""}) {
    EXPECT_TRUE(is_excluded("one", query)) << query;
  }
  EXPECT_FALSE(is_excluded("one", std::string(200, 'z'))) << "its texts are read";
  EXPECT_TRUE(is_excluded("one", "haystack_17 -needle"));
}

TEST_F(SearchIndexTest, ALookUpForAPhraseEndsOnceItIsOver) {
  put("one", 3);
  append("one", 70, "the needle");
  catalog.rescan();
  build();
  const auto phrase = *parse_query("\"the needle\"");
  EXPECT_EQ(index->look_up(phrase, [] { return true; }), nullptr);
  EXPECT_NE(index->look_up(phrase, never_over), nullptr) << "the index stays open";
}

TEST_F(SearchIndexTest, ManyTermsWithAWordAreFound) {
  std::string text = "the";
  for (unsigned i = 0; i < 700; ++i) {
    text += " pre" + std::to_string(i) + "mid cache_" + std::to_string(i);
  }
  put("one", 3);
  append("one", 70, text);
  put("two", 3);
  append("two", 70, "pre9mid of cache_699x");
  put("three", 3);
  catalog.rescan();
  build();
  Options with;
  with.index = &*index;
  for (const char* query : {"mid", "cache_", "\"mid cache_\"", "\"id cache_6\"", "\"9mid o\"", "\"d of cache_6\"",
                            "-\"mid cache_\" pre", "\"e pre0mid\""}) {
    const auto parsed = parse_query(query);
    const auto without = sessions_in(*parsed, search(catalog, *parsed));
    EXPECT_EQ(sessions_in(*parsed, search(catalog, *parsed, with)), without) << query;
    EXPECT_FALSE(without.empty()) << query;
  }
}

TEST_F(SearchIndexTest, HitsThatAreNotLookedForAreMore) {
  std::string log = header("one") + message(0, "user", "needle1");
  for (unsigned i = 1; i < 9; ++i) {
    log += message(i, "user", some_text(2000));
  }
  temp.write("-work", "one", log + message(9, "user", "needle2"));
  age("one");
  catalog.rescan();
  build();
  Options with;
  with.index = &*index;
  for (const auto& [word, more] : {std::pair("needle", true), {"needle1", false}, {"needle2", false}}) {
    const auto found = search(catalog, *parse_query(word), with);
    ASSERT_THAT(found->matches, SizeIs(1));
    EXPECT_THAT(found->matches.front().hits, SizeIs(1)) << word;
    EXPECT_EQ(found->matches.front().has_more, more) << word;
  }
}

TEST_F(SearchIndexTest, SessionsThatWereJustWrittenAreIndexedLater) {
  put("old", 2);
  temp.write("-work", "young", header("young") + message(1, "user", "nothing"));
  catalog.rescan();
  Indexer indexer(catalog, settings());
  indexer.note_search();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!is_excluded("old", "needle")) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    fs::last_write_time(log_path("young"), fs::file_time_type::clock::now());  // so that a slow machine keeps it young
  }
  EXPECT_FALSE(is_excluded("young", "needle"));
  age("young");
  catalog.rescan();
  ASSERT_TRUE(indexer.wait_until_done());
  EXPECT_TRUE(is_excluded("young", "needle"));
}

TEST_F(SearchIndexTest, SessionsThatAreWrittenAllTheTimeAreReadOnce) {
  std::string log = header("busy");
  for (unsigned i = 0; i < 4000; ++i) {
    log += message(i, "user", some_text(200));
  }
  temp.write("-work", "busy", log);
  catalog.rescan();
  const auto bytes_read = [] {
    std::ifstream io("/proc/self/io");
    std::string name;
    std::uint64_t bytes = 0;
    io >> name >> bytes;
    EXPECT_EQ(name, "rchar:");
    return bytes;
  };
  const auto writer = IndexWriter::open(Disk::real(), folder);
  ASSERT_TRUE(writer) << writer.error().message;
  SessionIndexer sessions;
  for (unsigned look = 0; look < 5; ++look) {
    std::ofstream(log_path("busy"), std::ios::app) << message(5000 + look, "user", "more");
    const auto session = catalog.view()->by_id_prefix("busy");
    const std::uint64_t before = bytes_read();
    const auto done = sessions.add(*session, catalog.stores().at(session->store_number()), **writer);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->outcome, SessionIndexer::Outcome::too_young);
    EXPECT_TRUE(look == 0 || bytes_read() - before < log.size() / 2) << look;
  }
}

TEST_F(SearchIndexTest, GrowingSessionsAddTheirNewEntries) {
  put("one", 150);
  Indexer indexer(catalog, settings());
  for (unsigned i = 0; i < 60; ++i) {
    append("one", 200 + i, "step " + std::to_string(i) + " " + some_text(20));
    ASSERT_TRUE(indexer.wait_until_done());
    ASSERT_TRUE(is_excluded("one", "needle")) << i;
  }
  expect_same(100, "grown");
  const auto lookup = index->look_up(*parse_query("step"), never_over);
  const auto session = catalog.view()->by_id_prefix("one");
  const auto answer = lookup->answer_for(*session, *session->store().stat(session->place()));
  EXPECT_LE(answer->indexed->chunks.size(), 12U) << "chunks are filled, not one for each append";
}

TEST_F(SearchIndexTest, WhatIsKnownOfFrequentTermsFollowsTheIndex) {
  std::string log = header("big");
  for (unsigned i = 0; i < 700; ++i) {
    log += message(i, "user", "one step by step " + std::string(kChunkBytes, 'x'));
  }
  temp.write("-work", "big", log);
  age("big");
  put("late", 3);
  catalog.rescan();
  build();
  const std::vector<std::string> queries{"step", "\"step by\"", "\"ne step by st\""};
  for (const std::string& query : queries) {
    EXPECT_TRUE(is_sure("big", query)) << query;
    EXPECT_TRUE(is_excluded("late", query)) << query;
  }
  append("late", 70, "done step by step");
  build();
  for (const std::string& query : queries) {
    EXPECT_TRUE(is_sure("big", query)) << query;
    EXPECT_TRUE(is_sure("late", query)) << query;
  }
  fs::remove_all(folder);
  put("big", 3);
  catalog.rescan();
  build();
  for (const std::string& query : queries) {
    EXPECT_TRUE(is_excluded("big", query)) << query;
    EXPECT_TRUE(is_sure("late", query)) << query;
  }
}

TEST_F(SearchIndexTest, RewrittenSessionsAreIndexedAnew) {
  put("one", 120);
  put("two", 5);
  catalog.rescan();
  Indexer indexer(catalog, settings());
  ASSERT_TRUE(indexer.wait_until_done());
  const auto size = [&] { return fs::file_size(file()); };
  for (unsigned i = 0; i < 20; ++i) {
    put("one", 120);
    catalog.rescan();
    ASSERT_TRUE(indexer.wait_until_done());
  }
  expect_same(60, "rewritten");
  EXPECT_LT(size(), std::uint64_t{4} << 20U) << "an index of mostly garbage is made again";
  fs::remove(log_path("one"));
  catalog.rescan();
  ASSERT_TRUE(indexer.wait_until_done());
  expect_same(20, "removed");
}

TEST_F(SearchIndexTest, LongEntriesAreAlwaysRead) {
  put("one", 3);
  append("one", 50, std::string(3 << 20, 'y') + " needle");
  append("one", 51, "the end");
  build();
  EXPECT_FALSE(is_excluded("one", "nowhere"));
  Options with;
  with.index = &*index;
  EXPECT_THAT(search(catalog, *parse_query("needle"), with)->matches, SizeIs(1));
  EXPECT_THAT(search(catalog, *parse_query("nowhere"), with)->matches, IsEmpty());
  expect_same(30, "a long entry");
}

/// Its terms are more than a row of the database holds.
TEST_F(SearchIndexTest, LongSessionsAreIndexedInSeveralBatches) {
  std::string log = header("long");
  unsigned word = 0;
  for (unsigned entry = 0; entry < 48; ++entry) {
    std::string text;
    while (text.size() < (1U << 20U)) {
      char distinct[64];
      std::snprintf(distinct, sizeof distinct, "%030u ", ++word);
      text += distinct;
    }
    log += message(entry, "user", text);
  }
  temp.write("-work", "long", log);
  age("long");
  catalog.rescan();
  const auto chunks = [&]() -> std::vector<Chunk> {
    IndexTable table;
    const auto reader = IndexDatabase::open(folder);
    if (!reader || !table.update(reader->connection()) || table.rows()->empty()) {
      return {};
    }
    return table.rows()->begin()->second->chunks;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  std::optional<Indexer> indexer;
  indexer.emplace(catalog, settings());
  indexer->note_search();
  const auto has_part = [&] {
    const auto reader = IndexDatabase::open(folder);
    auto row =
        reader ? reader->connection().prepare("SELECT 1 FROM sessions") : Result<sqlite::Statement>(reader.error());
    const auto has_row = row ? row->step() : Result<bool>(false);
    return has_row && *has_row;
  };
  while (!has_part()) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the indexer runs when the machine is idle
  }
  indexer.reset();
  const auto first = chunks();
  ASSERT_FALSE(first.empty());
  EXPECT_FALSE(is_excluded("long", "needle")) << "a part says nothing about the session";
  ASSERT_LT(first.back().last, 48U);
  build();
  const auto all = chunks();
  EXPECT_EQ(all.front().id, first.front().id) << "the second indexer has continued";
  EXPECT_EQ(all.back().last, 48U);
  EXPECT_TRUE(is_excluded("long", "needle"));
  for (const unsigned number : {1U, word / 2, word}) {
    char distinct[64];
    std::snprintf(distinct, sizeof distinct, "%030u", number);
    EXPECT_TRUE(is_sure("long", distinct)) << distinct;
  }
}

TEST_F(SearchIndexTest, FilesArePrivate) {
  const mode_t before = ::umask(0);
  put_some("a", 2);
  build();
  ::umask(before);
  struct stat st {};
  ASSERT_EQ(::stat(folder.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700U);
  for (const auto& entry : fs::directory_iterator(folder)) {
    ASSERT_EQ(::stat(entry.path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0600U) << entry.path();
  }
}

TEST_F(SearchIndexTest, UnusableFilesArePutAside) {
  put_some("a", 5);
  const auto write = [&](const std::string& text) { std::ofstream(file(), std::ios::binary) << text; };
  const auto run = [&](const char* sql) { EXPECT_TRUE(sqlite::open_own_database(file())->run(sql)); };
  const std::vector<std::pair<const char*, std::function<void()>>> faults{
      {"garbage",
       [&] {
         run("PRAGMA wal_checkpoint(TRUNCATE)");
         write(std::string(100'000, 'g'));
       }},
      {"pages of zeros",
       [&] {
         run("PRAGMA wal_checkpoint(TRUNCATE)");
         std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
         out.seekp(4096);
         out << std::string(fs::file_size(file()) - 4096, '\0');
       }},
      {"newer", [&] { run("PRAGMA user_version=999"); }},
      {"of another program", [&] { run("UPDATE facts SET value='9.9' WHERE name='program'"); }},
      {"wrong rows",
       [&] {
         run("UPDATE sessions SET chunks=x'ffffffffffff01', changed=changed+1000000");
         run("UPDATE facts SET value=value+2000000 WHERE name='last_change'");
       }},
      {"a folder",
       [&] {
         fs::remove(file());
         fs::create_directory(file());
       }},
      {"a link",
       [&] {
         fs::remove(file());
         fs::create_symlink("/etc/passwd", file());
       }},
  };
  for (const auto& [name, damage] : faults) {
    fs::remove_all(folder);
    build();
    ASSERT_TRUE(is_excluded("a1", "needle")) << name;
    damage();
    expect_same(8, name);
    build();
    EXPECT_TRUE(fs::exists(fs::symlink_status(aside()))) << name;
    EXPECT_TRUE(is_excluded("a1", "needle")) << name;
    expect_same(8, name);
  }
}

TEST_F(SearchIndexTest, DamageThatASearchFindsHasTheIndexMadeAgain) {
  put_some("a", 5);
  const auto add_chunk_far_away = [&] {
    const auto connection = sqlite::open_own_database(file());
    ASSERT_TRUE(connection && sqlite::add_fixed_width_tokenizer(*connection));
    auto row = connection->prepare("INSERT INTO words(rowid, terms) VALUES(1 << 50, ?1)");
    std::string tokens;
    for (TermId term = 1; term < 40; ++term) {
      append_token(term, tokens);
    }
    row->bind(1, tokens);
    ASSERT_TRUE(row->step());
  };
  const auto empty_filters = [&] {
    EXPECT_TRUE(sqlite::open_own_database(file())->run("UPDATE pairs SET filter=x'00'"));
  };
  const std::vector<std::pair<const char*, std::function<void()>>> faults{{"a chunk far away", add_chunk_far_away},
                                                                          {"no filters", empty_filters}};
  for (const auto& [name, damage] : faults) {
    fs::remove_all(folder);
    Indexer indexer(catalog, settings());
    index.emplace(folder, [&] { indexer.note_damage(); });
    ASSERT_TRUE(indexer.wait_until_done());
    ASSERT_TRUE(is_excluded("a1", "needle")) << name;
    damage();
    index.emplace(folder, [&] { indexer.note_damage(); });  // with nothing in memory
    expect_same(50, name);
    ASSERT_TRUE(indexer.wait_until_done());
    EXPECT_TRUE(fs::exists(aside())) << name;
    EXPECT_TRUE(is_excluded("a1", "needle")) << name;
    expect_same(50, name);
  }
  index.emplace(folder);
}

/// What a power cut leaves of blocks that were never written.
TEST_F(SearchIndexTest, BlocksOfZerosAreNeverBelieved) {
  constexpr std::size_t kBlock = 4096;
  for (int number = 0; number < 20; ++number) {
    const std::string id = "z" + std::to_string(number);
    temp.write("-work", id, header(id) + message(1, "user", "needle" + std::to_string(number) + " " + some_text(100)));
    append(id, 2, some_text(100) + " the needle here");
  }
  build();
  ASSERT_TRUE(sqlite::open_own_database(file())->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::string sound = temp.root() + "/sound";
  fs::copy_file(file(), sound);
  for (std::size_t at = 0; at < fs::file_size(sound); at += kBlock) {
    fs::copy_file(sound, file(), fs::copy_options::overwrite_existing);
    std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(at))
        << std::string(kBlock, '\0');
    bool is_noticed = false;
    index.emplace(folder, [&] { is_noticed = true; });
    for (const char* const text : {"needle", "\"the needle here\"", "needle7"}) {
      const auto query = parse_query(text);
      Options with;
      with.index = &*index;
      EXPECT_EQ(sessions_in(*query, search(catalog, *query, with)).size(), std::string(text) == "needle7" ? 1U : 20U)
          << text << " without the block at " << at << (is_noticed ? ", noticed" : "");
    }
  }
  index.emplace(folder);
}

TEST_F(SearchIndexTest, ChunksWithoutASessionAreNoDamage) {
  put_some("a", 3);
  build();
  ASSERT_TRUE(is_excluded("a1", "needle"));
  auto writer = IndexWriter::open(Disk::real(), folder);
  ASSERT_TRUE(writer) << writer.error().message;
  for (int batch = 0; batch < 2; ++batch) {
    ASSERT_TRUE((*writer)->begin());
    ASSERT_TRUE((*writer)->add_chunk({1, 2, 3}, 10));
    ASSERT_TRUE((*writer)->commit());
    expect_same(20, "a chunk more");
    EXPECT_TRUE(is_excluded("a1", "needle"));
  }
}

TEST_F(SearchIndexTest, SearchesSurviveAnyDamagedByte) {
  put_some("a", 8);
  build();
  ASSERT_TRUE(sqlite::open_own_database(file())->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::string sound = temp.root() + "/sound";
  fs::copy_file(file(), sound);
  const auto texts = queries(40);
  for (int round = 0; round < 150 / testing::kSanitizedShare; ++round) {
    const auto at = static_cast<std::streamoff>(random() % fs::file_size(sound));
    fs::remove_all(folder);
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    fs::copy_file(sound, file());
    std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(at).put(static_cast<char>(random()));
    index.emplace(folder);
    for (const std::string& text : texts) {
      const auto query = parse_query(text);
      Options with;
      with.index = &*index;
      EXPECT_TRUE(search(catalog, *query, with)) << "byte " << at << ": " << text;
    }
    index.reset();
    build();
  }
  index.emplace(folder);
}

TEST_F(SearchIndexTest, IndexOfAnotherUserIsPutAside) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  put_some("a", 3);
  build();
  ASSERT_EQ(::chown(file().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(is_excluded("a1", "needle"));
  build();
  EXPECT_TRUE(fs::exists(aside()));
  EXPECT_TRUE(is_excluded("a1", "needle"));
}

TEST_F(SearchIndexTest, FolderOfAnotherUserMeansNoIndex) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  put_some("a", 3);
  fs::create_directories(folder);
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  Indexer indexer(catalog, settings());
  EXPECT_FALSE(indexer.wait_until_done());
  expect_same(8, "no index");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(SearchIndexTest, LockedIndexIsPutAside) {
  put_some("a", 3);
  build();
  put_some("b", 1);
  {
    const auto other = sqlite::open_own_database(file());
    ASSERT_TRUE(other->run("PRAGMA locking_mode=EXCLUSIVE"));
    ASSERT_TRUE(other->run("BEGIN IMMEDIATE"));
    expect_same(8, "locked");
    Indexer::Settings impatient = settings();
    impatient.lock_patience = std::chrono::seconds(0);
    build(impatient);
    EXPECT_TRUE(fs::exists(aside()));
    EXPECT_TRUE(is_excluded("b0", "needle"));
  }
  expect_same(8, "made again");
}

TEST_F(SearchIndexTest, LockedIndexThatChangesIsKept) {
  using namespace std::chrono_literals;
  put_some("a", 3);
  build();
  put_some("b", 1);
  Indexer::Settings impatient = settings();
  impatient.lock_patience = 2s;
  std::optional<Indexer> indexer;
  {
    const auto other = sqlite::open_own_database(file());
    ASSERT_TRUE(other);
    other->wait_for_locks(60s);
    const auto begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < 3s) {
      ASSERT_TRUE(other->run("BEGIN IMMEDIATE"));
      if (!indexer) {
        indexer.emplace(catalog, impatient);
        indexer->note_search();
      }
      std::this_thread::sleep_for(500ms);  // the lock is held so long
      ASSERT_TRUE(other->run("UPDATE facts SET value = value + 1 WHERE name = 'last_chunk'"));
      ASSERT_TRUE(other->run("COMMIT"));
    }
  }
  ASSERT_TRUE(indexer->wait_until_done());
  EXPECT_FALSE(fs::exists(aside()));
  EXPECT_TRUE(is_excluded("b0", "needle"));
}

TEST_F(SearchIndexTest, LastSessionOfAStoreIsRemoved) {
  put("one", 3);
  catalog.rescan();
  build();
  ASSERT_TRUE(is_excluded("one", "needle"));
  fs::remove(log_path("one"));
  catalog.rescan();
  build();
  IndexTable table;
  const auto reader = IndexDatabase::open(folder);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(table.update(reader->connection()));
  EXPECT_TRUE(table.rows()->empty());
}

TEST_F(SearchIndexTest, IndexMayBeDeletedAtAnyTime) {
  put_some("a", 5);
  Indexer indexer(catalog, settings());
  ASSERT_TRUE(indexer.wait_until_done());
  ASSERT_TRUE(is_excluded("a1", "needle"));
  fs::remove_all(folder);
  expect_same(8, "deleted");
  ASSERT_TRUE(indexer.wait_until_done());
  EXPECT_TRUE(is_excluded("a1", "needle"));
  expect_same(8, "made again");
}

TEST_F(SearchIndexTest, SeveralIndexersShareAnIndex) {
  put_some("a", 20);
  Indexer one(catalog, {.folder = folder, .look_again = std::chrono::milliseconds(1)});
  Indexer two(catalog, {.folder = folder, .look_again = std::chrono::milliseconds(1)});
  one.note_search();
  two.note_search();
  ASSERT_TRUE(one.wait_until_done());
  ASSERT_TRUE(two.wait_until_done());
  EXPECT_FALSE(fs::exists(aside()));
  expect_same(30, "two indexers");
}

}  // namespace
}  // namespace arborfs::search
