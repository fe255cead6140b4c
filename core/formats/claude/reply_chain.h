// Chains the parts of one reply: its blocks, and the results of its tool calls (claude/FORMAT.md C3). Remembers only
// the latest replies. Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/formats/claude/row.h"

namespace arborfs::claude {

class ReplyChain {
 public:
  /// The parent that a node has in the tree. Call it for each node, in the order of the file. `parent` is the one that
  /// the node names; the result is valid until the next call.
  std::string_view parent_of(const Row& node, std::string_view parent);

 private:
  /// A uuid, with a hash that makes comparing quick.
  struct Name {
    std::uint64_t hash = 0;
    std::string text;
    bool operator==(const Name&) const = default;
  };
  struct Reply {
    Name message_id;
    std::deque<Name> members;  // its blocks, the results, and the nodes between; never empty
  };
  static constexpr std::size_t kMostReplies = 4;
  static constexpr std::size_t kMostMembers = 128;

  static Name name_of(std::string_view text);
  static bool is(const Name& name, std::uint64_t hash, std::string_view text) {
    return name.hash == hash && name.text == text;
  }
  [[nodiscard]] Reply* reply_with(std::string_view member);
  [[nodiscard]] bool repeats(const Reply& reply, const Row& node);
  void append(Reply& reply, const Row& node);
  void begin(const Row& node);
  void follow(const Row& node, std::string_view parent);

  std::deque<Reply> replies_;  // the newest last
  Name last_;                  // the member that was appended last
  std::deque<Name> after_;     // nodes that follow it one by one and are not messages
  std::string parent_;
};

}  // namespace arborfs::claude
