// What arborfs changed, so that it can be taken back (core/write/undo.h): $XDG_STATE_HOME/arborfs/operations, one line
// of JSON for each change, oldest first, readable by its owner alone. A line says what was before and what is after; of
// a file it has only the bytes that were replaced, and the hash of those that were written. The file is bounded: the
// oldest lines go.
//
// A line is written after its change, and not synced: a power cut may lose the lines of the last seconds, never a
// change. A change whose line is lost, or cannot be written, cannot be undone; it never fails for that. The line of a
// relocation is written before it, since a process that is killed amid many of them would leave one without a line.
// Thread-safe; any number of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/os/disk.h"
#include "core/os/file.h"
#include "core/store/effect.h"
#include "core/store/store.h"

namespace arborfs {

class Session;

struct Operation {
  std::string id;  // set by Operations::add
  std::int64_t time_ms = 0;
  std::string verb;
  std::string with;    // the id of the first one of those that were made together, which are one for users; "" alone
  std::string undoes;  // the id of an operation, or of the first of several, that this one took back; "" otherwise
  std::string agent;
  std::string dir;      // StorePaths::agent_dir
  std::string session;  // id, "" if it is of no session
  std::string title;
  LogPlace place;
  std::vector<Effect> effects;
  std::string cannot;  // why it cannot be taken back; "" if it can
};
Operation operation_on(const Session& session, std::string_view verb);

/// Operations that are one for users, and whether they were taken back.
struct OperationGroup {
  std::vector<Operation> parts;  // in the order in which they were made
  bool is_undone = false;
  [[nodiscard]] const Operation& first() const { return parts.front(); }
  /// "" if it can be taken back, as far as its lines say.
  [[nodiscard]] std::string cannot() const;
  /// Of how many sessions it is.
  [[nodiscard]] std::size_t sessions() const;
};

class Operations {
 public:
  static constexpr std::size_t kMostBytes = 4 << 20;  // then the older half goes
  static constexpr std::size_t kLongest = 128 << 10;  // of what is kept of a change; a longer one cannot be undone
  static constexpr const char* kFile = "operations";

  /// `folder`: the state folder, "" to keep them in memory. `disk` outlives this.
  Operations(std::string folder, Disk& disk) : folder_(std::move(folder)), disk_(disk) {}

  /// Never fails: what cannot be written goes to the log. Returns its id, "" if it is not added.
  std::string add(Operation operation);
  /// Takes the last line back if it is that of this id, whose change was not made. Never fails.
  void forget(const std::string& id);
  /// Oldest first. A line that is no operation is left out. Errors: permission, too_large, io.
  [[nodiscard]] Result<std::vector<Operation>> all() const;

  /// While it lives, operations that are added here are one for users.
  class Together {
   public:
    Together(Operations& of, std::string verb);
    ~Together();
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    Operations& of_;
  };
  /// While it lives, operations are not added here: they take others back.
  class Muted {
   public:
    explicit Muted(Operations& of);
    ~Muted();
    Muted(const Muted&) = delete;
    Muted& operator=(const Muted&) = delete;

   private:
    Operations& of_;
  };

 private:
  Result<void> append(std::string line);
  Result<void> cut_last(const std::string& id);
  Result<void> open();
  Result<void> drop_older();
  const std::string folder_;
  Disk& disk_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::optional<File> file_;       // for appending, once it is open
  std::uint64_t whole_lines_ = 0;  // its size after a whole line was appended here
  std::string in_memory_;
  std::string together_verb_;  // of all that are together; "" if they are not
  std::string together_;       // the id of the first one, once there is one
  int muted_ = 0;
};

/// Operations as users see them, oldest first; those that took others back are none.
std::vector<OperationGroup> grouped_operations(const std::vector<Operation>& all);
/// A line for each: time, id, verb, session, state; safe to show.
std::string operations_text(const std::vector<OperationGroup>& groups);

}  // namespace arborfs
