#include <utility>

#include "core/base/result_macros.h"
#include "fs/nodes/nodes.h"

namespace arborfs::checkpoint_nodes {

namespace {

/// The tree that a node is in, and the node's path in it.
struct Shown {
  SessionRef ref;
  std::unique_ptr<const ShownFiles> files;
  std::string path;
};

Error stale_if_gone(const Error& error) {
  return error.code == Errc::not_found ? stale_error() : error;
}

Result<Shown> shown_at(MountState& state, NodeId node) {
  ASSIGN_OR_RETURN(auto ref, session_of(state, node));
  auto path = node.item() == 0 ? std::string() : state.artifact_paths.text_of(node.item());
  auto files = path ? ref.session->store().checkpoints(ref.session->place())
                    : Result<std::unique_ptr<const ShownFiles>>(stale_error());
  if (!files) {
    return stale_if_gone(files.error());
  }
  return Shown{std::move(ref), std::move(*files), std::move(*path)};
}

NodeId child_node(MountState& state, NodeId parent, const std::string& folder, const std::string& name,
                  bool is_folder) {
  return {is_folder ? Kind::checkpoint_dir : Kind::checkpoint_file, parent.slot(),
          state.artifact_paths.number_of(folder.empty() ? name : folder + "/" + name)};
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

}  // namespace

Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  if (!call.may_take_long() && shown.files->takes_long(shown.path)) {
    return call.defer();
  }
  const auto st = shown.files->stat(shown.path);
  if (!st) {
    return stale_if_gone(st.error());
  }
  if (st->is_folder != (node.kind() == Kind::checkpoint_dir)) {
    return stale_error();
  }
  const std::uint64_t ino = stable_ino(shown.ref.seed, "checkpoint", shown.path);
  return Attr{node,     ino,         st->is_folder ? FileType::directory : FileType::file, CacheTtl::moment,
              st->size, st->mtime_ns};
}

Result<Child> lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  const std::string path = (shown.path.empty() ? "" : shown.path + "/") + std::string(name);
  if (shown.files->takes_long(path)) {
    return Child{child_node(state, node, shown.path, std::string(name), false), CacheTtl::moment};
  }
  const auto st = shown.files->stat(path);
  if (!st) {
    return st.error().code == Errc::not_found ? no_such_name() : st.error();
  }
  return Child{child_node(state, node, shown.path, std::string(name), st->is_folder), CacheTtl::moment};
}

Result<ListingPtr> list(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto shown, shown_at(state, node));
  const auto found = shown.files->list(shown.path);
  if (!found) {
    return stale_if_gone(found.error());
  }
  std::vector<NamesSnapshot::Item> items;
  for (const ShownFiles::Item& row : *found) {
    NamesSnapshot::Item item{row.name, {}, std::nullopt};
    item.child.node = child_node(state, node, shown.path, row.name, row.is_folder);
    item.child.name_life = CacheTtl::moment;
    const std::string path = (shown.path.empty() ? "" : shown.path + "/") + row.name;
    item.brief = Attr{item.child.node,
                      stable_ino(shown.ref.seed, "checkpoint", path),
                      row.is_folder ? FileType::directory : FileType::file,
                      CacheTtl::moment,
                      0,
                      0};
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

}  // namespace arborfs::checkpoint_nodes
