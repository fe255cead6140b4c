#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/store/store_parts.h"
#include "core/store/stored_files.h"
#include "core/views/session_views.h"
#include "fs/nodes/node_table.h"

namespace arborfs {
namespace {

Error stale_if_gone(const Error& error) {
  return error.code == Errc::not_found ? stale_error() : error;
}

}  // namespace
}  // namespace arborfs

namespace arborfs::shown_file_nodes {

namespace {

/// The tree that a node is in, and the node's path in it.
struct Shown {
  SessionRef ref;
  std::unique_ptr<const ShownFiles> files;
  std::string path;
};

using FilesResult = Result<std::unique_ptr<const ShownFiles>>;

FilesResult artifact_files(const Store& store, const LogPlace& place) {
  ASSIGN_OR_RETURN(auto folder, artifacts_of(store, place));
  return FilesResult(std::make_unique<const StoredFiles>(std::move(folder), std::vector<std::string>{""}));
}

/// The source of the files of a kind.
struct Family {
  Kind folder;
  Kind file;
  std::string_view word;  // in inode numbers
  bool is_brief;          // a listing omits attributes, since some take work
  FilesResult (*files)(const Store& store, const LogPlace& place);
};
constexpr std::array kFamilies = {
    Family{Kind::artifact_dir, Kind::artifact_file, "artifact", false, artifact_files},
    Family{Kind::checkpoint_dir, Kind::checkpoint_file, "checkpoint", true, checkpoints_of},
    Family{Kind::native_dir, Kind::native_file, "native", true, native_files_of},
};

const Family& family_of(NodeId node) {
  const auto* const found =
      std::find_if(kFamilies.begin(), kFamilies.end(),
                   [kind = node.kind()](const Family& family) { return family.folder == kind || family.file == kind; });
  return *found;
}

Result<Shown> shown_at(MountState& state, NodeId node) {
  ASSIGN_OR_RETURN(auto ref, session_of(state, node));
  auto path = node.item() == 0 ? std::string() : state.artifact_paths.text_of(node.item());
  if (!path) {
    return stale_error();
  }
  auto files = family_of(node).files(ref.session->store(), ref.session->place());
  if (!files) {
    return stale_if_gone(files.error());
  }
  return Shown{std::move(ref), std::move(*files), std::move(*path)};
}

std::string below(const std::string& folder, std::string_view name) {
  return (folder.empty() ? "" : folder + "/") + std::string(name);
}

/// The node of a path in the family of `relative`; nothing if the numbers have run out.
std::optional<NodeId> node_at(MountState& state, NodeId relative, const std::string& path, bool is_folder) {
  const Family& family = family_of(relative);
  const std::uint32_t number = state.artifact_paths.number_of(path);
  return number == 0 ? std::nullopt
                     : std::optional(NodeId(is_folder ? family.folder : family.file, relative.slot(), number));
}

/// A text that was made when the file was opened.
class TextFile final : public OpenFile {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(MountState& /*state*/, RequestContext& /*call*/, std::uint64_t offset,
                           std::span<char> into) override {
    return offset < text_.size() ? text_.copy(into.data(), into.size(), offset) : std::size_t{0};
  }
  [[nodiscard]] bool keeps_cache() const override { return false; }

 private:
  const std::string text_;
};

struct Opened {
  OpenFilePtr file;
  std::uint64_t size;
};

Result<Opened> opened(ShownFiles::Content content) {
  if (auto* const text = std::get_if<std::string>(&content)) {
    const std::uint64_t size = text->size();
    return Opened{std::make_shared<TextFile>(std::move(*text)), size};
  }
  auto file = std::make_shared<const File>(std::move(std::get<File>(content)));
  ASSIGN_OR_RETURN(const auto st, file->stat());
  return Opened{std::make_shared<DiskFile>(std::move(file), false), st.size};
}

Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  if (!call.may_take_long() && shown.files->takes_long(shown.path)) {
    return call.defer();
  }
  const auto st = shown.files->stat(shown.path);
  if (!st) {
    return stale_if_gone(st.error());
  }
  const Family& family = family_of(node);
  if (st->is_folder != (node.kind() == family.folder)) {
    return stale_error();
  }
  const std::uint64_t ino = stable_ino(shown.ref.seed, family.word, shown.path);
  return Attr{node,     ino,         st->is_folder ? FileType::directory : FileType::file, CacheTtl::moment,
              st->size, st->mtime_ns};
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  const std::string path = below(shown.path, name);
  if (!call.may_take_long() && shown.files->takes_long(path)) {
    return call.defer();
  }
  const auto is_folder = shown.files->is_folder(path);
  if (!is_folder) {
    return is_folder.error().code == Errc::not_found ? no_such_name() : is_folder.error();
  }
  const auto child = node_at(state, node, path, *is_folder);
  return child ? Result<Child>(Child{*child, CacheTtl::moment}) : no_such_name();
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  if (!call.may_take_long() && shown.files->takes_long(shown.path)) {
    return call.defer();
  }
  const auto found = shown.files->list(shown.path);
  if (!found) {
    return stale_if_gone(found.error());
  }
  const Family& family = family_of(node);
  std::vector<NamesSnapshot::Item> items;
  for (const ShownFiles::Item& row : *found) {
    const std::string path = below(shown.path, row.name);
    const auto child = node_at(state, node, path, row.is_folder);
    if (!child) {
      continue;
    }
    NamesSnapshot::Item item{row.name, {*child, CacheTtl::moment}, std::nullopt};
    if (family.is_brief) {
      const FileType type = row.is_folder ? FileType::directory : FileType::file;
      item.brief = Attr{*child, stable_ino(shown.ref.seed, family.word, path), type, CacheTtl::moment, 0, 0};
    }
    items.push_back(std::move(item));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

Result<OpenFilePtr> open(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  if (!call.may_take_long() && shown.files->takes_long(shown.path)) {
    return call.defer();
  }
  auto content = shown.files->open(shown.path);
  if (!content) {
    return stale_if_gone(content.error());
  }
  ASSIGN_OR_RETURN(auto file, opened(std::move(*content)));
  return state.told_otherwise(node, file.size) ? Result<OpenFilePtr>(stale_error())
                                               : Result<OpenFilePtr>(std::move(file.file));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::artifact_dir, "artifacts", attr, lookup, list),
      file_row(Kind::artifact_file, "artifact", attr, open),
      folder_row(Kind::checkpoint_dir, "checkpoints", attr, lookup, list),
      file_row(Kind::checkpoint_file, "checkpoint", attr, open),
      folder_row(Kind::native_dir, "natives", attr, lookup, list),
      file_row(Kind::native_file, "native", attr, open),
  };
  return kRows;
}

}  // namespace arborfs::shown_file_nodes

