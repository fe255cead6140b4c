#include "core/session/liveness.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/os/processes.h"
#include "core/store/store_parts.h"

namespace arborfs {

namespace {

/// How long a log must be open or locked. A session that was live recently needs no second check.
std::chrono::milliseconds one_write(const Session& session) {
  return session.was_live_lately() ? std::chrono::milliseconds(0) : kLongestWrite;
}

void look_at_file(const Session& session, const Dir& folder, Liveness& found) {
  const auto file = session.store().open_file(folder, session.place());
  if (file && is_open_for_writing(*file, one_write(session))) {
    found.state = Liveness::State::live;
    found.reasons.emplace_back("another process has the log open for writing");
  }
}

void look_at_lock_file(const Session& session, const Dir& folder, Liveness& found) {
  const auto* const locks = part_of<HasLockFiles>(session.store());
  if (locks == nullptr) {
    return;
  }
  long owner = 0;
  const auto held_by_other = [&] {
    owner = locks->lock_holder(folder, session.place().file);
    return owner != ::getpid() && is_process_alive(owner);
  };
  if (is_lasting(held_by_other, one_write(session))) {
    found.state = Liveness::State::live;
    found.reasons.emplace_back("process " + std::to_string(owner) + " holds its lock file");
  }
}

void look_at_log(const Session& session, const Dir& folder, bool may_be_locked, Liveness& found) {
  look_at_file(session, folder, found);
  if (may_be_locked) {
    look_at_lock_file(session, folder, found);
  }
  if (found.state == Liveness::State::live) {
    session.note_live();
  }
}

void take_reasons(const Session& session, const FileStat& now, const Catalog& catalog, const AgentLook& look,
                  Liveness& found) {
  for (std::string& reason : look.reasons(session, now, catalog.state_of(session).marks)) {
    found.reasons.push_back(std::move(reason));
    found.state = std::max(found.state, Liveness::State::maybe);
  }
}

void take_proofs(const std::vector<std::string>& proofs, Liveness& found) {
  if (!proofs.empty()) {
    found.state = Liveness::State::live;
    found.reasons.insert(found.reasons.begin(), proofs.begin(), proofs.end());
  }
}

void look_for_traces(const Session& session, const FileStat& now, const Catalog& catalog, const AgentLook& look,
                     Liveness& found) {
  take_reasons(session, now, catalog, look, found);
  take_proofs(look.proofs(session), found);
}

}  // namespace

Liveness check_liveness(const Session& session, const Catalog& catalog) {
  return check_liveness(session, catalog, *AgentLook::recent(session.store()));
}

Liveness check_liveness(const Session& session, const Catalog& catalog, const AgentLook& look) {
  Liveness found;
  const SessionStore& store = session.store();
  const LogPlace place = session.place();
  const auto folder = store.folder(place);
  if (folder) {
    look_at_log(session, *folder, true, found);
  }
  const auto now = folder ? store.stat(place, &*folder) : Result<FileStat>(folder.error());
  look_for_traces(session, now ? *now : session.stat(), catalog, look, found);
  return found;
}

Liveness check_traces(const Session& session, const FileStat& now, const Catalog& catalog, const AgentLook& look) {
  Liveness found;
  look_for_traces(session, now, catalog, look, found);
  return found;
}

Liveness check_under_lock(const Session& session, const LogWriter& writer, const Catalog& catalog,
                          const AgentLook& look) {
  Liveness found;
  take_reasons(session, writer.stat(), catalog, look, found);
  take_proofs(look.proofs_under_lock(session), found);
  if (writer.is_open_elsewhere()) {
    take_proofs({"another process has the log open for writing"}, found);
  }
  return found;
}

LivenessRound::LivenessRound(const Catalog& catalog) : catalog_(catalog) {
  for (const auto& store : catalog.stores()) {
    looks_.push_back(AgentLook::recent(*store));
  }
}

LivenessRound::Folder LivenessRound::in(const LogFolder& folder) const {
  Folder looked(*this);
  auto dir = catalog_.stores().at(folder.store)->folder({folder.name, ""});
  if (!dir) {
    return looked;
  }
  looked.dir_ = std::move(*dir);
  if (const auto entries = looked.dir_->list()) {
    looked.dot_files_.emplace();
    for (const auto& entry : *entries) {
      if (entry.name.front() == '.') {
        looked.dot_files_->insert(entry.name);
      }
    }
  }
  return looked;
}

Liveness LivenessRound::Folder::check(const Session& session) const {
  Liveness found;
  if (dir_) {
    const auto* const locks = part_of<HasLockFiles>(session.store());
    const std::string lock = locks != nullptr ? locks->lock_file_name(session.place().file) : "";
    const bool may_be_locked = !lock.empty() && (!dot_files_ || dot_files_->contains(lock));
    look_at_log(session, *dir_, may_be_locked, found);
  }
  look_for_traces(session, session.stat(), round_.catalog_, *round_.looks_[session.store_number()], found);
  return found;
}

std::string_view liveness_word(Liveness::State state) {
  switch (state) {
    case Liveness::State::live:
      return "live";
    case Liveness::State::maybe:
      return "maybe";
    case Liveness::State::quiet:
      break;
  }
  return "quiet";
}

std::string liveness_words(const Liveness& liveness) {
  std::string text = liveness.state == Liveness::State::live ? "the session is live: " : "the session may be live: ";
  for (const auto& reason : liveness.reasons) {
    text += (&reason == &liveness.reasons.front() ? "" : ", ") + reason;
  }
  return text;
}

}  // namespace arborfs
