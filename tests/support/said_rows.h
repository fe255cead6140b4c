// Rows of a conversation as each agent writes them, for generated logs. What an agent writes besides is left out, as
// far as its reader needs none of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/document.h"

namespace arborfs::testing {

struct SaidRow {
  std::string id;
  std::string parent;  // "" for a root
  std::string role;    // user or assistant
  std::string text;
};

inline std::string or_null(const std::string& id) {
  return id.empty() ? "null" : json::stringify_string(id);
}

/// The lines before the first row.
inline std::string head_of(std::string_view agent) {
  if (agent == "omp" || agent == "pi") {
    return R"({"type":"session","version":3,"id":"0196a000-0000-7000-8000-000000000001",)"
           R"("timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w/p"})"
           "\n";
  }
  if (agent == "codex") {
    return R"({"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":)"
           R"({"id":"0196a000-0000-7000-8000-000000000001","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w/p"}})"
           "\n";
  }
  return agent == "opal" ? R"({"session_id":"s1","metadata":{}})"
                           "\n"
                         : "";
}

inline std::string line_of(std::string_view agent, const SaidRow& row) {
  const std::string time = R"("timestamp":"2026-05-01T10:00:00.000Z")";
  const std::string role = json::stringify_string(row.role);
  const std::string text = json::stringify_string(row.text);
  if (agent == "omp" || agent == "pi") {
    return R"({"type":"message","id":)" + json::stringify_string(row.id) + R"(,"parentId":)" + or_null(row.parent) +
           "," + time + R"(,"message":{"role":)" + role + R"(,"content":[{"type":"text","text":)" + text + "}]}}\n";
  }
  if (agent == "claude") {
    return R"({"type":)" + role + R"(,"uuid":)" + json::stringify_string(row.id) + R"(,"parentUuid":)" +
           or_null(row.parent) + R"(,"isSidechain":false,"sessionId":"s1","cwd":"/w/p",)" + time +
           R"(,"message":{"role":)" + role + R"(,"content":[{"type":"text","text":)" + text + "}]}}\n";
  }
  if (agent == "codex") {
    return "{" + time + R"(,"type":"response_item","payload":{"type":"message","role":)" + role +
           R"(,"content":[{"type":")" + (row.role == "user" ? "input_text" : "output_text") + R"(","text":)" + text +
           "}]}}\n";
  }
  if (agent == "opal") {
    return R"({"id":)" + json::stringify_string(row.id) + R"(,"parent_id":)" + or_null(row.parent) + R"(,"role":)" +
           role + R"(,"content":)" + text + "}\n";
  }
  if (agent == "goat") {
    return R"({"uuid":)" + json::stringify_string(row.id) + "," + time + R"(,"message":{"role":)" + role +
           R"(,"content":)" + text + "}}\n";
  }
  return R"({"info":{"id":)" + json::stringify_string(row.id) + R"(,"role":)" + role +
         R"(,"time":{"created":1000}},"parts":[{"type":"text","text":)" + text + "}]}\n";
}

inline std::string log_text_of(std::string_view agent, const std::vector<SaidRow>& rows) {
  std::string text = head_of(agent);
  for (const SaidRow& row : rows) {
    text += line_of(agent, row);
  }
  return text;
}

}  // namespace arborfs::testing
