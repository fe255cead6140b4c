// The JSON documents of views.h.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/entry/value_text.h"
#include "core/entry/views.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"

namespace arborfs {
namespace {

std::string pretty(const json::Value& value) {
  std::string out;
  StringSink sink(out);
  PrettyJson<SlowNode, StringSink>(sink).print(SlowNode(&value));
  out += '\n';
  return out;
}

/// A string value of a text that may have bytes that are not UTF-8: names of files, working directories.
json::Value string_of(std::string_view text, json::Document& owner) {
  return json::is_valid_utf8(text) ? json::make_string(text, owner) : json::make_string(json::decode_wtf8(text), owner);
}

/// A JSON object under construction; its members are in the order of the calls.
class Object {
 public:
  explicit Object(json::Document& owner) : owner_(owner), object_(rapidjson::kObjectType) {}
  Object& text(std::string_view key, std::string_view value) { return put(key, string_of(value, owner_)); }
  /// Leaves the member out if the value is "".
  Object& known(std::string_view key, std::string_view value) { return value.empty() ? *this : text(key, value); }
  Object& text_or_null(std::string_view key, std::string_view value) {
    return value.empty() ? put(key, json::Value()) : text(key, value);
  }
  Object& number(std::string_view key, std::uint64_t value) {
    return put(key, json::Value(static_cast<double>(value)));
  }
  Object& flag(std::string_view key, bool value) { return put(key, json::Value(value)); }
  Object& texts(std::string_view key, const std::vector<std::string>& values) {
    json::Value list(rapidjson::kArrayType);
    for (const std::string& value : values) {
      list.PushBack(string_of(value, owner_), owner_.GetAllocator());
    }
    return put(key, std::move(list));
  }
  Object& put(std::string_view key, json::Value value) {
    object_.AddMember(json::make_string(key, owner_), value, owner_.GetAllocator());
    return *this;
  }
  json::Value take() { return std::move(object_); }

 private:
  json::Document& owner_;
  json::Value object_;
};

json::Value damage_list(const std::vector<Damage>& damage, json::Document& owner) {
  json::Value list(rapidjson::kArrayType);
  for (const Damage& run : damage) {
    Object object(owner);
    object.text("file", damage_name(run)).number("offset", run.offset).number("length", run.length);
    object.text("kind", damage_word(run.kind)).flag("inProgress", run.in_progress);
    list.PushBack(object.take(), owner.GetAllocator());
  }
  return list;
}

/// Numbers by their names.
template <class Numbers>
json::Value counts(const Numbers& numbers, json::Document& owner) {
  Object object(owner);
  for (const auto& [name, number] : numbers) {
    object.number(name, number);
  }
  return object.take();
}

json::Value store_list(const std::vector<MountStatus::StoreRow>& stores, json::Document& owner) {
  json::Value list(rapidjson::kArrayType);
  for (const MountStatus::StoreRow& store : stores) {
    Object object(owner);
    object.text("agent", store.agent).text("place", store.place).number("sessions", store.sessions);
    object.text_or_null("problem", store.problem).put("leftOut", counts(store.left_out, owner));
    list.PushBack(object.take(), owner.GetAllocator());
  }
  return list;
}

}  // namespace

std::string session_json(const Header& header, const SessionOrigin& origin) {
  json::Document native;
  const bool has_native = json::parse(header.json, native);
  Object object(native);
  if (!origin.is_plain) {
    object.known("id", header.id).known("cwd", header.cwd).known("title", header.title);
    object.known("timestamp", header.timestamp).known("parentSession", header.parent_session);
  } else if (has_native && native.IsObject()) {
    for (const auto& member : json::members(std::as_const(native))) {
      const std::string_view key = json::as_string(member.name);
      if (key != "agent" && key != "format" && (key != "arborfs" || origin.noted.empty())) {
        object.put(key, json::copy(member.value, native));
      }
    }
  }
  object.text("agent", origin.agent).text("format", origin.format);
  if (json::Document noted; json::parse(origin.noted, noted)) {
    object.put("arborfs", json::copy(noted, native));
  }
  if (!origin.is_plain && has_native) {
    object.put("native", json::copy(native, native));
  }
  return pretty(object.take());
}

std::string session_status_json(const SessionStatus& status) {
  json::Document owner;
  Object object(owner);
  object.text("state", status.state).texts("why", status.reasons).flag("writable", status.writable);
  object.text_or_null("readOnlyReason", status.writable ? "" : status.read_only_reason);
  object.text_or_null("problem", status.problem).text_or_null("lastError", status.last_error);
  object.text_or_null("movedLeaf", status.moved_leaf);
  object.text_or_null("dialect", status.dialect).number("bytes", status.bytes).number("entries", status.entries);
  object.number("branches", status.branches).number("orphans", status.orphans);
  object.number("duplicateIds", status.duplicate_ids).number("cycles", status.cycles);
  object.put("damage", damage_list(status.damage, owner));
  object.put("notShown", counts(status.not_shown.by_type(), owner));
  object.texts("wholeRecordsInDamage", status.whole_records_in_damage);
  object.texts("erasedEntries", status.erased_entries).text_or_null("erasedFile", status.erased_file);
  object.texts("danglingLabels", status.dangling_labels).number("missingBlobs", status.missing_blobs);
  object.texts("tooLongEntries", status.too_long_entries);
  return pretty(object.take());
}

std::string mount_status_json(const MountStatus& status) {
  json::Document owner;
  Object object(owner);
  object.text("version", status.version).text("agentDir", status.agent_dir).flag("storePresent", status.store_present);
  object.number("projects", status.projects).number("sessions", status.sessions);
  object.number("unreadableSessions", status.unreadable_sessions).number("indexedSessions", status.indexed_sessions);
  object.number("indexBytes", status.index_bytes).text_or_null("watching", status.watching);
  object.put("stores", store_list(status.stores, owner)).texts("lastErrors", status.last_errors);
  if (status.redacted) {
    Object secrets(owner);
    for (const auto& [rule, count] : status.redacted->secrets) {
      secrets.number(rule, count);
    }
    Object redacted(owner);
    redacted.put("secrets", secrets.take()).number("linesLeftOut", status.redacted->lines_left_out);
    object.put("redacted", redacted.take());
  }
  return pretty(object.take());
}

// Describes the bytes of a log that are not entries.

namespace {

constexpr std::size_t kSearched = std::size_t{1} << 20U;
constexpr std::size_t kPiece = 4096;
constexpr std::size_t kTimes = 16;  // scans per byte on average at most, failed attempts included

/// Scans values from any byte on, within a budget that makes the whole search linear.
class Search {
 public:
  explicit Search(std::string_view text) : text_(text), budget_(kTimes * std::max(text.size(), kSearched)) {}
  [[nodiscard]] bool exhausted() const { return budget_ == 0; }

