// Random changes, compared with a model of a session: entries with parents, a leaf, labels, a title. After each change
// the session equals the model. An append leaves earlier bytes unchanged, a refused change leaves all bytes unchanged.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "core/formats/omp/log/dialect.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/stage.h"

namespace arborfs::omp {
namespace {

using testing::Stage;
using testing::Storage;

constexpr const char* kRoot = "root";
constexpr int kOperations = 250;
constexpr unsigned kSeeds = 10;

struct Model {
  struct Entry {
    std::string id;
    std::string parent;  // "" for a root
    bool is_label = false;
  };
  std::vector<Entry> entries;
  std::string leaf = kRoot;
  std::map<std::string, std::string> labels;  // by target
  std::string title;
  std::string cwd = "/work/pi";

  [[nodiscard]] const Entry& entry(const std::string& id) const {
    return *std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.id == id; });
  }
  /// What a label on the entry is on: the entry itself, or the nearest one before it that is no label.
  [[nodiscard]] std::string labelled(const std::string& id) const {
    for (std::string at = id; !at.empty(); at = entry(at).parent) {
      if (!entry(at).is_label) {
        return at;
      }
    }
    return id;
  }
  /// The ids from the root to the entry, without label entries.
  [[nodiscard]] std::vector<std::string> path(std::string id) const {
    std::vector<std::string> ids;
    for (; !id.empty(); id = entry(id).parent) {
      if (!entry(id).is_label) {
        ids.insert(ids.begin(), id);
      }
    }
    return ids;
  }
};

class Walk {
 public:
  Walk(Storage storage, unsigned seed) : storage_(storage), stage_(storage, disk_), random_(seed) {
    session_ = stage_.add_small();
    model_.entries = {{"aaaa0001", ""}, {"aaaa0002", "aaaa0001"}};
    model_.leaf = "aaaa0002";
    place_ = session_->place();
  }

  void run(unsigned seed) {
    using Step = void (Walk::*)();
    constexpr Step kSteps[] = {&Walk::append,
                               &Walk::append,
                               &Walk::append_elsewhere,
                               &Walk::append_several,
                               &Walk::branch,
                               &Walk::summarise,
                               &Walk::reset,
                               &Walk::label,
                               &Walk::label,
                               &Walk::clear_label,
                               &Walk::title,
                               &Walk::fork,
                               &Walk::fork_path,
                               &Walk::create,
                               &Walk::move,
                               &Walk::wrong_condition,
                               &Walk::right_condition,
                               &Walk::unknown_target,
                               &Walk::half_known_labels,
                               &Walk::restart};
    for (int i = 0; i < kOperations && !::testing::Test::HasFailure(); ++i) {
      before_ = stage_.bytes(session_);
      (this->*kSteps[below(std::size(kSteps))])();
      compare();
    }
    if (::testing::Test::HasFailure()) {
      std::string told = "seed " + std::to_string(seed) + ":";
      for (const auto& operation : operations_) {
        told += "\n  " + operation;
      }
      ADD_FAILURE() << told;
    }
  }

 private:
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  std::string any_entry() { return model_.entries[below(model_.entries.size())].id; }
  static std::string parent_of(const std::string& leaf) { return leaf == kRoot ? "" : leaf; }
  void note(const std::string& operation) { operations_.push_back(operation); }

  // -- the expected results of a change

