#include "core/os/replace_file.h"

#include <chrono>
#include <optional>

#include "core/base/result_macros.h"
#include "core/os/processes.h"

namespace arborfs {
namespace {

/// A program that keeps the old file open for writing for longer gets it back.
constexpr std::chrono::milliseconds kPatience{100};

bool leads_to(const Dir& folder, const std::string& name, const FileStat& file) {
  const auto now = folder.stat(name);
  return now && now->same_file(file);
}

/// For a file that no program can open by its own name any more.
bool is_untouched(const File& old, const IsAsRead& is_as_read) {
  return !is_open_for_writing(old, kPatience) && is_as_read(old);
}

/// The file, if it is there and as it was read.
Result<std::optional<File>> open_as_read(const Dir& folder, const std::string& name, const IsAsRead& is_as_read) {
  auto old = File::open_in(folder, name);
  if (!old && old.error().code != Errc::not_found) {
    return old.error();
  }
  return old && is_as_read(*old) ? std::optional(*std::move(old)) : std::nullopt;
}

class Replacement {
 public:
  Replacement(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name)
      : disk_(disk), folder_(folder), fresh_(fresh), name_(name) {}

  Result<bool> run(const IsAsRead& is_as_read) {
    ASSIGN_OR_RETURN(const auto ours, folder_.stat(fresh_));
    ASSIGN_OR_RETURN(const auto old, open_as_read(folder_, name_, is_as_read));
    if (!old) {
      return false;
    }
    ASSIGN_OR_RETURN(const auto theirs, old->stat());
    if (const auto done = disk_.exchange(folder_, fresh_, name_); !done) {
      if (done.error().code != Errc::unsupported) {
        return done.error();
      }
      RETURN_IF_ERROR(disk_.rename(folder_, fresh_, folder_, name_, Disk::Existing::replace));
      return true;
    }
    const bool is_unchanged = leads_to(folder_, fresh_, theirs) && is_untouched(*old, is_as_read);
    return is_unchanged ? Result<bool>(true) : give_back(ours);
  }
  /// Removes what the temporary name leads to: the new file, or the old one that was replaced.
  void clear() {
    if (!holds_theirs_) {
      static_cast<void>(disk_.remove(folder_, fresh_));
    }
  }

 private:
  /// False, unless a program has meanwhile written to the new file: that is the newest state and stays.
  Result<bool> give_back(const FileStat& ours) {
    holds_theirs_ = true;
    if (!disk_.exchange(folder_, fresh_, name_)) {
      const auto done = disk_.rename(folder_, fresh_, folder_, name_, Disk::Existing::replace);
      return done ? Result<bool>(false)
                  : Error{done.error().code, done.error().message + "; what another program wrote to " + name_ +
                                                 " meanwhile is in the file " + fresh_ + "; rename it to " + name_};
    }
    holds_theirs_ = false;
    const auto now = folder_.stat(fresh_);
    if (!now || *now == ours) {
      return false;
    }
    RETURN_IF_ERROR(disk_.rename(folder_, fresh_, folder_, name_, Disk::Existing::replace));
    return true;
  }

  Disk& disk_;
  const Dir& folder_;
  const std::string& fresh_;
  const std::string& name_;
  bool holds_theirs_ = false;
};

}  // namespace

Result<bool> replace_as_read(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name,
                             const IsAsRead& is_as_read) {
  Replacement replacement(disk, folder, fresh, name);
  auto done = replacement.run(is_as_read);
  replacement.clear();
  return done;
}

Result<bool> remove_as_read(Disk& disk, const Dir& folder, const std::string& name, const std::string& aside,
                            const IsAsRead& is_as_read) {
  ASSIGN_OR_RETURN(const auto old, open_as_read(folder, name, is_as_read));
  if (!old) {
    return false;
  }
  ASSIGN_OR_RETURN(const auto theirs, old->stat());
  RETURN_IF_ERROR(disk.rename(folder, name, folder, aside, Disk::Existing::keep));
  const bool is_unchanged = leads_to(folder, aside, theirs) && is_untouched(*old, is_as_read);
  const auto removed = is_unchanged ? disk.remove(folder, aside) : Result<void>();
  if (is_unchanged && removed) {
    return true;
  }
  if (const auto back = disk.rename(folder, aside, folder, name, Disk::Existing::keep); !back) {
    return Error{back.error().code, back.error().message + "; what was in " + name + " is in the file " + aside};
  }
  return removed ? Result<bool>(false) : removed.error();
}

}  // namespace arborfs
