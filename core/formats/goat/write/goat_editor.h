// How messages, and records of the transcript, are appended to goat's sessions (goat/FORMAT.md C): under goat's lock of
// the file, as lines at its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/formats/goat/write/new_records.h"
#include "core/writer/commit.h"

namespace arborfs::goat {

struct Plan final : arborfs::Plan {
  Result<void> start(const Session::Guard& now) override;
  /// `at` may only name the last message, and is "" for a transcript. `added` lives as long as the plan. Errors: stale
  /// if the last message is another one than `added` or `at` wants.
  Result<AppendResult> add(const NewRecords& added, const std::string& at);

  const LogIndex* index = nullptr;
  std::string leaf;  // the last message's id, "" for none
  std::vector<const NewRecords::Record*> records;
};

class Editor final : public arborfs::Editor {
 public:
  /// `file` is kMessagesFile or kTranscriptFile. `committed` is called after each change.
  Editor(std::string file, std::function<void(const SessionPtr&)> committed)
      : file_(std::move(file)), committed_(std::move(committed)) {}

  [[nodiscard]] Result<void> check(const Session::Guard& now) const override;
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> lock(const SessionPtr& session, Wait wait) override;
  [[nodiscard]] Result<std::unique_ptr<arborfs::Plan>> begin(const SessionPtr& session) override;
  Result<void> complete(const SessionPtr& session, const Held& held, arborfs::Plan& plan) override;
  void committed(const SessionPtr& session, const arborfs::Plan& /*plan*/) override { committed_(session); }
  [[nodiscard]] std::string appended_file(const LogPlace& session) const override;
  [[nodiscard]] std::optional<LogPlace> place_of(const LogPlace& appended) const override;

 private:
  [[nodiscard]] bool is_transcript() const;
  const std::string file_;
  const std::function<void(const SessionPtr&)> committed_;
};

}  // namespace arborfs::goat
