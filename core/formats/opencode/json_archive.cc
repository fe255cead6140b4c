#include "core/formats/opencode/json_archive.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/entry_text.h"
#include "core/formats/opencode/json_faults.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"
#include "core/store/log_listing.h"

namespace arborfs::opencode {
namespace {

/// The messages of this many recently read sessions are watched.
constexpr std::size_t kMostWatched = 16;
/// At most this many user messages wait for an answer.
constexpr std::size_t kMostWaiting = 100;

/// Collects the stats of files, for a stamp of them all.
class StampOfFiles {
 public:
  void add(const Dir& dir, std::string_view id) {
    const std::string name = file_of_id(id);
    if (const auto st = is_plain_name(name) ? dir.stat_end(name) : Result<FileStat>(Errc::not_found, "")) {
      has_other_names_ = has_other_names_ || st->links > 1;
      stamp_.time_ns = std::max(stamp_.time_ns, st->mtime_ns);
      const std::array<std::uint64_t, 3> facts{st->ino, st->size, static_cast<std::uint64_t>(st->mtime_ns)};
      const std::string_view bytes(reinterpret_cast<const char*>(facts.data()), sizeof facts);
      stamp_.version = xxh64(bytes, xxh64(name, stamp_.version));
    }
  }
  void add(const Result<Dir>& dir, std::string_view id) {
    if (dir) {
      add(*dir, id);
    }
  }
  [[nodiscard]] const Stamp& stamp() const { return stamp_; }
  /// True if one of the files has several names: hard links.
  [[nodiscard]] bool has_other_names() const { return has_other_names_; }

 private:
  Stamp stamp_;
  bool has_other_names_ = false;
};

class JsonArchive final : public SessionArchive {
 public:
  JsonArchive(std::string storage, std::unique_ptr<const MovedSessions> moved)
      : storage_(std::move(storage)), moved_(std::move(moved)) {}

