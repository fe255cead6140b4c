// Shared by the tests of core/json: the vectors and the lines of the corpus.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "tests/support/paths.h"

namespace arborfs::json::testing {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Calls `check` with each parsed line of a vector file.
inline void for_each_vector(const std::string& name, const std::function<void(const Value&)>& check) {
  const auto lines = lines_of(std::filesystem::path(arborfs::tests::kTestData) / "corpus/_vectors" / name);
  ASSERT_FALSE(lines.empty()) << name;
  for (const std::string& line : lines) {
    SCOPED_TRACE(line.substr(0, 300));
    Document vector;
    ASSERT_TRUE(parse(line, vector));
    check(vector);
  }
}

/// Every line of every session log of the corpus, also the damaged ones.
inline std::vector<std::string> corpus_lines() {
  std::vector<std::string> lines;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(arborfs::tests::kTestData) / "corpus")) {
    if (entry.path().filename() == "session.jsonl") {
      for (std::string& line : lines_of(entry.path())) {
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

/// Runs `work` on a stack so small that recursing on input would overflow it.
inline void on_small_stack(const std::function<void()>& work) {
  constexpr std::size_t kStack = 256 * 1024;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace arborfs::json::testing
