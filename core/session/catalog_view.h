// One state of the catalog: which sessions there are, and under which names the mount shows them. Immutable, but that
// making one tells the sessions where they are shown. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/session/session.h"
#include "core/session/session_names.h"
#include "core/store/store_set.h"

namespace arborfs {

/// Sessions by a name, byte order.
using NamedSessions = std::vector<std::pair<std::string, SessionPtr>>;

/// The sessions in one folder of the mount.
struct SessionFolder {
  NamedSessions sessions;  // by shown name
  /// By the names of their logs, of which a later equal one ends with `~2`; for other agents than omp and pi also with
  /// the agent and `-` before them. Names that are shown are left out, and those without an agent that several have.
  NamedSessions log_names;
  /// By a shown name or that of a log.
  [[nodiscard]] SessionPtr find(std::string_view name) const;
};
using SessionFolderPtr = std::shared_ptr<const SessionFolder>;

struct Project : SessionFolder {
  std::uint32_t number = 0;  // never reused, from 1
  std::string name;          // as shown, unique
  std::string cwd;           // "" when unknown
};
using ProjectPtr = std::shared_ptr<const Project>;

/// Where a view shows a session.
struct ShownAt {
  ProjectPtr project;         // its own, or for one in children/ that of the session from which all began
  SessionFolderPtr folder;    // `project`, or the children of `starter`
  std::size_t at = 0;         // in folder->sessions
  std::uint32_t starter = 0;  // the number of the session in whose children/ it is; 0 for one in its project
  std::size_t id_at = 0;      // in CatalogView::by_id
  [[nodiscard]] const std::string& name() const { return folder->sessions[at].first; }
  [[nodiscard]] const SessionPtr& session() const { return folder->sessions[at].second; }
};

struct CatalogView {
  std::vector<ProjectPtr> projects;  // byte order of names
  /// By encoded session id. Of equal ids the first keeps the plain one; others of its store get ~2, those of other
  /// stores @<agent>.
  NamedSessions by_id;
  std::map<std::string_view, std::vector<std::uint32_t>>
      by_agent;                                      // places in by_id, ascending, of each agent that has sessions
  std::map<LogFolder, std::string> by_folder;        // the folder in the store -> project name
  std::unordered_map<std::uint32_t, ShownAt> where;  // by session number; all sessions
  std::vector<const ShownAt*> shown;  // in `where`: those in projects in the order of the tree, then those in children/
  std::unordered_map<std::uint32_t, SessionFolderPtr> children;  // by the number of the session that started them
  std::uint64_t version = 0;
  std::shared_ptr<const SessionNames> names;  // null if sessions are named after their logs

  CatalogView() = default;
  CatalogView(const CatalogView&) = delete;  // it points into itself
  [[nodiscard]] ProjectPtr project(std::string_view name) const;
  [[nodiscard]] ProjectPtr project(std::uint32_t number) const;
  [[nodiscard]] SessionPtr session(std::uint32_t number) const;
  /// Its path in the mount: projects/<project>/<session>; for a session in children/, the path of the session that
  /// started it followed by /children/<session>. "" if the session is not shown.
  [[nodiscard]] std::string path_of(std::uint32_t number) const;
  [[nodiscard]] std::string path_of(const ShownAt& place) const;
  /// The number of the session in whose children/ it is; 0 for one in its project, or that is not shown.
  [[nodiscard]] std::uint32_t starter_of(std::uint32_t number) const;
  /// The sessions in its children/; empty for one that started none.
  [[nodiscard]] const NamedSessions& children_of(std::uint32_t number) const;
  /// Those in its children/, in theirs, and so on.
  [[nodiscard]] std::vector<SessionPtr> descendants_of(std::uint32_t number) const;
  /// True if the session is in the children/ of another session.
  [[nodiscard]] bool is_child(std::uint32_t number) const { return starter_of(number) != 0; }
  /// The session with this name in one of the folders of the view: as shown, that of its log, its id or a former name.
  [[nodiscard]] SessionPtr find_in(const SessionFolder& folder, std::string_view name) const;
  /// The session that has or had this name, or whose id, as by-id/ has it, it is; null if there is none.
  [[nodiscard]] SessionPtr named(std::string_view name) const;
  /// As by-id/ names it.
  [[nodiscard]] const std::string& id_of(const ShownAt& place) const { return by_id[place.id_at].first; }
  /// The project that the sessions of a folder with this name belong to, in the first store that has one.
  [[nodiscard]] ProjectPtr project_of_folder(std::string_view folder) const;
  /// Finds a session, of this agent unless that is "", by its id or a unique prefix of it; null if none or several
  /// match.
  [[nodiscard]] SessionPtr by_id_prefix(std::string_view id, std::string_view agent = "") const;
  /// Splits AGENT:ID; the agent is "" if the word does not begin with an agent that has sessions.
  struct AgentAndId {
    std::string_view agent;
    std::string_view id;
  };
  [[nodiscard]] AgentAndId split_agent(std::string_view spelled) const;
  /// Newest first by the log's mtime, at most `limit`, without those in children/.
  [[nodiscard]] std::vector<SessionPtr> recent(std::size_t limit) const;
  /// Catalog::find.
  [[nodiscard]] Result<SessionPtr> find(const std::string& spelled, const StoreSet& stores) const;

 private:
  struct OnPath {
    SessionPtr session;
    std::string_view rest;  // of the path, behind the session's folder
  };
  [[nodiscard]] Result<SessionPtr> find_by_path(const std::string& path, const StoreSet& stores) const;
  [[nodiscard]] OnPath find_on_path(std::string_view path) const;
};
using CatalogViewPtr = std::shared_ptr<const CatalogView>;

/// A session that a new view shows at another path or under another id than the one before.
struct MovedSession {
  SessionPtr session;
  Session::Identity identity;
  std::string path_before;
  bool is_under_other_id = false;
};

/// A new view of these sessions, which come in the order of their places; its version is not set. `number_of` numbers
/// projects by their cwd; `names` names sessions, null for names after their logs. Sets the shown path of each session.
std::shared_ptr<CatalogView> make_catalog_view(const std::vector<SessionPtr>& sessions, const std::string& home,
                                               const std::shared_ptr<SessionNames>& names,
                                               const std::function<std::uint32_t(const std::string& cwd)>& number_of,
                                               std::vector<MovedSession>& moved);

/// `name`, or the first of `name~2`, `name~3`, ... that is not taken yet; it is now.
std::string unique_name(std::string name, std::unordered_set<std::string>& taken);
/// Encoded as a name in the mount, so short that unique_name() may extend it.
std::string encoded_name(std::string_view text);

/// The facts that a session has about itself. A session starts only sessions of its own store.
struct FamilyMember {
  std::uint8_t store = 0;
  std::string_view id;
  std::string_view started_by;  // an id, "" for none
};

/// Which sessions of a list are shown in the children/ of which others (CONTRACT.md 2.11), by their places in it.
struct Families {
  static constexpr std::size_t kNone = SIZE_MAX;
  /// The limit on nested children/: names add up, and the kernel resolves paths of 4096 bytes.
  static constexpr std::size_t kDeepest = 8;
  /// For each session, the one in whose children/ it is shown; kNone if no session started it, if its starter is not in
  /// the list, if it is in a cycle of sessions that started one another, or if it would be too deep.
  std::vector<std::size_t> starter;
  /// All places, each after its starter.
  std::vector<std::size_t> order;
};
/// If several sessions have the same id, the first is the starter.
Families families_of(const std::vector<FamilyMember>& members);

}  // namespace arborfs
