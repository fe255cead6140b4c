#include "core/session/leaf_store.h"

#include <array>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/os/state_dir.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxFile = 4096;

/// In brackets if the id is not a string, so that an id `null` is not mistaken for a missing one.
std::string kept_json(const EntryId& id) {
  return id.kind == EntryId::Kind::other ? "[" + id_json(id) + "]" : id_json(id);
}

std::optional<EntryId> id_from(const json::Value* value) {
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->IsString()) {
    return EntryId{EntryId::Kind::string, std::string(json::as_string(*value))};
  }
  if (value->IsArray() && value->Size() == 1) {
    return EntryId{EntryId::Kind::other, json::stringify((*value)[0])};
  }
  return value->IsNull() ? std::optional(EntryId{}) : std::nullopt;
}

std::string text_of(const KeptLeaf& kept) {
  return "{\"entries\":" + std::to_string(kept.entries) + ",\"last\":" + kept_json(kept.last) +
         (kept.leaf ? ",\"leaf\":" + kept_json(*kept.leaf) : std::string()) + "}\n";
}

std::optional<KeptLeaf> kept_from(std::string_view text) {
  json::Document document;
  if (!json::parse(text, document)) {
    return std::nullopt;
  }
  const auto* entries = json::member(document, "entries");
  const auto last = id_from(json::member(document, "last"));
  if (entries == nullptr || !entries->IsNumber() || !last) {
    return std::nullopt;
  }
  return KeptLeaf{static_cast<Ordinal>(entries->GetDouble()), *last, id_from(json::member(document, "leaf"))};
}

}  // namespace

std::optional<Ordinal> KeptLeaf::in(const LogIndex& index) const {
  if (index.size() != entries || (entries != kNoEntry && !(index.id(entries) == last))) {
    return std::nullopt;
  }
  if (!leaf) {
    return kNoEntry;
  }
  const Ordinal found = index.find(*leaf);
  return found == kNoEntry ? std::nullopt : std::optional(found);
}

LeafStore::LeafStore(std::string folder, std::string store_key, Disk& disk)
    : folder_(std::move(folder)), store_key_(std::move(store_key)), disk_(disk) {}

std::string LeafStore::file_of(const std::string& log_name) const {
  return state_file_name(store_key_, log_name);
}

std::optional<KeptLeaf> LeafStore::load(const std::string& log_name) const {
  if (folder_.empty()) {
    const std::lock_guard lock(mutex_);
    const auto found = in_memory_.find(log_name);
    return found == in_memory_.end() ? std::nullopt : std::optional(found->second);
  }
  auto folder = open_private_folder(folder_);
  auto file = folder ? File::open_in(*folder, file_of(log_name)) : Result<File>(folder.error());
  std::array<char, kMaxFile> buffer{};
  const auto got = file ? file->read_at(0, buffer) : Result<std::size_t>(file.error());
  return got ? kept_from(std::string_view(buffer.data(), *got)) : std::nullopt;
}

Result<void> LeafStore::save(const std::string& log_name, const KeptLeaf& leaf, bool sync) {
  if (folder_.empty()) {
    const std::lock_guard lock(mutex_);
    in_memory_[log_name] = leaf;
    return {};
  }
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk_, folder_, sync));
  const std::lock_guard lock(mutex_);
  return replace_private_file(disk_, folder, file_of(log_name), text_of(leaf), sync);
}

void LeafStore::forget(const std::string& log_name) {
  if (folder_.empty()) {
    const std::lock_guard lock(mutex_);
    in_memory_.erase(log_name);
    return;
  }
  if (auto folder = open_private_folder(folder_)) {
    static_cast<void>(disk_.remove(*folder, file_of(log_name)));
  }
}

}  // namespace arborfs
