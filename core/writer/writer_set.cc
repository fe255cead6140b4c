#include "core/writer/writer_set.h"

#include <algorithm>

#include "core/base/join_words.h"
#include "core/base/result_macros.h"
#include "core/writer/removed_from.h"

namespace arborfs {

class WriterSet::Refusing final : public Writer {
 public:
  explicit Refusing(Catalog& catalog) : Writer(catalog, {}) {}
};

std::unique_ptr<Writer> WriterSet::make_refusing() {
  return std::make_unique<Refusing>(catalog());
}

void WriterSet::add(const std::vector<std::string_view>& agents, std::unique_ptr<Writer> writer) {
  for (const std::string_view agent : agents) {
    by_agent_.emplace(agent, writer.get());
  }
  writers_.push_back(std::move(writer));
}

std::vector<std::string> WriterSet::agents() const {
  std::vector<std::string> agents;
  for (const auto& [agent, writer] : by_agent_) {
    agents.emplace_back(agent);
  }
  return agents;
}

std::vector<std::string> WriterSet::creating_agents() const {
  std::vector<std::string> agents;
  for (const auto& [agent, writer] : by_agent_) {
    if (writer->creates()) {
      agents.emplace_back(agent);
    }
  }
  return agents;
}

Error WriterSet::with_advice(Error error, const std::string& agent) const {
  const StoreSet& stores = catalog().stores();
  const auto store = stores.first_of(agent);
  const auto problem = store ? problem_of(*stores.at(*store)) : std::nullopt;
  if (!store && (error.code == Errc::read_only || error.code == Errc::not_found)) {
    error.message += "; name its folder with --store " + agent + "=DIR";
  } else if (error.code == Errc::not_found && problem && problem->is_absent) {
    error.message += "; start " + agent + " once, or name its folder with --store " + agent + "=DIR";
  }
  return error;
}

Writer& WriterSet::of_agent(const SessionPtr& session) {
  const auto found = by_agent_.find(session->format().agent);
  return found == by_agent_.end() || !session->format().is_writable() ? *refusing_ : *found->second;
}

Writer& WriterSet::of(const SessionPtr& session) {
  return session->store().is_link(session->place()) ? *refusing_ : of_agent(session);
}

void WriterSet::take_back_parts() {
  for (const auto& writer : writers_) {
    writer->take_back_parts();
  }
}

Result<void> WriterSet::check(const SessionPtr& session, bool force) {
  return of(session).check(session, force);
}

Result<AppendResult> WriterSet::append_text(const SessionPtr& session, AppendText text) {
  return of(session).append_text(session, std::move(text));
}

RoomWanted WriterSet::room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) {
  return of(session).room_for(session, verb, bytes);
}

std::vector<RoomAt> WriterSet::room_for_new(const std::string& agent, std::uint64_t bytes, std::uint64_t entries) {
  const std::string wanted = agent.empty() ? first_creating() : agent;
  const auto found = by_agent_.find(wanted);
  return found == by_agent_.end() ? std::vector<RoomAt>() : found->second->room_for_new(wanted, bytes, entries);
}

std::vector<RoomAt> WriterSet::room_for_checkpoint(const SessionPtr& session, const CheckpointWanted& wanted) {
  return of(session).room_for_checkpoint(session, wanted);
}

std::vector<RoomAt> WriterSet::room_for_rewind(const SessionPtr& session, const std::string& checkpoint) {
  return of(session).room_for_rewind(session, checkpoint);
}

Result<void> WriterSet::check_text(const SessionPtr& session, const std::string& at) {
  return of(session).check_text(session, at);
}

Result<void> WriterSet::check_json(const SessionPtr& session, std::string_view text) {
  return of(session).check_json(session, text);
}

Result<MovedLeaf> WriterSet::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                    bool force, bool pin) {
  return of(session).branch(session, target, summary, force, pin);
}

Result<void> WriterSet::check_branch(const SessionPtr& session, const std::string& target) {
  return of(session).check_branch(session, target);
}

Result<void> WriterSet::move_back(const SessionPtr& session, const LeafMove& move) {
  return of(session).move_back(session, move);
}

Result<AppendResult> WriterSet::label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) {
  return of(session).label(session, changes, force);
}

Result<std::string> WriterSet::set_title(const SessionPtr& session, std::string_view title, bool force,
                                         std::string_view source) {
  return of(session).set_title(session, title, force, source);
}

