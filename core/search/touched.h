// The filter `path:` of a query: the sessions whose agent's own tools read, edited or wrote a file, by the calls in
// their records. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/session/session.h"

namespace arborfs::search {

/// A file, or with a slash at its end all files in a folder. A name that does not begin with a slash fits wherever it
/// stands in a path, as whole parts of it.
class PathFilter {
 public:
  explicit PathFilter(std::string_view path);
  /// True if it names a file or a folder.
  [[nodiscard]] bool is_name() const { return is_whole_ || wanted_.size() > 1; }
  [[nodiscard]] bool fits(std::string_view file) const;
  /// True if the files of a session with this working directory may fit although no text of it has word().
  [[nodiscard]] bool may_fit_in(std::string_view folder) const;
  /// The last part of the path of such a file; "" if it may be any.
  [[nodiscard]] std::string_view name() const {
    return is_folder_ ? std::string_view() : std::string_view(wanted_).substr(wanted_.rfind('/') + 1);
  }
  /// The whole path of such a file; "" if it may be any.
  [[nodiscard]] std::string_view path() const {
    return is_whole_ && !is_folder_ ? std::string_view(wanted_) : std::string_view();
  }
  /// What a text has that names such a file: folded. "" if it is not known.
  [[nodiscard]] const std::string& word() const { return word_; }

 private:
  std::string wanted_;  // with a slash before a name and behind a folder
  bool is_whole_ = false;
  bool is_folder_ = false;
  std::string word_;
};

/// Reads the whole log. Errors: stale, io; interrupted once cancelled.
Result<bool> has_touched(const SessionPtr& session, const PathFilter& filter);

}  // namespace arborfs::search
