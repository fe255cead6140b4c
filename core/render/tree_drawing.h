// draw_tree() in steps, for an index that other threads may extend in between. Used by one thread.
#pragma once

#include <memory>
#include <string>

#include "core/model/tree.h"
#include "core/render/views.h"

namespace arborfs {

class TreeDrawing {
 public:
  /// Takes the current labels of `index`. Marks `leaf`.
  TreeDrawing(const LogIndex& index, Ordinal leaf);
  ~TreeDrawing();
  TreeDrawing(const TreeDrawing&) = delete;
  TreeDrawing& operator=(const TreeDrawing&) = delete;

  /// The tree to draw; call it before the first draw().
  void set_tree(Tree tree);
  /// Draws the next `most` lines. `index` is the same one, which may have grown since. False if all have been drawn.
  bool draw(const LogIndex& index, const TreeText& text, std::size_t most, std::string& out);

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

}  // namespace arborfs
