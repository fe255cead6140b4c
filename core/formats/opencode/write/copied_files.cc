#include "core/formats/opencode/write/copied_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"
#include "core/formats/opencode/write/row_text.h"
#include "core/formats/opencode/write/session_files.h"

namespace arborfs::opencode {

namespace {

constexpr std::string_view kSavedFiles = "files.jsonl";
constexpr std::string_view kFileTable = "file";
constexpr mode_t kPrivateLines = 0600;
constexpr mode_t kModeOfSaved = 0777;

struct SavedFile {
  StoredFile file;
  std::string text;
  std::optional<mode_t> mode = std::nullopt;
};

Result<std::string> whole_text(const Dir& folder, const std::string& name) {
  FileStat stat;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name, &stat));
  return file.read(0, stat.size);
}

std::string line_of_file(const StoredFile& file, std::string text) {
  std::string line;
  append_row({std::string(kFileTable),
              {{"kind", file.kind},
               {"folder", file.folder},
               {"name", file.name},
               {"mtime", file.stat.mtime_ns},
               {"mode", std::int64_t{file.stat.mode & kModeOfSaved}},
               {"text", std::move(text)}}},
             line);
  return line;
}

Result<SavedFile> file_of_line(std::string_view line) {
  ASSIGN_OR_RETURN(auto row, parse_row(line));
  SavedFile saved;
  for (auto& [column, value] : row.cells) {
    auto* text = std::get_if<std::string>(&value);
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number != nullptr && column == "mtime") {
      saved.file.stat.mtime_ns = *number;
    } else if (number != nullptr && column == "mode") {
      saved.mode = static_cast<mode_t>(*number);
    } else if (text != nullptr) {
      (column == "kind"     ? saved.file.kind
       : column == "folder" ? saved.file.folder
       : column == "name"   ? saved.file.name
                            : saved.text) = std::move(*text);
    }
  }
  const std::set<std::string> kinds{"project", "session", "message", "part", "todo", "session_diff", "session_share"};
  if (!kinds.contains(saved.file.kind) || !is_plain_name(saved.file.name) ||
      (!saved.file.folder.empty() && !is_plain_name(saved.file.folder))) {
    return Error{Errc::corrupt, "a file of the session in the trash has no valid place"};
  }
  return saved;
}

Result<std::vector<SavedFile>> files_of_lines(std::string_view lines) {
  std::vector<SavedFile> files;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    ASSIGN_OR_RETURN(auto file, file_of_line(lines.substr(0, end)));
    files.push_back(std::move(file));
    lines.remove_prefix(end);
  }
  return files;
}

Error changed_meanwhile() {
  return {Errc::stale, "OpenCode wrote to the session meanwhile; try again"};
}

/// Removes files, those of the most recently started session first, and in each session the parts before the messages.
class Removal {
 public:
  Removal(Disk& disk, const StorageFolder& storage)
      : disk_(disk), storage_(storage), folders_(storage), parents_(storage) {}

  Result<void> run(const std::vector<StoredFile>& files) {
    for (auto end = files.end(); end != files.begin();) {
      auto begin = std::prev(end);  // the file of a session; the files of the previous session end with its own
      while (begin != files.begin() && !std::prev(begin)->is_session()) {
        --begin;
      }
      RETURN_IF_ERROR(remove_session({begin, end}));
      end = begin;
    }
    return {};
  }
  Result<void> sync() {
    for (const auto& [kind, folder] : touched_) {
      const auto dir = storage_.folder(kind, folder);
      if (dir || dir.error().code != Errc::not_found) {
        RETURN_IF_ERROR(dir ? disk_.sync_folder(*dir) : Result<void>(dir.error()));
      }
    }
    return {};
  }

 private:
  Result<void> remove_session(std::span<const StoredFile> files) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const StoredFile& file = files[i];
      if (file.is_shared()) {
        continue;
      }
      ASSIGN_OR_RETURN(const Dir* const dir, folders_.of(file.kind, file.folder));
      if (const auto now = dir->stat(file.name); !now || !(*now == file.stat)) {
        return changed_meanwhile();
      }
      RETURN_IF_ERROR(disk_.remove(*dir, file.name));
      const bool has_own_folder = file.kind == "part" || file.kind == "message";
      touched_.insert({file.kind, has_own_folder ? "" : file.folder});
      const bool is_last = i + 1 == files.size() || files[i + 1].folder != file.folder;
      if (has_own_folder && is_last) {
        folders_.forget();
        ASSIGN_OR_RETURN(const Dir* const parent, parents_.of(file.kind));
        static_cast<void>(disk_.remove_folder(*parent, file.folder));  // files that were added meanwhile stay
      }
    }
    return {};
  }

  Disk& disk_;
  const StorageFolder& storage_;
  LastFolder folders_;
  LastFolder parents_;
  std::set<std::pair<std::string, std::string>> touched_;
};

/// Fails if a different file exists at the place of one of the files: it would stay, and the copy in the trash would be
/// lost.
Result<void> check_places(const StorageFolder& storage, const std::vector<SavedFile>& files) {
  for (const SavedFile& saved : files) {
    const auto dir = storage.folder(saved.file.kind, saved.file.folder);
    const auto text = dir ? whole_text(*dir, saved.file.name) : Result<std::string>(dir.error());
    if (!text && text.error().code != Errc::not_found) {
      return text.error();
    }
    if (text && !saved.file.is_shared() && *text != saved.text) {
      return other_file_exists(saved.file.kind, saved.file.folder, saved.file.name);
    }
  }
  return {};
}

