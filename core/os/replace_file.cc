#include "core/os/replace_file.h"

#include <chrono>

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

Error left_at(const Error& error, const std::string& name, const std::string& other) {
  return {error.code, error.message + "; what another program wrote to " + name + " meanwhile is in the file " + other +
                          "; rename it to " + name};
}

class Replacement {
 public:
  Replacement(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name)
      : disk_(disk), folder_(folder), fresh_(fresh), name_(name) {}

  Result<bool> run(const IsAsRead& is_as_read) {
    ASSIGN_OR_RETURN(const auto ours, folder_.stat(fresh_));
    const auto old = File::open_in(folder_, name_);
    if (!old) {
      return old.error().code == Errc::not_found ? Result<bool>(false) : old.error();
    }
    ASSIGN_OR_RETURN(const auto theirs, old->stat());
    if (!is_as_read(*old)) {
      return false;
    }
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
      return done ? Result<bool>(false) : left_at(done.error(), name_, fresh_);
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
  const auto old = File::open_in(folder, name);
  if (!old) {
    return old.error().code == Errc::not_found ? Result<bool>(false) : old.error();
  }
  ASSIGN_OR_RETURN(const auto theirs, old->stat());
  if (!is_as_read(*old)) {
    return false;
  }
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