namespace arborfs::blob_nodes {

namespace {

Result<std::string> hash_at(const MountState& state, NodeId node) {
  auto hash = state.blob_names.text_of(node.item());
  return hash ? Result<std::string>(std::move(*hash)) : Result<std::string>(stale_error());
}

/// Fails if a store that has blobs hangs. Requests for blobs wait for it in its pool (Vfs::submount_of).
Result<void> check_answers(const Catalog& catalog) {
  for (const auto& [submount, sentence] : catalog.hanging().submounts) {
    if (!catalog.stores().at(submount.store)->paths().blobs.empty()) {
      return {Errc::io, sentence};
    }
  }
  return {};
}

Result<Attr> folder_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(0, word_of(node)), state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& /*call*/, NodeId /*node*/, std::string_view name) {
  RETURN_IF_ERROR(check_answers(state.catalog));
  if (!BlobStore::is_blob_name(name) || !state.catalog.stores().blobs()->stat(name)) {
    return no_such_name();
  }
  return Child{NodeId(Kind::blob, 0, state.blob_names.number_of(name)), CacheTtl::glance};
}

Result<ListingPtr> list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  RETURN_IF_ERROR(check_answers(state.catalog));
  const auto names = state.catalog.stores().blobs()->list();
  std::vector<NamesSnapshot::Item> items;
  if (names) {
    items.reserve(names->size());
    for (const auto& name : *names) {
      items.push_back(
          {name, {NodeId(Kind::blob, 0, state.blob_names.number_of(name)), CacheTtl::glance}, std::nullopt});
    }
  } else if (names.error().code != Errc::not_found) {
    return names.error();
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  RETURN_IF_ERROR(check_answers(state.catalog));
  ASSIGN_OR_RETURN(const auto hash, hash_at(state, node));
  const auto st = state.catalog.stores().blobs()->stat(hash);
  if (!st) {
    return stale_if_gone(st.error());
  }
  const std::uint64_t size = shown_blob_size(*state.catalog.stores().blobs(), hash);
  return Attr{node, stable_ino(0, word_of(node), hash), FileType::file, CacheTtl::glance, size, st->mtime_ns};
}

Result<OpenFilePtr> open(MountState& state, RequestContext& call, NodeId node) {
  constexpr std::uint64_t kQuickToCheck = 4U << 20U;
  RETURN_IF_ERROR(check_answers(state.catalog));
  ASSIGN_OR_RETURN(const auto hash, hash_at(state, node));
  const auto st = state.catalog.stores().blobs()->stat(hash);
  if (!st) {
    return stale_if_gone(st.error());
  }
  if (!call.may_take_long() && st->size > kQuickToCheck) {
    return call.defer();
  }
  if (state.told_otherwise(node, shown_blob_size(*state.catalog.stores().blobs(), hash))) {
    return stale_error();
  }
  auto file = state.catalog.stores().blobs()->open(hash);
  if (!file) {
    return stale_if_gone(file.error());
  }
  return OpenFilePtr(std::make_shared<DiskFile>(std::move(*file), true));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::blobs, "blobs", folder_attr, lookup, list),
      file_row(Kind::blob, "blob", attr, open),
  };
  return kRows;
}

}  // namespace arborfs::blob_nodes
