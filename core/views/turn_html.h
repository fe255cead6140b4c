// What an entry says as HTML (core/html): words as Markdown, reasoning folded, calls of tools as what they do (an edit
// as a diff, a command as code, a list of tasks as a list), outputs with their colours, images as files of images/.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/entry/turn.h"
#include "core/store/format.h"
#include "core/views/image_files.h"

namespace arborfs {

/// The value of `src` for an image; "" to leave the image out. Called from any thread.
using ImageSource = std::function<std::string(const ImageFiles::File& file)>;

class TurnHtml {
 public:
  TurnHtml(const Format& format, ImageFiles files, ImageSource source)
      : format_(format), files_(std::move(files)), source_(std::move(source)) {}

  /// Appends the parts of a turn of an entry. `image`: the number of the last image of the entry, which it counts on.
  /// Each part is an element of one of the classes people, answers, thinking, tools and notes.
  void add(Ordinal entry, const Turn& turn, std::uint32_t& image, std::string& out) const;

 private:
  void add_call(const TurnPart& call, std::string& out) const;
  void add_result(Ordinal entry, const TurnPart& result, std::uint32_t& image, std::string& out) const;
  void add_images(Ordinal entry, const TurnPart& part, std::uint32_t& image, std::string& out) const;

  const Format& format_;
  const ImageFiles files_;
  const ImageSource source_;
};

}  // namespace arborfs
