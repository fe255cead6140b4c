#include "core/writer/foreign_store.h"

#include <algorithm>
#include <cctype>

namespace arborfs {

namespace {

constexpr std::size_t kMostLookedAt = 50;

// A Snowflake, the id that omp and arborfs assign (omp/FORMAT.md F2).
bool is_id_of_omp(std::string_view id) {
  return id.size() == 16 &&
         std::all_of(id.begin(), id.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

bool is_log_of_omp(const Header& header) {
  const bool has_own_title = !header.title.empty() && !header.is_named;
  return header.valid && (header.has_slot || has_own_title || is_id_of_omp(header.id));
}

// Reads the whole log, as far as it can be read.
bool is_log_of_pi(const SessionPtr& session) {
  const Session::Use use(session);
  if (!session->refresh(Depth::index)) {
    return false;
  }
  const auto guard = session->read();
  return guard && guard->index().dialect() == Dialect::pi;
}

Error of_pi() {
  return {Errc::read_only,
          "the agent's folder belongs to pi, which would misread a session in omp's format; create the session with "
          "pi"};
}

}  // namespace

Result<void> check_takes_logs(const Catalog& catalog) {
  for (const auto& [id, session] : catalog.view()->by_id) {
    if (is_log_of_omp(session->head().header)) {
      return {};
    }
  }
  for (const auto& [name, session] : catalog.recent(kMostLookedAt)) {
    if (is_log_of_pi(session)) {
      return of_pi();
    }
  }
  return catalog.store().paths().is_pis_default ? Result<void>(of_pi()) : Result<void>();
}

}  // namespace arborfs
