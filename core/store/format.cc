#include "core/store/format.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/store/store.h"

namespace arborfs {
namespace {

/// Sets the variable that points the program to the store.
Result<void> lead_to(const StorePaths& paths, const ResumeCommand& resume, AgentCommand& command) {
  if (resume.takes_path && paths.agent_dir == paths.sessions) {
    return {};  // a folder of logs and nothing else: the path is enough
  }
  if (!paths.agent_dir.ends_with(resume.below)) {
    return {Errc::unsupported, std::string(resume.program) +
                                   " finds its sessions only in a folder whose path ends in " +
                                   std::string(resume.below) + ", unlike " + paths.agent_dir};
  }
  command.variable = resume.variable;
  command.value = paths.agent_dir.substr(0, paths.agent_dir.size() - resume.below.size());
  return {};
}

}  // namespace

bool Format::takes(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

Error only_reads(const Format& format) {
  return {Errc::read_only, format.why_only_read.empty()
                               ? "sessions of " + std::string(format.agent) + " can be read but not changed"
                               : std::string(format.why_only_read)};
}

Result<void> check_writable(const Format& format) {
  return format.is_writable() ? Result<void>() : Result<void>(only_reads(format));
}

Error does_not_take(const Format& format, std::string_view verb) {
  if (!format.is_writable() || !format.why_only_read.empty()) {
    return only_reads(format);
  }
  return {Errc::not_permitted, "sessions of " + std::string(format.agent) + " do not take '" + std::string(verb) + "'"};
}

Result<void> check_takes(const Format& format, std::string_view verb) {
  return format.takes(verb) ? Result<void>() : Result<void>(does_not_take(format, verb));
}

Result<AgentCommand> resume_command(const Store& store, const Format& format, const ResumeRequest& request) {
  if (format.resume == nullptr) {
    return {Errc::unsupported, "no known program resumes sessions of " + std::string(format.agent) +
                                   " in files of this kind (" + std::string(format.name) + ")"};
  }
  const ResumeCommand& resume = *format.resume;
  if (request.is_child && !resume.takes_children) {
    return {Errc::unsupported, std::string(format.agent) +
                                   " cannot resume a session that another session started; resume that one instead"};
  }
  const std::string session = resume.takes_path ? store.path_of(request.place) : std::string(request.id);
  if (session.empty() || session.front() == '-') {
    return {Errc::corrupt, "the session has no id that can be passed to " + std::string(format.agent)};
  }
  AgentCommand command{{std::string(resume.program), std::string(resume.option), session}, "", ""};
  if (request.is_named) {
    RETURN_IF_ERROR(lead_to(store.paths(), resume, command));
  }
  return command;
}

}  // namespace arborfs
