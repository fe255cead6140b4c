#include <algorithm>

#include "core/formats/goat/rewind_plan.h"
#include "core/render/names.h"
#include "core/render/unified_diff.h"

namespace arborfs::goat {
namespace {

constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 20U;
constexpr std::size_t kLongestDiff = std::size_t{4} << 20U;

Result<std::string> text_of(Result<File> file) {
  const auto st = file ? file->stat() : Result<FileStat>(file.error());
  if (!st) {
    return st.error();
  }
  if (st->size > kLongestFile) {
    return Error{Errc::too_large, "it is too long to be compared here"};
  }
  return file->read(0, st->size);
}

Result<std::string> present_text(const PlannedFile& file, const WorkFolder& work) {
  const auto folder = work.folder_of(file.parts);
  return text_of(folder ? File::open_in(*folder, file.parts.back()) : Result<File>(folder.error()));
}

std::string shown_path(const PlannedFile& file) {
  std::string path;
  for (const std::string& part : file.parts) {
    path += "/" + part;
  }
  return names::without_controls(path);
}

std::string remark(const PlannedFile& file, std::string_view word, const std::string& why) {
  return "# " + std::string(word) + " " + names::without_controls(file.path) + (why.empty() ? "" : ": " + why) + "\n";
}

std::string mode_change(const PlannedFile& file) {
  constexpr std::uint32_t kPermissions = 0777;
  const auto octal = [](std::uint32_t mode) {
    std::string digits;
    for (unsigned shift = 9; shift > 0; shift -= 3) {
      digits += static_cast<char>('0' + ((mode >> (shift - 3)) & 7U));
    }
    return digits;
  };
  const bool differs = file.present && file.mode && (file.present->mode & kPermissions) != *file.mode;
  return differs ? remark(file, "mode", octal(file.present->mode) + " to " + octal(*file.mode)) : "";
}

std::string diff_of_file(const Dir& session, const std::string& id, const PlannedFile& file, const WorkFolder& work) {
  const auto before = file.present ? present_text(file, work) : Result<std::string>(std::string());
  const bool stays = file.action != RewindAction::remove;
  const auto after = stays ? text_of(open_content(session, id, file.hash)) : Result<std::string>(std::string());
  if (!before || !after) {
    return remark(file, word_of(file.action), before ? after.error().message : before.error().message);
  }
  const std::string path = shown_path(file);
  const std::string old_name = file.present ? "a" + path : "";
  const std::string new_name = stays ? "b" + path : "";
  const std::string text = unified_diff({old_name, new_name}, *before, *after);
  return mode_change(file) + (text.empty() ? remark(file, word_of(file.action), "") : text);
}

}  // namespace

std::string diff_of(const Dir& session, const Checkpoint& checkpoint, const WorkFolder& work) {
  std::string out;
  for (const PlannedFile& file : plan_rewind(session, checkpoint, work, false)) {
    if (file.action == RewindAction::unchanged) {
      continue;
    }
    if (out.size() > kLongestDiff) {
      return out + "# the rest is too long to be shown here\n";
    }
    out += file.changes() ? diff_of_file(session, checkpoint.id, file, work)
                          : remark(file, word_of(file.action), file.why);
  }
  return out;
}

}  // namespace arborfs::goat
