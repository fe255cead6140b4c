#include <string>

#include "core/render/views.h"

namespace arborfs {
namespace {

constexpr std::string_view kWhatIsHere = R"(
This mount shows the sessions of your coding agents as files. Every entry, branch, label and image of a session log is a
file, and so is the context that the agent would send to the model. All files are computed from the logs when you read
them; reading changes nothing in the logs.

## What is where

    README.md          this page
    status.json        health: the store, the number of sessions, how changes are detected, the last errors
    projects/          one folder per working directory, with one folder per session
    by-id/             every session by its id; a unique prefix of an id is found too
    by-agent/          the sessions of each agent, by their ids
    recent/            the 50 sessions that changed last, newest first; `recent/1` is the newest
    search/            the results of a search: `ls "search/race condition"/`
    stats/             tokens and cost: by-day.tsv, by-project.tsv, by-model.tsv, by-agent.tsv
    history/           the prompts that were typed to omp, one file a day, newest first
    terminals/         the session that each terminal used last
    blobs/             large images and other data, by the SHA-256 of their content

`search/` looks empty; open a folder named after a query. The folder `search/QUERY/` has a link to each session whose
texts contain all words of the query, best first, `excerpts.md` with the matching passages, and `hits.json` with the same
data for programs. `"two words"` is a phrase, `-word` excludes, and `agent:` `project:` `title:` `role:` `tool:` `label:`
`after:` `before:` filter. A query cannot begin with a dot: put such a word in quotation marks.

A project's folder is named after its working directory, without the home folder: `src-x` for `~/src/x`. In it, the file
`cwd` has the full path, and `by-title/` has links such as `2026-02-16 fix-the-flaky-upload-test`. A session's folder has
the name of its log; for agents other than omp and pi the agent's name precedes it, as in `claude-11112222`:

    session.json       the header of the log, with the current title, the agent and the format
    title              the title
    raw.jsonl          the log, byte for byte
    leaf               link to the entry from which the conversation continues
    context.json       what the agent would send to the model: one JSON object with one message per line
    transcript.md      the conversation up to the leaf, as readable text
    tree.txt           a drawing of the whole tree: branches, labels, the leaf
    usage.json         tokens and cost
    status.json        whether an agent uses the session, damage, other problems of the log
    entries/           each entry as JSON, exactly as the log has it: 000042-assistant-a1b2c3d4.json
    text/              the same entries as text: 000042-assistant-a1b2c3d4.md
    images/            the images in entries: 000042-a1b2c3d4-1.png
    branches/          one folder for the end of each branch, with context.json, transcript.md and its entries
    branches/current   link to the branch that the leaf is on
    labels/            one link per label, to the entry that has it
    damage/            bytes of the log that belong to no entry; absent if there are none
    artifacts/         the agent's files next to the log; absent if there are none
    checkpoints/       working files that the agent saved; absent if there are none
    children/          the sessions that this session started; absent if there are none
    native/            the agent's own files or rows of the session, unchanged, without its credentials; absent for omp
                       and pi

The number at the start of an entry's name is its position in the log. Short names are found too, but not listed:
`entries/42.json`, `entries/a1b2c3d4.json`, and `branches/` followed by any id, number or label.

A transcript has what people said, also before a compaction; `context.json` has what the agent would send.

In texts and transcripts, control characters and terminal escapes are made visible: `^[` stands for ESC. A backslash
stands before what could be taken for a heading of the transcript. JSON files contain all of it unchanged.
)";

constexpr std::string_view kToTry = R"(
## Try this

    ls -lt recent/
    cat recent/1/tree.txt
    less recent/1/transcript.md
    tail -n 40 recent/1/transcript.md
    jq -r '.messages[] | .role' recent/1/context.json
    jq . recent/1/usage.json
    rg -l 'needle' projects/*/*/text/
    cat "search/race condition/excerpts.md"
    less 'search/"race condition" role:user after:2026-02-16'/01-*/transcript.md
    ls -l projects/*/*/labels/
    find . -path '*/labels/checkpoint'
    cd recent/1/ && ls branches/
    diff branches/ONE/transcript.md branches/OTHER/transcript.md
    jq -r 'select(.writable | not) | input_filename' projects/*/*/status.json

More: `arborfs --help`.
)";

constexpr std::string_view kWriting = R"(
## Writing

Run these in the folder of a session of omp. Sessions of other agents have only some of these files. If a command is
refused, `status.json` has the reason.

    echo "fix the bug" > append                    a user message
    cat prompt.md > append                         the whole file as one message
    echo '{"role":"user","content":"x"}' > append  a message or an entry as JSON
    echo "and now this" > branches/ID/append       on another branch
    echo a1b2c3d4 > branch                         continue from that entry; also #42, a label, root
    printf 'a1b2c3d4\nTried X\n' > branch          the same, with a summary of the abandoned branch
    ln -s $(readlink leaf) labels/checkpoint       a label on the leaf; mv renames it, rm removes it
    echo "New title" > title
    echo > fork                                    a copy of the session; `echo a1b2c3d4` copies the path to that entry

In this folder, `echo /path/to/project > new` creates a session and `mv projects/a/SESSION projects/b/` moves one. A
write to a session that an agent has open fails with `Device or resource busy`: fork it instead. More:
`man 5 arborfs`.
)";

constexpr std::string_view kFastest = R"(
This mount is read-only (`-o ro`), which is the fastest way to browse.
)";

}  // namespace

std::string mount_readme(std::string_view version, bool read_only) {
  std::string text = "# arborfs " + std::string(version) + "\n";
  text += kWhatIsHere;
  text += read_only ? kFastest : kWriting;
  text += kToTry;
  return text;
}

}  // namespace arborfs
