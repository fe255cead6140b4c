#include "fs/control/control_file.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/error.h"
#include "core/session/catalog_view.h"
#include "core/write/verbs.h"
#include "fs/control/client_process.h"
#include "fs/nodes/node_table.h"
#include "fs/nodes/request_context.h"

namespace arborfs {

namespace {

constexpr std::size_t kLeastRoom = 8 << 10;

/// How much a command adds to a session. For text at least twice its size, because JSON escapes make some characters
/// longer; in steps, so that space is seldom reserved.
std::size_t room_for(std::size_t bytes, bool is_json) {
  return std::max(kLeastRoom, std::bit_ceil(is_json ? bytes : 2 * bytes));
}

}  // namespace

void OpenControls::add(const ControlFile* file) {
  const std::lock_guard lock(mutex_);
  files_.push_back(file);
}

void OpenControls::remove(const ControlFile* file) {
  const std::lock_guard lock(mutex_);
  std::erase(files_, file);
}

std::size_t OpenControls::count(NodeId node, pid_t opener) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(files_.begin(), files_.end(), [&](const ControlFile* file) {
    return file->node() == node && file->opener() == opener && !file->is_closed();
  }));
}

ControlFile::ControlFile(WriteBarrier& writes, OpenControls& open, Target target,
                         std::unique_ptr<ControlInodes::Lease> lease)
    : writes_(writes),
      open_(open),
      target_(std::move(target)),
      lease_(std::move(lease)),
      memory_(writes_.writer().memory().waiting),
      stream_(target_.verb->framing) {
  open_.add(this);
}

ControlFile::~ControlFile() {
  open_.remove(this);
}

void ControlFile::release_inode() {
  std::unique_ptr<ControlInodes::Lease> lease;
  const std::lock_guard lock(mutex_);
  lease.swap(lease_);
}

bool ControlFile::is_waiting() const {
  const std::lock_guard lock(mutex_);
  return stream_.is_waiting();
}

bool ControlFile::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

Result<void> ControlFile::refuse(const Error& why) {
  writes_.refused(target_.subject.session, target_.verb->name, why);
  return why;
}

Result<void> ControlFile::write(std::string_view bytes, bool goes_on, pid_t client) {
  try {
    memory_.grow(bytes.size());
    auto done = take(bytes, goes_on, client);
    give_back();
    return done;
  } catch (const MemoryBudget::Exhausted& exhausted) {
    refuse_rest({Errc::busy, exhausted.what()});
    throw;
  }
}

/// Releases memory that the waiting input no longer needs.
void ControlFile::give_back() {
  const std::lock_guard lock(mutex_);
  memory_.shrink_to(stream_.waiting_bytes());
}

/// For lack of memory; only the writer of this piece gets the error.
void ControlFile::refuse_rest(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    stream_.refuse_rest(why);
    release_room();
    memory_.shrink_to(0);
  }
  roll_back();
  static_cast<void>(refuse(why));
}

Result<void> ControlFile::take(std::string_view bytes, bool goes_on, pid_t client) {
  CommandStream::Taken command;
  Result<void> done;
  {
    const std::lock_guard lock(mutex_);
    has_written_ = true;
    is_closed_ = was_killed_ = false;
    if (const auto& refusal = stream_.refusal()) {
      return *refusal;
    }
    writer_ = thread_group_of(client);
    auto taken = stream_.feed(bytes, goes_on);
    if (taken) {
      command = std::move(*taken);
    } else {
      done = taken.error();
    }
    if (command || !done) {
      release_room();
    }
  }
  if (!done) {
    roll_back();
    const auto usage = refuse_usage(*target_.verb, target_.subject, bytes);  // after a whole JSON value
    return refuse(usage ? done.error() : usage.error());
  }
  done = command ? run(*command) : judge_early();
  if (!done) {
    {
      const std::lock_guard lock(mutex_);
      stream_.fail(done.error());
      release_room();
    }
    roll_back();
    return command ? done : refuse(done.error());
  }
  return done;
}

/// Releases the space reserved for a text that is over. Needs mutex_.
void ControlFile::release_room() {
  reservation_.reset();
  room_ = 0;
  is_checked_ = false;
}

/// Undoes the first line of a command that is refused. False if there was nothing to undo.
bool ControlFile::roll_back() {
  std::function<Result<void>(Writer&)> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(roll_back_);
    if (work) {
      out_.clear();
    }
  }
  if (work) {
    static_cast<void>(writes_.run_unnoted(target_.subject.session, work));
  }
  return work != nullptr;
}

