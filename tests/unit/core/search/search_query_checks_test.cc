// Filters of queries that name nothing.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/base/cancellation.h"
#include "core/formats/omp/store/store.h"
#include "core/search/search.h"
#include "tests/support/temp_store.h"

namespace arborfs::search {
namespace {

using testing::TempStore;

class QueryChecks : public ::testing::Test {
 protected:
  QueryChecks() {
    temp.write("-work", "one",
               TempStore::header("one", "/work") + "\n" + TempStore::user("aaaa0001", "", "race") + "\n");
    catalog.rescan();
  }
  using Check = std::function<Result<void>(const Catalog&, const Query&)>;
  std::string refused(const Check& check, const std::string& text) {
    const auto query = parse_query(text);
    EXPECT_TRUE(query) << text;
    const auto checked = check(catalog, *query);
    EXPECT_TRUE(checked || checked.error().code == Errc::invalid_argument) << text;
    return checked ? "" : checked.error().message;
  }
  TempStore temp;
  Catalog catalog{omp::open_store(temp.root()), "/home/dev", ""};
};

TEST_F(QueryChecks, AgentsNeedAStore) {
  EXPECT_EQ(refused(check_agent, "race"), "");
  EXPECT_EQ(refused(check_agent, "race agent:omp"), "");
  EXPECT_EQ(refused(check_agent, "race agent:opm"),
            "no store of an agent 'opm' is open; there are stores of omp; did you mean 'omp'?");
  EXPECT_EQ(refused(check_agent, "agent:\x1b[2J").find('\x1b'), std::string::npos) << "goes to a terminal";
}

TEST_F(QueryChecks, RolesNeedAnEntry) {
  const auto check_role = explain_nothing;
  EXPECT_EQ(refused(check_role, "other"), "");
  EXPECT_EQ(refused(check_role, "other agent:pi"), "") << "no session, and no role";
  EXPECT_EQ(refused(check_role, "other role:USER"), "");
  EXPECT_EQ(refused(check_role, "race role:usr"),
            "no entry has the role 'usr'; there are entries of user; did you mean 'user'?");
  EXPECT_EQ(refused(check_role, "race role:user agent:pi"), "no entry has the role 'user'");
  std::stop_source stop;
  stop.request_stop();
  const Cancellation cancellation(stop.get_token());
  EXPECT_EQ(explain_nothing(catalog, *parse_query("role:usr")).error().code, Errc::interrupted);
}

TEST_F(QueryChecks, ToolsNearToOthersAreMistakes) {
  temp.write("-work", "two",
             TempStore::header("two", "/work") + "\n" +
                 R"({"type":"message","id":"aaaa0002","parentId":null,"timestamp":"2026-02-16T10:20:31.000Z",)" +
                 R"("message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"Bash",)" +
                 R"("arguments":{"command":"ls"}}]}})" + "\n");
  catalog.rescan();
  EXPECT_EQ(refused(explain_nothing, "x tool:Bsh"), "no entry calls the tool 'bsh'; did you mean 'Bash'?");
  EXPECT_EQ(refused(explain_nothing, "x tool:bash"), "");
  EXPECT_EQ(refused(explain_nothing, "x tool:Elsewhere"), "") << "nothing is known of other tools";
}

}  // namespace
}  // namespace arborfs::search
