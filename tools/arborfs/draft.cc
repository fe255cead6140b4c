#include "tools/arborfs/draft.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "core/base/unique_fd.h"
#include "core/base/words.h"
#include "tools/arborfs/programs.h"

namespace arborfs::cli {
namespace {

constexpr std::string_view kNotSent = "# arborfs:";  // begins the lines that are not sent

std::string explained(const Listed& to) {
  const std::string begin = "\n" + std::string(kNotSent);
  return begin + " this goes to " + session_name(*to.session, kTitleCharacters) + begin + " (" + to.id + ")." + begin +
         " Lines like this one are not sent. An empty message sends nothing.\n";
}

std::string text_in(std::string_view file) {
  std::string text;
  while (!file.empty()) {
    const std::string_view line = take_line(file);
    if (!line.starts_with(kNotSent)) {
      text.append(line).append("\n");
    }
  }
  return std::string(stripped(text));
}

}  // namespace

Result<Draft> write_draft(const std::string& editor, const Listed& to) {
  constexpr std::string_view kEnding = ".md";
  std::error_code failed;
  Draft draft;
  draft.path = (std::filesystem::temp_directory_path(failed) / "arborfs-append-XXXXXX").string().append(kEnding);
  const UniqueFd file(::mkstemps(draft.path.data(), static_cast<int>(kEnding.size())));
  if (!file) {
    return error_from_errno(errno, "cannot create a file for the editor");
  }
  std::ofstream(draft.path) << explained(to);
  const auto edited = run_editor(editor, draft.path);
  std::ifstream in(draft.path, std::ios::binary);
  draft.text = text_in(std::string(std::istreambuf_iterator<char>(in), {}));
  if (draft.text.empty()) {
    discard(draft);
    return edited ? Error{Errc::interrupted, "the message is empty; nothing was appended"} : edited.error();
  }
  return edited ? Result<Draft>(std::move(draft))
                : Error{edited.error().code, edited.error().message + "; the text is kept in " + draft.path};
}

void discard(const Draft& draft) {
  std::error_code ignored;
  std::filesystem::remove(draft.path, ignored);
}

}  // namespace arborfs::cli
