// What a read of a new handle of a control file returns: how to use the file. An editor that has opened the file writes
// that text back with what its user has typed, so each line is a comment, and a command with one of them is refused.
#pragma once

#include <string>
#include <string_view>

#include "core/writer/verbs.h"

namespace arborfs {

/// What a read of a new handle returns for the subject's sessions. Each line begins with `# `.
std::string usage_text(const Verb& verb, const Subject& subject);
/// Fails with invalid_argument if the text contains a line of usage_text(), wherever it is: an editor that has opened
/// the control file saves that text along with what its user has typed (CONTRACT.md 4.3).
Result<void> refuse_usage(const Verb& verb, const Subject& subject, std::string_view text);

/// The words of usage_text(), each with its line feed. For omp; other formats have their own texts (Format::usages).
inline constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"toolResult\",...}           any message, as JSON\n"
    "  {\"type\":\"custom\",...}               any entry, as JSON\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "arborfs sets id, parentId and timestamp of an entry; a message keeps its own timestamp.\n"
    "A text of more than 500,000 characters is shortened, as omp does.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
inline constexpr std::string_view kBranchUsage =
    "Write an entry to this file to move the leaf to it: an id, a prefix of it of at least four characters, #42, the\n"
    "name of its file, a label, or root. Further lines are a summary of the abandoned branch.\n"
    "As JSON: {\"target\":\"a1b2c3d4\",\"summary\":\"...\",\"pin\":true,\"force\":true}. Without a summary an agent "
    "continues\n"
    "there only after the next append; with \"pin\" an entry is written, so that it continues there at once.\n";
inline constexpr std::string_view kLabelUsage =
    "Write an entry and a label to this file to label the entry, or an entry alone to clear its label.\n"
    "Several lines in one write take effect together or not at all. A new label replaces the old one.\n"
    "As JSON: {\"entry\":\"a1b2c3d4\",\"label\":\"...\",\"force\":true}. In labels/, ln -s, mv and rm do the same.\n";
inline constexpr std::string_view kForkUsage =
    "Write an empty line to this file to copy the session to a new log, or an entry to copy the path to it.\n"
    "As JSON: {\"entry\":\"a1b2c3d4\",\"title\":\"...\",\"force\":true}. Without a title the fork gets the session's "
    "title\n"
    "followed by (fork). After a write, the same descriptor returns {\"session\":...,\"path\":...}.\n"
    "{\"agent\":\"pi\",\"entry\":\"a1b2c3d4\"} writes what the model had at the entry, or at the leaf, as a session of\n"
    "another agent; with \"full\":true the whole path, also what a compaction replaced. Parts that the agent cannot\n"
    "represent become text, and the answer counts them.\n";
/// Where sessions are only copied to other agents.
inline constexpr std::string_view kForeignForkUsage =
    "Write {\"agent\":\"pi\"} to this file to write what the model had at the leaf as a session of another agent, or\n"
    "{\"agent\":\"pi\",\"entry\":\"...\",\"title\":\"...\"} for what it had at an entry; with \"full\":true the whole path.\n"
    "Parts that the agent cannot represent become text, and the answer counts them. After a write, the same\n"
    "descriptor returns "
    "{\"session\":...,\"path\":...,\"agent\":...,\"asText\":...,\"mended\":...,\"leftOut\":...}.\n";
inline constexpr std::string_view kNewUsage =
    "Write the absolute path of a working directory to this file to create a session.\n"
    "As JSON: "
    "{\"agent\":...,\"cwd\":...,\"title\":...,\"parentSession\":...,\"model\":\"provider/model\",\"provider\":...}.\n"
    "Without an agent, the first one is used whose sessions arborfs creates. A provider is only for Opal.\n"
    "After a write, the same descriptor returns {\"session\":...,\"path\":...}.\n";

inline constexpr std::string_view kReplaceUsage =
    "Write {\"first\":\"id\",\"last\":\"id\",\"messages\":[{...},...]} to this file to replace a run of messages with "
    "others.\n"
    "The entries after the run then follow the new messages; without new messages the run is removed from the path.\n";
inline constexpr std::string_view kSummaryUsage =
    "Write an empty line to this file to append a message that summarises a run for later sessions, or write your own\n"
    "text for it. Lines that arrive in one write are one message, as with cat FILE > summary; the printf of a shell\n"
    "writes each line by itself.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}.\n";
inline constexpr std::string_view kCheckpointUsage =
    "Write a name, and files below the session's working directory, on one line to save them in a checkpoint.\n"
    "Without files, those of the last checkpoint are saved; without a name, the current time is used.\n"
    "As JSON: {\"name\":\"...\",\"files\":[\"with a blank.txt\",...]}. After a write, the same descriptor returns\n"
    "{\"checkpoint\":...,\"files\":...,\"absent\":...}.\n";
inline constexpr std::string_view kRewindUsage =
    "Write the id or the name of a checkpoint to this file to restore its files to the working directory. Overwritten\n"
    "files are first saved in a checkpoint. As JSON: {\"checkpoint\":\"...\",\"dryRun\":true} only lists the changes.\n"
    "After a write, the same descriptor returns the list.\n";

}  // namespace arborfs
