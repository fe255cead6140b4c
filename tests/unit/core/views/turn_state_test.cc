// How a turn stands by what each agent records: the ends of answers, and Codex's own events (CONTRACT.md 2.18).
#include "core/views/turn_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/opencode/format.h"
#include "core/log/log_reader.h"
#include "core/log/log_source.h"

namespace arborfs {
namespace {

struct Ending {
  const Format& (*format)();
  std::string raw;
  TurnEnd end;
};

TEST(TurnEnds, AreWhatTheRecordOfTheAnswerSays) {
  const std::vector<Ending> endings = {
      {claude::format, R"({"message":{"stop_reason":"end_turn"}})", TurnEnd::over},
      {claude::format, R"({"message":{"stop_reason":"tool_use"}})", TurnEnd::goes_on},
      {claude::format, R"({"message":{"stop_reason":"pause_turn"}})", TurnEnd::goes_on},
      {claude::format, R"({"message":{"stop_reason":null}})", TurnEnd::not_told},
      {claude::format, R"({"message":{}})", TurnEnd::not_told},
      {opencode::format, R"({"info":{"time":{"created":1}}})", TurnEnd::goes_on},
      {opencode::format, R"({"info":{"time":{"created":1,"completed":2},"finish":"stop"}})", TurnEnd::over},
      {opencode::format, R"({"info":{"time":{"created":1,"completed":2},"finish":"tool-calls"}})", TurnEnd::goes_on},
      {opencode::format, R"({"info":{"time":{"created":1},"error":{"name":"x"}}})", TurnEnd::over},
      {omp::format, R"({"message":{"stopReason":"aborted"}})", TurnEnd::over},
      {omp::format, R"({"message":{"stopReason":"error"}})", TurnEnd::over},
      {omp::format, R"({"message":{"stopReason":"toolUse"}})", TurnEnd::by_calls},
      {omp::format, R"({"message":{"stopReason":"stop"}})", TurnEnd::by_calls},
  };
  for (const Ending& ending : endings) {
    EXPECT_EQ(ending.format().renderer->turn_end(ending.raw), ending.end) << ending.raw;
  }
}

std::string event(const std::string& type, const std::string& more = "") {
  return R"({"timestamp":"2026-06-01T10:00:01.000Z","type":"event_msg","payload":{"type":")" + type + "\"" + more +
         "}}\n";
}

std::optional<bool> codex_turn(const std::string& log) {
  const auto told = codex::format().reader->turn_is_open(*log_from_bytes(log));
  EXPECT_TRUE(told);
  return told ? *told : std::nullopt;
}

TEST(TurnEnds, OfCodexAreItsLastEventAboutATurn) {
  const std::string item = R"({"type":"response_item","payload":{"type":"message","role":"assistant","content":[]}})"
                           "\n";
  EXPECT_EQ(codex_turn(""), std::nullopt);
  EXPECT_EQ(codex_turn(item), std::nullopt);
  EXPECT_EQ(codex_turn(event("task_started") + item), true);
  EXPECT_EQ(codex_turn(event("task_started") + item + event("task_complete") + event("token_count")), false);
  EXPECT_EQ(codex_turn(event("turn_started") + item + event("turn_aborted")), false);
  EXPECT_EQ(codex_turn(event("task_complete") + event("task_started")), true);
  const std::string quotes = event("agent_message", R"(,"message":"{\"type\":\"task_complete\"}")");
  EXPECT_EQ(codex_turn(event("task_started") + quotes), true);
  const std::string far = event("agent_message", ",\"message\":\"" + std::string(200'000, 'x') + "\"");
  EXPECT_EQ(codex_turn(event("task_complete") + far), false);
  EXPECT_EQ(codex_turn(event("task_started") + far + event("task_complete").substr(0, 40)), true);
}

TEST(TurnLine, SaysWhatEndedTheTurn) {
  EXPECT_EQ(turn_line({TurnState::How::ended, "000042-assistant-a1", ""}), "ended: 000042-assistant-a1");
  EXPECT_EQ(turn_line({TurnState::How::stopped, "000042-tool-a1", "no agent works on the session"}),
            "stopped: 000042-tool-a1 is the last entry; no agent works on the session");
  EXPECT_EQ(turn_line({}), "none: the session has no conversation");
}

}  // namespace
}  // namespace arborfs
