#include "core/log/redacted_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/json/text_bytes.h"
#include "core/log/last_made.h"
#include "core/log/line_reader.h"
#include "core/os/disk.h"
#include "core/os/file.h"

namespace arborfs {
namespace {

constexpr std::size_t kMostLogsKept = 32;  // whose lines stay although no reader holds them
constexpr std::size_t kWrittenAtOnce = 1 << 20;
constexpr std::uint64_t kCompared = 4096;  // bytes at either end of a log that has grown
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The line without its secrets; nothing if it cannot be scanned.
std::optional<std::string> redacted_line(const LineReader::Line& line, redact::Redactor& redactor) {
  static const std::string kNotScanned = json::stringify_string(redact::kUnscannedLabel);
  std::string_view text = line.text;
  if (line.offset == 0 && text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (line.is_too_long || text.size() > LogRedaction::kLongestLine) {
    return std::nullopt;
  }
  std::string made = redactor.redact_json(text);
  return made == kNotScanned ? std::nullopt : std::optional(std::move(made));
}

}  // namespace

/// The lines of one log, as far as they were read.
class RedactedBytes {
 public:
  RedactedBytes(const LogRedaction& redaction, std::shared_ptr<const LogSource> log, std::uint64_t end)
      : redaction_(redaction), log_(std::move(log)), end_(end) {}

