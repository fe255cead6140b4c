// The writers of all formats as one: each call goes to the writer of the session's format. Threads and locks: as those
// of the writers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/writer/writer.h"

namespace arborfs {

class WriterSet final : public Writer {
 public:
  /// `catalog` must outlive this object.
  WriterSet(Catalog& catalog, WriteSettings settings) : Writer(catalog, std::move(settings)) {}

  /// Sessions of these agents are written through `writer`. Call it before any other; agents outlive this object.
  void add(const std::vector<std::string_view>& agents, std::unique_ptr<Writer> writer);

  void take_back_parts() override;
  [[nodiscard]] Result<void> check(const SessionPtr& session, bool force) override;
  [[nodiscard]] RoomWanted room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) override;
  /// Without an agent, as create().
  [[nodiscard]] std::vector<RoomAt> room_for_new(const std::string& agent, std::uint64_t bytes,
                                                 std::uint64_t entries) override;
  [[nodiscard]] std::vector<RoomAt> room_for_checkpoint(const SessionPtr& session,
                                                        const CheckpointWanted& wanted) override;
  [[nodiscard]] std::vector<RoomAt> room_for_rewind(const SessionPtr& session, const std::string& checkpoint) override;
  Result<AppendResult> append_text(const SessionPtr& session, AppendText text) override;
  [[nodiscard]] Result<void> check_text(const SessionPtr& session, const std::string& at) override;
  [[nodiscard]] Result<void> check_json(const SessionPtr& session, std::string_view text) override;
  Result<MovedLeaf> branch(const SessionPtr& session, const std::string& target, const std::string& summary, bool force,
                           bool pin) override;
  [[nodiscard]] Result<void> check_branch(const SessionPtr& session, const std::string& target) override;
  Result<void> move_back(const SessionPtr& session, const LeafMove& move) override;
  Result<AppendResult> label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) override;
  Result<std::string> set_title(const SessionPtr& session, std::string_view title, bool force,
                                std::string_view source) override;
  Result<CreateResult> fork(const SessionPtr& session, const std::string& target, bool force,
                            const std::optional<std::string>& title) override;
  Result<AdoptResult> fork_to(const SessionPtr& session, const ForeignFork& wanted) override;
  /// Without an agent, the first store whose format creates sessions counts.
  Result<CreateResult> create(const NewSession& wanted) override;
  Result<CreateResult> move(const SessionPtr& session, const std::string& cwd, bool force) override;
  Result<void> remove(const SessionPtr& session, bool force) override;
  [[nodiscard]] Result<void> check_remove(const SessionPtr& session, bool force) override;
  Result<AppendResult> replace(const SessionPtr& session, const Replacement& wanted, bool force) override;
  Result<std::size_t> put_back_erased(const SessionPtr& session, bool force = false) override;
  Result<AppendResult> summarize(const SessionPtr& session, const std::string& text, bool force) override;
  Result<std::string> checkpoint(const SessionPtr& session, const CheckpointWanted& wanted, bool force) override;
  Result<std::string> rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run,
                             bool force) override;

 private:
  /// A writer that refuses everything if there is none for the session, or if the session is a link.
  [[nodiscard]] Writer& of(const SessionPtr& session);
  /// The same for what leaves the session as it is.
  [[nodiscard]] Writer& of_agent(const SessionPtr& session);
  /// The agents to which sessions can be forked, or of which sessions can be created.
  [[nodiscard]] std::vector<std::string> agents() const;
  [[nodiscard]] std::vector<std::string> creating_agents() const;
  /// The error with what to do if the agent has no store, or none that exists.
  [[nodiscard]] Error with_advice(Error error, const std::string& agent) const;
  Result<CreateResult> create_for(const NewSession& wanted);
  /// The agent of the first store whose format creates sessions; "" if there is none.
  [[nodiscard]] std::string first_creating() const;
  class Refusing;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::map<std::string_view, Writer*> by_agent_;
  const std::unique_ptr<Writer> refusing_ = make_refusing();
  [[nodiscard]] std::unique_ptr<Writer> make_refusing();
};

}  // namespace arborfs