  /// The end of the value that starts at `begin`, or 0.
  std::size_t end_of_value(std::size_t begin) {
    json::ValueScanner scanner;
    scanner.reset();
    for (std::size_t at = begin; at < text_.size() && budget_ > 0;) {
      const std::string_view piece = text_.substr(at, kPiece);
      std::size_t used = 0;
      const auto verdict = scanner.feed(piece, used);
      budget_ -= std::min(budget_, piece.size());
      if (verdict != json::ValueScanner::Verdict::need_more) {
        return verdict == json::ValueScanner::Verdict::value ? at + used : 0;
      }
      at += piece.size();
    }
    return 0;
  }

 private:
  std::string_view text_;
  std::size_t budget_;
};

/// Content blocks have a type and an id too, but they follow a bracket, a comma or a colon.
bool may_be_nested(std::string_view text, std::size_t begin) {
  const std::size_t before = begin == 0 ? begin : text.find_last_not_of(" \t\r\n", begin - 1);
  return begin != 0 && before != std::string_view::npos &&
         std::string_view("[,:").find(text[before]) != std::string_view::npos;
}

std::string entry_id(std::string_view value, bool nested) {
  if (!skim::string_value(skim::member(value, "type"))) {
    return "";
  }
  if (nested && skim::member(value, "parentId").empty() && skim::member(value, "timestamp").empty()) {
    return "";
  }
  return skim::text_member(value, "id");
}

}  // namespace

std::string damage_name(const Damage& damage) {
  std::array<char, 24> digits{};
  std::snprintf(digits.data(), digits.size(), "%012llu", static_cast<unsigned long long>(damage.offset));
  return std::string(digits.data()) + "-" + std::string(damage_word(damage.kind));
}

std::vector<WholeRecord> find_whole_records(std::string_view text) {
  std::vector<WholeRecord> found;
  Search search(text);
  std::size_t at = text.find('{');
  while (at != std::string_view::npos && !search.exhausted()) {
    const std::size_t end = search.end_of_value(at);
    std::string id = end == 0 ? std::string() : entry_id(text.substr(at, end - at), may_be_nested(text, at));
    const std::size_t next = id.empty() && end == 0 ? at + 1 : end;
    if (!id.empty()) {
      found.push_back({at, end, std::move(id)});
    }
    at = text.find('{', next);
  }
  return found;
}

std::vector<std::string> whole_records(std::string_view damaged_bytes) {
  std::vector<std::string> ids;
  for (auto& record : find_whole_records(damaged_bytes.substr(0, kSearched))) {
    ids.push_back(std::move(record.id));
  }
  return ids;
}

}  // namespace arborfs

namespace arborfs {
namespace {

constexpr std::string_view kWhatIsHere = R"(
This mount shows the sessions of your coding agents as files. Every entry, branch, label and image of a session log is a
file, and so is the context that the agent would send to the model. All files are computed from the logs when you read
them; reading changes nothing in the logs.

## What is where

