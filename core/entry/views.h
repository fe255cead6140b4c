// The readable files of a session that are computed from it: transcript.md, tree.txt, session.json, usage.json,
// status.json, README.md. Pure: facts in, bytes out. JSON documents are pretty-printed with two spaces and end with a
// newline.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/content.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/tree.h"
#include "core/log/log_index.h"

namespace arborfs {

/// One entry of a transcript: the data to render it later.
struct TranscriptStep {
  Ordinal ordinal = kNoEntry;
  Entry entry;
  std::uint64_t length = 0;
  std::uint64_t text_size = 0;
  std::string heading;  // the markdown heading line with its newlines, below the lines about breaks (people_path.h)
  std::string images;   // links to its images, with their newlines
};
/// What a transcript needs to know about entries beyond the index.
struct TranscriptParts {
  std::function<bool(std::string_view name)> shows;           // RecordRenderer::is_in_transcript
  std::function<std::uint64_t(Ordinal ordinal)> text_size;    // TextSizes::text_size
  std::function<std::string(Ordinal ordinal)> image_links{};  // image_link of each image; null for none
};
/// A link to an image in the folder `images`, which ends in '/', and a blank line.
std::string image_link(const LogIndex& index, const ImageRef& image, std::string_view images);
/// What lies between an entry and those above it, as a sentence; "" for nothing.
std::string break_sentence(const PeopleStep& step);
/// Copies a path out of the index. A break before an entry that is not shown stands before the next one that is.
/// The heading of an entry in a transcript, with a blank line: its role, local time and id.
std::string entry_heading(const LogIndex& index, Ordinal ordinal);
std::vector<TranscriptStep> transcript_steps(const LogIndex& index, const std::vector<PeopleStep>& path,
                                             const TranscriptParts& parts);
/// For each step a line for each break, `## user · 2026-02-16 10:20:30 +0100 · a1b2c3d4`, the text, links to the
/// images, each with a blank line behind it. Sound Markdown: the headings of level 2 are those of the steps
/// (markdown.h). Later entries never change earlier text, so that `tail -f` can follow a branch.
std::shared_ptr<const Content> build_transcript(std::vector<TranscriptStep> steps, std::shared_ptr<const LogSource> log,
                                                const RecordRenderer& renderer);

/// How a tree is drawn for a screen. The default is tree.txt.
struct TreeLook {
  std::size_t width = 0;   // columns; 0: no limit. The words are cut first; narrow lines have no ids
  bool has_times = false;  // the local time of each entry, if a line has room for it
  enum class Part : std::uint8_t { plain, number, time, name, id, label, leaf };
  /// Colours a part of a line; null for none. It must not change the columns that the text takes.
  std::function<std::string(Part part, const std::string& text, const LogIndex& index, Ordinal entry)> colour{};
};

/// The whole tree drawn with box characters: ordinal, role or type, id, the first words, labels in [..], `<- leaf`.
/// A run of entries without a branch stays in one column. `first_words(ordinal)` gives one line of text.
using FirstWords = std::function<std::string(Ordinal ordinal)>;
std::string draw_tree(const LogIndex& index, Ordinal leaf, const FirstWords& first_words);

/// Which agent a session belongs to, for session.json.
struct SessionOrigin {
  std::string_view agent;
  std::string_view format;  // of its files
  bool is_plain = false;    // Format::is_plain
  std::string noted = {};   // what arborfs itself keeps of it (core/session/notes.h), as JSON; "" for nothing
};
/// session.json. For a plain format: the members of the header with the current title (Header::json), then `agent` and
/// `format`, which replace members of the same names. For others: the members that all agents have in common, as
/// far as they are known, `agent`, `format`, and in `native` the agent's own header. For both: in `arborfs` what is
/// noted, if anything is.
std::string session_json(const Header& header, const SessionOrigin& origin);

/// status.json of a session: live / maybe / quiet and why, damage found, dangling labels, orphans, last error.
struct SessionStatus {
  std::string state = "quiet";       // live, maybe, quiet
  std::vector<std::string> reasons;  // why live or maybe, in words
  bool writable = true;              // false with the reason below
  std::string read_only_reason;
  std::string problem;  // header or reading problem in words, "" if none
  std::string last_error;
  std::string moved_leaf;  // in words, if the leaf differs from the agent's, else ""
  std::string dialect;     // "13", "18" or "pi"
  std::uint64_t bytes = 0;
  Ordinal entries = 0;
  std::uint64_t branches = 0;
  std::uint64_t orphans = 0;
  std::uint64_t duplicate_ids = 0;
  std::uint64_t cycles = 0;
  std::vector<Damage> damage;
  RecordCounts not_shown;
  std::vector<std::string> whole_records_in_damage;  // ids of entries that damage/ has whole
  std::vector<std::string> erased_entries;  // ids of entries that another program's rewrite dropped (CONTRACT.md 6.10)
  std::string erased_file;                  // where they are kept, "" if there are none
  std::vector<std::string> dangling_labels;
  std::uint64_t missing_blobs = 0;
  std::vector<std::string> too_long_entries;  // stems of entries whose text and images are not made
};
std::string session_status_json(const SessionStatus& status);

/// status.json of the mount.
struct MountStatus {
  std::string version;
  std::string agent_dir;
  bool store_present = false;
  std::uint64_t sessions = 0;
  std::uint64_t projects = 0;
  std::uint64_t unreadable_sessions = 0;
  std::uint64_t indexed_sessions = 0;
  std::uint64_t index_bytes = 0;
  std::string watching;  // "inotify" or "polling" with the reason
  struct StoreRow {
    std::string agent;
    std::string place;
    std::uint64_t sessions = 0;
    std::string problem;                            // why its sessions cannot be listed, "" if they can
    std::map<std::string, std::uint64_t> left_out;  // by reason, how many names of logs are no sessions
  };
  std::vector<StoreRow> stores;
  std::vector<std::string> last_errors;
  struct Redacted {
    std::map<std::string, std::uint64_t> secrets;  // different ones, by rule
    std::uint64_t lines_left_out = 0;
  };
  std::optional<Redacted> redacted;  // nothing for a mount that is not
};
std::string mount_status_json(const MountStatus& status);

/// What a mount allows, for its README.
enum class MountKind : std::uint8_t { writable, read_only, redacted };
/// README.md at the root of the mount.
std::string mount_readme(std::string_view version, MountKind kind);
/// The file .rgignore at the root of the mount (CONTRACT.md 2.6).
std::string_view mount_rgignore();

/// The name of a run of damage in damage/: its offset in 12 digits or more, '-' and its kind.
std::string damage_name(const Damage& damage);

/// A complete JSON value inside damage that looks like an entry: it has a string type and a string id, and is not just
/// a content block of an entry.
struct WholeRecord {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string id;
};
/// In order, without overlaps. Linear time.
std::vector<WholeRecord> find_whole_records(std::string_view damaged_bytes);
/// The ids of the records in the first MiB.
std::vector<std::string> whole_records(std::string_view damaged_bytes);

/// draw_tree() in steps, for an index that other threads may extend in between. Used by one thread.
class TreeDrawing {
 public:
  /// Takes the current labels of `index`. Marks `leaf`.
  TreeDrawing(const LogIndex& index, Ordinal leaf, TreeLook look = {});
  ~TreeDrawing();
  TreeDrawing(const TreeDrawing&) = delete;
  TreeDrawing& operator=(const TreeDrawing&) = delete;

  /// The tree to draw; call it before the first draw().
  void set_tree(Tree tree);
  /// Draws the next `most` lines. `index` is the same one, which may have grown since. False if all have been drawn.
  bool draw(const LogIndex& index, const FirstWords& first_words, std::size_t most, std::string& out);

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

}  // namespace arborfs
