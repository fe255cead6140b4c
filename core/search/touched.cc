#include "core/search/touched.h"

#include <algorithm>
#include <filesystem>

#include "core/json/utf8.h"
#include "core/views/session_work.h"

namespace arborfs::search {
namespace {

/// The longest part of a name that texts show as it is.
std::string plain_part(std::string_view name) {
  std::string_view longest;
  while (!name.empty()) {
    const auto odd = std::find_if(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == '\x7f';
    });
    const auto length = static_cast<std::size_t>(odd - name.begin());
    longest = length > longest.size() ? name.substr(0, length) : longest;
    name.remove_prefix(std::min(length + 1, name.size()));
  }
  return folded(longest);
}

}  // namespace

PathFilter::PathFilter(std::string_view path) {
  const std::string normal = std::filesystem::path(path).lexically_normal().string();
  is_whole_ = normal.starts_with('/');
  is_folder_ = normal.ends_with('/');
  wanted_ = (is_whole_ ? "" : "/") + (normal == "." || normal == "./" ? "" : normal);
  const std::string_view name = std::string_view(wanted_).substr(0, wanted_.size() - (is_folder_ ? 1 : 0));
  word_ = plain_part(name.substr(name.rfind('/') + 1));
}

bool PathFilter::fits(std::string_view file) const {
  if (is_whole_) {
    return is_folder_ ? file.starts_with(wanted_) : file == wanted_;
  }
  const std::string rooted = (file.starts_with('/') ? "" : "/") + std::string(file);
  return is_folder_ ? rooted.find(wanted_) != std::string::npos : rooted.ends_with(wanted_);
}

bool PathFilter::may_fit_in(std::string_view folder) const {
  return word_.empty() || (is_folder_ && fits(std::string(folder) + "/"));
}

Result<bool> has_touched(const SessionPtr& session, const PathFilter& filter) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto work, session_work(*session));
  return std::any_of(work.files.begin(), work.files.end(),
                     [&](const FileWork& file) { return filter.fits(file.path); });
}

}  // namespace arborfs::search