  /// Reads on to the end of the log, unless it was changed otherwise than by growing: then nothing more comes.
  Result<std::uint64_t> size() {
    const std::lock_guard work(work_);
    ASSIGN_OR_RETURN(const auto now, log_->stat());
    if (seen_ && now == *seen_) {
      return known_size();
    }
    ASSIGN_OR_RETURN(const bool grows, is_still_so(now));
    ASSIGN_OR_RETURN(const auto total, log_->size());
    if (!seen_) {
      RETURN_IF_ERROR(begin(std::min(total, end_)));
    } else if (grows) {
      RETURN_IF_ERROR(go_on(std::min(total, end_)));
    } else {
      return known_size();
    }
    seen_ = now;
    return known_size();
  }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) {
    ASSIGN_OR_RETURN(const auto file, this->file());
    const std::uint64_t size = known_size();
    const std::uint64_t left = offset < size ? size - offset : 0;
    return file->read_at(offset, into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left))));
  }

  Result<std::shared_ptr<const File>> file() {
    {
      const std::lock_guard lock(mutex_);
      if (const auto kept = kept_.lock()) {
        return std::shared_ptr<const File>(kept, &kept->file);
      }
    }
    RETURN_IF_ERROR(size());
    const std::lock_guard work(work_);
    ASSIGN_OR_RETURN(const auto kept, lines());
    return std::shared_ptr<const File>(kept, &kept->file);
  }

  /// False if the log was changed otherwise than by growing, as far as that can be told.
  bool can_grow() {
    const std::lock_guard work(work_);
    const auto now = log_->stat();
    const auto grows = now ? is_still_so(*now) : Result<bool>(false);
    return grows && *grows;
  }

  /// True if lines were read already.
  bool has_begun() {
    const std::lock_guard lock(mutex_);
    return place_.log > 0;
  }

 private:
  struct Lines {
    explicit Lines(File to, std::unique_ptr<redact::Redactor> with) : file(std::move(to)), redactor(std::move(with)) {}
    File file;
    std::unique_ptr<redact::Redactor> redactor;
  };
  /// How far the log was read.
  struct Place {
    std::uint64_t log = 0;       // in the log
    std::uint64_t size = 0;      // of the lines
    std::uint64_t hash = 0;      // of the lines
    std::uint64_t log_hash = 0;  // of what was read of the log
    std::uint64_t left_out = 0;  // lines
    bool is_in_line = false;     // the last line has no line feed yet
    bool is_broken = false;      // what follows does not end it
  };

  static LastMade<Lines>& all_kept() {
    static LastMade<Lines> kept(kMostLogsKept);
    return kept;
  }

  std::uint64_t known_size() {
    const std::lock_guard lock(mutex_);
    return place_.size;
  }

  [[nodiscard]] Result<std::shared_ptr<Lines>> new_lines() const {
    ASSIGN_OR_RETURN(auto fd, make_scratch_file());
    return std::make_shared<Lines>(File::of(std::move(fd)), redaction_.redactor_.kin());
  }

  void keep(const std::shared_ptr<Lines>& lines, const Place& place) {
    all_kept().add(lines);
    const std::lock_guard lock(mutex_);
    kept_ = lines;
    place_ = place;
  }

  /// The lines so far; makes them again if they are not kept any more.
  Result<std::shared_ptr<Lines>> lines() {
    {
      const std::lock_guard lock(mutex_);
      if (auto kept = kept_.lock()) {
        return kept;
      }
    }
    ASSIGN_OR_RETURN(auto made, new_lines());
    ASSIGN_OR_RETURN(auto place, read_first(*made, first_));
    ASSIGN_OR_RETURN(place, read_from(*made, place, place_.log));
    if (place.size != place_.size || place.hash != place_.hash) {
      return Error{Errc::stale, "the log has changed; open the file again"};
    }
    keep(made, place_);
    return made;
  }

  Result<void> begin(std::uint64_t end) {
    ASSIGN_OR_RETURN(const auto made, new_lines());
    ASSIGN_OR_RETURN(const auto place, read_first(*made, end));
    first_ = end;
    redaction_.left_out_ += place.left_out;
    keep(made, place);
    return note_ends();
  }

  Result<void> go_on(std::uint64_t end) {
    if (end <= place_.log) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto made, lines());
    auto place = read_from(*made, place_, end);
    if (!place) {
      const std::lock_guard lock(mutex_);
      kept_.reset();  // has a part of what was to come
      return place.error();
    }
    is_changed_ = place->is_broken;
    redaction_.left_out_ += place->left_out - place_.left_out;
    keep(made, *place);
    return note_ends();
  }

  /// The log up to `end`, with all secrets that it has there.
  Result<Place> read_first(Lines& lines, std::uint64_t end) const {
    ASSIGN_OR_RETURN(auto place, read_from(lines, {}, end));
    if (!lines.redactor->knows_secrets()) {
      return place;
    }
    ASSIGN_OR_RETURN(auto fd, make_scratch_file());
    lines.file = File::of(std::move(fd));
    return read_from(lines, {}, end);
  }

  Result<Place> read_from(Lines& lines, Place place, std::uint64_t end) const {
    std::string out;
    const auto put = [&](std::string_view text) {
      out += text;
      place.size += text.size();
      place.hash = xxh64(text, place.hash);
    };
    const auto write = [&]() -> Result<void> {
      if (auto done = write_all(Disk::real(), lines.file.fd(), out); !done) {
        return Error{done.error().code, "cannot redact the log: " + done.error().message};
      }
      out.clear();
      return {};
    };
    if (place.is_in_line && place.log < end) {
      ASSIGN_OR_RETURN(const auto next, log_->read(place.log, std::min<std::uint64_t>(2, end - place.log)));
      if (next == "\r") {
        return place;
      }
      const std::size_t feed = next.find('\n');
      place.is_broken = feed == std::string::npos || (feed == 1 && next[0] != '\r');
      if (place.is_broken) {
        return place;
      }
      put("\n");
      place.is_in_line = false;
      place.log += feed + 1;
    }
    for (LineReader reader(*log_, place.log, end, Cancellation::token());;) {
      ASSIGN_OR_RETURN(const auto* const line, reader.next());
      if (line == nullptr) {
        break;
      }
      const auto made = redacted_line(*line, *lines.redactor);
      if (!line->is_ended && !made) {
        break;
      }
      put(made ? *made : redact::kUnscannedLabel);
      place.left_out += made ? 0 : 1;
      place.log_hash = xxh64(line->text, place.log_hash);
      place.is_in_line = !line->is_ended;
      place.log = line->is_ended ? line->next : end;
      if (line->is_ended) {
        put("\n");
      }
      if (out.size() >= kWrittenAtOnce) {
        RETURN_IF_ERROR(write());
      }
    }
    RETURN_IF_ERROR(write());
    return place;
  }

  /// False if the log, whose stat is `now`, was changed otherwise than by growing.
  Result<bool> is_still_so(const FileStat& now) {
    if (!seen_ || is_changed_ || now == *seen_) {
      return !is_changed_;
    }
    ASSIGN_OR_RETURN(const auto size, log_->size());
    const bool is_longer = std::min(size, end_) > place_.log;
    ASSIGN_OR_RETURN(const auto same, is_longer ? has_same_ends() : has_same_lines());
    is_changed_ = !same || std::min(size, end_) < place_.log;
    return !is_changed_;
  }

  Result<std::uint64_t> hash_of_ends() const {
    const std::uint64_t length = std::min(place_.log, kCompared);
    ASSIGN_OR_RETURN(const auto first, log_->read(0, length));
    ASSIGN_OR_RETURN(const auto last, log_->read(place_.log - length, length));
    return xxh64(last, xxh64(first));
  }

  Result<void> note_ends() {
    ASSIGN_OR_RETURN(ends_, hash_of_ends());
    return {};
  }

  Result<bool> has_same_ends() const {
    const auto ends = hash_of_ends();
    return !ends && ends.error().code == Errc::stale ? Result<bool>(false)
           : ends                                    ? Result<bool>(*ends == ends_)
                                                     : ends.error();
  }

  /// The same for all that was read.
  Result<bool> has_same_lines() const {
    std::uint64_t hash = 0;
    for (LineReader reader(*log_, place_.log, Cancellation::token());;) {
      ASSIGN_OR_RETURN(const auto* const line, reader.next());
      if (line == nullptr) {
        return hash == place_.log_hash;
      }
      hash = xxh64(line->text, hash);
    }
  }

  const LogRedaction& redaction_;
  const std::shared_ptr<const LogSource> log_;
  const std::uint64_t end_;
  std::mutex work_;               // one thread reads the log; locked before mutex_. Guards these:
  std::optional<FileStat> seen_;  // the log's stat before it was read last
  std::uint64_t first_ = 0;       // how much of it was read first
  std::uint64_t ends_ = 0;        // a hash of its first and last bytes that were read
  bool is_changed_ = false;
  std::mutex mutex_;           // a leaf
  Place place_;                // changed with both locks
  std::weak_ptr<Lines> kept_;  // guarded by mutex_
};

