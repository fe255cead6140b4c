// A terminal of strings, for running whole command lines inside a test.
#pragma once

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tools/arborfs/run.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::testing {

struct FakeTerminal {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  std::map<std::string, std::string> variables{{"HOME", "/home/dev"}, {"TERM", "xterm"}};
  cli::Terminal io{.out = out,
                   .err = err,
                   .env = [this](const char* name) -> std::optional<std::string> {
                     const auto found = variables.find(name);
                     return found == variables.end() ? std::nullopt : std::optional(found->second);
                   },
                   .in = &in};

  /// Clears the output and runs one command line; returns the exit status.
  int run(const std::vector<std::string>& words) {
    out.str("");
    err.str("");
    std::vector<const char*> argv{"arborfs"};
    for (const auto& word : words) {
      argv.push_back(word.c_str());
    }
    return cli::run_arborfs(static_cast<int>(argv.size()), argv.data(), io);
  }
  void type(const std::string& text) {
    in.clear();
    in.str(text);
  }
};

}  // namespace arborfs::testing