/// Checks everything about a command that can be checked before it ends, because shells ignore errors of close.
Result<void> ControlFile::judge_early() {
  CommandStream::SoFar so_far;
  bool writes_log = false;
  bool is_checked = false;
  std::size_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stream_.waiting_bytes() == 0) {
      return {};
    }
    so_far = stream_.so_far();
    writes_log = target_.verb->writes_log && target_.verb->changes_log_of(target_.subject.session->format()) &&
                 (target_.verb->framing != Framing::target_and_text || stream_.has_text_for_target());
    is_checked = std::exchange(is_checked_, writes_log);
    const std::size_t room = room_for(stream_.waiting_bytes(), so_far.is_json);
    if (writes_log && room > room_) {
      wanted = room_ = room;
      reservation_.reset();
    } else if (target_.verb->room != nullptr) {
      reservation_.reset();
    }
  }
  const Verb& verb = *target_.verb;
  Writer& writer = writes_.writer();
  RETURN_IF_ERROR(so_far.is_json ? Result<void>() : refuse_usage(verb, target_.subject, so_far.fresh));
  // An object may still contain "force".
  const bool may_be_forced = so_far.is_json || so_far.text.starts_with('{');
  // A queue also takes the message of a session that is held; the judge below looks at the whole command.
  const bool may_be_queued = so_far.is_json && target_.subject.session->format().queues_messages;
  const bool must_check = writes_log && !is_checked && !may_be_queued;
  RETURN_IF_ERROR(must_check ? writer.check(target_.subject.session, may_be_forced) : Result<void>());
  if (verb.judge != nullptr) {
    RETURN_IF_ERROR(verb.judge(writer, target_.subject, {so_far.text, so_far.is_json, so_far.is_whole}));
  }
  if (verb.room != nullptr) {
    ASSIGN_OR_RETURN(auto reserved, writer.reserve(verb.room(writer, target_.subject, so_far.text)));
    const std::lock_guard lock(mutex_);
    reservation_ = std::move(reserved);
  }
  return wanted != 0 ? make_room(wanted) : Result<void>();
}

Result<void> ControlFile::make_room(std::size_t room) {
  ASSIGN_OR_RETURN(auto reserved, writes_.writer().reserve(target_.subject.session, room, target_.verb->name));
  const std::lock_guard lock(mutex_);
  reservation_ = std::move(reserved);
  return {};
}

Result<void> ControlFile::run(CommandStream::Command& command) {
  Subject subject = target_.subject;
  subject.adds = subject.adds || has_run_;
  ASSIGN_OR_RETURN(auto done, writes_.run(subject.session, target_.verb->name, [&](Writer& writer) {
    return run_verb(*target_.verb, writer, subject, std::move(command.text), command.is_json);
  }));
  const std::lock_guard lock(mutex_);
  out_ += done.line;
  has_run_ = true;
  roll_back_ = stream_.has_target() ? std::move(done.take_back) : nullptr;
  return {};
}

Result<void> ControlFile::take_waiting() {
  CommandStream::Taken command;
  Result<void> done;
  {
    const std::lock_guard lock(mutex_);
    release_room();
    auto taken = stream_.finish();
    if (taken && !*taken) {
      roll_back_ = nullptr;
      return {};
    }
    if (taken) {
      command = std::move(*taken);
    } else {
      done = taken.error();
    }
  }
  try {
    done = command ? run(*command) : done;
  } catch (const MemoryBudget::Exhausted& exhausted) {
    refuse_rest({Errc::busy, exhausted.what()});
    throw;
  }
  give_back();
  if (done) {
    const std::lock_guard lock(mutex_);
    roll_back_ = nullptr;
    return done;
  }
  const bool is_noted = command && !roll_back();
  return is_noted ? done : refuse(done.error());
}

/// If a summary is dropped, the leaf that was moved for it is moved back.
void ControlFile::truncate() {
  bool is_cut_short = false;
  {
    const std::lock_guard lock(mutex_);
    has_run_ = false;
    is_cut_short = stream_.has_text_for_target();
    stream_.drop();
    release_room();
    if (!is_cut_short) {
      roll_back_ = nullptr;
    }
    memory_.shrink_to(0);
  }
  roll_back();
}

Result<void> ControlFile::sync() {
  return take_waiting();
}

Result<std::string> ControlFile::read(RequestContext& call, std::size_t size) {
  RETURN_IF_ERROR(take_waiting());
  bool is_fresh = false;
  {
    const std::lock_guard lock(mutex_);
    is_fresh = !has_written_ && !has_read_content_;
  }
  if (is_fresh) {
    ASSIGN_OR_RETURN(const auto content, target_.content(call));
    const std::lock_guard lock(mutex_);
    has_read_content_ = true;
    out_ += content;
  }
  const std::lock_guard lock(mutex_);
  std::string bytes = out_.substr(0, size);
  out_.erase(0, bytes.size());
  return bytes;
}

