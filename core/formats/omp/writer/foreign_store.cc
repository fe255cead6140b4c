#include "core/formats/omp/writer/foreign_store.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result_macros.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/store/omp_format.h"
#include "core/formats/omp/store/session_dir.h"

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
          "the agent's folder belongs to pi, which would misread a session in omp's format; create a session of pi"};
}

}  // namespace

Result<void> check_takes_logs(const Catalog& catalog, std::uint8_t store) {
  for (const auto& [id, session] : catalog.view()->by_id) {
    if (session->store_number() == store && is_log_of_omp(session->head().header)) {
      return {};
    }
  }
  std::size_t looked_at = 0;
  for (const auto& session : catalog.recent(SIZE_MAX)) {
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

/// The store that pi itself would use.
std::optional<std::uint8_t> store_of_pi(const StoreSet& stores) {
  for (std::size_t store = 0; store < stores.size(); ++store) {
    if (stores.at(store)->format().agent == kPi && is_session_dir(stores.at(store)->paths())) {
      return static_cast<std::uint8_t>(store);
    }
  }
  return stores.first_of(kPi);
}

Error no_store_of(std::string_view agent) {
  return {Errc::read_only, "no store of " + std::string(agent) + " is open"};
}

}  // namespace

Result<NewLogs> store_for_new_logs(const Catalog& catalog, std::string_view agent) {
  const auto omps = catalog.stores().first_of(omp_format().agent);
  const auto pis = store_of_pi(catalog.stores());
  if (agent == kPi && pis) {
    return NewLogs{*pis, Dialect::pi};
  }
  if (!omps && !pis) {
    return no_store_of(agent.empty() ? omp_format().agent : agent);
  }
  const bool has_no_omp = !omps || (agent.empty() && pis && !has_folder(*catalog.stores().at(*omps)));
  const std::uint8_t store = has_no_omp ? *pis : *omps;
  const auto takes_omps = check_takes_logs(catalog, store);
  if (agent == kPi && takes_omps) {
    return no_store_of(kPi);
  }
  if (!takes_omps && agent == omp_format().agent) {
    return takes_omps.error();
  }
  return NewLogs{store, takes_omps ? Dialect::omp13 : Dialect::pi};
}

}  // namespace arborfs
