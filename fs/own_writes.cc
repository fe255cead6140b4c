#include "fs/own_writes.h"

#include <algorithm>
#include <iterator>

#include "core/model/tree.h"
#include "core/render/names.h"
#include "fs/session_access.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongestIdName = 240;

}  // namespace

OwnWrites::Shown OwnWrites::shown(const SessionPtr& session) const {
  Shown now;
  if (!session) {
    return now;
  }
  now.path = shown_path(*state_.catalog.view(), *session);
  now.id_name = names::encode(session->head().header.id, kLongestIdName);
  if (const auto guard = session->read()) {
    for (const auto& label : named_labels(guard->index())) {
      now.labels.emplace_back(names::encode_label(label.name), label.target);
    }
  }
  std::sort(now.labels.begin(), now.labels.end());
  return now;
}

void OwnWrites::refused(const SessionPtr& session, std::string_view doing, const Error& why) {
  writer_.note_outcome(session, doing, &why);
  settle(session, shown(session));
}

void OwnWrites::settle(const SessionPtr& session, const Shown& before) {
  state_.note_own_write(session ? session->number() : 0);
  std::vector<Forget> out{{NodeId::root(), "status.json"}};
  if (session) {
    const Shown now = shown(session);
    if (const std::uint32_t home = state_.slots.find(session->number(), 0); home != 0) {
      out.push_back({NodeId(Kind::session, home, 0), "status.json"});
      add_labels(*session, before, now, out);
    }
    if (before.path != now.path || before.id_name != now.id_name) {
      add_place(before, now, out);
      add_place(now, before, out);
    }
  }
  news_.tell_and_wait(std::move(out));
}

/// branches/<label> of labels that came, went, or stand on another entry. Names in labels/ need no telling.
void OwnWrites::add_labels(const Session& session, const Shown& before, const Shown& now,
                           std::vector<Forget>& out) const {
  std::vector<std::pair<std::string, Ordinal>> different;
  std::set_symmetric_difference(before.labels.begin(), before.labels.end(), now.labels.begin(), now.labels.end(),
                                std::back_inserter(different));
  std::uint32_t generation = 0;
  if (const auto guard = session.read()) {
    generation = guard->generation();
  }
  const std::uint32_t slot = state_.slots.find(session.number(), generation);
  for (const auto& [name, target] : different) {
    if (generation != 0 && slot != 0) {
      out.push_back({NodeId(Kind::branches, slot, 0), name});
    }
  }
}

/// Where a session was and no longer is.
void OwnWrites::add_place(const Shown& was, const Shown& is, std::vector<Forget>& out) const {
  const std::size_t slash = was.path.rfind('/');
  const std::size_t first = was.path.find('/');
  if (slash == std::string::npos || first == slash || was.path == is.path) {
    return;
  }
  const NodeId projects(Kind::projects, 0, 0);
  const std::string project_name = was.path.substr(first + 1, slash - first - 1);
  out.push_back({projects, ""});
  out.push_back({projects, project_name});
  out.push_back({NodeId(Kind::by_id, 0, 0), was.id_name});
  if (const auto project = state_.catalog.view()->project(project_name)) {
    const NodeId node(Kind::project, 0, project->number);
    out.push_back({node, ""});
    out.push_back({node, was.path.substr(slash + 1)});
  }
}

}  // namespace arborfs
