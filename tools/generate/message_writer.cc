#include "tools/generate/message_writer.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/base/hash.h"
#include "tools/generate/entry_text.h"
#include "tools/generate/text_pool.h"

namespace arborfs::generate {
namespace {

constexpr std::string_view kTools[] = {"read", "read", "bash", "bash", "grep", "edit", "write", "find", "task"};
constexpr std::size_t kLargestInlineImage = 765;  // a larger image becomes a blob (omp/FORMAT.md D2)

std::string file_path(Random& random) {
  static constexpr std::string_view kFolders[] = {"src", "src/core", "tests", "lib/util", "docs"};
  static constexpr std::string_view kEndings[] = {".ts", ".cc", ".h", ".py", ".md"};
  std::string path(random.pick(kFolders));
  path += "/module_" + std::to_string(random.below(300));
  return path += random.pick(kEndings);
}

}  // namespace

void MessageWriter::begin(std::string_view role) {
  entries_->begin("message");
  entries_->out() += R"(,"message":{)";
  add_member(entries_->out(), "role", role);
}

IdNumber MessageWriter::end() {
  std::string& out = entries_->out();
  out += ',';
  add_number(out, "timestamp", static_cast<std::uint64_t>(entries_->now_ms()));
  out += '}';
  return entries_->end();
}

void MessageWriter::add_text_block(std::size_t bytes, bool code) {
  std::string& out = entries_->out();
  out += R"({"type":"text","text":")";
  (code ? TextPool::code() : TextPool::prose()).append_json(out, *random_, bytes);
  out += "\"}";
}

IdNumber MessageWriter::user() {
  begin("user");
  std::string& out = entries_->out();
  const std::size_t length = random_->spread(30, 3000);
  const bool image = random_->one_in(30);
  if (!image && random_->below(3) != 0) {
    out += R"(,"content":")";
    TextPool::prose().append_json(out, *random_, length);
    out += '"';
  } else {
    out += R"(,"content":[)";
    add_text_block(length, false);
    if (image) {
      add_image();
    }
    out += ']';
  }
  return end();
}

IdNumber MessageWriter::assistant(bool ends_turn, std::vector<Call>& calls) {
  begin("assistant");
  std::string& out = entries_->out();
  out += R"(,"content":[)";
  if (random_->below(3) != 0) {
    out += R"({"type":"thinking","thinking":")";
    TextPool::prose().append_json(out, *random_, random_->spread(100, 6000));
    out += R"(","thinkingSignature":")";
    random_->append_hex(out, 200);
    out += "\"},";
  }
  add_text_block(random_->spread(40, ends_turn ? 5000 : 600), false);
  const std::size_t count = ends_turn ? 0 : 1 + (random_->one_in(5) ? 1U : 0U);
  calls.resize(count);
  for (Call& call : calls) {
    add_call(call);
  }
  const std::size_t slash = model_.find('/');
  out += R"(],"api":"anthropic-messages",)";
  add_member(out, "provider", model_.substr(0, slash));
  out += ',';
  add_member(out, "model", model_.substr(slash + 1));
  add_usage();
  out += ',';
  add_member(out, "stopReason", count == 0 ? "stop" : "toolUse");
  if (v18_) {
    out += ',';
    add_number(out, "duration", 400 + random_->below(60'000));
  }
  return end();
}

void MessageWriter::add_call(Call& call) {
  call.tool = random_->pick(kTools);
  call.id = "toolu_" + std::to_string(++calls_) + "_" + random_->hex(10);
  std::string& out = entries_->out();
  out += R"(,{"type":"toolCall",)";
  add_member(out, "id", call.id);
  out += ',';
  add_member(out, "name", call.tool);
  out += R"(,"arguments":{)";
  if (call.tool == "bash") {
    out += R"("command":"rg -n \")" + file_path(*random_) + R"(\" . | head -)";
    out += std::to_string(random_->below(200)) + R"(","timeout":30)";
  } else if (call.tool == "edit" || call.tool == "write") {
    add_member(out, "path", file_path(*random_));
    out += R"(,"content":")";
    TextPool::code().append_json(out, *random_, random_->spread(80, 8000));
    out += '"';
  } else {
    add_member(out, "path", file_path(*random_));
    out += ',';
    add_number(out, "offset", random_->below(900));
  }
  out += "}}";
}

