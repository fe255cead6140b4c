#include <array>

#include "core/base/result_macros.h"
#include "core/views/image_content.h"
#include "fs/nodes/node_families.h"

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

Error gone_or(const Error& error) {
  return error.code == Errc::not_found ? stale_error() : error;
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
    return gone_or(st.error());
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
    return gone_or(st.error());
  }
  if (!call.may_take_long() && st->size > kQuickToCheck) {
    return call.defer();
  }
  if (state.told_otherwise(node, shown_blob_size(*state.catalog.stores().blobs(), hash))) {
    return stale_error();
  }
  auto file = state.catalog.stores().blobs()->open(hash);
  if (!file) {
    return gone_or(file.error());
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
