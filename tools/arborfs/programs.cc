#include "tools/arborfs/programs.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "core/base/unique_fd.h"
#include "core/entry/text.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kWholeWord = 1 << 20;
constexpr std::size_t kShownCommand = 200;
constexpr const char* kShell = "/bin/sh";

bool is_program(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

bool needs_no_quotes(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:=@%+,").find(c) != std::string_view::npos;
}

std::string with_escapes(std::string_view word) {
  std::string quoted = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      quoted += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                 static_cast<char>('0' + (byte & 7))};
    }
  }
  return quoted + "'";
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// A file without a name that holds the bytes, to be read from the start.
Result<UniqueFd> file_with(std::string_view bytes) {
  UniqueFd file(::memfd_create("arborfs", MFD_CLOEXEC));
  if (!file) {
    return error_from_errno(errno, "cannot create a file in memory");
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0) {
      return error_from_errno(errno, "cannot write to a file in memory");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string read_all(int fd) {
  std::string all;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count > 0) {
      all.append(piece.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return all;
    }
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string find_program(const Terminal& io, std::string_view name) {
  const std::string path = io.env ? io.env("PATH").value_or("") : "";
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + std::string(name);
    if (file.front() == '/' && end > begin && is_program(file)) {
      return file;
    }
    begin = end + 1;
  }
  return "";
}

std::string shell_quoted(std::string_view word) {
  if (visible_line(word, kWholeWord) != word) {
    return with_escapes(word);
  }
  if (!word.empty() && std::all_of(word.begin(), word.end(), needs_no_quotes)) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

Result<std::string> run_filter(const std::string& path, const std::vector<std::string>& words, std::string_view input) {
  auto in = file_with(input);
  if (!in) {
    return in.error();
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return error_from_errno(errno, "cannot create a pipe");
  }
  const UniqueFd out(ends[0]);
  UniqueFd to(ends[1]);
  std::vector<std::string> own = words;
  auto argv = pointers_to(own);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in->get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return error_from_errno(failed, "cannot run " + path);
  }
  to.reset();
  std::string answer = read_all(out.get());
  const int status = wait_for(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return {Errc::interrupted, "nothing was chosen"};
  }
  return answer;
}

pid_t start_shell(const std::string& command, int in, const Defaults& defaults) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    variables.emplace_back(*one);
  }
  for (const auto& [name, value] : defaults) {
    const auto is_it = [begin = name + "="](const std::string& one) { return one.starts_with(begin); };
    if (std::none_of(variables.begin(), variables.end(), is_it)) {
      variables.push_back(name + "=" + value);
    }
  }
  std::vector<std::string> words{"sh", "-c", command};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, kShell, &actions, nullptr, pointers_to(words).data(), pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : 0;
}

Result<void> run_editor(const std::string& editor, const std::string& path) {
  const pid_t child = start_shell(editor + " " + shell_quoted(path), STDIN_FILENO, {});
  if (child == 0) {
    return {Errc::io, "cannot run the editor"};
  }
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGINT, &ignore, &before);  // Ctrl-C in the editor is for the editor
  const int status = wait_for(child);
  ::sigaction(SIGINT, &before, nullptr);
  const bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return is_done ? Result<void>()
                 : Result<void>(Errc::io, "the editor '" + visible_line(editor, kShownCommand) +
                                              "' failed; set EDITOR to another one, or give the text: --text TEXT");
}

std::string editor_command(const Terminal& io) {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    if (auto command = io.env ? io.env(name) : std::nullopt; command && !command->empty()) {
      return *command;
    }
  }
  if (io.env && io.env("TERM").value_or("dumb") != "dumb") {
    for (const char* name : {"editor", "nano", "vi"}) {
      if (auto program = find_program(io, name); !program.empty()) {
        return shell_quoted(program);
      }
    }
  }
  return "";
}

Error become(const std::string& path, const std::vector<std::string>& words) {
  std::signal(SIGIO, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  std::vector<std::string> own = words;
  ::execv(path.c_str(), pointers_to(own).data());
  return error_from_errno(errno, "cannot run " + path);
}

}  // namespace arborfs::cli