/// Fails if the store has a session with one of the ids that is not one of the files.
Result<void> check_free(const StorageFolder& storage, const std::vector<SavedFile>& files) {
  return storage.each_project([&](const std::string& project, const Dir& sessions) -> Result<void> {
    for (const SavedFile& saved : files) {
      const auto text =
          saved.file.is_session() ? whole_text(sessions, saved.file.name) : Result<std::string>(Errc::not_found, "");
      if (!text && text.error().code != Errc::not_found) {
        return text.error();
      }
      if (text && (project != saved.file.folder || *text != saved.text)) {
        return other_session_exists(saved.file.name);
      }
    }
    return {};
  });
}

/// Restores files; existing files stay unchanged.
class PutBack {
 public:
  PutBack(Disk& disk, const StorageFolder& storage) : disk_(disk), storage_(storage) {}

  Result<void> run(const std::vector<SavedFile>& files) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const StoredFile& file = files[i].file;
      ASSIGN_OR_RETURN(const auto dir, storage_.make_folder(disk_, file.kind, file.folder));
      if (!dir.stat(file.name)) {
        ASSIGN_OR_RETURN(const auto draft, draft_of(disk_, dir, file.name, files[i].text, true, files[i].mode));
        RETURN_IF_ERROR(disk_.set_mtime(draft->fd(), file.stat.mtime_ns));
        RETURN_IF_ERROR(draft->publish(dir, file.name, Disk::Existing::keep));
        made_.push_back(file);
      }
      const bool is_last =
          i + 1 == files.size() || files[i + 1].file.kind != file.kind || files[i + 1].file.folder != file.folder;
      RETURN_IF_ERROR(is_last ? disk_.sync_folder(dir) : Result<void>());
    }
    return {};
  }
  /// Removes the restored files, the last one first.
  void undo() {
    for (auto file = made_.rbegin(); file != made_.rend(); ++file) {
      const auto dir = storage_.folder(file->kind, file->folder);
      const auto parent = storage_.folder(file->kind);
      if (dir && disk_.remove(*dir, file->name) && parent && !file->folder.empty() && !file->is_session()) {
        static_cast<void>(disk_.remove_folder(*parent, file->folder));  // if it was the last one
      }
    }
  }

 private:
  Disk& disk_;
  const StorageFolder& storage_;
  std::vector<StoredFile> made_;
};

Result<std::vector<SavedFile>> saved_files(const Dir& trash) {
  ASSIGN_OR_RETURN(const auto lines, whole_text(trash, std::string(kSavedFiles)));
  return files_of_lines(lines);
}

}  // namespace

Result<CopiedFiles::Saved> CopiedFiles::save(const SessionName& session, bool is_forced) {
  Saved saved;
  ASSIGN_OR_RETURN(saved.sessions, storage_.family_of(session));
  RETURN_IF_ERROR(is_forced ? Result<void>() : storage_.check_quiet(saved.sessions));
  ASSIGN_OR_RETURN(saved.files, files_of(storage_, saved.sessions));
  ASSIGN_OR_RETURN(const auto fd, disk_.create(trash_, std::string(kSavedFiles), kPrivateLines));
  std::string lines;
  LastFolder folders(storage_);
  for (const StoredFile& file : saved.files) {
    ASSIGN_OR_RETURN(const Dir* const dir, folders.of(file.kind, file.folder));
    ASSIGN_OR_RETURN(auto text, whole_text(*dir, file.name));
    lines += line_of_file(file, std::move(text));
  }
  RETURN_IF_ERROR(write_all(disk_, fd.get(), lines));
  RETURN_IF_ERROR(disk_.sync(fd.get()));
  RETURN_IF_ERROR(disk_.sync_folder(trash_));
  return saved;
}

Result<void> CopiedFiles::check_unchanged(const Saved& saved) const {
  ASSIGN_OR_RETURN(const auto sessions, storage_.family_of(saved.sessions.front()));
  ASSIGN_OR_RETURN(const auto files, files_of(storage_, sessions));
  if (sessions != saved.sessions || files != saved.files) {
    return changed_meanwhile();
  }
  return {};
}

Result<void> CopiedFiles::remove(const Saved& saved, bool sync) {
  Removal removal(disk_, storage_);
  RETURN_IF_ERROR(removal.run(saved.files));
  return sync ? removal.sync() : Result<void>();
}

Result<bool> CopiedFiles::is_file_missing() const {
  ASSIGN_OR_RETURN(const auto files, saved_files(trash_));
  for (const SavedFile& saved : files) {
    const auto folder = storage_.folder(saved.file.kind, saved.file.folder);
    const auto found = folder ? folder->stat(saved.file.name) : Result<FileStat>(folder.error());
    if (!found && found.error().code != Errc::not_found) {
      return found.error();
    }
    if (!found && !saved.file.is_shared()) {
      return true;
    }
  }
  return false;
}

Result<void> CopiedFiles::put_back() {
  ASSIGN_OR_RETURN(const auto files, saved_files(trash_));
  return PutBack(disk_, storage_).run(files);
}

Result<void> CopiedFiles::restore() {
  ASSIGN_OR_RETURN(const auto files, saved_files(trash_));
  if (files.empty()) {
    return Error{Errc::corrupt, "the files of the session in the trash cannot be read"};
  }
  RETURN_IF_ERROR(check_free(storage_, files));
  RETURN_IF_ERROR(check_places(storage_, files));
  PutBack put_back(disk_, storage_);
  auto done = put_back.run(files);
  if (!done) {
    put_back.undo();
  }
  return done;
}

bool CopiedFiles::is_in(const Dir& trash) {
  return trash.stat(std::string(kSavedFiles)).has_value();
}

}  // namespace arborfs::opencode