Result<CreateResult> WriterSet::fork(const SessionPtr& session, const std::string& target, bool force,
                                     const std::optional<std::string>& title) {
  return of_agent(session).fork(session, target, force, title);
}

Result<AdoptResult> WriterSet::fork_to(const SessionPtr& session, const ForeignFork& wanted) {
  const auto found = by_agent_.find(wanted.agent);
  if (found == by_agent_.end()) {
    Error refused = refusing_->fork_to(session, wanted).error();
    return Error{refused.code, refused.message + ", only to " + join_words(agents())};
  }
  const auto store = catalog().stores().first_of(wanted.agent);
  if (!store) {
    return with_advice({Errc::read_only, "no store of " + wanted.agent + " is open"}, wanted.agent);
  }
  const SessionStore& target = *catalog().stores().at(*store);
  ASSIGN_OR_RETURN(auto conversation, read_conversation(session, wanted.entry, wanted.reach));
  if (!wanted.title.empty()) {
    conversation.title = wanted.title;
  }
  if (!wanted.cwd.empty() && !wanted.cwd.starts_with('/')) {
    return Error{Errc::invalid_argument, "the working directory must be an absolute path"};
  }
  if (!wanted.cwd.empty() && !target.format().has_cwd) {
    return Error{Errc::invalid_argument,
                 "sessions of " + wanted.agent + " do not record a working directory; leave out 'cwd'"};
  }
  if (!wanted.cwd.empty()) {
    conversation.cwd = wanted.cwd;
  } else if (!conversation.cwd.starts_with('/')) {
    conversation.cwd = catalog().home();
  }
  auto adopted = session->agent() == wanted.agent ? found->second->adopt_own(session, wanted, conversation)
                                                  : found->second->adopt(conversation, wanted.agent);
  if (!adopted) {
    return with_advice(adopted.error(), wanted.agent);
  }
  adopted->left_out = conversation.left_out;
  return adopted;
}

Result<CreateResult> WriterSet::create_for(const NewSession& wanted) {
  const auto found = by_agent_.find(wanted.agent);
  if (found == by_agent_.end() || !found->second->creates()) {
    Error refused = refusing_->create(wanted).error();
    return Error{refused.code, refused.message + ", only of " + join_words(creating_agents())};
  }
  auto made = found->second->create(wanted);
  return made ? made : with_advice(made.error(), wanted.agent);
}

std::string WriterSet::first_creating() const {
  const StoreSet& stores = catalog().stores();
  const auto creates = [&](const auto& store) {
    return store->format().takes("new") && by_agent_.contains(store->format().agent);
  };
  const auto first = std::find_if(stores.begin(), stores.end(), creates);
  return first == stores.end() ? std::string() : std::string((*first)->format().agent);
}

Result<CreateResult> WriterSet::create(const NewSession& wanted) {
  if (!wanted.agent.empty()) {
    return create_for(wanted);
  }
  if (const std::string first = first_creating(); !first.empty()) {
    return by_agent_.at(first)->create(wanted);
  }
  return writers_.empty() ? refusing_->create(wanted) : writers_.front()->create(wanted);
}

Result<CreateResult> WriterSet::move(const SessionPtr& session, const std::string& cwd, bool force) {
  return of(session).move(session, cwd, force);
}

Result<void> WriterSet::remove(const SessionPtr& session, bool force) {
  note_removed_from(session->store());
  return of(session).remove(session, force);
}

Result<void> WriterSet::check_remove(const SessionPtr& session, bool force) {
  return of(session).check_remove(session, force);
}

Result<AppendResult> WriterSet::replace(const SessionPtr& session, const Replacement& wanted, bool force) {
  return of(session).replace(session, wanted, force);
}

Result<std::size_t> WriterSet::put_back_erased(const SessionPtr& session, bool force) {
  return of(session).put_back_erased(session, force);
}

Result<AppendResult> WriterSet::summarize(const SessionPtr& session, const std::string& text, bool force) {
  return of(session).summarize(session, text, force);
}

Result<std::string> WriterSet::checkpoint(const SessionPtr& session, const CheckpointWanted& wanted, bool force) {
  return of(session).checkpoint(session, wanted, force);
}

Result<std::string> WriterSet::rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run,
                                      bool force) {
  return of(session).rewind(session, checkpoint, dry_run, force);
}

}  // namespace arborfs
