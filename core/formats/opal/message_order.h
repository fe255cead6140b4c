// The order of a session's messages. Opal writes its lines in the order of a hash table, so the order of the file has
// no meaning (opal/FORMAT.md B4). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace arborfs::opal {

/// The facts about one message that the order needs. Ids are unique.
struct MessageNode {
  std::string id;
  std::string parent;  // "" for a root
};

/// Indexes of `messages`, each once: a parent before its children, siblings by id. The path to `current`, an index,
/// comes last at each level, so that a message appended there is the last one again. Messages in a loop of parents come
/// first.
std::vector<std::size_t> order_of(const std::vector<MessageNode>& messages, std::optional<std::size_t> current);

/// The last message, in the order of the file, of those that are farthest from a root; nothing if there is none.
std::optional<std::size_t> deepest(const std::vector<MessageNode>& messages);

}  // namespace arborfs::opal
