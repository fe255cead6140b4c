// Takes back what a writer did, and compares a store with what it was before. For the tests of undo of each agent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/registry.h"
#include "core/write/undo.h"

namespace arborfs::testing {

using StoreFiles = std::map<std::string, std::string>;  // bytes, by path

/// The files below a folder. Locks and empty files are left out: an agent's lock makes some.
inline StoreFiles files_below(const std::string& folder) {
  StoreFiles found;
  if (!std::filesystem::exists(folder)) {
    return found;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes = entry.is_regular_file() ? std::string(std::istreambuf_iterator<char>(in), {}) : "";
    if (!bytes.empty() && entry.path().extension() != ".lock") {
      found[entry.path().string()] = std::move(bytes);
    }
  }
  return found;
}

inline bool has_operation(Writer& writer) {
  return find_operation(writer.catalog().operations(), "").has_value();
}

inline Result<std::string> undo_last(Writer& writer, Disk& disk = Disk::real(), bool force = false) {
  const auto last = find_operation(writer.catalog().operations(), "");
  if (!last) {
    return last.error();
  }
  auto done = undo(
      writer, *last,
      [&](const Trashed& trashed) {
        return restore_session(writer.settings().trash, trashed, writer.catalog().stores(), disk);
      },
      force);
  writer.catalog().rescan();
  return done;
}

template <class Answer>
Result<void> plain(const Result<Answer>& answer) {
  return answer ? Result<void>() : Result<void>(answer.error());
}

/// Null if it is gone.
inline SessionPtr session_with_id(const Catalog& catalog, std::string_view id) {
  const auto view = catalog.view();
  const auto found =
      std::find_if(view->by_id.begin(), view->by_id.end(), [&](const auto& one) { return one.first == id; });
  return found == view->by_id.end() ? nullptr : found->second;
}

/// What makes one change, with a random number below 10.
using Change = std::function<Result<void>(Writer&, const SessionPtr&, unsigned number)>;

/// The changes that sessions of any agent may take. `point` is an entry to which the leaf may move.
inline std::vector<Change> usual_changes(const std::string& point) {
  return {
      [](Writer& writer, const SessionPtr& session, unsigned number) {
        return plain(writer.append_text(session, {"text " + std::to_string(number), false, ""}));
      },
      [](Writer& writer, const SessionPtr& session, unsigned number) {
        return plain(writer.set_title(session, number == 0 ? "" : "title " + std::to_string(number)));
      },
      [point](Writer& writer, const SessionPtr& session, unsigned number) {
        return plain(writer.branch(session, point, number < 5 ? "" : "a summary"));
      },
      [](Writer& writer, const SessionPtr& session, unsigned number) {
        return plain(writer.label(session, {{"#1", "label " + std::to_string(number)}}));
      },
      [](Writer& writer, const SessionPtr& session, unsigned number) {
        return plain(writer.change_tags(session, {{"tag" + std::to_string(number / 2)}, {}, number % 2 == 0}));
      },
      [](Writer& writer, const SessionPtr& session, unsigned number) {
        return writer.set_mark(session, number < 5 ? Mark::archived : Mark::pinned, number % 2 == 0);
      },
      [](Writer& writer, const SessionPtr& session, unsigned /*number*/) {
        EXPECT_TRUE(session->refresh(Depth::head));
        const std::string cwd = session->head().header.cwd;
        return plain(writer.relocate(session, {cwd, cwd == "/moved" ? "/moved/away" : "/moved"}));
      },
      [](Writer& writer, const SessionPtr& session, unsigned /*number*/) { return writer.remove(session); },
  };
}

/// Makes up to five random changes of the session and takes them back, the last one first, `sequences` times:
/// `state()` is as it was each time. Formats refuse changes that they do not have.
template <class Stage, class Session, class State>
void expect_random_changes_taken_back(Stage& stage, const std::string& point, const Session& session,
                                      const State& state, int sequences) {
  const std::vector<Change> changes = usual_changes(point);
  constexpr std::size_t kMostSteps = 5;
  std::mt19937 random(17);
  const auto below = [&random](std::size_t many) {
    return static_cast<unsigned>(std::uniform_int_distribution<std::size_t>(0, many - 1)(random));
  };
  std::set<unsigned> kinds;
  for (int sequence = 0; sequence < sequences && !::testing::Test::HasFailure(); ++sequence) {
    const auto before = state();
    std::string trace = "sequence " + std::to_string(sequence) + ", changes";
    for (unsigned step = 0, steps = 1 + below(kMostSteps); step < steps && session() != nullptr; ++step) {
      const unsigned kind = below(changes.size());
      const auto change = changes[kind](stage.writer(), session(), below(10));
      EXPECT_TRUE(change || change.error().code == Errc::unsupported || change.error().code == Errc::not_permitted ||
                  change.error().code == Errc::invalid_argument)
          << kind << ": " << change.error().message;
      if (change) {
        kinds.insert(kind);
        trace += " " + std::to_string(kind);
      }
    }
    SCOPED_TRACE(trace);
    while (has_operation(stage.writer()) && !::testing::Test::HasFailure()) {
      const auto undone = undo_last(stage.writer());
      EXPECT_TRUE(undone) << undone.error().message;
    }
    EXPECT_EQ(state(), before);
    std::filesystem::remove(stage.root() + "/state/operations");  // the list would grow with each sequence
  }
  EXPECT_GE(kinds.size(), 5U) << "this tries too little";
}

}  // namespace arborfs::testing