    README.md          this page
    status.json        health: the store, the number of sessions, how changes are detected, the last errors
    operations         what arborfs changed; `arborfs undo` takes the last change back
    projects/          one folder per working directory, with one folder per session
    by-id/             every session by its id, for scripts; a unique prefix of an id is found too
    by-agent/          the sessions of each agent
    tags/              the sessions with a tag: `echo blue > projects/PROJECT/SESSION/tags`
    recent/            the 50 sessions that changed last, newest first; `recent/1` is the newest
    by-file/           the sessions that touched a file: `ls by-file/home/sam/work/main.cc`
    search/            the results of a search: `ls "search/race condition"/`
    stats/             tokens and cost: by-day.tsv, by-project.tsv, by-model.tsv, by-agent.tsv
    history/           the prompts that were typed to agents, one file a day, newest first
    events             in no listing: one JSON line for each change; `cat events` waits for the next one
    terminals/         the session that each terminal used last
    blobs/             large images and other data, by the SHA-256 of their content

`search/` looks empty; open a folder named after a query. The folder `search/QUERY/` has a link to each session whose
texts contain all words of the query, best first, `excerpts.md` with the matching passages, and `hits.json` with the same
data for programs. `"two words"` is a phrase, `-word` excludes, and `agent:` `project:` `title:` `tag:` `path:` `role:`
`tool:` `label:` `after:` `before:` filter. A query cannot begin with a dot: put such a word in quotation marks. A slash
in it is written `%2F`, as in `ls 'search/"src%2Fa.ts"'`: a shell takes what follows a slash for a name in a folder.

A project's folder is named after its working directory, without the home folder: `src-x` for `~/src/x`. In it, the file
`cwd` has the full path. A session's folder is named after its creation and its title, or the words with which it opens,
as in `2026-02-16T09-12-fix-the-flaky-upload-test`. When the title changes, so does the name; the former name, the name
of the log and the id are found too, but not listed. It has:

    session.json       the header of the log, with the current title, the agent and the format
    title              the title
    tags               its tags, one a line
    archived           true if it is in its agent's archive, else false (Claude Code, Codex)
    pinned             true if it is at the top of its agent's list, else false (Codex)
    raw.jsonl          the log, byte for byte
    leaf               link to the entry from which the conversation continues
    context.json       what the agent would send to the model: one JSON object with one message per line
    transcript.md      the conversation up to the leaf, as readable text
    transcript.html    the same as a page for a browser, with the other branches, tokens and cost
    context.html       context.json as such a page
    tree.txt           a drawing of the whole tree: branches, labels, the leaf
    files.tsv          the files that the agent's tools read, edited and wrote
    commands.txt       the commands that they ran, as a script
    changes.diff       what the edit tools changed in files, as a diff, as far as it is recorded
    trajectory.json    the conversation up to the leaf in the format ATIF-v1.7, for tools of evaluation and training
    usage.json         tokens and cost
    wait               in no listing: `cat wait` returns when the turn in progress has ended, with a line that says
                       how; not with -o ro
    status.json        whether an agent uses the session, damage, other problems of the log
    entries/           each entry as JSON, exactly as the log has it: 000042-assistant-a1b2c3d4.json
    text/              the same entries as text: 000042-assistant-a1b2c3d4.md
    images/            the images in entries: 000042-a1b2c3d4-1.png
    branches/          one folder for the end of each branch: its entries, context.json, transcript.md and their pages
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
    rg -l needle projects/     in text/ and transcript.md; with --no-ignore in every form of the sessions
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

constexpr std::string_view kRedacted = R"(
This mount is redacted (`-o redact`), for agents and for screens that others see: what looks like a secret, in texts,
names and pages, is a label such as `[redacted:github#1]`, the same one wherever the secret stands. What nobody can look
through is not here: images, `raw.jsonl`, `native/`, `artifacts/`, `checkpoints/`, `blobs/`, `terminals/`. A line that
cannot be scanned is `[redacted:unscanned]`; `status.json` counts them. Secrets that no rule knows stay: add rules to
`~/.config/arborfs/redact.tsv` and mount again. The mount is read-only: to write, mount without `-o redact`.
)";

// Patterns with a slash at the start are for a walk from the root. The others have none: rg 13 and 14 compare a path
// that they were given, and was not the root, with its beginning twice.
constexpr std::string_view kRgIgnore =
    R"(# What rg leaves out: images, and the other forms of what text/ and transcript.md have.
# `rg --no-ignore` searches everything.
entries/
branches/
native/
images/
context.json
context.html
transcript.html
raw.jsonl
trajectory.json
tree.txt
/index.html
/stats.html
!/projects/*/
!/projects/*/*/
!**/artifacts/**
!**/checkpoints/**
)";

}  // namespace

std::string_view mount_rgignore() {
  return kRgIgnore;
}

std::string mount_readme(std::string_view version, MountKind kind) {
  std::string text = "# arborfs " + std::string(version) + "\n";
  text += kWhatIsHere;
  text += kind == MountKind::redacted ? kRedacted : kind == MountKind::read_only ? kFastest : kWriting;
  text += kToTry;
  return text;
}

}  // namespace arborfs
