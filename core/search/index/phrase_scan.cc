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

}  // namespace

Result<void> scan_for_phrase(const IndexConnections& connections, const IndexTable& table, const PhraseChunks& chunks,
                             const PhraseMatcher& phrase, bool stops, const IsOver& is_over, WordChunks& found) {
  std::vector<IndexTable::Row> sessions;
  sessions.reserve(table.rows()->size());
  for (const auto& [key, session] : *table.rows()) {
    sessions.push_back(session);
  }
  const std::array<const sqlite::Connection*, 2> all{connections.first, connections.second};
  const std::size_t parts = connections.second == nullptr ? 1 : 2;
  std::array<WordChunks, 2> found_by;
  std::array<Result<void>, 2> done;
  std::atomic<std::size_t> next{0};
  const auto scan_part = [&](std::size_t part) -> Result<void> {
    ASSIGN_OR_RETURN(auto scan, PhraseScan::make(*all.at(part), chunks, phrase, stops));
    for (std::size_t i = next++; i < sessions.size(); i = next++) {
      if (is_over()) {
        return search_is_over();
      }
      RETURN_IF_ERROR(scan.scan(*sessions[i]));
    }
    found_by.at(part) = scan.found();
    return {};
  };
  parallel_for(parts, [&](std::size_t part) { done.at(part) = scan_part(part); });
  for (std::size_t part = 0; part < parts; ++part) {
    RETURN_IF_ERROR(done.at(part));
    found.has.add(found_by.at(part).has);
    found.may.add(found_by.at(part).may);
    found.later.add(found_by.at(part).later);
  }
  return {};
}

}  // namespace arborfs::search