ControlFile::Closing ControlFile::judge_close(pid_t client) const {
  const pid_t group = thread_group_of(client);
  Closing closing{group == 0 ? client : group, is_killed_by_signal(client), true};
  const auto left = open_links(closing.closer, target_.is_path);
  if (left && closing.closer == target_.opener) {
    closing.is_last = *left < open_.count(target_.node, closing.closer);
  } else if (left) {
    closing.is_last = *left == 0 && open_links(target_.opener, target_.is_path).value_or(0) == 0;
  }
  return closing;
}

Result<void> ControlFile::close_one(const Closing& closing) {
  {
    const std::lock_guard lock(mutex_);
    const bool ends_it = stream_.ends_with_its_writer() && closing.closer == writer_;
    if (!closing.is_last && (!ends_it || closing.was_killed)) {
      was_killed_ = closing.was_killed;
      return {};
    }
    is_closed_ = closing.is_last;
  }
  if (closing.was_killed) {
    truncate();
    return {};
  }
  return take_waiting();
}

void ControlFile::release() {
  {
    const std::lock_guard lock(mutex_);
    if (was_killed_) {
      return;
    }
  }
  static_cast<void>(take_waiting());
}

namespace {

constexpr std::size_t kFewChanges = 64;

/// The views that may report a write that changed nothing, such as status.json after a refused write.
void add_texts(NodeId session, std::vector<Invalidation>& out) {
  for (const ViewRow& view : session_views()) {
    if (view.validity == Validity::text) {
      out.push_back({session, std::string(view.name)});
    }
  }
}

}  // namespace

WriteBarrier::Shown WriteBarrier::shown(const SessionPtr& session) const {
  Shown now;
  now.sequence = state_.catalog.feed().last_sequence();
  if (session) {
    const auto view = state_.catalog.view();
    now.path = view->path_of(session->number());
    const auto found = view->where.find(session->number());
    now.starter = found == view->where.end() ? 0 : found->second.starter;
    now.id_name = encoded_name(session->id());
  }
  return now;
}

void WriteBarrier::refused(const SessionPtr& session, std::string_view doing, const Error& why) {
  const Shown before = shown(session);
  writer_.note_outcome(session, doing, &why);
  invalidate(session, before, false);
}

void WriteBarrier::invalidate(const SessionPtr& session, const Shown& before, bool is_done) {
  if (session && is_done) {
    state_.catalog.place_anew(session);
  }
  state_.note_own_write(session ? session->number() : 0);
  if (session && !is_done) {
    session->forget_look();
  }
  std::vector<Invalidation> more{{NodeId::root(), "status.json"}};
  if (session) {
    const Shown now = shown(session);
    if (const std::uint32_t home = state_.slots.find(session->number(), 0); home != 0) {
      add_texts(NodeId(Kind::session, home, 0), more);
    }
    const bool is_only_renamed = before.folder() == now.folder() && before.id_name == now.id_name;  // the feed says so
    if ((before.path != now.path || before.id_name != now.id_name) && !is_only_renamed) {
      add_place(before, now, more);
      add_place(now, before, more);
    }
  }
  tell(before.sequence, std::move(more));
}

/// Bypasses the invalidator's thread where possible: when nothing has changed, or when only attributes need to be
/// invalidated.
void WriteBarrier::tell(std::uint64_t since, std::vector<Invalidation> more) {
  const InvalidationMap map(state_);
  more = map.known(std::move(more));
  const auto changes = state_.catalog.feed().after(since, kFewChanges);
  auto all = map.invalidations_of(changes);
  all.insert(all.end(), more.begin(), more.end());
  if (changes.size() == kFewChanges || !invalidations_.notify_at_once(all)) {
    invalidations_.notify_and_wait(std::move(more));
  }
}

/// Invalidates where a session was shown, if it is no longer shown there.
void WriteBarrier::add_place(const Shown& was, const Shown& is, std::vector<Invalidation>& out) const {
  if (was.path.empty() || was.path == is.path) {
    return;
  }
  out.push_back({NodeId(Kind::projects, 0, 0), ""});
  out.push_back({NodeId(Kind::by_id, 0, 0), was.id_name});
  const auto view = state_.catalog.view();
  for (const auto& [agent, places] : view->by_agent) {
    out.push_back({shortcut_nodes::agent_folder(agent), was.id_name});
  }
  InvalidationMap(state_).add_place(was.path, was.starter, out);
}

}  // namespace arborfs