namespace {

class RedactedLog final : public LogSource {
 public:
  RedactedLog(std::shared_ptr<const LogRedaction> redaction, std::shared_ptr<const LogSource> log,
              std::shared_ptr<RedactedBytes> bytes, LogRedaction::TellCwd cwd)
      : LogSource(log->opened()),
        redaction_(std::move(redaction)),
        log_(std::move(log)),
        bytes_(std::move(bytes)),
        cwd_(std::move(cwd)) {
    const std::string_view place = log_->place();
    const std::size_t name = place.rfind('/') + 1;
    place_ = redaction_->text(place.substr(0, name)) + redaction_->text(place.substr(name));
    if (const auto metadata = log_->metadata()) {
      metadata_ = redaction_->text(*metadata);
    }
  }

  [[nodiscard]] Result<std::uint64_t> size() const override { return bytes_->size(); }
  [[nodiscard]] Result<std::uint64_t> rough_size() const override { return log_->size(); }
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> beginning(std::uint64_t bytes) const override;
  [[nodiscard]] Result<FileStat> stat() const override { return log_->stat(); }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override {
    return bytes_->read_at(offset, into);
  }
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return metadata_; }
  [[nodiscard]] bool has_current_metadata() const override { return log_->has_current_metadata(); }
  [[nodiscard]] FileStat opened_bytes() const override { return log_->opened_bytes(); }
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override {
    auto file = bytes_->file();
    return file ? *file : nullptr;
  }
  [[nodiscard]] std::string_view place() const override { return place_; }
  [[nodiscard]] std::optional<std::string> told_cwd() const override { return cwd_ ? cwd_() : std::nullopt; }
  [[nodiscard]] bool shows_images() const override { return false; }
  [[nodiscard]] bool is_decoded() const override { return true; }
  [[nodiscard]] bool can_grow() const override { return log_->can_grow() && bytes_->can_grow(); }
  [[nodiscard]] std::uint64_t raw_size() const override {
    const auto now = size();
    return now ? *now : 0;
  }

