#include "core/store/redacted_store.h"

#include <utility>

#include "core/base/error.h"
#include "core/store/prompt_history.h"
#include "core/store/store_parts.h"

namespace arborfs {
namespace {

using Redaction = std::shared_ptr<const LogRedaction>;

/// The store owns the history that it passes on.
class RedactedPrompts final : public PromptHistory {
 public:
  RedactedPrompts(std::shared_ptr<Store> store, Redaction redaction)
      : store_(std::move(store)), redaction_(std::move(redaction)), path_(redaction_->text(prompts().path())) {}

  [[nodiscard]] Result<State> state() const override { return prompts().state(); }
  Result<void> read(const Span& span, const Reading& reading) const override {
    const auto take = [&](Prompt prompt) {
      prompt.text = redaction_->text(prompt.text);
      prompt.cwd = redaction_->text(prompt.cwd);
      prompt.session = redaction_->text(prompt.session);
      return reading.take(std::move(prompt));
    };
    return prompts().read(span, {reading.restart, take});
  }
  Result<std::vector<Effect>> add(const Prompt& /*prompt*/, const Adding& /*how*/) override {
    return Error{Errc::read_only, "a redacted history is only read"};
  }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  [[nodiscard]] const PromptHistory& prompts() const { return *store_->prompt_history(); }

  const std::shared_ptr<Store> store_;
  const Redaction redaction_;
  const std::string path_;
};

StorePaths without_blobs(StorePaths paths) {
  paths.blobs.clear();
  paths.terminals.clear();
  return paths;
}

void redact(const LogRedaction& redaction, Header& header) {
  for (std::string* const text : {&header.problem, &header.json, &header.id, &header.cwd, &header.title, &header.tag,
                                  &header.parent_session, &header.started_by, &header.timestamp}) {
    *text = text->empty() ? "" : redaction.text(*text);
  }
}

class RedactedStore final : public Store, public HasLiveSigns, public HasLockFiles, public HasMarks {
 public:
  RedactedStore(const std::shared_ptr<Store>& store, const Redaction& redaction)
      : Store(store->format(), without_blobs(store->paths()), store->disk(), make_no_blobs(),
              store->prompt_history() == nullptr ? nullptr : std::make_shared<RedactedPrompts>(store, redaction)),
        store_(store),
        redaction_(redaction) {}

  [[nodiscard]] const LogRedaction* redaction() const override { return redaction_.get(); }
  [[nodiscard]] const Format& format_of(const LogPlace& place) const override { return store_->format_of(place); }
  [[nodiscard]] const Format* owner_of(const Header& header) const override { return store_->owner_of(header); }
  [[nodiscard]] bool present() const override { return store_->present(); }
  [[nodiscard]] Result<std::vector<std::string>> folders() const override { return store_->folders(); }
  [[nodiscard]] bool may_have_logs(std::string_view folder) const override { return store_->may_have_logs(folder); }
  [[nodiscard]] bool is_log_name(std::string_view file) const override { return store_->is_log_name(file); }
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override {
    ASSIGN_OR_RETURN(auto logs, store_->logs(folder, wants_head));
    for (FoundLog& log : logs) {
      if (log.head) {
        redact(*redaction_, log.head->header);
      }
    }
    return logs;
  }
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override { return store_->folder(place); }
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place, const Dir* in) const override {
    return store_->stat(place, in);
  }
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override {
    ASSIGN_OR_RETURN(const auto log, store_->open(place));
    return redaction_->log(log, [store = store_, place, redaction = redaction_]() -> std::optional<std::string> {
      const auto header = store->header(place);
      return header ? std::optional(redaction->text(header->cwd)) : std::nullopt;
    });
  }
  [[nodiscard]] Result<Header> header(const LogPlace& place) const override {
    ASSIGN_OR_RETURN(auto header, store_->header(place));
    redact(*redaction_, header);
    return header;
  }
  [[nodiscard]] bool is_link(const LogPlace& place) const override { return store_->is_link(place); }
  [[nodiscard]] std::string path_of(const LogPlace& place) const override { return store_->path_of(place); }
  [[nodiscard]] Result<File> open_file(const Dir& in, const LogPlace& place) const override {
    return store_->open_file(in, place);
  }
  [[nodiscard]] std::vector<WatchedDir> watched() const override { return store_->watched(); }
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override {
    return store_->log_of(folder, file);
  }

  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override {
    const auto* const part = part_of<HasLiveSigns>(*store_);
    return part == nullptr ? nullptr : part->live_signs(is_running);
  }
  [[nodiscard]] std::string lock_file_name(const std::string& file) const override {
    const auto* const part = part_of<HasLockFiles>(*store_);
    return part == nullptr ? "" : part->lock_file_name(file);
  }
  [[nodiscard]] long lock_holder(const Dir& folder, const std::string& file) const override {
    const auto* const part = part_of<HasLockFiles>(*store_);
    return part == nullptr ? 0 : part->lock_holder(folder, file);
  }
  [[nodiscard]] bool is_marked(const LogPlace& place, Mark mark) const override {
    return arborfs::is_marked(*store_, place, mark);
  }

 private:
  const std::shared_ptr<Store> store_;
  const Redaction redaction_;
};

}  // namespace

std::shared_ptr<Store> redacted_store(const std::shared_ptr<Store>& store,
                                      const std::shared_ptr<const LogRedaction>& redaction) {
  return std::make_shared<RedactedStore>(store, redaction);
}

}  // namespace arborfs
