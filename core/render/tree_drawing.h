// draw_tree() in steps, for an index that others may let grow in between. Used by one thread.
#pragma once

#include <memory>
#include <string>

#include "core/model/tree.h"
#include "core/render/views.h"

namespace arborfs {

class TreeDrawing {
 public:
  /// Takes the labels that `index` has now. `leaf` is marked.
  TreeDrawing(const LogIndex& index, Ordinal leaf);
  ~TreeDrawing();
  TreeDrawing(const TreeDrawing&) = delete;
  TreeDrawing& operator=(const TreeDrawing&) = delete;

  /// What is to be drawn; before the first draw().
  void set_tree(Tree tree);
  /// Draws the next `most` lines; the same index, or one that has grown since. False when all have been drawn.
  bool draw(const LogIndex& index, const TreeText& text, std::size_t most, std::string& out);

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

}  // namespace arborfs