 private:
  const std::shared_ptr<const LogRedaction> redaction_;
  const std::shared_ptr<const LogSource> log_;
  const std::shared_ptr<RedactedBytes> bytes_;
  const LogRedaction::TellCwd cwd_;
  std::string place_;
  std::optional<std::string> metadata_;
};

/// Read for itself: most logs whose names are made are never opened.
Result<std::shared_ptr<const LogSource>> RedactedLog::beginning(std::uint64_t bytes) const {
  if (bytes_->has_begun()) {
    return LogSource::beginning(bytes);
  }
  return redaction_->beginning(*log_, bytes);
}

}  // namespace

LogRedaction::LogRedaction(const redact::RulesPtr& rules) : redactor_(rules, kLongestLine) {}

LogRedaction::~LogRedaction() = default;

Result<std::shared_ptr<const LogSource>> LogRedaction::beginning(const LogSource& log, std::uint64_t bytes) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  const auto redactor = redactor_.kin();
  std::string out;
  for (LineReader reader(log, std::min(size, bytes), Cancellation::token());;) {
    ASSIGN_OR_RETURN(const auto* const line, reader.next());
    if (line == nullptr) {
      return log_from_bytes(std::move(out), log.opened());
    }
    const auto made = redacted_line(*line, *redactor);
    out += made ? *made : redact::kUnscannedLabel;
    out += line->is_ended ? "\n" : "";
  }
}

Result<std::shared_ptr<const LogSource>> LogRedaction::log(const std::shared_ptr<const LogSource>& log,
                                                           TellCwd cwd) const {
  ASSIGN_OR_RETURN(auto made, log->through(log, *this));
  return made ? std::move(made) : file_with(log, UINT64_MAX, std::move(cwd));
}

std::shared_ptr<const LogSource> LogRedaction::file(std::shared_ptr<const LogSource> file, std::uint64_t end) const {
  return file_with(std::move(file), end, {});
}

std::shared_ptr<const LogSource> LogRedaction::file_with(std::shared_ptr<const LogSource> file, std::uint64_t end,
                                                         TellCwd cwd) const {
  const FileStat opened = file->opened_bytes();
  const Key key{opened.dev, opened.ino, end};
  std::shared_ptr<RedactedBytes> bytes;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = made_.find(key); found != made_.end() && opened.ino != 0) {
      bytes = found->second.lock();
    }
  }
  if (!bytes || !bytes->can_grow()) {
    bytes = std::make_shared<RedactedBytes>(*this, file, end);
    const std::lock_guard lock(mutex_);
    std::erase_if(made_, [](const auto& row) { return row.second.expired(); });
    made_[key] = bytes;
  }
  return std::make_shared<const RedactedLog>(shared_from_this(), std::move(file), std::move(bytes), std::move(cwd));
}

std::string LogRedaction::text(std::string_view text) const {
  const auto redactor = redactor_.kin();
  return json::is_one_value(text) ? redactor->redact_json(text) : redactor->redact(text);
}

std::map<std::string, std::uint64_t> LogRedaction::secrets() const {
  std::map<std::string, std::uint64_t> found;
  for (const redact::Taken& taken : redactor_.taken()) {
    found[taken.rule] = taken.secrets;
  }
  return found;
}

}  // namespace arborfs
