// What is left out of a conversation: entries, and the outputs of tools. Calls and results stay in pairs.
#include "core/write/context_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using Kind = TurnPart::Kind;

SaidTurn said(Ordinal entry, Turn::Speaker speaker, std::vector<TurnPart> parts) {
  Turn turn;
  turn.speaker = speaker;
  turn.parts = std::move(parts);
  return {entry, std::move(turn)};
}
SaidTurn user(Ordinal entry, const std::string& text) {
  return said(entry, Turn::Speaker::user, {{Kind::text, text}});
}
SaidTurn assistant(Ordinal entry, std::vector<TurnPart> parts) {
  return said(entry, Turn::Speaker::assistant, std::move(parts));
}
TurnPart call(const std::string& id) {
  return {Kind::tool_call, "{}", id, "read"};
}
SaidTurn result(Ordinal entry, const std::string& id, const std::string& output) {
  return said(entry, Turn::Speaker::tool, {{Kind::tool_result, output, id, "read"}});
}

std::vector<std::string> words(const std::vector<SaidTurn>& turns) {
  std::vector<std::string> words;
  for (const SaidTurn& one : turns) {
    for (const TurnPart& part : one.turn.parts) {
      words.push_back(part.kind == Kind::tool_call ? "call " + part.call_id : part.text);
    }
  }
  return words;
}

std::vector<SaidTurn> conversation() {
  return {user(1, "ask"), assistant(2, {{Kind::text, "I look"}, call("a"), call("b")}), result(3, "a", "out a"),
          result(4, "b", "out b"), assistant(5, {{Kind::text, "done"}})};
}

TEST(ContextEditTest, ACallGoesWithItsResultAndAResultWithItsCall) {
  auto turns = conversation();
  ASSERT_TRUE(edit_turns({3}, {}, turns));
  EXPECT_THAT(words(turns), ElementsAre("ask", "I look", "call b", "out b", "done"));
  turns = conversation();
  ASSERT_TRUE(edit_turns({2}, {}, turns));
  EXPECT_THAT(words(turns), ElementsAre("ask", "done"));
}

TEST(ContextEditTest, AnOutputIsReplacedByALineThatSaysSo) {
  auto turns = conversation();
  turns[3].turn.parts[0].images.emplace_back();
  ASSERT_TRUE(edit_turns({}, {4}, turns));
  EXPECT_THAT(words(turns), ElementsAre("ask", "I look", "call a", "call b", "out a",
                                        "[The output of this tool was left out.]", "done"));
  EXPECT_TRUE(turns[3].turn.parts[0].images.empty());
  turns = conversation();
  ASSERT_TRUE(edit_turns({}, {2}, turns));  // of the calls in it
  EXPECT_EQ(words(turns)[4], words(turns)[5]);
  EXPECT_EQ(edit_turns({}, {5}, turns).error().code, Errc::invalid_argument);
}

/// Ids that several calls have, results before later calls with the same id, calls without a result.
std::vector<SaidTurn> random_conversation(std::mt19937& random) {
  std::vector<SaidTurn> turns;
  std::deque<std::string> open;
  const auto count = 4 + random() % 20;
  for (Ordinal entry = 1; entry <= count; ++entry) {
    switch (random() % 3) {
      case 0:
        turns.push_back(user(entry, "text"));
        break;
      case 1: {
        std::vector<TurnPart> parts{{Kind::text, "answer"}};
        for (auto calls = random() % 3; calls > 0; --calls) {
          open.push_back("id" + std::to_string(random() % 3));
          parts.push_back(call(open.back()));
        }
        turns.push_back(assistant(entry, std::move(parts)));
        break;
      }
      default:
        if (!open.empty() && random() % 8 != 0) {
          turns.push_back(result(entry, open.front(), "output"));
          open.pop_front();
        }
    }
  }
  return turns;
}

/// The calls without a result, and the results without a call.
std::pair<std::size_t, std::size_t> unpaired(const std::vector<SaidTurn>& turns) {
  std::map<std::string, std::size_t> open;
  std::size_t strays = 0;
  for (const SaidTurn& one : turns) {
    for (const TurnPart& part : one.turn.parts) {
      if (part.kind == Kind::tool_call) {
        ++open[part.call_id];
      } else if (part.kind == Kind::tool_result) {
        open[part.call_id] == 0 ? ++strays : --open[part.call_id];
      }
    }
  }
  std::size_t calls = 0;
  for (const auto& [id, count] : open) {
    calls += count;
  }
  return {calls, strays};
}

TEST(ContextEditTest, TenThousandChoicesLeaveNoCallAndNoResultAlone) {
  std::mt19937 random(1);
  for (int round = 0; round < 10'000; ++round) {
    auto turns = random_conversation(random);
    const auto before = unpaired(turns);
    std::set<Ordinal> without;
    for (const SaidTurn& one : turns) {
      if (random() % 4 == 0) {
        without.insert(one.entry);
      }
    }
    ASSERT_TRUE(edit_turns(without, {}, turns));
    const auto after = unpaired(turns);
    ASSERT_LE(after.first, before.first) << round;
    ASSERT_LE(after.second, before.second) << round;
    for (const SaidTurn& one : turns) {
      ASSERT_FALSE(without.contains(one.entry)) << round;
      ASSERT_FALSE(one.turn.parts.empty()) << round;
    }
  }
}

}  // namespace
}  // namespace arborfs
