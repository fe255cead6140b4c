#include "fs/control_file.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fs/client_process.h"

namespace arborfs {

namespace {

constexpr std::size_t kLeastRoom = 8 << 10;

/// Twice the text at least, because JSON spells some characters longer; in steps, so that it is seldom asked for.
std::size_t room_for(std::size_t text) {
  return std::max(kLeastRoom, std::bit_ceil(2 * text));
}

/// The verb of which further lines may follow the command.
bool takes_summary(const Verb& verb) {
  return verb.name == "branch";
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

ControlFile::ControlFile(OwnWrites& writes, OpenControls& open, Target target, std::unique_ptr<Doors::Stay> stay)
    : writes_(writes), open_(open), target_(std::move(target)), stay_(std::move(stay)), stream_(target_.verb->framing) {
  open_.add(this);
}

ControlFile::~ControlFile() {
  open_.remove(this);
}

void ControlFile::leave_door() {
  std::unique_ptr<Doors::Stay> stay;
  const std::lock_guard lock(mutex_);
  stay.swap(stay_);
}

bool ControlFile::is_waiting() const {
  const std::lock_guard lock(mutex_);
  return stream_.is_waiting() || summary_of_ || refusal_;
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
  CommandStream::Taken command;
  bool is_rest = false;
  {
    std::unique_lock lock(mutex_);
    if (rest_refusal_ && refused_rest_ == bytes) {
      return *rest_refusal_;
    }
    rest_refusal_.reset();
    refused_rest_ = {};
    is_rest = std::exchange(goes_on_, goes_on);
    has_written_ = true;
    is_closed_ = was_killed_ = false;
    if (refusal_) {
      return *refusal_;
    }
    if (summary_of_) {
      return add_summary(bytes);
    }
    auto taken = stream_.feed(bytes, goes_on);
    if (!taken) {
      leave_room();
      keep_refusal(bytes, is_rest, taken.error());
      lock.unlock();
      return refuse(taken.error());
    }
    command = std::move(*taken);
  }
  auto done = command ? run(*command) : judge_early();
  const std::lock_guard lock(mutex_);
  if (!done) {
    stream_.fail(done.error());
    leave_room();
    keep_refusal(bytes, is_rest, done.error());
  }
  if (command && takes_summary(*target_.verb)) {
    expect_summary(std::move(command->text), done, client);
  }
  return done;
}

/// Needs mutex_.
void ControlFile::expect_summary(std::string command, const Result<void>& done, pid_t client) {
  if (done) {
    summary_of_ = std::move(command);
  } else {
    refusal_ = done.error();
  }
  writer_ = thread_group_of(client);
}

/// Needs mutex_.
void ControlFile::keep_refusal(std::string_view bytes, bool is_rest, const Error& why) {
  if (is_rest) {
    rest_refusal_ = why;
    refused_rest_ = bytes;
  }
}

/// The text that room was for is over. Needs mutex_.
void ControlFile::leave_room() {
  reservation_.reset();
  room_ = 0;
  is_checked_ = false;
}

/// Needs mutex_.
Result<void> ControlFile::add_summary(std::string_view bytes) {
  if (summary_of_->size() + summary_.size() + bytes.size() > kMaxLinesBytes) {
    return {Errc::too_large, "a command may have " + std::to_string(kMaxLinesBytes) + " bytes"};
  }
  summary_ += bytes;
  return {};
}

/// Everything about a text that can be told before it ends, because shells do not listen to errors of close.
Result<void> ControlFile::judge_early() {
  bool is_checked = false;
  std::size_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!stream_.is_text()) {
      return {};
    }
    is_checked = std::exchange(is_checked_, true);
    const std::size_t room = room_for(stream_.waiting_bytes());
    if (room > room_) {
      wanted = room_ = room;
      reservation_.reset();
    }
  }
  const SessionPtr& session = target_.subject.session;
  if (!is_checked) {
    if (auto done = writes_.writer().check(session); !done) {
      return refuse(done.error());
    }
  }
  if (wanted == 0) {
    return {};
  }
  auto reserved = writes_.writer().reserve(session, wanted);
  if (!reserved) {
    return refuse(reserved.error());
  }
  const std::lock_guard lock(mutex_);
  reservation_ = std::move(*reserved);
  return {};
}

Result<void> ControlFile::run(const CommandStream::Command& command) {
  auto done = writes_.run(target_.subject.session, target_.verb->name, [&](Writer& writer) {
    return target_.verb->run(writer, target_.subject, command.text, command.is_json);
  });
  if (!done) {
    return done.error();
  }
  if (done->empty() || done->back() != '\n') {
    *done += '\n';
  }
  const std::lock_guard lock(mutex_);
  out_ += *done;
  return {};
}

Result<void> ControlFile::take_waiting() {
  CommandStream::Taken command;
  {
    std::unique_lock lock(mutex_);
    leave_room();
    refusal_.reset();
    const auto line = std::exchange(summary_of_, std::nullopt);
    if (std::string lines = std::exchange(summary_, {}); line && !lines.empty()) {
      command = CommandStream::Command{*line + lines, false};
    } else {
      auto taken = stream_.finish();
      if (!taken) {
        lock.unlock();
        return refuse(taken.error());
      }
      command = std::move(*taken);
    }
  }
  return command ? run(*command) : Result<void>();
}

Result<void> ControlFile::sync() {
  return take_waiting();
}

Result<std::string> ControlFile::read(Call& call, std::size_t size) {
  if (auto done = take_waiting(); !done) {
    return done.error();
  }
  bool is_fresh = false;
  {
    const std::lock_guard lock(mutex_);
    is_fresh = !has_written_ && !has_read_content_;
  }
  if (is_fresh) {
    auto content = target_.content(call);
    if (!content) {
      return content;
    }
    const std::lock_guard lock(mutex_);
    has_read_content_ = true;
    out_ += *content;
  }
  const std::lock_guard lock(mutex_);
  std::string bytes = out_.substr(0, size);
  out_.erase(0, bytes.size());
  return bytes;
}

ControlFile::Closing ControlFile::judge_close(pid_t client) const {
  const pid_t group = thread_group_of(client);
  Closing closing{group == 0 ? client : group, is_killed_by_signal(client), true};
  const std::string tail = target_.path_tail();
  const auto left = open_links(closing.closer, tail);
  if (left && closing.closer == target_.opener) {
    closing.is_last = *left < open_.count(target_.node, closing.closer);
  } else if (left) {
    closing.is_last = *left == 0 && open_links(target_.opener, tail).value_or(0) == 0;
  }
  return closing;
}

Result<void> ControlFile::close_one(const Closing& closing) {
  {
    const std::lock_guard lock(mutex_);
    const bool ends_summary = (summary_of_ || refusal_) && closing.closer == writer_;
    if (!closing.is_last && (!ends_summary || closing.was_killed)) {
      was_killed_ = closing.was_killed;
      return {};
    }
    is_closed_ = closing.is_last;
    if (closing.was_killed) {
      stream_.drop();
      leave_room();
      refusal_.reset();
      summary_of_.reset();
      summary_.clear();
      return {};
    }
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

}  // namespace arborfs
