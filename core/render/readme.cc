#include <string>

#include "core/render/views.h"

namespace arborfs {
namespace {

constexpr std::string_view kWhatIsHere = R"(
The sessions of your coding agent as files. Every entry, branch, label and image of a session log is a file here, and
the context that the agent would send to the model is one too. All of it is computed from the logs when you look;
looking changes nothing in them.

## What is where

    README.md          this page
    status.json        health: the store, how many sessions, what watches them, the last errors
    projects/          one folder per working directory, and in it one per session
    by-id/             every session by its id; a unique beginning of an id is found too
    recent/            the 50 sessions that changed last, newest first
    terminals/         the session that each terminal used last
    blobs/             large images and the like, by the SHA-256 of their content

A project's folder has the name of its working directory, the home folder left out: `src-x` for `~/src/x`. The file
`cwd` in it has the full path. The folder of a session has the name of its log:

    session.json       the header of the log, with the title in force
    title              the title
    raw.jsonl          the log, byte for byte
    leaf               link to the entry that the conversation goes on from
    context.json       what the agent would send to the model: one JSON object, each message on a line of its own
    transcript.md      the conversation up to the leaf, readable
    tree.txt           the whole tree, drawn: branches, labels, the leaf
    usage.json         tokens and cost
    status.json        in use or not, damage found, anything odd about the log
    entries/           each entry as JSON, exactly as the log has it: 000042-assistant-a1b2c3d4.json
    text/              the same entries as text: 000042-assistant-a1b2c3d4.md
    images/            the images in entries: 000042-a1b2c3d4-1.png
    branches/          one folder per end of a branch, each with context.json, transcript.md and its entries
    branches/current   link to the branch that the leaf is on
    labels/            one link per label, to the entry that has it
    damage/            bytes of the log that are no entry; there only when there are any
    artifacts/         the agent's files beside the log, if any

The number in front of an entry is its place in the log. Short names are found as well, though they are not listed:
`entries/42.json`, `entries/a1b2c3d4.json`, and `branches/` followed by any id, number or label.

In texts and transcripts, control characters and terminal escapes are shown, not sent: `^[` stands for ESC. The JSON
files have them as they are.
)";

constexpr std::string_view kToTry = R"(
## Try this

    ls -l recent/
    cat recent/01-*/tree.txt
    less recent/01-*/transcript.md
    tail -n 40 recent/01-*/transcript.md
    jq -r '.messages[] | .role' recent/01-*/context.json
    jq . recent/01-*/usage.json
    rg -l 'needle' projects/*/*/text/
    ls -l projects/*/*/labels/
    find . -path '*/labels/checkpoint'
    cd recent/01-*/ && ls branches/
    diff branches/ONE/transcript.md branches/OTHER/transcript.md
    jq -r 'select(.writable | not) | input_filename' projects/*/*/status.json

More: `arborfs --help`.
)";

constexpr std::string_view kWriting = R"(
## Writing

In the folder of a session. Read `status.json` when something is refused: the reason stands there in words.

    echo "fix the bug" > append                    a message of the user
    cat prompt.md > append                         all of it one message
    echo '{"role":"user","content":"x"}' > append  a message or an entry as JSON
    echo "and now this" > branches/ID/append       on another branch
    echo a1b2c3d4 > branch                         go on from that entry; also #42, a label, root
    printf 'a1b2c3d4\nTried X\n' > branch          the same, with a summary of what is left
    ln -s ../entries/000042-* labels/checkpoint    a label; mv and rm rename and clear it
    echo "New title" > title
    echo > fork                                    a copy of the session, a1b2c3d4: of the path to that entry

`echo /path/to/project > new` in this folder makes a session, `mv projects/a/SESSION projects/b/` moves one. A session
that an agent holds is not written to (`Device or resource busy`): fork it. More: `man 5 arborfs`.
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
