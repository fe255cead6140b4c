#include "core/formats/omp/context/context_compaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/formats/omp/context/blob_references.h"
#include "core/json/date.h"
#include "core/json/utf8.h"

namespace arborfs::context {

namespace {

constexpr std::size_t kImageBudget = 3'000'000;  // base64 characters of one context
constexpr std::string_view kLineBreakGlyph = "\u23CE";

struct Frame {
  std::string data;
  const json::Value* json;
};

bool is_frame(const json::Value& frame) {
  const auto is_number = [&frame](std::string_view key) {
    const json::Value* value = json::member(frame, key);
    return value != nullptr && value->IsNumber();
  };
  return !json::string_member(frame, "data").value_or("").empty() && json::string_member(frame, "mimeType") &&
         is_number("cols") && is_number("rows") && is_number("chars");
}

std::vector<Frame> frames_of(const json::Value& archive, const BlobSource* blobs) {
  std::vector<Frame> frames;
  const json::Value* list = json::member(archive, "frames");
  if (list != nullptr && list->IsArray()) {
    for (const json::Value& frame : list->GetArray()) {
      if (is_frame(frame)) {
        const std::string data(*json::string_member(frame, "data"));
        frames.push_back({blob_as_base64(data, blobs).value_or(data), &frame});
      }
    }
  }
  return frames;
}

// Archive text marks line breaks with a glyph and dim text with two control characters.
std::string plain_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kLineBreakGlyph)) {
      out += '\n';
      at += kLineBreakGlyph.size();
    } else {
      if (text[at] != '\x0e' && text[at] != '\x0f') {
        out += text[at];
      }
      ++at;
    }
  }
  return out;
}

std::string text_block(std::string_view text) {
  std::string json = "{\"type\":\"text\",\"text\":";
  json::stringify_string(text, json);
  return json + "}";
}

std::string image_block(const Frame& frame) {
  std::string out = "{\"type\":\"image\",\"data\":";
  json::stringify_string(frame.data, out);
  add_member(out, "mimeType", json::member(*frame.json, "mimeType"));
  const json::Value* detail = json::member(*frame.json, "detail");
  add_member(out, "detail", json::is_truthy(detail) ? detail : nullptr);
  return out + "}";
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1'000'000) {
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  }
  return bytes >= 1000 ? fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3) : fmt::format("{} B", bytes);
}

// 1234567 as "1,234,567".
std::string grouped(std::size_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      out += ',';
    }
    out += digits[i];
  }
  return out;
}

// The newest frames that fit the budget, as JSON with the oldest first, and a notice about the others.
struct Images {
  std::vector<std::string> blocks;
  std::string notice;  // empty if all fit
};

Images images_of(const std::vector<Frame>& frames) {
  Images images;
  std::size_t used = 0;
  std::size_t omitted = 0;
  std::size_t omitted_size = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::size_t size = json::utf16_length(frame->data);
    if (used + size > kImageBudget) {
      ++omitted;
      omitted_size += size;
    } else {
      used += size;
      images.blocks.insert(images.blocks.begin(), image_block(*frame));
    }
  }
  if (omitted > 0) {
    images.notice = fmt::format(
        "-------------- snapcompact image middle omitted\n{} archived image frame{} ({} base64) exceeded the "
        "per-request "
        "snapcompact payload budget. The compacted summary and visible text edges remain available.\n--------------",
        grouped(omitted), omitted == 1 ? "" : "s", size_text(omitted_size));
  }
  return images;
}

std::string joined(const std::vector<std::string>& items) {
  return items.empty() ? std::string() : fmt::format("[{}]", fmt::join(items, ","));
}

bool lacks_middle(const json::Value& archive, const Images& images) {
  const json::Value* truncated = json::member(archive, "truncatedChars");
  return !images.notice.empty() || (truncated != nullptr && truncated->IsNumber() && truncated->GetDouble() > 0);
}

}  // namespace

ArchiveBlocks archive_blocks(const json::Value* archive, const BlobSource* blobs) {
  if (archive == nullptr || !archive->IsObject()) {
    return {};
  }
  const Images images = images_of(frames_of(*archive, blobs));
  const bool has_images = !images.blocks.empty();
  const std::string head = plain_text(json::string_member(*archive, "textHead").value_or(""));
  std::vector<std::string> blocks;
  std::string open_text;  // text for the next block, not in `blocks` yet
  if (!head.empty()) {
    const std::string notice = images.notice.empty() ? "" : "\n" + images.notice + "\n";
    open_text = head + (has_images ? "\n-------------- imaged middle below\n" : notice);
  } else if (!has_images) {
    open_text = images.notice;
  }
  if (has_images) {
    for (const std::string& text : {open_text, images.notice}) {
      if (!text.empty()) {
        blocks.push_back(text_block(text));
      }
    }
    open_text.clear();
    blocks.insert(blocks.end(), images.blocks.begin(), images.blocks.end());
  }
  if (const std::string tail = plain_text(json::string_member(*archive, "textTail").value_or("")); !tail.empty()) {
    const bool is_gap = !has_images && lacks_middle(*archive, images);
    open_text += has_images ? "-------------- imaged middle above\n"
                 : is_gap   ? "\n-------------- middle history omitted above\n"
                            : "";
    open_text += tail;
  }
  if (!open_text.empty()) {
    blocks.push_back(text_block(open_text));
  }
  return {joined(blocks), joined(images.blocks)};
}