IdNumber MessageWriter::tool_result(const Call& call) {
  begin("toolResult");
  std::string& out = entries_->out();
  out += ',';
  add_member(out, "toolCallId", call.id);
  out += ',';
  add_member(out, "toolName", call.tool);
  out += R"(,"content":[)";
  add_text_block(random_->spread(200, random_->one_in(25) ? 200'000 : 12'000), true);
  if (random_->one_in(60)) {
    add_image();
  }
  out += ']';
  add_tool_details(call);
  out += random_->one_in(25) ? R"(,"isError":true)" : R"(,"isError":false)";
  return end();
}

void MessageWriter::add_tool_details(const Call& call) {
  std::string& out = entries_->out();
  if (call.tool == "bash") {
    out += random_->one_in(8) ? R"(,"details":{"exitCode":1,"meta":{"truncated":false}})"
                              : R"(,"details":{"exitCode":0,"meta":{"truncated":false}})";
  } else if (call.tool == "task") {
    out += R"(,"details":{"agent":"scout")";
    add_usage();
    out += '}';
  }
}

IdNumber MessageWriter::bash_execution() {
  begin("bashExecution");
  std::string& out = entries_->out();
  out += R"(,"command":"git log --oneline -20","output":")";
  TextPool::code().append_json(out, *random_, random_->spread(80, 4000));
  out += R"(","exitCode":0,"cancelled":false,"truncated":false)";
  return end();
}

IdNumber MessageWriter::file_mention() {
  begin("fileMention");
  std::string& out = entries_->out();
  out += R"(,"files":[{)";
  add_member(out, "path", file_path(*random_));
  out += R"(,"content":")";
  TextPool::code().append_json(out, *random_, random_->spread(200, 9000));
  out += "\",";
  add_number(out, "lineCount", 10 + random_->below(300));
  out += "}]";
  return end();
}

void MessageWriter::add_usage() {
  const std::uint64_t input = 500 + random_->below(90'000);
  const std::uint64_t output = 20 + random_->below(3'000);
  std::string& out = entries_->out();
  out += R"(,"usage":{)";
  add_number(out, "input", input);
  out += ',';
  add_number(out, "output", output);
  out += ',';
  add_number(out, "cacheRead", random_->below(80'000));
  out += ',';
  add_number(out, "cacheWrite", random_->below(4'000));
  out += ',';
  add_number(out, "totalTokens", input + output);
  out += R"(,"cost":{"input":)" + millionths(input * 3) + R"(,"output":)" + millionths(output * 15) +
         R"(,"cacheRead":0,"cacheWrite":0,"total":)" + millionths(input * 3 + output * 15) + "}}";
}

std::string MessageWriter::image_data(std::size_t bytes) {
  std::string data = "\x89PNG\r\n\x1a\n";
  while (data.size() < bytes) {
    const std::uint64_t noise = random_->next();
    data.append(reinterpret_cast<const char*>(&noise), sizeof noise);
  }
  data.resize(bytes);
  return data;
}

void MessageWriter::add_image() {
  std::string& out = entries_->out();
  out += R"(,{"type":"image",)";
  if (blobs_.empty()) {
    add_member(out, "data", base64(image_data(random_->spread(80, kLargestInlineImage))));
  } else {
    const std::string data = image_data(random_->spread(8'000, 400'000));
    const std::string name = sha256_hex(data);
    add_member(out, "data", "blob:sha256:" + name);
    if (const auto written = write_file(blobs_ + "/" + name, data); !written) {
      failed_ = written;
    }
  }
  out += R"(,"mimeType":"image/png"})";
}

}  // namespace arborfs::generate
