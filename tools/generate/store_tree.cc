#include "tools/generate/store_tree.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "tools/generate/output.h"
#include "tools/generate/session_log.h"
#include "tools/generate/text_pool.h"

namespace arborfs::generate {
namespace {

constexpr std::string_view kHome = "/home/dev";
constexpr std::uint64_t kTerminals = 6;

// The agents' rule for folder names (omp/FORMAT.md F4).
std::string folder_for(const std::string& cwd) {
  std::string name;
  if (cwd == kHome) {
    return "-";
  }
  if (cwd.starts_with(std::string(kHome) + "/")) {
    name = "-" + cwd.substr(kHome.size() + 1);
  } else {
    name = "--" + cwd.substr(1) + "--";
  }
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

std::vector<std::string> working_directories(std::uint64_t count) {
  static constexpr std::string_view kShapes[] = {"/home/dev/src/", "/srv/build/team-a/", "/opt/projects/with space "};
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(std::string(kShapes[i % 3]) + "app-" + std::to_string(i));
  }
  return all;
}

class StoreWriter {
 public:
  explicit StoreWriter(const StorePlan& plan)
      : plan_(plan),
        random_(plan.seed ^ 0x570BE),
        cwds_(working_directories(std::max<std::uint64_t>(plan.projects, 1))) {}
  Result<StoreMade> write();

 private:
  SessionPlan next_session();
  Result<void> write_one();
  Result<void> write_artifacts(const std::string& log, std::int64_t end_ms);
  Result<void> write_breadcrumb(const std::string& cwd, const std::string& log, std::uint64_t number);

  const StorePlan& plan_;
  Random random_;
  std::vector<std::string> cwds_;
  std::int64_t start_ms_ = kFirstStartMs;
  StoreMade made_;
};

SessionPlan StoreWriter::next_session() {
  start_ms_ += 60'000 + static_cast<std::int64_t>(random_.below(4 * 3'600'000));
  const double size = plan_.median_kb * 1000 * std::exp(plan_.sigma * random_.normal());
  // Squared, so that a few busy projects hold most sessions.
  const auto project = static_cast<std::size_t>(std::pow(random_.unit(), 2) * static_cast<double>(cwds_.size()));
  SessionPlan session;
  session.bytes = static_cast<std::uint64_t>(std::clamp(size, 2000.0, plan_.max_mb * 1e6));
  session.seed = random_.below(1ULL << 32);
  session.start_ms = start_ms_;
  session.cwd = cwds_[std::min(project, cwds_.size() - 1)];
  session.v18 = random_.unit() < plan_.v18;
  session.branches = std::min<std::uint64_t>(40, session.bytes / 150'000);
  session.blobs = plan_.agent_dir + "/blobs";
  return session;
}

Result<void> StoreWriter::write_artifacts(const std::string& log, std::int64_t end_ms) {
  const std::string folder = log.substr(0, log.size() - std::string_view(".jsonl").size());
  RETURN_IF_ERROR(make_folders(folder));
  const std::uint64_t count = 1 + random_.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text;
    TextPool::code().append_plain(text, random_, random_.spread(1'000, 60'000));
    const std::string path = folder + "/" + std::to_string(i) + ".bash.log";
    RETURN_IF_ERROR(write_file(path, text));
    RETURN_IF_ERROR(set_time(path, end_ms));
  }
  return set_time(folder, end_ms);
}

Result<void> StoreWriter::write_breadcrumb(const std::string& cwd, const std::string& log, std::uint64_t number) {
  const std::string folder = plan_.agent_dir + "/terminal-sessions";
  return write_file(folder + "/pts-" + std::to_string(number), cwd + "\n" + log + "\n");
}

Result<void> StoreWriter::write_one() {
  const SessionPlan session = next_session();
  const std::string folder = plan_.agent_dir + "/sessions/" + folder_for(session.cwd);
  RETURN_IF_ERROR(make_folders(folder));
  const std::string log = folder + "/" + log_name(session);
  ASSIGN_OR_RETURN(const auto written, write_session(log, session));
  RETURN_IF_ERROR(set_time(log, written.end_ms));
  if (random_.one_in(8)) {
    RETURN_IF_ERROR(write_artifacts(log, written.end_ms));
  }
  made_.bytes += written.bytes;
  made_.entries += written.entries;
  ++made_.sessions;
  const std::uint64_t left = plan_.sessions - made_.sessions;
  return left < kTerminals ? write_breadcrumb(session.cwd, log, left) : Result<void>();
}

Result<StoreMade> StoreWriter::write() {
  for (const char* folder : {"/sessions", "/blobs", "/terminal-sessions"}) {
    RETURN_IF_ERROR(make_folders(plan_.agent_dir + folder));
  }
  for (std::uint64_t i = 0; i < plan_.sessions; ++i) {
    RETURN_IF_ERROR(write_one());
  }
  return made_;
}

}  // namespace

Result<StoreMade> write_store(const StorePlan& plan) {
  StorePlan absolute = plan;
  absolute.agent_dir = std::filesystem::absolute(plan.agent_dir).lexically_normal().string();
  return StoreWriter(absolute).write();
}

}  // namespace arborfs::generate
