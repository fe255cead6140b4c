#include "core/store/effect.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/base/hash.h"
#include "core/json/base64.h"
#include "core/json/document.h"

namespace arborfs {

namespace {

using Kind = Effect::Kind;

constexpr std::uint32_t kPermissions = 0777;

std::string hex_of(std::uint64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::uint64_t number_in(const json::Value* value) {
  return value != nullptr && value->IsNumber() && value->GetDouble() >= 0
             ? static_cast<std::uint64_t>(value->GetDouble())
             : 0;
}

}  // namespace

std::uint64_t FileChange::size_before() const {
  std::uint64_t bytes = size;
  for (const WrittenRun& run : runs) {
    bytes = bytes - run.length + run.before.size();
  }
  return bytes;
}

FileChange appended_to(std::string path, const FileStat& was, std::string_view bytes) {
  return {std::move(path), false, was.size + bytes.size(), {{was.size, bytes.size(), xxh64(bytes), ""}}, was.mtime_ns};
}

FileChange removed_file(std::string path, std::string_view content, const FileStat& was) {
  FileChange change{std::move(path), false, 0, {{0, 0, xxh64(""), std::string(content)}}, was.mtime_ns};
  change.is_removed = true;
  change.mode_before = was.mode & kPermissions;
  return change;
}

FileChange made_file(std::string path, std::string_view content) {
  return {std::move(path), true, content.size(), {{0, content.size(), xxh64(content), ""}}};
}

FileChange replaced_in(std::string path, std::string_view before, std::string_view after, const FileStat& was) {
  const std::size_t shorter = std::min(before.size(), after.size());
  const auto differ =
      std::mismatch(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), after.begin());
  const auto same = static_cast<std::size_t>(differ.first - before.begin());
  std::size_t same_end = 0;
  while (same_end < shorter - same && before[before.size() - 1 - same_end] == after[after.size() - 1 - same_end]) {
    ++same_end;
  }
  const std::string_view written = after.substr(same, after.size() - same - same_end);
  return {std::move(path),
          false,
          after.size(),
          {{same, written.size(), xxh64(written), std::string(before.substr(same, before.size() - same - same_end))}},
          was.mtime_ns};
}

Effect effect_of(const FileChange& change) {
  json::Text before = json::Text::array();
  json::Text after = json::Text::array();
  for (const WrittenRun& run : change.runs) {
    before.item(json::encode_base64(run.before));
    after.item_json("[" + std::to_string(run.at) + "," + std::to_string(run.length) + ",\"" + hex_of(run.hash) + "\"]");
  }
  json::Text was = json::Text::object().add("size", change.size_before()).add_json("runs", before.str());
  if (change.time_before != 0) {
    was.add("time", std::to_string(change.time_before));
  }
  if (change.is_removed) {
    was.add("mode", change.mode_before);
  }
  const json::Text now = json::Text::object().add("size", change.size).add_json("runs", after.str());
  return {Kind::file, change.path, change.is_new ? "null" : was.str(), change.is_removed ? "null" : now.str()};
}

Effect effect_of_rows(std::string database, std::string_view changeset) {
  return {Kind::rows, std::move(database), "null", json::stringify_string(json::encode_base64(changeset))};
}

Effect effect_of_leaf(std::string_view before, std::string_view after) {
  return {Kind::leaf, "", json::stringify_string(before), json::stringify_string(after)};
}

/// A time in nanoseconds is longer than a number in JSON is exact.
Effect effect_of_time(std::string path, std::int64_t before_ns, std::int64_t after_ns) {
  return {Kind::times, std::move(path), json::stringify_string(std::to_string(before_ns)),
          json::stringify_string(std::to_string(after_ns))};
}

Effect effect_of_mark(std::string_view name, bool is_set) {
  return {Effect::Kind::mark, std::string(name), is_set ? "false" : "true", is_set ? "true" : "false"};
}

Effect effect_of_new(const FileStat& session) {
  return {Kind::session, "", "null",
          json::Text::object().add("size", session.size).add("time", std::to_string(session.mtime_ns)).str()};
}

std::optional<FileChange> file_change_of(const Effect& effect) {
  json::Document before;
  json::Document after;
  if (effect.kind != Kind::file || !json::parse(effect.before, before) || !json::parse(effect.after, after)) {
    return std::nullopt;
  }
  FileChange found{effect.what, before.IsNull(), number_in(json::member(after, "size")), {}};
  found.time_before = std::strtoll(json::text_member(before, "time").c_str(), nullptr, 10);
  const json::Value* const replaced = json::member(before, "runs");
  if (after.IsNull()) {
    const bool is_whole =
        replaced != nullptr && replaced->IsArray() && replaced->Size() == 1 && (*replaced)[0].IsString();
    found.is_removed = true;
    found.mode_before = static_cast<std::uint32_t>(number_in(json::member(before, "mode"))) & kPermissions;
    found.runs.push_back({0, 0, xxh64(""), is_whole ? json::decode_base64(json::as_string((*replaced)[0])) : ""});
    return is_whole ? std::optional(std::move(found)) : std::nullopt;
  }
  const json::Value* const written = json::member(after, "runs");
  if (written == nullptr || !written->IsArray() ||
      (!found.is_new && (replaced == nullptr || !replaced->IsArray() || replaced->Size() != written->Size()))) {
    return std::nullopt;
  }
  for (rapidjson::SizeType i = 0; i < written->Size(); ++i) {
    const json::Value& run = (*written)[i];
    if (!run.IsArray() || run.Size() != 3 || !run[2].IsString()) {
      return std::nullopt;
    }
    const bool has_before = !found.is_new && (*replaced)[i].IsString();
    found.runs.push_back({number_in(&run[0]), number_in(&run[1]),
                          std::strtoull(std::string(json::as_string(run[2])).c_str(), nullptr, 16),
                          has_before ? json::decode_base64(json::as_string((*replaced)[i])) : ""});
  }
  return found;
}

}  // namespace arborfs
