// Writes message entries: those of users, models and tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/generate/entry_writer.h"

namespace arborfs::generate {

class MessageWriter {
 public:
  MessageWriter(EntryWriter& entries, Random& random, std::string blobs, bool v18)
      : entries_(&entries), random_(&random), blobs_(std::move(blobs)), v18_(v18) {}

  struct Call {
    std::string id;
    std::string_view tool;
  };

  void use_model(std::string_view model) { model_ = model; }
  IdNumber user();
  /// Appends the tool calls of the message to `calls`; none if it ends the turn.
  IdNumber assistant(bool ends_turn, std::vector<Call>& calls);
  IdNumber tool_result(const Call& call);
  /// Entries for a command that the user ran, and for a file that the user mentioned.
  IdNumber bash_execution();
  IdNumber file_mention();
  /// `,"usage":{...}`.
  void add_usage();
  [[nodiscard]] Result<void> failed() const { return failed_; }

 private:
  void begin(std::string_view role);
  IdNumber end();
  void add_text_block(std::size_t bytes, bool code);
  void add_image();
  void add_call(Call& call);
  void add_tool_details(const Call& call);
  std::string image_data(std::size_t bytes);

  EntryWriter* entries_;
  Random* random_;
  std::string blobs_;
  bool v18_;
  std::string_view model_ = "anthropic/claude-sonnet-4-5";
  std::uint64_t calls_ = 0;
  Result<void> failed_;
};

}  // namespace arborfs::generate
