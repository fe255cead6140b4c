#include "core/write/command_stream.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"

namespace arborfs {

namespace {

constexpr std::size_t kBeginning = 512;
constexpr std::size_t kLong = 1 << 20;

Error no_json() {
  return {Errc::invalid_argument, "the text cannot become a valid JSON object"};
}

}  // namespace

/// JSON mode stays: bytes after a broken or a complete value are not text.
void CommandStream::reset() {
  waiting_ = {};
  target_.clear();
  cut_sequence_.clear();
  refusal_.reset();
  scanner_.reset();
  mode_ = mode_ == Mode::json ? mode_ : Mode::undecided;
  in_value_ = needs_end_ = is_complete_ = false;
  scanned_ = complete_ = 0;
}

/// Reserves all memory that a long command may need at once: a string that grows is in memory twice while it is copied.
/// Memory that is not written to costs nothing.
void CommandStream::keep(std::string_view piece) {
  if (waiting_.size() + piece.size() > kLong && waiting_.capacity() < limit_) {
    waiting_.reserve(limit_);
  }
  fresh_from_ = waiting_.size() - std::min(waiting_.size(), kLookBack);
  waiting_ += piece;
}

void CommandStream::drop() {
  reset();
  mode_ = Mode::undecided;
}

Error CommandStream::refuse(Error why) {
  const Mode mode = mode_;
  reset();
  mode_ = mode;
  refusal_ = why;
  return why;
}

void CommandStream::fail(const Error& why) {
  if (is_complete_ && framing_ != Framing::target_and_text) {
    reset();
  } else {
    refuse(why);
  }
}

bool CommandStream::has_text_for_target() const {
  return framing_ == Framing::target_and_text && !stripped(waiting_).empty() &&
         (!target_.empty() || waiting_.find('\n') != std::string::npos);
}

bool CommandStream::ends_with_its_writer() const {
  return refusal_ ? framing_ != Framing::messages || mode_ == Mode::json : !target_.empty() || has_text_for_target();
}

CommandStream::SoFar CommandStream::so_far() const {
  const bool is_whole = mode_ == Mode::json && needs_end_ && !in_value_ && waiting_.size() <= kLong;
  const bool is_short = framing_ != Framing::messages || is_whole;
  return {target_ + waiting_.substr(0, is_short ? std::string::npos : kBeginning), mode_ == Mode::json, is_whole,
          waiting_.substr(std::min(fresh_from_, waiting_.size()))};
}

Result<void> CommandStream::check_bytes(std::string_view piece) {
  std::string bytes = std::move(cut_sequence_);
  cut_sequence_.clear();
  bytes += piece;
  const std::size_t cut = json::cut_at_end(bytes);
  cut_sequence_ = bytes.substr(bytes.size() - cut);
  if (!json::is_valid_utf8(std::string_view(bytes).substr(0, bytes.size() - cut))) {
    return {Errc::not_utf8, "the text is not UTF-8"};
  }
  return {};
}

Result<CommandStream::Taken> CommandStream::feed(std::string_view piece, bool goes_on) {
  if (refusal_) {
    return *refusal_;
  }
  if (piece.empty()) {
    return Taken();
  }
  const bool begins_one = !is_waiting();
  if (framing_ == Framing::messages && mode_ == Mode::undecided) {
    const std::size_t first = piece.find_first_not_of(" \t\r\n");
    mode_ = first == std::string_view::npos ? mode_ : piece[first] == '{' ? Mode::json : Mode::text;
  }
  if (target_.size() + waiting_.size() + piece.size() > limit_) {
    return refuse({Errc::too_large, "a command may have at most " + std::to_string(limit_) + " bytes"});
  }
  if (auto right = check_bytes(piece); !right) {
    return refuse(right.error());
  }
  keep(piece);
  auto taken = framing_ != Framing::messages ? feed_lines() : mode_ == Mode::json ? feed_json(goes_on) : Taken();
  is_complete_ = taken && *taken && begins_one && waiting_.empty() && !goes_on;
  return taken;
}

Result<CommandStream::Taken> CommandStream::feed_lines() {
  const std::size_t first = waiting_.find_first_not_of(" \t\r\n");
  const bool has_text = framing_ == Framing::target_and_text && (first == std::string::npos || waiting_[first] != '{');
  if (!has_text) {
    return waiting_.back() == '\n' ? Taken(take(waiting_.size())) : Taken();
  }
  const std::size_t end = waiting_.find('\n');
  if (!target_.empty() || end == std::string::npos || !stripped(std::string_view(waiting_).substr(end)).empty()) {
    return Taken();
  }
  Command command = take(waiting_.size());
  target_ = command.text;
  return Taken(std::move(command));
}

Result<CommandStream::Taken> CommandStream::feed_json(bool goes_on) {
  if (auto done = scan(); !done) {
    return refuse(done.error());
  }
  const bool ends_inside = in_value_ || needs_end_;
  if (goes_on && ends_inside) {
    return Taken();
  }
  if (complete_ != 0) {
    return Taken(take(complete_));
  }
  if (!ends_inside) {
    reset();  // nothing but blank lines
  }
  return Taken();
}

/// Moves the scanner over the new bytes of `waiting_`.
Result<void> CommandStream::scan() {
  while (scanned_ < waiting_.size()) {
    if (!in_value_) {
      RETURN_IF_ERROR(scan_between(waiting_[scanned_]));
      continue;
    }
    std::size_t used = 0;
    const auto verdict = scanner_.feed(std::string_view(waiting_).substr(scanned_), used);
    if (verdict == json::ValueScanner::Verdict::need_more) {
      scanned_ = waiting_.size();
    } else if (verdict == json::ValueScanner::Verdict::value) {
      scanned_ += used;
      in_value_ = false;
      needs_end_ = true;
    } else {
      return no_json();
    }
  }
  return {};
}

/// One byte between values, or the first of a value, which stays for the scanner.
Result<void> CommandStream::scan_between(char c) {
  if (c == '{') {
    scanner_.reset();
    in_value_ = true;
    return {};
  }
  if (!json::is_space(c)) {
    return no_json();
  }
  ++scanned_;
  if (c == '\n' && needs_end_) {
    needs_end_ = false;
    complete_ = scanned_;
  }
  return {};
}

CommandStream::Command CommandStream::take(std::size_t length) {
  Command command{{}, mode_ == Mode::json, false};
  command.text = std::exchange(waiting_, {});
  if (length < command.text.size()) {
    waiting_ = command.text.substr(length);
    command.text.resize(length);
  }
  scanned_ -= std::min(scanned_, length);
  complete_ = 0;
  if (!in_value_ && !needs_end_) {
    reset();
  }
  return command;
}

Result<CommandStream::Taken> CommandStream::finish() {
  if (refusal_ || waiting_.empty() || (!target_.empty() && stripped(waiting_).empty())) {
    reset();
    return Taken();
  }
  if (in_value_) {
    reset();
    return Error{Errc::invalid_argument, "the JSON object is not complete"};
  }
  if (!cut_sequence_.empty()) {
    reset();
    return Error{Errc::not_utf8, "the text ends inside a UTF-8 sequence"};
  }
  waiting_.insert(0, target_);
  Command command{std::exchange(waiting_, {}), mode_ == Mode::json, !target_.empty()};
  reset();
  return Taken(std::move(command));
}

}  // namespace arborfs
