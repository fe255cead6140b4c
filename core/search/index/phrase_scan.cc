#include "core/search/index/phrase_scan.h"

#include <array>
#include <atomic>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/parallel_for.h"
#include "core/base/result_macros.h"

namespace arborfs::search {

namespace {

/// Each part of a scan has a connection and a thread.
std::size_t parts_of(const IndexConnections& connections) {
  return connections.second == nullptr ? 1 : 2;
}

/// Calls work(part, connection) for all parts at once. Errors: the first of theirs.
template <class Work>
Result<void> in_parts(const IndexConnections& connections, const Work& work) {
  const std::array<const sqlite::Connection*, 2> all{connections.first, connections.second};
  std::array<Result<void>, 2> done;
  parallel_for(parts_of(connections), [&](std::size_t part) { done.at(part) = work(part, *all.at(part)); });
  return done[0] ? done[1] : done[0];
}

/// Scans a part of the sessions.
class PhraseScan {
 public:
  static Result<PhraseScan> make(const sqlite::Connection& connection, const PhraseChunks& chunks,
                                 const PhraseMatcher& phrase, bool stops) {
    ASSIGN_OR_RETURN(auto codes, connection.prepare("SELECT codes FROM chunks WHERE id=?1"));
    return PhraseScan(std::move(codes), chunks, phrase, stops);
  }

  Result<void> scan(const IndexedSession& session) {
    bool is_found = false;
    for (const Chunk& chunk : session.chunks) {
      const auto id = static_cast<std::uint64_t>(chunk.id);
      const bool may_otherwise = chunk.id != Chunk::kUnread && chunks_.other.has(chunk.id);
      if (!may_otherwise && (chunk.id == Chunk::kUnread || !chunks_.exact.has(chunk.id))) {
        continue;
      }
      if (is_found && stops_) {
        found_.later.add(id);
        continue;
      }
      ASSIGN_OR_RETURN(const auto codes, codes_of(chunk));
      if (!codes) {
        found_.may.add(id);  // another process has removed the session
      } else if (phrase_.is_in(*codes, !may_otherwise)) {
        found_.has.add(id);
        is_found = true;
      }
    }
    return {};
  }
  [[nodiscard]] const WordChunks& found() const { return found_; }

 private:
  PhraseScan(sqlite::Statement codes, const PhraseChunks& chunks, const PhraseMatcher& phrase, bool stops)
      : codes_(std::move(codes)), chunks_(chunks), phrase_(phrase), stops_(stops) {}
  Result<std::optional<std::string_view>> codes_of(const Chunk& chunk) {
    codes_.reset();
    codes_.bind(1, chunk.id);
    ASSIGN_OR_RETURN(const bool has_row, codes_.step());
    return has_row ? std::optional(codes_.blob(0)) : std::nullopt;
  }
  sqlite::Statement codes_;
  const PhraseChunks& chunks_;
  const PhraseMatcher& phrase_;
  bool stops_;
  WordChunks found_;
};

/// Finds chunks that lack a pair.
class PairScan {
 public:
  PairScan(const PhrasePairsOf& pairs, const PhraseChunks& chunks) : pairs_(pairs), chunks_(chunks) {}

  /// Of the chunks from `begin` to before `end`.
  Result<void> scan(const sqlite::Connection& connection, std::uint64_t begin, std::uint64_t end,
                    const IsOver& is_over) {
    ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT id, filter FROM pairs WHERE id >= ?1 AND id < ?2"));
    rows.bind(1, static_cast<std::int64_t>(begin));
    rows.bind(2, static_cast<std::int64_t>(end));
    for (;;) {
      if (is_over()) {
        return search_is_over();
      }
      ASSIGN_OR_RETURN(const bool has_row, rows.step());
      if (!has_row) {
        return {};
      }
      const std::int64_t chunk = rows.integer(0);
      const bool is_in_doubt = chunks_.exact.has(chunk) || chunks_.other.has(chunk);
      if (is_in_doubt && !take(static_cast<std::uint64_t>(chunk), rows.blob(1))) {
        return index_is_damaged();
      }
    }
  }
  [[nodiscard]] const PhraseChunks& lacking() const { return lacking_; }

 private:
  /// False for a damaged filter.
  bool take(std::uint64_t chunk, std::string_view filter) {
    if (filter.size() != kPairFilterBytes) {
      return false;
    }
    if (!pairs_.exact.may_be_in(filter)) {
      lacking_.exact.add(chunk);
    }
    if (!pairs_.other.may_be_in(filter)) {
      lacking_.other.add(chunk);
    }
    return true;
  }
  const PhrasePairsOf& pairs_;
  const PhraseChunks& chunks_;
  PhraseChunks lacking_;
};

}  // namespace

Result<void> remove_without_pairs(const IndexConnections& connections, std::uint64_t last_chunk,
                                  const PhrasePairsOf& pairs, const IsOver& is_over, PhraseChunks& chunks) {
  const std::size_t parts = parts_of(connections);
  std::array<PairScan, 2> scans{PairScan(pairs, chunks), PairScan(pairs, chunks)};
  RETURN_IF_ERROR(in_parts(connections, [&](std::size_t part, const sqlite::Connection& connection) {
    const std::uint64_t begin = 1 + last_chunk * part / parts;
    const std::uint64_t end = 1 + last_chunk * (part + 1) / parts;
    return scans.at(part).scan(connection, begin, end, is_over);
  }));
  for (const PairScan& scan : scans) {
    chunks.exact.remove(scan.lacking().exact);
    chunks.other.remove(scan.lacking().other);
  }
  return {};
}

Result<void> scan_for_phrase(const IndexConnections& connections, const IndexTable& table, const PhraseChunks& chunks,
                             const PhraseMatcher& phrase, bool stops, const IsOver& is_over, WordChunks& found) {
  std::vector<IndexTable::Row> sessions;
  sessions.reserve(table.rows()->size());
  for (const auto& [key, session] : *table.rows()) {
    sessions.push_back(session);
  }
  std::array<WordChunks, 2> found_by;
  std::atomic<std::size_t> next{0};
  const auto scan_part = [&](std::size_t part, const sqlite::Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(auto scan, PhraseScan::make(connection, chunks, phrase, stops));
    for (std::size_t i = next++; i < sessions.size(); i = next++) {
      if (is_over()) {
        return search_is_over();
      }
      RETURN_IF_ERROR(scan.scan(*sessions[i]));
    }
    found_by.at(part) = scan.found();
    return {};
  };
  RETURN_IF_ERROR(in_parts(connections, scan_part));
  for (const WordChunks& by : found_by) {
    found.has.add(by.has);
    found.may.add(by.may);
    found.later.add(by.later);
  }
  return {};
}

}  // namespace arborfs::search
