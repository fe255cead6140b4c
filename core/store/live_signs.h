// Signs that an agent's programs hold sessions of a store. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs {

class Dir;        // core/os/file.h
struct LogPlace;  // core/store/session_store.h

/// How the programs of an agent are recognised, and how their processes show what they use. Constant data of a format.
struct AgentPrograms {
  /// Names of the process, of its executable, or of the script that an interpreter runs, up to the first dot.
  std::span<const std::string_view> names;
  /// A script in a folder of this name is the agent's too; "" for none.
  std::string_view package;
  /// A process of this name is the agent's if a component of a path in its arguments begins with one of `names`.
  std::string_view runtime = {};
  /// The folder with the agent's state: the value of the variable followed by `below`; if the variable is not set or
  /// empty, `home` below the home folder. Programs with another folder hold no sessions of the store.
  std::string_view variable;
  std::string_view below = {};
  std::string_view home;
  /// A program with this argument is a service of the agent that stays behind: it holds only the sessions that its own
  /// signs (LiveSigns) name; "" for none.
  std::string_view service = {};
  /// True if its sessions are independent of its working directory: it may hold any session that was written since it
  /// started.
  bool is_server = false;
};

/// The signs that an agent itself leaves for the sessions that it has loaded, at one moment. The store outlives it.
class LiveSigns {
 public:
  virtual ~LiveSigns() = default;
  LiveSigns() = default;
  LiveSigns(const LiveSigns&) = delete;
  LiveSigns& operator=(const LiveSigns&) = delete;

  /// Why a program has the session loaded, in words; empty if there is no sign of it.
  [[nodiscard]] virtual std::vector<std::string> of(const LogPlace& place) const = 0;
  /// The same for a caller that holds the log's lock. Does not wait: a lock that another program holds only for one
  /// write counts too.
  [[nodiscard]] virtual std::vector<std::string> under_lock(const LogPlace& place) const { return of(place); }
  /// True if the signs name the sessions that this process has loaded; it then has no others.
  [[nodiscard]] virtual bool tell_all_of(long /*pid*/) const { return false; }
};

}  // namespace arborfs
