#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/result_macros.h"
#include "fs/mount.h"

namespace arborfs {

namespace {

/// Options without a value that arborfs itself handles.
struct Flag {
  std::string_view word;
  void (*apply)(MountOptions&);
};

constexpr std::array kFlags = {
    Flag{"ro", [](MountOptions& options) { options.read_only = true; }},
    Flag{"rw", [](MountOptions& options) { options.read_only = false; }},
    Flag{"allow_other", [](MountOptions& options) { options.allow_other = true; }},
    Flag{"xattr", [](MountOptions& options) { options.xattr = true; }},
    Flag{"noxattr", [](MountOptions& options) { options.xattr = false; }},
    Flag{"noinotify", [](MountOptions& options) { options.inotify = false; }},
    Flag{"nosearchindex", [](MountOptions& options) { options.search_index = false; }},
    Flag{"nonotify", [](MountOptions& options) { options.notify = false; }},
    Flag{"allow_delete", [](MountOptions& options) { options.writing.allow_delete = true; }},
    Flag{"history", [](MountOptions& options) { options.writing.history = true; }},
    Flag{"live=write", [](MountOptions& options) { options.writing.write_live = true; }},
    Flag{"durability=none", [](MountOptions& options) { options.writing.durability = Durability::none; }},
    Flag{"durability=synced", [](MountOptions& options) { options.writing.durability = Durability::synced; }},
    Flag{"debug", [](MountOptions& options) { options.debug = true; }},
};

/// Options of mount(8), fstab and sshfs that have no meaning here, or are always in effect.
constexpr std::array<std::string_view, 38> kPassedOver = {
    "defaults",   "auto",        "noauto",        "user",       "nouser",     "users",    "nousers",
    "owner",      "group",       "_netdev",       "nofail",     "suid",       "nosuid",   "dev",
    "nodev",      "exec",        "async",         "sync",       "dirsync",    "atime",    "relatime",
    "norelatime", "strictatime", "nostrictatime", "diratime",   "nodiratime", "lazytime", "nolazytime",
    "mand",       "nomand",      "iversion",      "noiversion", "silent",     "loud",     "default_permissions",
    "nonempty",   "big_writes",  "large_read"};

constexpr std::array<std::string_view, 3> kForLibfuse = {"noexec", "noatime", "auto_unmount"};

/// Prefixes of options with a value that are ignored: the source is always the agent dir, the type arborfs.
constexpr std::array<std::string_view, 9> kPassedOverWithValue = {
    "x-", "X-", "comment=", "fsname=", "subtype=", "max_threads=", "max_idle_threads=", "uid=", "gid="};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

/// `value` is in MiB.
Result<void> apply_index_memory(const std::string& word, std::string_view value, MountOptions& into) {
  constexpr std::size_t kMost = 1 << 20;
  std::size_t mebibytes = 0;
  if (!read_number(value, mebibytes) || mebibytes > kMost) {
    return {Errc::invalid_argument, "'" + word + "' is not a number of MiB"};
  }
  into.index_bytes = mebibytes << 20U;
  return {};
}

Result<void> apply_max_read(const std::string& word, std::string_view value, MountOptions& into) {
  unsigned bytes = 0;
  if (!read_number(value, bytes) || bytes == 0) {
    return {Errc::invalid_argument, "'" + word + "' is not a number of bytes"};
  }
  into.max_read = bytes;
  return {};
}

Result<void> apply_value(const std::string& word, std::string_view name, std::string value, MountOptions& into) {
  if (name == "agent_dir") {
    std::erase_if(into.stores, [](const ChosenStore& store) { return store.is_agent_dir; });
    if (!value.empty()) {
      into.stores.push_back({"omp", std::move(value), true});
    }
    return {};
  }
  if (name == "store") {
    ASSIGN_OR_RETURN(auto store, parse_chosen_store(value));
    into.stores.push_back(std::move(store));
    return {};
  }
  if (name == "log") {
    into.log_file = std::move(value);
    return {};
  }
  if (name == "index_memory") {
    return apply_index_memory(word, value, into);
  }
  if (name == "max_read") {
    return apply_max_read(word, value, into);
  }
  return {Errc::invalid_argument, "unknown mount option '" + word + "'; man 1 arborfs lists the options"};
}

Result<void> apply_word(const std::string& word, MountOptions& into) {
  const auto flag = std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& row) { return row.word == word; });
  if (flag != kFlags.end()) {
    flag->apply(into);
    return {};
  }
  if (contains(kForLibfuse, word)) {
    into.fuse_options.push_back(word);
    return {};
  }
  const bool passed_over = word.empty() || contains(kPassedOver, word) ||
                           std::any_of(kPassedOverWithValue.begin(), kPassedOverWithValue.end(),
                                       [&](std::string_view beginning) { return word.starts_with(beginning); });
  if (passed_over) {
    return {};
  }
  const std::size_t equals = word.find('=');
  const std::string_view name = std::string_view(word).substr(0, equals);
  return apply_value(word, name, equals == std::string::npos ? "" : word.substr(equals + 1), into);
}

}  // namespace

Result<void> parse_mount_options(std::string_view list, MountOptions& into) {
  std::string word;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at == list.size() || list[at] == ',') {
      RETURN_IF_ERROR(apply_word(word, into));
      word.clear();
    } else if (list[at] == '\\' && at + 1 < list.size()) {
      word += list[++at];
    } else {
      word += list[at];
    }
  }
  return {};
}

Result<MountOptions> parse_mount_options(std::string_view list) {
  MountOptions options;
  RETURN_IF_ERROR(parse_mount_options(list, options));
  return options;
}

}  // namespace arborfs
