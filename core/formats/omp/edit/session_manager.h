// One conversation, written as the agents' class of the same name does, in any store. A new session reaches the disk
// with its first assistant message (omp/FORMAT.md G1); until then it is in a memory store, read and written by the same
// code. Every call returns when its change is as durable as the settings say, so there is nothing to flush, and a
// failed call does not affect later ones.
//
// Used by one thread at a time. Errors are those of Writer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/tree.h"
#include "core/formats/omp/edit/writer.h"

namespace arborfs::omp {

struct ManagerSettings {
  Dialect dialect = Dialect::omp13;  // for sessions that are created
  WriteSettings writes;
  std::string home;   // folder names are relative to it; "" for $HOME
  std::string state;  // folder, as for Catalog
};

class SessionManager {
 public:
  using Ptr = std::unique_ptr<SessionManager>;

  /// A session that is not on disk yet.
  static Result<Ptr> create(std::shared_ptr<arborfs::Store> store, const std::string& cwd, ManagerSettings settings);
  /// A session that never goes to disk.
  static Result<Ptr> in_memory(const std::string& cwd, ManagerSettings settings);
  /// `spelled`: as for Catalog::find.
  static Result<Ptr> open(std::shared_ptr<arborfs::Store> store, const std::string& spelled, ManagerSettings settings);
  /// The session that this terminal used last in `cwd` (omp/FORMAT.md F9), else the newest one there, else a new one.
  static Result<Ptr> continue_recent(std::shared_ptr<arborfs::Store> store, const std::string& cwd,
                                     const std::string& terminal, ManagerSettings settings);
  /// A copy of another session for another working directory, on disk at once (omp/FORMAT.md I2).
  static Result<Ptr> fork_from(std::shared_ptr<arborfs::Store> store, const std::string& source, const std::string& cwd,
                               ManagerSettings settings);
  ~SessionManager();

  /// Appends an entry at the leaf: an object with `type` and that type's own fields (entry_draft.h). Returns its id.
  Result<std::string> append(const json::Value& entry);
  /// Appends several entries, all or none. Returns the id of the last.
  Result<std::string> append_all(const std::vector<const json::Value*>& entries);
  Result<std::string> append_message(const json::Value& message);
  /// "" as `label` clears it. Errors also: not_found (omp/FORMAT.md H8).
  Result<std::string> set_label(const std::string& target_id, const std::string& label);
  /// Errors also: not_found.
  Result<void> branch(const std::string& id);
  Result<void> reset_leaf();
  /// "" as `id` branches from the root (omp/FORMAT.md H7). `fields` may hold details and fromExtension. Returns the
  /// summary's id.
  Result<std::string> branch_with_summary(const std::string& id, std::string_view summary, const json::Value& fields);

  /// These switch the manager to the new session.
  Result<void> fork();
  Result<void> create_branched_session(const std::string& leaf_id);
  Result<void> new_session(const std::string& parent_session = "");
  Result<void> move_to(const std::string& cwd);
  /// `source` is "user" or "auto"; an automatic title never replaces a user's (omp/FORMAT.md E6). Returns the title in
  /// effect.
  Result<std::string> set_title(std::string_view title, std::string_view source = "user");
  /// Rewrites the log without a change; a log of an old version is migrated.
  Result<void> rewrite();
  /// Writes a session that is only in memory to disk now.
  Result<void> ensure_on_disk();
  /// Resets the leaf to the log's last entry, as after opening.
  Result<void> reopen();

  [[nodiscard]] bool is_on_disk() const;
  [[nodiscard]] const SessionPtr& session() const { return session_; }
  [[nodiscard]] Header header() const;
  [[nodiscard]] std::string leaf_id() const;  // "" for the root
  /// The entry's JSON as it is in the log. Errors: not_found.
  [[nodiscard]] Result<std::string> entry(const std::string& id) const;
  [[nodiscard]] std::vector<std::string> children(const std::string& id) const;
  /// Ids from the root to the entry; "" for the leaf.
  [[nodiscard]] std::vector<std::string> branch_path(const std::string& id = "") const;
  [[nodiscard]] Tree tree() const;
  [[nodiscard]] std::string label(const std::string& id) const;  // "" for none
  /// The context that the agent would send to the model from the leaf, as JSON.
  [[nodiscard]] Result<std::string> context() const;
  /// Usage statistics over the whole log, as JSON (omp/FORMAT.md C24).
  [[nodiscard]] Result<std::string> usage() const;

 private:
  /// A store with its catalog and writer.
  struct Impl;
  SessionManager(std::unique_ptr<Impl> disk, ManagerSettings settings);
  Result<void> start(const std::string& cwd, const std::string& parent_session);
  Result<void> put_on_disk();
  Result<std::string> append_drafts(std::vector<EntryDraft> drafts, const std::string& at);
  [[nodiscard]] Impl& impl() const;
  [[nodiscard]] Dialect dialect() const;
  Result<void> hold(Result<CreateResult> made);

  const ManagerSettings settings_;
  std::unique_ptr<Impl> disk_;    // null for a session that never goes to disk
  std::unique_ptr<Impl> memory_;  // holds the session while it is not on disk
  SessionPtr session_;
};

}  // namespace arborfs::omp
