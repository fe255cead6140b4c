#include "core/formats/omp/render/image_blocks.h"

#include <algorithm>

#include "core/json/json_cursor.h"
#include "core/render/images.h"
#include "core/render/names.h"

namespace arborfs {
namespace {

constexpr std::string_view kBlobPrefix = "blob:sha256:";
constexpr std::size_t kHashDigits = 64;

bool is_blob_hash(std::string_view text) {
  return text.size() == kHashDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Sets where the image's data is; false for a reference that is not a valid hash. `literal` is a string within `raw`.
bool locate(std::string_view raw, std::string_view literal, ImageRef& image) {
  const std::string_view spelled = literal.substr(1, literal.size() - 2);
  const bool escaped = spelled.find('\\') != std::string_view::npos;
  const std::string text = escaped ? skim::string_value(literal).value_or("")
                                   : std::string(spelled.substr(0, kBlobPrefix.size() + kHashDigits + 1));
  if (text.starts_with(kBlobPrefix)) {
    image.blob = text.substr(kBlobPrefix.size());
    return is_blob_hash(image.blob);
  }
  locate_base64(raw, spelled, image);
  return true;
}

void find_in(std::string_view raw, std::string_view list, ImageRef& next, std::vector<ImageRef>& images) {
  if (!list.starts_with('[')) {
    return;
  }
  skim::Cursor items(list);
  while (items.next()) {
    const std::string_view data = skim::member(items.value(), "data");
    if (!data.starts_with('"') || !skim::is_string(skim::member(items.value(), "type"), "image")) {
      continue;
    }
    ++next.number;
    ImageRef image = next;
    const auto mime_type = skim::string_value(skim::member(items.value(), "mimeType"));
    image.extension = names::image_extension(mime_type.value_or(""));
    if (locate(raw, data, image)) {
      images.push_back(std::move(image));
    }
  }
}

}  // namespace

void find_images(Ordinal ordinal, EntryType type, std::string_view raw, std::vector<ImageRef>& images) {
  const std::string_view owner = type == EntryType::message ? skim::member(raw, "message") : raw;
  ImageRef next;
  next.ordinal = ordinal;
  find_in(raw, skim::member(owner, "content"), next, images);
  find_in(raw, skim::member(owner, "images"), next, images);
}

}  // namespace arborfs
