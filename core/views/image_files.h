// The files in images/ by the entries that show them. Copied from a session's details, so it needs no guard later.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/entry/names.h"
#include "core/session/session.h"

namespace arborfs {

class ImageFiles {
 public:
  /// An entry, and the number of the image in it, from 1.
  using Place = std::pair<Ordinal, std::uint32_t>;
  struct File {
    std::string extension;
    std::string name;      // in images/
    std::uint32_t at = 0;  // in TextSizes::images(): the item of item_views::image
  };

  /// The guard has details.
  explicit ImageFiles(const Session::Guard& guard) {
    std::uint32_t at = 0;
    for (const ImageRef& image : guard.details().images()) {
      files_[{image.ordinal, image.number}] = {image.extension, names::image_file(guard.index(), image), at++};
    }
  }
  /// Null for an image without bytes in the session.
  [[nodiscard]] const File* find(const Place& place) const {
    const auto found = files_.find(place);
    return found == files_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Place, File> files_;
};

}  // namespace arborfs
