#include "tools/generate/session_log.h"

#include <algorithm>
#include <deque>

#include "core/base/error.h"
#include "tools/generate/entry_text.h"
#include "tools/generate/message_writer.h"
#include "tools/generate/text_pool.h"

namespace arborfs::generate {
namespace {

constexpr std::int64_t kSnowflakeEpochMs = 1'420'070'400'000;
constexpr std::string_view kModels[] = {"anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-1", "openai/gpt-5",
                                        "google/gemini-2.5-pro"};
constexpr std::string_view kLevels[] = {"off", "low", "medium", "high"};

std::string fixed_hex(std::uint64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; number >>= 4) {
    text[i] = "0123456789abcdef"[number & 15];
  }
  return text;
}

class SessionWriter {
 public:
  SessionWriter(const std::string& path, const SessionPlan& plan)
      : plan_(plan),
        random_(plan.seed),
        entries_(path, plan.seed ^ 0x1D, plan.start_ms),
        messages_(entries_, random_, plan.blobs, plan.v18) {}
  Result<SessionMade> write();

 private:
  void head();
  void plan_branches();
  void turn();
  void branch_if_due();
  void between_turns();
  void label();
  void change_model();
  void change_thinking();
  void custom();
  void custom_message();
  void rare_entry();
  void compact_if_due();
  IdNumber recent_point(std::size_t within);
  void pass_time() { entries_.pass_time(200 + static_cast<std::int64_t>(random_.below(20'000))); }
  void add_prose(std::string_view key, std::size_t bytes);

  const SessionPlan& plan_;
  Random random_;
  EntryWriter entries_;
  MessageWriter messages_;
  std::vector<IdNumber> points_;  // prompts and answers: the targets of branches, labels and compactions
  std::deque<std::uint64_t> branch_at_;
  std::uint64_t compacted_at_ = 0;
};

void SessionWriter::head() {
  const std::string title = "Bench session " + std::to_string(plan_.seed);
  if (plan_.v18) {
    entries_.out() += title_slot(title, plan_.start_ms);
  }
  std::string header = R"({"type":"session","version":3,)";
  add_member(header, "id", session_id(plan_));
  if (!plan_.v18) {
    header += ',';
    add_member(header, "title", title);
  }
  header += ',';
  add_member(header, "timestamp", iso_time(plan_.start_ms));
  header += ',';
  add_member(header, "cwd", plan_.cwd);
  entries_.line(header + "}");
  change_model();
  change_thinking();
}

void SessionWriter::plan_branches() {
  const std::uint64_t count = plan_.branches.value_or(5 + random_.below(36));
  for (std::uint64_t i = 0; i < count; ++i) {
    const double place = (static_cast<double>(i) + 0.3 + 0.4 * random_.unit()) / static_cast<double>(count);
    branch_at_.push_back(static_cast<std::uint64_t>(place * static_cast<double>(plan_.bytes)));
  }
}

IdNumber SessionWriter::recent_point(std::size_t within) {
  return points_[points_.size() - 1 - random_.below(std::min(points_.size(), within))];
}

void SessionWriter::branch_if_due() {
  if (branch_at_.empty() || points_.size() < 4 || entries_.size() < branch_at_.front()) {
    return;
  }
  branch_at_.pop_front();
  points_.pop_back();  // continuing from the last one would not be a branch
  const IdNumber to = recent_point(60);
  entries_.move_leaf(to);
  if (random_.one_in(3)) {
    entries_.begin("branch_summary");
    entries_.out() += ',';
    add_member(entries_.out(), "fromId", id_text(to));
    add_prose("summary", random_.spread(300, 3000));
    entries_.end();
  }
}

void SessionWriter::turn() {
  pass_time();
  points_.push_back(messages_.user());
  const std::uint64_t steps = 1 + static_cast<std::uint64_t>(random_.unit() * random_.unit() * 12);
  std::vector<MessageWriter::Call> calls;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    pass_time();
    points_.push_back(messages_.assistant(step == steps, calls));
    for (const auto& call : calls) {
      pass_time();
      messages_.tool_result(call);
    }
  }
}

void SessionWriter::add_prose(std::string_view key, std::size_t bytes) {
  std::string& out = entries_.out();
  ((out += ",\"") += key) += "\":\"";
  TextPool::prose().append_json(out, random_, bytes);
  out += '"';
}

void SessionWriter::label() {
  entries_.begin("label");
  entries_.out() += ',';
  add_member(entries_.out(), "targetId", id_text(recent_point(points_.size())));
  if (!random_.one_in(5)) {
    entries_.out() += ',';
    add_member(entries_.out(), "label", "try-" + std::to_string(random_.below(60)));
  }
  entries_.end();
}

void SessionWriter::change_model() {
  const std::string_view model = random_.pick(kModels);
  messages_.use_model(model);
  entries_.begin("model_change");
  entries_.out() += ',';
  add_member(entries_.out(), "model", model);
  entries_.out() += R"(,"role":"default")";
  if (plan_.v18) {
    entries_.out() += R"(,"resolvedModelIsFallback":false)";
  }
  entries_.end();
}

void SessionWriter::change_thinking() {
  entries_.begin("thinking_level_change");
  entries_.out() += ',';
  add_member(entries_.out(), "thinkingLevel", random_.pick(kLevels));
  if (plan_.v18) {
    entries_.out() += R"(,"configured":null)";
  }
  entries_.end();
}

void SessionWriter::custom() {
  entries_.begin_own_first("custom");
  entries_.out() += R"(,"customType":"todo","data":{"items":[)";
  for (std::uint64_t left = 1 + random_.below(6); left > 0; --left) {
    entries_.out() += R"({"text":"check item )" + std::to_string(random_.below(90));
    entries_.out() += random_.one_in(2) ? R"(","done":true})" : R"(","done":false})";
    entries_.out() += left > 1 ? "," : "]}";
  }
  entries_.end_own_first();
}

void SessionWriter::custom_message() {
  entries_.begin_own_first("custom_message");
  entries_.out() += R"(,"customType":"hint")";
  add_prose("content", random_.spread(100, 500));
  entries_.out() +=
      random_.one_in(2) ? R"(,"display":true,"attribution":"agent")" : R"(,"display":false,"attribution":"agent")";
  entries_.end_own_first();
}

void SessionWriter::rare_entry() {
  if (plan_.v18 && random_.one_in(2)) {
    entries_.begin("model_usage");
    entries_.out() += R"(,"purpose":"title","role":"tiny","api":"openai-responses","provider":"openai")"
                      R"(,"model":"gpt-4o-mini")";
    messages_.add_usage();
    entries_.out() += R"(,"stopReason":"stop")";
  } else if (random_.one_in(2)) {
    entries_.begin("ttsr_injection");
    entries_.out() += R"(,"injectedRules":["rule-)" + std::to_string(random_.below(12)) + R"("])";
  } else {
    entries_.begin("mode_change");
    entries_.out() += random_.one_in(2) ? R"(,"mode":"plan","data":{"planFile":"plan.md"})" : R"(,"mode":"none")";
  }
  entries_.end();
}

void SessionWriter::between_turns() {
  pass_time();
  switch (random_.below(40)) {
    case 0:
      return label();
    case 1:
      return random_.one_in(2) ? change_model() : change_thinking();
    case 2:
      return custom();
    case 3:
      return custom_message();
    case 4:
      return rare_entry();
    case 5:
      messages_.bash_execution();
      return;
    case 6:
      messages_.file_mention();
      return;
    default:
      return;
  }
}

void SessionWriter::compact_if_due() {
  const std::uint64_t every = std::clamp<std::uint64_t>(plan_.bytes / 4, 200'000, 3'000'000);
  if (entries_.size() - compacted_at_ < every) {
    return;
  }
  compacted_at_ = entries_.size();
  entries_.begin("compaction");
  add_prose("summary", random_.spread(3'000, 12'000));
  add_prose("shortSummary", 60);
  entries_.out() += ',';
  add_member(entries_.out(), "firstKeptEntryId", id_text(recent_point(16)));
  entries_.out() += ',';
  add_number(entries_.out(), "tokensBefore", 100'000 + random_.below(90'000));
  entries_.end();
}

Result<SessionMade> SessionWriter::write() {
  head();
  plan_branches();
  while (entries_.size() < plan_.bytes) {
    branch_if_due();
    turn();
    between_turns();
    compact_if_due();
  }
  RETURN_IF_ERROR(entries_.close());
  if (!messages_.failed()) {
    return messages_.failed().error();
  }
  return SessionMade{entries_.size(), entries_.entries(), entries_.now_ms()};
}

}  // namespace

std::string session_id(const SessionPlan& plan) {
  Random random(plan.seed ^ 0x5E55101D);
  const auto start = static_cast<std::uint64_t>(plan.start_ms);
  if (!plan.v18) {
    return fixed_hex((start - kSnowflakeEpochMs) << 22 | random.below(1 << 22), 16);
  }
  const std::string time = fixed_hex(start, 12);
  return time.substr(0, 8) + "-" + time.substr(8) + "-7" + random.hex(3) + "-8" + random.hex(3) + "-" + random.hex(12);
}

std::string log_name(const SessionPlan& plan) {
  std::string name = iso_time(plan.start_ms);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '.'; }, '-');
  return name + "_" + session_id(plan) + ".jsonl";
}

Result<SessionMade> write_session(const std::string& path, const SessionPlan& plan) {
  return SessionWriter(path, plan).write();
}

}  // namespace arborfs::generate
