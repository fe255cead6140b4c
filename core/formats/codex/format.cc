#include "core/formats/codex/format.h"

#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::codex {
namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "title", "archived", "pinned", "remove"};
constexpr std::string_view kVerbsOfDocuments[] = {"remove"};
constexpr std::string_view kPatchWorked = "Success. Updated the following files";
constexpr ToolShape kTools[] = {
    {.tool = "exec_command",
     .does = ToolShape::Does::runs,
     .subject = "cmd",
     .folder = "workdir",
     .success = kPatchWorked},
    {.tool = "shell",
     .does = ToolShape::Does::runs,
     .subject = "command",
     .folder = "workdir",
     .success = kPatchWorked},
    {.tool = "shell_command",
     .does = ToolShape::Does::runs,
     .subject = "command",
     .folder = "workdir",
     .success = kPatchWorked},
    {.tool = "local_shell",
     .does = ToolShape::Does::runs,
     .subject = "command",
     .folder = "working_directory",
     .success = kPatchWorked},
    {.tool = "apply_patch", .does = ToolShape::Does::patches, .subject = "input", .success = kPatchWorked},
    {.tool = "apply_patch", .does = ToolShape::Does::patches, .subject = "", .success = kPatchWorked}};
constexpr std::string_view kPrograms[] = {"codex"};
constexpr AgentPrograms kAgent{.names = kPrograms,
                               .package = "@openai/codex",
                               .variable = "CODEX_HOME",
                               .home = "/.codex",
                               .service = "app-server"};
/// As codex/FORMAT.md A7 says.
constexpr ResumeCommand kResume{.program = "codex", .option = "resume", .variable = "CODEX_HOME"};

constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"user\",\"content\":\"...\"}   a message of the user or, after one, of the assistant\n"
    "  {\"type\":\"function_call\",...}        a call: name, arguments (a text), call_id; after it its output:\n"
    "  {\"type\":\"function_call_output\",\"call_id\":\"...\",\"output\":\"...\"}\n"
    "  {\"queue\":\"text\"}                    alone: Codex runs it as the next turn, also of a thread that is open in "
    "it\n"
    "Content is a text or a list of {\"type\":\"text\",\"text\":...} and, of the user, "
    "{\"type\":\"input_image\",\"image_url\":...}.\n"
    "Each message of the user begins a turn. Several JSON objects, one per line and in one write, are appended "
    "together\n"
    "or not at all. Codex shows a turn without an answer as interrupted; the model gets it with the next prompt.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if a program may have the session open; never beside one that "
    "has\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr std::string_view kBranchUsage =
    "Write an entry to this file to move the leaf to it: an id, a prefix of it of at least four characters, #42, the\n"
    "name of its file, or root. It must be the last of its turn: Codex goes back only to the ends of turns.\n"
    "As JSON: {\"target\":\"#42\",\"force\":true}. Codex continues there at once, and the turns that it leaves stay a "
    "branch,\n"
    "to which another branch command returns; in a thread of an old Codex (without ordinals) they stay dropped.\n";
constexpr OwnUsage kUsages[] = {{"append", kAppendUsage}, {"branch", kBranchUsage}};

}  // namespace

const Format& format() {
  static const Format format{.agent = "codex",
                             .name = "codex-jsonl",
                             .reader = &reader(),
                             .renderer = &renderer(),
                             .verbs = kVerbs,
                             .programs = &kAgent,
                             .resume = &kResume,
                             .usages = kUsages,
                             .pairing = {.calls = true, .results = true},
                             .tools = kTools,
                             .queues_messages = true};
  return format;
}

const Format& document_format() {
  static const Format format = [] {
    Format documents = codex::format();
    documents.name = "codex-json";
    documents.verbs = kVerbsOfDocuments;
    documents.why_only_read =
        "the first Codex, of April 2025, wrote this thread as one JSON document, which no version goes on with; it can "
        "be read and removed";
    documents.usages = {};
    documents.resume = nullptr;
    return documents;
  }();
  return format;
}

std::string own_dir() {
  const std::string chosen = environment_variable("CODEX_HOME");
  return chosen.empty() ? environment_variable("HOME") + "/.codex" : chosen;
}

}  // namespace arborfs::codex