  /// `count` more entries, the first a child of `parent`, each the parent of the next, the last one the leaf.
  void appended(std::size_t count, const std::string& parent, bool are_labels = false) {
    const std::string now = stage_.bytes(session_);
    EXPECT_TRUE(now.starts_with(before_)) << "earlier bytes changed";
    EXPECT_TRUE(now.ends_with('\n'));
    ASSERT_TRUE(session_->refresh(Depth::index));
    const auto guard = session_->read();
    ASSERT_EQ(guard->index().size(), model_.entries.size() + count);
    std::string last = parent;
    for (std::size_t i = 0; i < count; ++i) {
      const auto ordinal = static_cast<Ordinal>(model_.entries.size() + 1);
      model_.entries.push_back({guard->index().id(ordinal).text, last, are_labels});
      last = model_.entries.back().id;
    }
    model_.leaf = last;
  }
  template <class Answer>
  void refused(const Result<Answer>& answer, Errc code) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, code) << answer.error().message;
    untouched();
  }
  void untouched() { EXPECT_EQ(stage_.bytes(session_), before_) << "bytes changed"; }

  void compare() {
    ASSERT_TRUE(session_->refresh(Depth::index));
    const auto guard = session_->read();
    const LogIndex& index = guard->index();
    ASSERT_EQ(index.size(), model_.entries.size());
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      ASSERT_EQ(index.id(ordinal).text, model_.entries[ordinal - 1].id);
      const Ordinal parent = index.parent(ordinal);
      ASSERT_EQ(parent == kNoEntry ? "" : index.id(parent).text, model_.entries[ordinal - 1].parent) << "#" << ordinal;
    }
    EXPECT_EQ(guard->leaf() == kNoEntry ? kRoot : index.id(guard->leaf()).text, model_.leaf) << "leaf";
    std::map<std::string, std::string> labels;
    for (const Label& label : index.labels()) {
      labels[label.target.text] = label.text;
    }
    EXPECT_EQ(labels, model_.labels);
    EXPECT_EQ(index.header().title, model_.title);
    EXPECT_EQ(index.header().cwd, model_.cwd);
    EXPECT_TRUE(index.damage().empty());
  }

  // -- the changes

  void append() {
    note("append at " + model_.leaf);
    EXPECT_TRUE(stage_.writer().append(session_, Stage::text("text")));
    appended(1, parent_of(model_.leaf));
  }
  void append_elsewhere() {
    const std::string at = below(5) == 0 ? kRoot : any_entry();
    note("append below " + at);
    const auto written = stage_.writer().append(session_, Stage::text("text"), at);
    EXPECT_TRUE(written && written->parent_id == parent_of(at));
    appended(1, parent_of(at));
  }
  void append_several() {
    const std::size_t count = 1 + below(4);
    note("append " + std::to_string(count) + " at " + model_.leaf);
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
      lines += R"({"type":"custom","customType":"x","data":{"n":1e2}})"
               "\n";
    }
    auto command = json_command(lines, Dialect::omp13, 1771237231000);
    ASSERT_TRUE(command);
    EXPECT_TRUE(stage_.writer().append(session_, std::move(*command)));
    appended(count, parent_of(model_.leaf));
  }
  void branch() {
    const std::string target = any_entry();
    note("branch to " + target);
    EXPECT_TRUE(stage_.writer().branch(session_, target));
    model_.leaf = target;
    untouched();
  }
  void reset() {
    note("branch to the root");
    EXPECT_TRUE(stage_.writer().branch(session_, kRoot));
    model_.leaf = kRoot;
    untouched();
  }
  void summarise() {
    const std::string target = below(5) == 0 ? kRoot : any_entry();
    note("branch to " + target + " with a summary");
    EXPECT_TRUE(stage_.writer().branch(session_, target, "tried\nfailed"));
    appended(1, parent_of(target));
  }
  void label() {
    const std::string target = any_entry();
    const std::string text = "label " + std::to_string(below(1000));
    note("label " + target + " " + text);
    EXPECT_TRUE(stage_.writer().label(session_, {{target, text}}));
    model_.labels[model_.labelled(target)] = text;
    appended(1, parent_of(model_.leaf), true);
  }
  void clear_label() {
    const std::string target = model_.labels.empty() ? any_entry() : model_.labels.begin()->first;
    note("clear the label of " + target);
    EXPECT_TRUE(stage_.writer().label(session_, {{target, ""}}));
    model_.labels.erase(target);
    appended(1, parent_of(model_.leaf), true);
  }
  void title() {
    model_.title = "Title " + std::to_string(below(1000));
    note("title " + model_.title);
    EXPECT_TRUE(stage_.writer().set_title(session_, model_.title));
    const std::string now = stage_.bytes(session_);
    EXPECT_EQ(now.substr(now.find('\n')), before_.substr(before_.find('\n'))) << "lines behind the header";
  }
  void fork() {
    note("fork");
    const auto made = stage_.writer().fork(session_);
    ASSERT_TRUE(made) << made.error().message;
    std::vector<std::string> ids;
    for (const auto& entry : model_.entries) {
      ids.push_back(entry.id);
    }
    EXPECT_EQ(ids_of(made->session), ids);
    untouched();
  }
  void fork_path() {
    const std::string target = any_entry();
    note("fork to " + target);
    const auto made = stage_.writer().fork(session_, target);
    ASSERT_TRUE(made) << made.error().message;
    const auto path = model_.path(target);
    auto ids = ids_of(made->session);
    ASSERT_GE(ids.size(), path.size());
    ids.resize(path.size());
    EXPECT_EQ(ids, path);
    untouched();
  }
  void create() {
    note("create");
    const auto made = stage_.writer().create({"/work/new", "", "", ""});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(ids_of(made->session).empty());
    untouched();
  }
  void move() {
    model_.cwd = "/work/p" + std::to_string(below(3));
    note("move to " + model_.cwd);
    const auto moved = stage_.writer().move(session_, model_.cwd);
    EXPECT_TRUE(moved) << moved.error().message;
    place_ = session_->place();
    const std::string now = stage_.bytes(session_);
    EXPECT_EQ(now.substr(now.find('\n')), before_.substr(before_.find('\n'))) << "lines behind the header";
  }
  void wrong_condition() {
    note("append if the leaf were another");
    auto command = Stage::text("text");
    command.if_leaf = model_.leaf == kRoot ? "aaaa0001" : kRoot;
    refused(stage_.writer().append(session_, std::move(command)), Errc::stale);
  }
  void right_condition() {
    note("append if the leaf is " + model_.leaf);
    auto command = Stage::text("text");
    command.if_leaf = model_.leaf;
    EXPECT_TRUE(stage_.writer().append(session_, std::move(command)));
    appended(1, parent_of(model_.leaf));
  }
  void unknown_target() {
    note("targets that nobody knows");
    refused(stage_.writer().append(session_, Stage::text("text"), "nobody"), Errc::not_found);
    refused(stage_.writer().branch(session_, "#99999"), Errc::not_found);
    refused(stage_.writer().branch(session_, "nobody", "summary"), Errc::not_found);
    refused(stage_.writer().fork(session_, "nobody"), Errc::not_found);
  }
  void half_known_labels() {
    note("labels, one of them of nobody");
    refused(stage_.writer().label(session_, {{any_entry(), "x"}, {"nobody", "y"}}), Errc::not_found);
  }
  void restart() {
    note("restart");
    stage_.restart();
    session_ = stage_.catalog().at(place_);
    ASSERT_TRUE(session_);
    if (storage_ == Storage::memory) {  // which does not store a moved leaf
      model_.leaf = model_.entries.back().id;
    }
    untouched();
  }

  static std::vector<std::string> ids_of(const SessionPtr& session) {
    std::vector<std::string> ids;
    EXPECT_TRUE(session->refresh(Depth::index));
    const auto guard = session->read();
    for (Ordinal ordinal = 1; guard && ordinal <= guard->index().size(); ++ordinal) {
      ids.push_back(guard->index().id(ordinal).text);
    }
    return ids;
  }

  const Storage storage_;
  testing::FaultyDisk disk_;  // never armed: used because it skips syncs
  Stage stage_;
  std::mt19937 random_;
  SessionPtr session_;
  LogPlace place_;
  Model model_;
  std::string before_;
  std::vector<std::string> operations_;
};

class PropertyTest : public ::testing::TestWithParam<Storage> {};

INSTANTIATE_TEST_SUITE_P(Storages, PropertyTest, ::testing::Values(Storage::files, Storage::memory),
                         testing::storage_name);

TEST_P(PropertyTest, SessionsMatchTheirModel) {
  for (unsigned seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    Walk(GetParam(), seed).run(seed);
  }
}

}  // namespace
}  // namespace arborfs::omp
