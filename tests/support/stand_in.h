// A process that looks like another program, with a chosen name, arguments, terminal, environment and open files.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/unique_fd.h"
#include "tests/support/paths.h"

namespace arborfs::testing {

/// A new terminal for stand-ins.
class PseudoTerminal {
 public:
  PseudoTerminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_TRUE(::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0);
    char name[64] = "";
    EXPECT_EQ(::ptsname_r(master_.get(), name, sizeof name), 0);
    device_ = name;
  }
  [[nodiscard]] const std::string& device() const { return device_; }
  /// The agents' name for it: pts-3.
  [[nodiscard]] std::string id() const {
    std::string id = device_.substr(5);
    id.replace(id.find('/'), 1, "-");
    return id;
  }

 private:
  const UniqueFd master_;
  std::string device_;
};

struct StandInLook {
  std::string path;                    // where the program is copied to; the last component is its name
  std::vector<std::string> arguments;  // after the name
  std::string cwd = "/";
  std::string input = "/dev/null";                 // opened as descriptor 0
  std::map<std::string, std::string> environment;  // the whole environment
  std::string open_file;                           // "" for none
};

/// Runs once it is constructed; is killed with the object at the latest.
class StandIn {
 public:
  explicit StandIn(const StandInLook& look) {
    std::filesystem::create_directories(std::filesystem::path(look.path).parent_path());
    std::filesystem::copy_file(tests::kStandIn, look.path, std::filesystem::copy_options::skip_existing);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      become(look);
      ::_exit(1);
    }
    ::close(ends[1]);
    char nothing = 0;
    EXPECT_EQ(::read(ends[0], &nothing, 1), 0) << "closed when the program runs";
    ::close(ends[0]);
    EXPECT_EQ(::kill(pid_, 0), 0) << look.path;
  }
  ~StandIn() {
    ::kill(pid_, SIGKILL);
    reap();
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Suspends it.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  /// Ends it with this signal; it stays a zombie until it is reaped.
  void end(int signal) const {
    ::kill(pid_, signal);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void reap() const { ::waitpid(pid_, nullptr, 0); }

 private:
  static void become(const StandInLook& look) {
    ::setsid();
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE}) {  // nohup and shells have their programs ignore some
      ::signal(signal, SIG_DFL);
    }
    const int input = ::open(look.input.c_str(), O_RDWR);
    ::dup2(input, 0);
    if (!look.open_file.empty() && ::open(look.open_file.c_str(), O_RDWR | O_CREAT, 0600) < 0) {
      return;
    }
    std::vector<std::string> variables;
    for (const auto& [name, value] : look.environment) {
      variables.push_back(name + "=" + value);
    }
    std::vector<std::string> words = {look.path};
    words.insert(words.end(), look.arguments.begin(), look.arguments.end());
    if (::chdir(look.cwd.c_str()) == 0) {
      ::execve(look.path.c_str(), pointers(words).data(), pointers(variables).data());
    }
  }
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (auto& word : words) {
      all.push_back(word.data());
    }
    all.push_back(nullptr);
    return all;
  }
  pid_t pid_ = 0;
};

/// Starts and ends the program again and again for two seconds, while another thread calls `look`.
inline void look_while_starting(const StandInLook& program, const std::function<void()>& look) {
  std::atomic<bool> is_over = false;
  std::thread looker([&] {
    while (!is_over) {
      look();
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    const StandIn started(program);
  }
  is_over = true;
  looker.join();
}

}  // namespace arborfs::testing
