#include "core/formats/claude/reply_chain.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/hash.h"

namespace arborfs::claude {

std::string_view ReplyChain::parent_of(const Row& node, std::string_view parent) {
  Reply* const reply = parent.empty() ? nullptr : reply_with(parent);
  parent_ = reply == nullptr ? parent : std::string_view(reply->members.back().text);
  const bool is_next_block = reply != nullptr && node.part == Row::Part::block && reply->message_id.text == node.reply;
  if (reply != nullptr && (node.part == Row::Part::result || is_next_block)) {
    if (!repeats(*reply, node)) {
      append(*reply, node);
    }
  } else if (node.part == Row::Part::block && !node.reply.empty()) {
    begin(node);
  } else {
    follow(node, parent_);
  }
  return parent_;
}

/// True for a member that is written again. It keeps the parent that it had.
bool ReplyChain::repeats(const Reply& reply, const Row& node) {
  const std::uint64_t hash = xxh64(node.uuid);
  const auto again = std::find_if(reply.members.begin(), reply.members.end(),
                                  [&](const Name& name) { return is(name, hash, node.uuid); });
  if (again != reply.members.end() && again != reply.members.begin()) {
    parent_ = std::prev(again)->text;
  }
  return again != reply.members.end();
}

/// Appends a block or a result after the nodes that follow the last one of the reply.
void ReplyChain::append(Reply& reply, const Row& node) {
  if (reply.members.back() == last_ && !after_.empty()) {
    std::move(after_.begin(), after_.end(), std::back_inserter(reply.members));
    parent_ = reply.members.back().text;
  }
  reply.members.push_back(name_of(node.uuid));
  while (reply.members.size() > kMostMembers) {
    reply.members.pop_front();
  }
  last_ = reply.members.back();
  after_.clear();
}

void ReplyChain::begin(const Row& node) {
  last_ = name_of(node.uuid);
  replies_.push_back({name_of(node.reply), {last_}});
  if (replies_.size() > kMostReplies) {
    replies_.pop_front();
  }
  after_.clear();
}

void ReplyChain::follow(const Row& node, std::string_view parent) {
  const bool is_next = !last_.text.empty() && parent == (after_.empty() ? last_ : after_.back()).text;
  if (is_next && !node.is_message && after_.size() < kMostMembers) {
    after_.push_back(name_of(node.uuid));
    return;
  }
  last_ = {};
  after_.clear();
}

ReplyChain::Name ReplyChain::name_of(std::string_view text) {
  return {xxh64(text), std::string(text)};
}

ReplyChain::Reply* ReplyChain::reply_with(std::string_view member) {
  const std::uint64_t hash = xxh64(member);
  for (auto reply = replies_.rbegin(); reply != replies_.rend(); ++reply) {
    const auto found = std::find_if(reply->members.rbegin(), reply->members.rend(),
                                    [&](const Name& name) { return is(name, hash, member); });
    if (found != reply->members.rend()) {
      return &*reply;
    }
  }
  return nullptr;
}

}  // namespace arborfs::claude
