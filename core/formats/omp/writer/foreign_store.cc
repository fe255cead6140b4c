#include "core/formats/omp/writer/foreign_store.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/store/omp_format.h"

namespace arborfs {

namespace {

constexpr std::size_t kMostLookedAt = 50;
constexpr std::string_view kPi = "pi";

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
  return guard && dialect_of(guard->index()) == Dialect::pi;
}

Error of_pi() {
  return {Errc::read_only,
          "the agent's folder belongs to pi, which would misread a session in omp's format; create the session with "
          "pi"};
}

}  // namespace

Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store) {
  for (const auto& [id, session] : catalog.view()->by_id) {
    if (session->store_number() == store && is_log_of_omp(session->head().header)) {
      return {};
    }
  }
  std::size_t looked_at = 0;
  for (const auto& [name, session] : catalog.recent(SIZE_MAX)) {
    if (session->store_number() == store && looked_at++ < kMostLookedAt && is_log_of_pi(session)) {
      return of_pi();
    }
  }
  return catalog.stores().at(store)->format().agent == kPi ? Result<void>(of_pi()) : Result<void>();
}

namespace {

/// True if the agent's folder, or the one with its data, exists: then it is in use.
bool has_folder(const SessionStore& store) {
  const std::string data = std::filesystem::path(store.paths().sessions).parent_path().string();
  return Dir::stat_root(store.paths().agent_dir) || Dir::stat_root(data);
}

}  // namespace

Result<std::uint8_t> store_for_new_logs(const Catalog& catalog) {
  const auto omps = catalog.stores().first_of(omp_format().agent);
  const auto pis = catalog.stores().first_of(kPi);
  if (!omps && !pis) {
    return Error{Errc::read_only, "new sessions are in omp's format, and no store of omp is open"};
  }
  const bool has_no_omp = !omps || (pis && !has_folder(*catalog.stores().at(*omps)));
  const std::uint8_t store = has_no_omp ? *pis : *omps;
  RETURN_IF_ERROR(check_takes_logs(catalog, store));
  return store;
}

}  // namespace arborfs
