#include "core/model/turn.h"

namespace arborfs {

TurnImage image_of_url(std::string_view url, std::string_view media_type) {
  constexpr std::string_view kData = "data:";
  constexpr std::string_view kBase64 = ";base64";
  TurnImage image{std::string(media_type), "", ""};
  const std::size_t comma = url.find(',');
  if (!url.starts_with(kData) || comma == std::string_view::npos) {
    image.url = url;
    return image;
  }
  std::string_view type = url.substr(kData.size(), comma - kData.size());
  if (!type.ends_with(kBase64)) {
    image.url = url;
    return image;
  }
  type = type.substr(0, type.find(';'));
  image.media_type = type.empty() ? media_type : type;
  image.base64 = url.substr(comma + 1);
  return image;
}

}  // namespace arborfs
