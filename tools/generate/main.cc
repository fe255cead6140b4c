// arborfs-generate: makes sessions and stores for measuring and testing. The same arguments give the same bytes.
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/generate/output.h"
#include "tools/generate/session_log.h"
#include "tools/generate/shapes.h"
#include "tools/generate/store_tree.h"

namespace arborfs::generate {
namespace {

constexpr const char* kUsage = R"(usage:
  arborfs-generate session TARGET_MB SEED OUT.jsonl [--branches N] [--blobs DIR] [--v18]
  arborfs-generate store AGENT_DIR SESSIONS PROJECTS SEED [--median-kb N] [--sigma S] [--max-mb N] [--v18 FRACTION]
  arborfs-generate entries N OUT.jsonl
  arborfs-generate chain DEPTH OUT.jsonl
  arborfs-generate giant-line MB OUT.jsonl
  arborfs-generate brackets N OUT.jsonl
)";

struct Arguments {
  std::vector<std::string> places;
  std::map<std::string, std::string, std::less<>> options;
  bool valid = true;

  [[nodiscard]] std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || value < 0) {
      valid = false;
      return std::nullopt;
    }
    return value;
  }
  [[nodiscard]] double place(std::size_t i) { return number(places[i]).value_or(0); }
  [[nodiscard]] std::uint64_t count(std::size_t i) { return static_cast<std::uint64_t>(place(i)); }
  void option(std::string_view name, double& into) {
    if (const auto found = options.find(name); found != options.end()) {
      into = number(found->second).value_or(into);
    }
  }
};

Arguments read_arguments(std::span<char* const> words, std::string_view command) {
  Arguments read;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (!word.starts_with("--")) {
      read.places.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool is_switch = word == "--v18" && command == "session";
    if (equals != std::string::npos) {
      read.options[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (is_switch || i + 1 < words.size()) {
      read.options[word] = is_switch ? "1" : words[++i];
    } else {
      read.valid = false;
    }
  }
  return read;
}

int usage() {
  std::fputs(kUsage, stderr);
  return 2;
}

int finish(const Result<void>& done) {
  if (!done) {
    std::fprintf(stderr, "arborfs-generate: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}

int make_session(Arguments& arguments) {
  SessionPlan plan;
  plan.bytes = static_cast<std::uint64_t>(arguments.place(0) * 1e6);
  plan.seed = arguments.count(1);
  plan.start_ms = kFirstStartMs;
  plan.cwd = "/srv/bench";
  plan.v18 = arguments.options.contains("--v18");
  plan.blobs = arguments.options["--blobs"];
  if (arguments.options.contains("--branches")) {
    double branches = 0;
    arguments.option("--branches", branches);
    plan.branches = static_cast<std::uint64_t>(branches);
  }
  if (!arguments.valid) {
    return usage();
  }
  if (!plan.blobs.empty()) {
    if (const auto ready = make_folders(plan.blobs); !ready) {
      return finish(ready);
    }
  }
  const std::string& path = arguments.places[2];
  const auto made = write_session(path, plan);
  if (!made) {
    return finish(made.error());
  }
  std::printf("{\"bytes\":%llu,\"entries\":%llu}\n", static_cast<unsigned long long>(made->bytes),
              static_cast<unsigned long long>(made->entries));
  return finish(set_time(path, made->end_ms));
}

int make_store(Arguments& arguments) {
  StorePlan plan;
  plan.agent_dir = arguments.places[0];
  plan.sessions = arguments.count(1);
  plan.projects = arguments.count(2);
  plan.seed = arguments.count(3);
  arguments.option("--median-kb", plan.median_kb);
  arguments.option("--sigma", plan.sigma);
  arguments.option("--max-mb", plan.max_mb);
  arguments.option("--v18", plan.v18);
  if (!arguments.valid) {
    return usage();
  }
  const auto made = write_store(plan);
  if (!made) {
    return finish(made.error());
  }
  std::printf("{\"sessions\":%llu,\"bytes\":%llu,\"entries\":%llu}\n", static_cast<unsigned long long>(made->sessions),
              static_cast<unsigned long long>(made->bytes), static_cast<unsigned long long>(made->entries));
  return 0;
}

int make_shape(Arguments& arguments, Result<void> (*write)(const std::string&, std::uint64_t)) {
  const std::uint64_t count = arguments.count(0);
  return arguments.valid ? finish(write(arguments.places[1], count)) : usage();
}

int run(std::span<char* const> words) {
  if (words.empty()) {
    return usage();
  }
  const std::string_view command = words[0];
  Arguments arguments = read_arguments(words.subspan(1), command);
  const std::size_t places = arguments.places.size();
  if (command == "session" && places == 3) {
    return make_session(arguments);
  }
  if (command == "store" && places == 4) {
    return make_store(arguments);
  }
  const std::pair<std::string_view, Result<void> (*)(const std::string&, std::uint64_t)> shapes[] = {
      {"entries", write_small_entries},
      {"chain", write_chain},
      {"giant-line", write_giant_line},
      {"brackets", write_brackets}};
  for (const auto& [name, write] : shapes) {
    if (command == name && places == 2) {
      return make_shape(arguments, write);
    }
  }
  return usage();
}

}  // namespace
}  // namespace arborfs::generate

int main(int argc, char** argv) {
  return arborfs::generate::run(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc - 1)));
}