  [[nodiscard]] Result<std::vector<std::string>> folders() const override {
    ASSIGN_OR_RETURN(const auto dir, Dir::follow_below_root(storage_, "session"));
    ASSIGN_OR_RETURN(auto entries, dir.list());
    std::vector<std::string> found;
    for (DirEntry& entry : entries) {
      if (entry.name.front() != '.' && may_be_folder(dir, entry)) {
        found.push_back(std::move(entry.name));
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] Result<std::vector<SessionHead>> heads(const std::string& folder, const Wants& wants) const override {
    ASSIGN_OR_RETURN(const auto dir, dir_of(folder));
    ASSIGN_OR_RETURN(const auto entries, dir.list());
    const HeadDirs dirs(*this);
    const std::set<std::string> moved = moved_ ? moved_->ids() : std::set<std::string>();
    std::vector<SessionHead> found;
    for (const DirEntry& entry : entries) {
      auto head = look_at(dir, entry);
      if (!head) {
        continue;
      }
      const StampOfFiles files = head->left_out.empty() ? files_of_head(dirs, dir, head->id) : StampOfFiles();
      const bool may_be_second = head->left_out.empty() && (head->is_linked || files.has_other_names());
      if (may_be_second && has_better_name(dir, {folder, head->id}, head->is_linked)) {
        head->left_out = "another name of a session's log";
      }
      if (head->left_out.empty() && moved.contains(head->id)) {
        head->left_out = "moved to OpenCode's database";
      }
      if (head->left_out.empty()) {
        head->stamp = files.stamp();
        head->metadata = wants && wants(head->id) ? metadata_of(dirs, dir, {folder, head->id}) : "";
      }
      found.push_back(*std::move(head));
    }
    std::sort(found.begin(), found.end(), [](const SessionHead& a, const SessionHead& b) { return a.id < b.id; });
    return found;
  }

  [[nodiscard]] Result<SessionHead> head(const SessionName& session) const override {
    ASSIGN_OR_RETURN(const auto dir, dir_of(session.folder));
    RETURN_IF_ERROR(stat_log(dir, file_of_id(session.id)));
    const HeadDirs dirs(*this);
    return SessionHead{session.id, files_of_head(dirs, dir, session.id).stamp(), metadata_of(dirs, dir, session)};
  }

  [[nodiscard]] Result<Stamps> stamps(const SessionName& session, Covers covers) const override {
    ASSIGN_OR_RETURN(const auto dir, dir_of(session.folder));
    RETURN_IF_ERROR(stat_log(dir, file_of_id(session.id)));
    const Stamp head = files_of_head(HeadDirs(*this), dir, session.id).stamp();
    if (covers == Covers::head) {
      return Stamps{head, {}};
    }
    StampOfFiles content;
    const auto messages = open_in("message", session.id);
    const auto parts = Dir::follow_below_root(storage_, "part");
    for (const std::string& message : ids_in(messages)) {
      content.add(messages, message);
      const auto parts_of = parts ? parts->follow(message) : Result<Dir>(parts.error());
      for (const std::string& part : ids_in(parts_of)) {
        content.add(parts_of, part);
      }
    }
    const Stamp& whole = content.stamp();
    return Stamps{head, {std::max(head.time_ns, whole.time_ns), head.version * 31 + whole.version}};
  }

  [[nodiscard]] Result<std::map<std::string, Stamps>> whole_stamps(const std::string& folder,
                                                                   const std::vector<std::string>& ids) const override {
    std::map<std::string, Stamps> found;
    for (const std::string& id : ids) {
      if (const auto now = stamps({folder, id}, Covers::whole)) {
        found[id] = *now;
      }
    }
    return found;
  }

  [[nodiscard]] Result<WholeSession> whole(const SessionName& session) const override {
    WholeSession found;
    ASSIGN_OR_RETURN(found.stamps, stamps(session, Covers::whole));
    ASSIGN_OR_RETURN(const auto dir, dir_of(session.folder));
    found.metadata = metadata_of(HeadDirs(*this), dir, session);
    const auto messages = open_in("message", session.id);
    std::vector<std::pair<double, std::string>> order;
    for (std::string& id : ids_in(messages)) {
      order.emplace_back(created_in(text_in(messages, id)), std::move(id));
    }
    std::sort(order.begin(), order.end());
    for (const auto& [time, id] : order) {
      add_piece(found, id, entry_of(messages, id));
    }
    return found;
  }

  Result<void> read(const SessionName& session, std::span<const Piece> pieces, const Take& take) const override {
    const auto messages = open_in("message", session.id);
    for (const Piece& piece : pieces) {
      if (!take(entry_of(messages, piece.id))) {
        break;
      }
    }
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> files(const SessionName& session) const override {
    ASSIGN_OR_RETURN(auto storage, Dir::open_root(storage_));
    return std::unique_ptr<const ShownFiles>(std::make_unique<const JsonFiles>(std::move(storage), session));
  }

  /// Checks the last messages, back to an answer.
  [[nodiscard]] bool is_answering(const SessionName& session) const override {
    const auto messages = open_in("message", session.id);
    auto ids = ids_in(messages);
    for (std::size_t i = 0; i < kMostWaiting && !ids.empty(); ++i, ids.pop_back()) {
      const std::string message = text_in(messages, ids.back());
      if (is_answer(message)) {
        return !has_end(message) && was_written_lately(messages, ids.back());
      }
    }
    return false;
  }

  /// A file does not show changes to other files.
  [[nodiscard]] Result<std::uint64_t> changes() const override { return ++changes_; }

  [[nodiscard]] std::vector<WatchedDir> watched(const std::vector<SessionName>& hot) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override {
    return is_json_name(file) ? std::optional(LogPlace{folder, file}) : std::nullopt;
  }
  [[nodiscard]] std::string path_of(const SessionName& session) const override {
    return storage_ + "/session/" + session.folder + "/" + file_of_id(session.id);
  }
  [[nodiscard]] Result<Dir> dir_of(const std::string& folder) const override { return open_in("session", folder); }
  [[nodiscard]] std::vector<Finding> faults_of(const SessionName& session) const override {
    return faults_of_files(storage_, session);
  }
  [[nodiscard]] std::vector<FileFinding> faults() const override {
    auto found = faults_of_projects(storage_);
    auto left = leftovers_in(storage_);
    std::move(left.begin(), left.end(), std::back_inserter(found));
    return found;
  }

 private:
  /// A session's file; nothing for other files.
  static std::optional<SessionHead> look_at(const Dir& dir, const DirEntry& entry) {
    if (!is_json_name(entry.name)) {
      return std::nullopt;
    }
    SessionHead head{std::string(id_in(entry.name)), {}, "", entry.type == DT_LNK || dir.is_linked(), ""};
    const auto st = entry.type == DT_LNK ? dir.stat_end(entry.name) : Result<FileStat>(FileStat());
    if (!st) {
      head.left_out = st.error().message;
    } else if (entry.type != DT_REG && (entry.type != DT_LNK || !S_ISREG(st->mode))) {
      head.left_out = entry.type == DT_LNK ? "a link to " + why_no_file(static_cast<unsigned char>(IFTODT(st->mode)))
                                           : why_no_file(entry.type);
    }
    return head;
  }

  /// True if the file of a session has a name to which no link leads, or an earlier one: the stat of a session is not
  /// that of its file, so the catalog does not see that they are the same.
  [[nodiscard]] bool has_better_name(const Dir& dir, const SessionName& session, bool is_session_linked) const {
    const auto file = dir.stat_end(file_of_id(session.id));
    const auto names = file ? folders() : Result<std::vector<std::string>>(file.error());
    for (const std::string& folder : names ? *names : std::vector<std::string>()) {
      const auto other = dir_of(folder);
      const auto entries = other ? other->list() : Result<std::vector<DirEntry>>(other.error());
      for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
        const bool is_linked = other->is_linked() || entry.type == DT_LNK;
        const SessionName name{folder, std::string(id_in(entry.name))};
        const auto st = is_json_name(entry.name) && std::tie(is_linked, name) < std::tie(is_session_linked, session)
                            ? other->stat_end(entry.name)
                            : Result<FileStat>(Errc::not_found, "");
        if (st && st->same_file(*file)) {
          return true;
        }
      }
    }
    return false;
  }

  [[nodiscard]] bool was_written_lately(const Result<Dir>& messages, const std::string& id) const {
    StampOfFiles written;
    written.add(messages, id);
    const auto parts = open_in("part", id);
    for (const std::string& part : ids_in(parts)) {
      written.add(parts, part);
    }
    return now_ns() - written.stamp().time_ns < kAnswerAbandonedMs * 1'000'000;
  }

  /// The folders of the files that belong to a session's head.
  struct HeadDirs {
    explicit HeadDirs(const JsonArchive& archive)
        : todo(Dir::follow_below_root(archive.storage_, "todo")),
          diff(Dir::follow_below_root(archive.storage_, "session_diff")),
          project(Dir::follow_below_root(archive.storage_, "project")) {}
    Result<Dir> todo;
    Result<Dir> diff;
    Result<Dir> project;
  };

  [[nodiscard]] Result<Dir> open_in(const std::string& kind, const std::string& name) const {
    ASSIGN_OR_RETURN(const auto dir, Dir::follow_below_root(storage_, kind));
    return is_plain_name(name) ? dir.follow(name) : Result<Dir>(Errc::not_found, "no such folder");
  }

  static StampOfFiles files_of_head(const HeadDirs& dirs, const Dir& dir, const std::string& id) {
    StampOfFiles files;
    files.add(dir, id);
    files.add(dirs.todo, id);
    files.add(dirs.diff, id);
    return files;
  }

  static std::string metadata_of(const HeadDirs& dirs, const Dir& dir, const SessionName& session) {
    ObjectText metadata;
    const auto add = [&](std::string_view key, const std::string& text) {
      if (!text.empty()) {
        metadata.add_json(key, text);
      }
    };
    add("info", text_in(dir, session.id));
    add("project", text_in(dirs.project, session.folder));
    add("todo", text_in(dirs.todo, session.id));
    add("diff", text_in(dirs.diff, session.id));
    return std::move(metadata).take();
  }

  [[nodiscard]] std::string entry_of(const Result<Dir>& messages, const std::string& id) const {
    EntryText entry;
    entry.set_info(text_in(messages, id), "");
    const auto parts = open_in("part", id);
    for (const std::string& part : ids_in(parts)) {
      entry.add_part(text_in(parts, part), "");
    }
    return std::move(entry).take();
  }

  const std::string storage_;
  const std::unique_ptr<const MovedSessions> moved_;  // null if there is no database
  mutable std::atomic<std::uint64_t> changes_{0};
};

/// The folders of sessions, those of recently read messages, and those of the parts of the last message of each
/// session.
std::vector<WatchedDir> JsonArchive::watched(const std::vector<SessionName>& hot) const {
  std::vector<WatchedDir> dirs;
  if (const auto all = folders()) {
    for (const std::string& folder : *all) {
      dirs.push_back({storage_ + "/session/" + folder, folder, false});
    }
  }
  for (std::size_t i = 0; i < std::min(hot.size(), kMostWatched); ++i) {
    if (!is_plain_name(hot[i].id)) {
      continue;
    }
    dirs.push_back({storage_ + "/message/" + hot[i].id, hot[i].folder, false});
    if (const auto ids = ids_in(open_in("message", hot[i].id)); !ids.empty()) {
      dirs.push_back({storage_ + "/part/" + ids.back(), hot[i].folder, false});
    }
  }
  return dirs;
}

}  // namespace

std::unique_ptr<SessionArchive> make_json_archive(std::string storage, std::unique_ptr<const MovedSessions> moved) {
  return std::make_unique<JsonArchive>(std::move(storage), std::move(moved));
}

}  // namespace arborfs::opencode
