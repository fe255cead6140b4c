// One conversation, as a program that holds one writes it: what the agents' own class of this name does, over any
// store. Nothing of a new session is on disk before its first assistant message (omp/FORMAT.md G1); until then it lives
// in a store in memory, read and written by the same code. Every call returns when its change is as durable as the
// settings say, so that there is nothing to flush and nothing that sticks after a failure.
//
// Used by one thread at a time. Errors are those of Writer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/tree.h"
#include "core/writer/writer.h"

namespace arborfs {

struct ManagerSettings {
  Dialect dialect = Dialect::omp13;  // of sessions that are created
  WriteSettings writes;
  std::string home;   // folder names are made relative to it; "" for $HOME
  std::string state;  // folder, as Catalog has it
};

class SessionManager {
 public:
  using Ptr = std::unique_ptr<SessionManager>;

  /// A session of which nothing is on disk yet.
  static Result<Ptr> create(std::shared_ptr<SessionStore> store, const std::string& cwd, ManagerSettings settings);
  /// A session that never will be.
  static Result<Ptr> in_memory(const std::string& cwd, ManagerSettings settings);
  /// `spelled` as Catalog::find has it.
  static Result<Ptr> open(std::shared_ptr<SessionStore> store, const std::string& spelled, ManagerSettings settings);
  /// The session that this terminal used last in `cwd` (omp/FORMAT.md F9), else the newest one there, else a new one.
  static Result<Ptr> continue_recent(std::shared_ptr<SessionStore> store, const std::string& cwd,
                                     const std::string& terminal, ManagerSettings settings);
  /// A copy of another session for another working directory, on disk at once (omp/FORMAT.md I2).
  static Result<Ptr> fork_from(std::shared_ptr<SessionStore> store, const std::string& source, const std::string& cwd,
                               ManagerSettings settings);
  ~SessionManager();

  /// Appends an entry at the leaf: an object with `type` and that type's own fields (entry_draft.h). Its id.
  Result<std::string> append(const json::Value& entry);
  /// Several, all or none; the id of the last.
  Result<std::string> append_all(const std::vector<const json::Value*>& entries);
  Result<std::string> append_message(const json::Value& message);
  /// "" clears. Errors also: not_found (omp/FORMAT.md H8).
  Result<std::string> set_label(const std::string& target_id, const std::string& label);
  /// Errors also: not_found.
  Result<void> branch(const std::string& id);
  Result<void> reset_leaf();
  /// "" for `id`: from the root (omp/FORMAT.md H7). `fields` may hold details and fromExtension. The summary's id.
  Result<std::string> branch_with_summary(const std::string& id, std::string_view summary, const json::Value& fields);

  /// From here on the manager holds the new session.
  Result<void> fork();
  Result<void> create_branched_session(const std::string& leaf_id);
  Result<void> new_session(const std::string& parent_session = "");
  Result<void> move_to(const std::string& cwd);
  /// `source` is "user" or "auto"; an automatic title never takes the place of a user's (omp/FORMAT.md E6).
  Result<std::string> set_title(std::string_view title, std::string_view source = "user");
  /// Writes the log anew as it is.
  Result<void> rewrite();
  /// Puts a session that is in memory alone on the disk now.
  Result<void> ensure_on_disk();
  /// The leaf is the log's last entry again, as after opening.
  Result<void> reopen();

  [[nodiscard]] bool is_on_disk() const;
  [[nodiscard]] const SessionPtr& session() const { return session_; }
  [[nodiscard]] Header header() const;
  [[nodiscard]] std::string leaf_id() const;  // "" for the root
  /// The entry's JSON as it stands in the log. Errors: not_found.
  [[nodiscard]] Result<std::string> entry(const std::string& id) const;
  [[nodiscard]] std::vector<std::string> children(const std::string& id) const;
  /// Ids from the root to the entry; "" for the leaf.
  [[nodiscard]] std::vector<std::string> branch_path(const std::string& id = "") const;
  [[nodiscard]] Tree tree() const;
  [[nodiscard]] std::string label(const std::string& id) const;  // "" for none
  /// What the model would be sent from the leaf, as JSON.
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
  std::unique_ptr<Impl> disk_;    // null for a session that never will be on disk
  std::unique_ptr<Impl> memory_;  // holds the session while it is not on disk
  SessionPtr session_;
};

}  // namespace arborfs
