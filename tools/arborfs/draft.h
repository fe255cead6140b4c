// A message that the user writes in an editor.
#pragma once

#include <string>

#include "core/base/error.h"
#include "tools/arborfs/access.h"

namespace arborfs::cli {

struct Draft {
  std::string path;  // of a file that nobody else may read
  std::string text;  // without the lines that explain it, and without white space around it; never empty
};

/// Opens an editor (editor_command) with a few lines that say where the message goes, and waits. Errors: interrupted if
/// nothing was written; those of run_editor and of creating the file. An error of an editor that left a text says where
/// it is kept; any other removes the file.
Result<Draft> write_draft(const std::string& editor, const Listed& to);

/// Removes the file.
void discard(const Draft& draft);

}  // namespace arborfs::cli
