#include "core/session/change_feed.h"

#include <algorithm>
#include <chrono>

#include "core/json/date.h"
#include "core/json/document.h"

namespace arborfs {

namespace {

std::string_view event_word(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::session_added:
      return "added";
    case Change::Kind::session_removed:
      return "removed";
    case Change::Kind::session_renamed:
      return "renamed";
    case Change::Kind::session_appended:
      return "appended";
    case Change::Kind::session_revised:
    case Change::Kind::session_rewritten:
      return "rewritten";
    case Change::Kind::session_touched:
      return "touched";
    case Change::Kind::catalog_changed:
      break;
  }
  return "catalog";
}

void add_member(std::string& line, std::string_view key, std::string_view text) {
  line += ",\"";
  line += key;
  line += "\":";
  json::stringify_string(text, line);
}

}  // namespace

std::string change_line(const Change& change) {
  std::string line = "{\"seq\":" + std::to_string(change.sequence);
  add_member(line, "time", json::iso_time(change.time_ms));
  add_member(line, "event", event_word(change.kind));
  if (change.session != 0) {
    add_member(line, "session", change.session_id);
    add_member(line, "path", change.path);
    if (!change.path_before.empty()) {
      add_member(line, "from", change.path_before);
    }
  }
  if (change.last != kNoEntry) {
    line += ",\"first\":" + std::to_string(change.first) + ",\"last\":" + std::to_string(change.last);
  }
  line += "}\n";
  return line;
}

void ChangeFeed::publish(Change change) {
  {
    const std::lock_guard lock(mutex_);
    change.sequence = sequence_ + 1;
    change.time_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    kept_.push_back(std::move(change));
    ++sequence_;
    if (kept_.size() > kKept) {
      kept_.pop_front();
    }
  }
  changed_.notify_all();
  if (callback_) {
    callback_();
  }
}

std::vector<Change> ChangeFeed::after(std::uint64_t sequence, std::size_t limit, std::uint64_t* missed) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first_kept = sequence_ - kept_.size() + 1;
  if (missed != nullptr) {
    *missed = sequence + 1 < first_kept ? first_kept - sequence - 1 : 0;
  }
  const std::uint64_t from = std::max(sequence + 1, first_kept);
  std::vector<Change> found;
  for (std::uint64_t number = from; number <= sequence_ && found.size() < limit; ++number) {
    found.push_back(kept_[number - first_kept]);
  }
  return found;
}

std::uint64_t ChangeFeed::last_sequence() const {
  const std::lock_guard lock(mutex_);
  return sequence_;
}

bool ChangeFeed::wait(std::uint64_t sequence) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || sequence_ > sequence; });
  return !closed_;
}

bool ChangeFeed::wait(std::uint64_t sequence, std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return closed_ || sequence_ > sequence; });
  return !closed_;
}

void ChangeFeed::on_publish(std::function<void()> callback) {
  callback_ = std::move(callback);
}

void ChangeFeed::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace arborfs