namespace {

const json::Value* preserved(const json::Document& entry, std::string_view key) {
  const json::Value* data = json::member(entry, "preserveData");
  return data == nullptr ? nullptr : json::member(*data, key);
}

bool has_text(const json::Value& object, std::string_view key) {
  return !json::string_member(object, key).value_or("").empty();
}

// The remote history if it has a form that the dialect accepts, else null.
const json::Value* remote_of(const json::Document& entry, Dialect dialect) {
  const json::Value* remote = preserved(entry, "openaiRemoteCompaction");
  if (dialect == Dialect::pi || remote == nullptr || !has_text(*remote, "provider")) {
    return nullptr;
  }
  const json::Value* items = json::member(*remote, "replacementHistory");
  if (items == nullptr || !items->IsArray()) {
    return nullptr;
  }
  const bool is_strict = dialect == Dialect::omp18;
  const auto is_object = [](const json::Value& item) { return item.IsObject(); };
  return !is_strict || std::all_of(items->Begin(), items->End(), is_object) ? remote : nullptr;
}

// Anthropic's summary if it has a form that the dialect accepts, else null.
const json::Value* anthropic_of(const json::Document& entry, Dialect dialect) {
  const json::Value* found = preserved(entry, "anthropicCompaction");
  const bool is_valid = found != nullptr && has_text(*found, "provider") && has_text(*found, "content");
  return dialect == Dialect::omp18 && is_valid ? found : nullptr;
}

bool is_rollover(const json::Document& entry) {
  const json::Value* details = json::member(entry, "details");
  return details != nullptr && json::is_string(json::member(*details, "kind"), "experimental-context-rollover");
}

std::string provider_payload(const json::Document& entry, Dialect dialect) {
  std::string out = "{";
  if (const json::Value* remote = remote_of(entry, dialect)) {
    add_member_json(out, "type", "\"openaiResponsesHistory\"");
    add_member(out, "provider", json::member(*remote, "provider"));
    add_member(out, "items", json::member(*remote, "replacementHistory"));
  } else if (const json::Value* anthropic = anthropic_of(entry, dialect)) {
    add_member_json(out, "type", "\"anthropicCompaction\"");
    add_member(out, "provider", json::member(*anthropic, "provider"));
    add_member(out, "content", json::member(*anthropic, "content"));
    for (const std::string_view key : {"encryptedContent", "filesText"}) {
      add_member(out, key, has_text(*anthropic, key) ? json::member(*anthropic, key) : nullptr);
    }
  } else {
    return {};
  }
  return out + "}";
}

std::optional<EntryId> id_of(const json::Value* value) {
  if (value == nullptr) {
    return EntryId();
  }
  if (value->IsObject() || value->IsArray()) {
    return std::nullopt;
  }
  return value->IsString() ? EntryId{EntryId::Kind::string, std::string(json::as_string(*value))}
                           : EntryId{EntryId::Kind::other, json::stringify(*value)};
}

std::optional<EntryId> id_at(const json::Value& value_index, const ContextPath& path) {
  const double wanted = value_index.GetDouble();
  for (const auto& [index, id] : path.kept_by_index) {
    if (static_cast<double>(index) == wanted) {
      return id;
    }
  }
  return std::nullopt;
}

}  // namespace

Compaction read_compaction(const json::Document& entry, const ContextPath& path, const Source& source,
                           bool names_by_index) {
  Compaction found;
  found.is_remote = remote_of(entry, source.dialect) != nullptr;
  found.is_anthropic = anthropic_of(entry, source.dialect) != nullptr;
  found.is_rollover = source.dialect == Dialect::omp18 && is_rollover(entry);
  found.first_kept = id_of(json::member(entry, "firstKeptEntryId"));
  const json::Value* index = json::member(entry, "firstKeptEntryIndex");
  if (names_by_index && index != nullptr && index->IsNumber()) {
    if (const auto id = id_at(*index, path)) {
      found.first_kept = id;
    }
  }
  const json::Value* replay = json::member(entry, "providerReplayThroughEntryId");
  if (source.dialect == Dialect::omp18 && json::is_truthy(replay)) {
    found.replay_through = id_of(replay);
  }
  return found;
}

std::string compaction_message(const json::Document& entry, const Source& source,
                               std::optional<double> history_rewrite_at) {
  const bool is_18 = source.dialect == Dialect::omp18;
  const auto copy = [&entry](std::string& out, std::string_view key) {
    add_member(out, key, json::member(entry, key));
  };
  std::string out = "{\"role\":\"compactionSummary\"";
  copy(out, "summary");
  if (source.dialect != Dialect::pi) {
    copy(out, "shortSummary");
  }
  copy(out, "tokensBefore");
  if (is_18) {
    copy(out, "tokensAfter");
    copy(out, "method");
  }
  if (const std::string payload = provider_payload(entry, source.dialect); !payload.empty()) {
    add_member_json(out, "providerPayload", payload);
  }
  if (is_18) {
    const ArchiveBlocks archive = archive_blocks(preserved(entry, "snapcompact"), source.blobs.get());
    if (!archive.blocks.empty()) {
      add_member_json(out, "blocks", archive.blocks);
    }
    if (!archive.images.empty()) {
      add_member_json(out, "images", archive.images);
    }
    copy(out, "warning");
  }
  if (history_rewrite_at) {
    add_member_json(out, "historyRewriteAt", json::number_text(*history_rewrite_at));
  }
  add_member_json(out, "timestamp", date_json(json::member(entry, "timestamp")));
  return out + "}";
}

}  // namespace arborfs::context
