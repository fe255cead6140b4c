#include "core/store/store_set.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace arborfs {
namespace {

using Stores = std::vector<std::shared_ptr<Store>>;

/// The blobs of several stores. If the first store has only part of a blob, the next one is used.
class JoinedBlobs : public BlobStore {
 public:
  explicit JoinedBlobs(const Stores& stores) {
    for (const auto& store : stores) {
      parts_.push_back(store->blobs());
    }
  }

  /// Fails only if no store can be listed.
  [[nodiscard]] Result<std::vector<std::string>> list() const override {
    std::set<std::string> names;
    std::optional<Error> failed;
    std::size_t listed = 0;
    for (const auto& part : parts_) {
      if (auto found = part->list()) {
        names.insert(found->begin(), found->end());
        ++listed;
      } else if (!failed || failed->code == Errc::not_found) {
        failed = found.error();
      }
    }
    return listed == 0 ? Result<std::vector<std::string>>(*failed)
                       : std::vector<std::string>(names.begin(), names.end());
  }
  [[nodiscard]] Result<FileStat> stat(std::string_view hash) const override {
    return first<FileStat>([&](const BlobStore& part) { return part.stat(hash); });
  }
  [[nodiscard]] Result<std::shared_ptr<const File>> open(std::string_view hash) const override {
    return first<std::shared_ptr<const File>>([&](const BlobStore& part) { return part.open(hash); });
  }
  Result<void> put(std::string_view hash, std::string_view bytes, bool sync) override {
    return parts_.front()->put(hash, bytes, sync);
  }

 private:
  /// The first success, else the first error other than a missing blob.
  template <class T, class Ask>
  [[nodiscard]] Result<T> first(const Ask& ask) const {
    auto answer = ask(*parts_.front());
    for (std::size_t i = 1; i < parts_.size() && !answer; ++i) {
      auto next = ask(*parts_[i]);
      if (next || answer.error().code == Errc::not_found) {
        answer = std::move(next);
      }
    }
    return answer;
  }
  std::vector<std::shared_ptr<BlobStore>> parts_;
};

std::shared_ptr<BlobStore> blobs_of(const Stores& stores) {
  return stores.size() == 1 ? stores.front()->blobs() : std::make_shared<JoinedBlobs>(stores);
}

/// The part of a missing path that blocks it because it is not a folder; "" if there is none.
std::string obstacle_to(std::filesystem::path path) {
  std::error_code failed;
  for (; !path.empty(); path = path.parent_path()) {
    const auto status = std::filesystem::status(path, failed);
    if (std::filesystem::exists(status)) {
      return std::filesystem::is_directory(status) ? "" : path.string();
    }
    if (path == path.parent_path()) {
      break;
    }
  }
  return "";
}

}  // namespace

StoreSet::StoreSet(Stores stores) : stores_(std::move(stores)), blobs_(blobs_of(stores_)) {}

StoreSet::StoreSet(std::shared_ptr<Store> store) : StoreSet(Stores{std::move(store)}) {}

const Store& StoreSet::main(const std::set<std::uint8_t>& silent) const {
  for (std::size_t number = 0; number < size(); ++number) {
    if (silent.contains(static_cast<std::uint8_t>(number)) || at(number)->present()) {
      return *at(number);
    }
  }
  const auto begun = std::find_if(
      begin(), end(), [](const auto& store) { return Dir::stat_root(store->paths().agent_dir).has_value(); });
  return begun == end() ? *stores_.front() : **begun;
}

std::optional<std::uint8_t> StoreSet::first_of(std::string_view agent) const {
  const auto found = std::find_if(begin(), end(), [&](const auto& store) { return store->format().agent == agent; });
  return found == end() ? std::nullopt : std::optional(static_cast<std::uint8_t>(found - begin()));
}

Result<std::vector<LogFolder>> StoreSet::folders(std::uint8_t number) const {
  ASSIGN_OR_RETURN(auto names, stores_[number]->folders());
  std::vector<LogFolder> folders;
  folders.reserve(names.size());
  for (std::string& name : names) {
    folders.push_back({number, std::move(name)});
  }
  return folders;
}

Result<std::vector<FoundLog>> StoreSet::logs(const LogFolder& folder, const HeadWanted& wants_head) const {
  const auto wants = [&](const LogPlace& place) { return wants_head({place.folder, place.file, folder.store}); };
  ASSIGN_OR_RETURN(auto logs, stores_[folder.store]->logs(folder.name, wants_head ? HeadWanted(wants) : HeadWanted()));
  for (FoundLog& log : logs) {
    log.place.store = folder.store;
  }
  return logs;
}

std::vector<Breadcrumb> StoreSet::breadcrumbs(const std::set<std::uint8_t>& silent) const {
  std::vector<Breadcrumb> all;
  for (std::size_t number = 0; number < size(); ++number) {
    if (silent.contains(static_cast<std::uint8_t>(number))) {
      continue;
    }
    for (Breadcrumb& crumb : breadcrumbs_of(*stores_[number])) {
      crumb.place.store = static_cast<std::uint8_t>(number);
      all.push_back(std::move(crumb));
    }
  }
  return all;
}

std::optional<StoreProblem> problem_of(const Store& store) {
  const auto listed = store.folders();
  if (listed) {
    return std::nullopt;
  }
  if (listed.error().code != Errc::not_found) {
    return StoreProblem{false, listed.error().message};
  }
  if (const std::string obstacle = obstacle_to(store.paths().sessions); !obstacle.empty()) {
    return StoreProblem{false, obstacle + " is not a folder"};
  }
  const std::string& folder = store.paths().sessions;
  return StoreProblem{true, Dir::open_root(folder)
                                ? "there are no sessions in " + folder + ": " + listed.error().message
                                : "there is no folder " + folder};
}

Result<void> check_owner(const StorePaths& paths, bool named, Access access) {
  for (const std::string& path : {paths.sessions, paths.agent_dir}) {
    struct stat st {};
    if (::stat(path.c_str(), &st) != 0) {
      continue;
    }
    if (st.st_uid == ::geteuid() || (named && access == Access::look)) {
      return {};
    }
    const std::string whose = path + " belongs to another user (uid " + std::to_string(st.st_uid) + ")";
    return Error{Errc::permission, named ? whose + ": you can read it (mount it with -o ro) but not write to it"
                                         : whose + ": run arborfs as that user, or read it with --store"};
  }
  return {};
}

std::vector<std::string> StoreSet::needed_by(const LogFolder& submount) const {
  const StorePaths& paths = stores_[submount.store]->paths();
  return submount.name == kWholeStore ? std::vector{paths.agent_dir, paths.sessions}
                                      : std::vector{folder_path(paths.sessions, submount.name)};
}

}  // namespace arborfs
