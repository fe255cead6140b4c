#include "core/formats/goat/editor.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/write/resolve_target.h"

namespace arborfs::goat {
namespace {

/// The shape of the first message; nested if there is none.
Result<Shape> shape_of(const Session& session) {
  std::shared_ptr<const LogSource> log;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    if (guard.index().size() > 0) {
      log = guard.log();
      offset = guard.index().entry(1).offset;
      length = guard.index().length(1);
    }
  }
  if (length == 0 || length > kLongestLine) {
    return Shape::nested;
  }
  ASSIGN_OR_RETURN(const auto line, log->read(offset, length));
  return go_member(line, "message").starts_with('{') ? Shape::nested : Shape::flat;
}

}  // namespace

Result<void> LogPlan::start(const Session::Guard& now) {
  index = &now.index();
  leaf = index->size() == 0 ? "" : index->id(index->size()).text;
  return {};
}

Result<AppendResult> LogPlan::add(const NewRecords& added, const std::string& at) {
  if (!at.empty()) {
    ASSIGN_OR_RETURN(const auto found, find_leaf_target(*index, at));
    if ((found == kNoEntry ? "" : index->id(found).text) != leaf) {
      return Error{Errc::stale, "that entry is not the last message, and sessions of goat have no branches"};
    }
  }
  RETURN_IF_ERROR(added.check_leaf(leaf));
  for (const auto& record : added.records) {
    records.push_back(&record);
  }
  const std::string& newest = added.records.back().id;
  return AppendResult{newest, added.is_transcript ? "" : std::exchange(leaf, newest)};
}

bool Editor::is_transcript() const {
  return file_ == kTranscriptFile;
}

Result<void> Editor::check(const Session::Guard& now) const {
  RETURN_IF_ERROR(check_writable(now.format()));
  RETURN_IF_ERROR(now.index().header().check_valid());
  if (now.log()->is_decoded()) {
    return Error{Errc::read_only, "the messages are not stored as UTF-8"};
  }
  return {};
}

/// Under the lock of the transcript, it is not known whether goat appends messages.
Result<std::unique_ptr<LogWriter>> Editor::lock(const SessionPtr& session, Wait wait) {
  if (wait == Wait::no && is_transcript()) {
    return std::unique_ptr<LogWriter>();
  }
  arborfs::Store& store = session->store();
  ASSIGN_OR_RETURN(auto dir, store.folder(session->place()));
  auto folder = std::make_shared<const Dir>(std::move(dir));
  return wait == Wait::no ? try_lock_log(store.disk(), std::move(folder), file_)
                          : lock_log(store.disk(), std::move(folder), file_);
}

Result<std::unique_ptr<Plan>> Editor::begin(const SessionPtr& /*session*/) {
  return std::unique_ptr<Plan>(std::make_unique<LogPlan>());
}

/// A last line without a line feed is never joined to the next one.
Result<void> Editor::complete(const SessionPtr& session, const Held& held, Plan& plan) {
  ASSIGN_OR_RETURN(const auto end, held.writer->version());
  plan.lead = end.lead();
  ASSIGN_OR_RETURN(const auto shape, shape_of(*session));
  const std::string time = timestamp_now();
  for (const auto* record : static_cast<LogPlan&>(plan).records) {
    plan.lines += is_transcript() ? record->json + "\n" : message_line(shape, *record, time);
  }
  return {};
}

std::string Editor::appended_file(const LogPlace& session) const {
  return is_transcript() ? session.folder + "." + file_ : session.file;
}

std::optional<LogPlace> Editor::place_of(const LogPlace& appended) const {
  const LogPlace session{appended.folder, appended.folder + ".jsonl", appended.store};
  return appended_file(session) == appended.file ? std::optional(session) : std::nullopt;
}

DelayedUpdates::~DelayedUpdates() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  settle();
}

/// Nothing becomes due earlier by an addition: the thread has to be woken only if it waits for none.
void DelayedUpdates::add(const SessionPtr& session) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = pending_.empty();
    pending_[session->number()] = {session, Clock::now() + quiet_};
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { work(); });
      } catch (const std::system_error&) {
        return;  // settle() makes it
      }
    }
  }
  if (was_empty) {
    wake_.notify_all();
  }
}

void DelayedUpdates::settle() {
  const auto last_due = Clock::now() + quiet_;  // updates that others keep adding meanwhile are due later
  while (update_one(last_due)) {
  }
}

bool DelayedUpdates::update_one(Clock::time_point due) {
  const std::lock_guard turn(making_);
  SessionPtr session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(pending_.begin(), pending_.end(),
                                    [due](const auto& pending) { return pending.second.second <= due; });
    if (found == pending_.end()) {
      return false;
    }
    session = std::move(found->second.first);
    pending_.erase(found);
  }
  update_(session);
  return true;
}

void DelayedUpdates::work() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (pending_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto next = std::min_element(pending_.begin(), pending_.end(),
                                       [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    const auto due = next->second.second;
    if (due > Clock::now()) {
      wake_.wait_until(lock, due);
      continue;
    }
    lock.unlock();
    update_one(Clock::now());
    lock.lock();
  }
}

}  // namespace arborfs::goat
