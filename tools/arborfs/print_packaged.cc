#include "tools/arborfs/json_text.h"
#include "tools/arborfs/packaged.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {

int run_completion(const CommandLine& line, Terminal& io) {
  const std::string_view script = line.shell == "bash"  ? kBashCompletion
                                  : line.shell == "zsh" ? kZshCompletion
                                                        : kFishCompletion;
  if (line.json) {
    io.out << JsonText::object().add("shell", line.shell).add("script", script).str() << "\n";
  } else {
    io.out << script;
  }
  return kDone;
}

int run_skill(const CommandLine& line, Terminal& io) {
  if (line.json) {
    io.out << JsonText::object().add("file", "SKILL.md").add("text", kSkillPage).str() << "\n";
  } else {
    io.out << kSkillPage;
  }
  return kDone;
}

}  // namespace arborfs::cli
