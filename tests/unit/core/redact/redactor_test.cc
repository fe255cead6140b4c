// Redaction of texts and JSON: secrets of all kinds behind all escapes, labels, what fails closed, innocent text.
#include "core/redact/redactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "core/json/base64.h"
#include "core/json/scan.h"
#include "core/redact/rules.h"
#include "tests/support/paths.h"
#include "tests/support/planted_secrets.h"

namespace arborfs::redact {
namespace {

using testing::Escaping;
using testing::escapings;
using ::testing::HasSubstr;
using testing::Kind;
using testing::kinds;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::plant;
using testing::Planted;

constexpr std::uint64_t kOfEachKind = 8;

RulesPtr built_in() {
  static const RulesPtr kRules = [] {
    auto rules = std::make_shared<Rules>();
    const auto added = rules->add(kRuleList);
    EXPECT_TRUE(added) << added.error().message;
    return rules;
  }();
  return kRules;
}

std::string redacted(Redactor& redactor, const Escaping& escaping, const std::string& text) {
  return escaping.is_json ? redactor.redact_json(text) : redactor.redact(text);
}

std::string password(std::uint64_t seed) {
  return plant({"", "", "{a14}7", ""}, seed).secret;
}
std::string github(std::uint64_t seed) {
  return plant({"", "",
                "gh"
                "p_{crc}",
                ""},
               seed)
      .secret;
}

TEST(Redactor, NoPlantedSecretIsLeftBehindAnyEscape) {
  ASSERT_GE(kinds().size(), 75U);
  ASSERT_GE(kinds().size() * kOfEachKind, 600U);
  Redactor redactor(built_in());
  for (std::size_t kind = 0; kind < kinds().size(); ++kind) {
    for (std::uint64_t seed = 0; seed < kOfEachKind; ++seed) {
      const Planted planted = plant(kinds()[kind], kind * 1000 + seed);
      const std::string text = "The first line.\n" + planted.text() + "\nand more text behind it";
      for (const Escaping& escaping : escapings()) {
        const std::string hidden = escaping.escape(text);
        ASSERT_TRUE(testing::has_part(hidden, planted.secret)) << escaping.name << ": " << hidden;
        const std::string out = redacted(redactor, escaping, hidden);
        EXPECT_FALSE(testing::has_part(out, planted.secret)) << kinds()[kind].name << " in " << escaping.name << "\n"
                                                             << hidden << "\n"
                                                             << out;
        EXPECT_EQ(redacted(redactor, escaping, out), out) << kinds()[kind].name << " in " << escaping.name;
        EXPECT_TRUE(!escaping.is_json || json::is_one_value(out)) << out;
      }
    }
  }
}

TEST(Redactor, WhatIsRedactedStaysAsItIsForAnotherRedactor) {
  Redactor first(built_in());
  Redactor second(built_in());
  for (const Kind& kind : kinds()) {
    const Planted planted = plant(kind, 5);
    for (const Escaping& escaping : escapings()) {
      const std::string out = redacted(first, escaping, escaping.escape("Text.\n" + planted.text() + "\nmore"));
      EXPECT_EQ(redacted(second, escaping, out), out) << kind.name << " in " << escaping.name;
    }
  }
}

TEST(Redactor, FilesInBase64AreLeftOutOfJson) {
  Redactor redactor(built_in());
  const std::string file = "iVBORw0KGgo" + std::string(200, 'A') + "==";
  const std::string other = "\\/9j\\/" + std::string(76, 'B') + "\\n" + std::string(70, 'C');
  const auto with = [](const std::string& data) {
    return R"({"data":")" + data + R"(","url":"see data:application/pdf;base64,)" + data +
           R"( there","in":"{\"d\":\")" + data + R"(\"}"})";
  };
  EXPECT_EQ(redactor.redact_json(with(file)), with("[redacted:image]"));
  EXPECT_EQ(redactor.redact_json(R"({"data":")" + other + "\"}"), R"({"data":"[redacted:image]"})");
  const std::string text =
      R"({"a":"data:text/plain;base64,)" + json::encode_base64(std::string(90, ' ')) + R"(","b":"/9j/x"})";
  EXPECT_EQ(redactor.redact_json(text), text);
}

TEST(Redactor, KinHaveItsLabelsAndKnowNothingOfWhatItRead) {
  Redactor redactor(built_in());
  const std::string secret = password(1);
  EXPECT_EQ(redactor.redact("API_TOKEN=" + secret + " and " + secret),
            "API_TOKEN=[redacted:environment#1] and [redacted:environment#1]");
  const auto kin = redactor.kin();
  EXPECT_EQ(kin->redact("bare " + secret), "bare " + secret);
  EXPECT_FALSE(kin->knows_secrets());
  EXPECT_EQ(kin->redact("DB_TOKEN=" + secret), "DB_TOKEN=[redacted:environment#1]");
  EXPECT_TRUE(kin->knows_secrets());
  EXPECT_EQ(kin->redact("bare " + secret), "bare [redacted:environment#1]");
  EXPECT_EQ(redactor.taken().front().count, 2U);
}

TEST(Redactor, ASecretHasOneLabelHoweverItIsSpelled) {
  Redactor redactor(built_in());
  const std::string text = "key " + github(1) + " end";
  std::set<std::string> labels;
  for (const Escaping& escaping : escapings()) {
    const std::string out = redacted(redactor, escaping, escaping.escape(text));
    EXPECT_THAT(out, HasSubstr("[redacted:github#1]")) << escaping.name;
  }
  EXPECT_EQ(redactor.redact(github(2) + " " + github(1)), "[redacted:github#2] [redacted:github#1]");
  EXPECT_EQ(redactor.redact("GITHUB_TOKEN=" + github(2)), "GITHUB_TOKEN=[redacted:github#2]");
}

TEST(Redactor, AKnownSecretIsTakenWithoutItsName) {
  Redactor redactor(built_in());
  const std::string secret = password(1);
  const std::string label = "[redacted:environment#1]";
  EXPECT_EQ(redactor.redact("log in with " + secret), "log in with " + secret) << "nothing tells what it is";
  EXPECT_EQ(redactor.redact("DB_PASSWORD=" + secret + "\nthen " + secret), "DB_PASSWORD=" + label + "\nthen " + label);
  EXPECT_EQ(redactor.redact("x" + secret + "y"), "x" + label + "y");
  EXPECT_EQ(redactor.redact_json("[\"" + secret + "\"]"), "[\"" + label + "\"]");
  EXPECT_THAT(redactor.redact(json::encode_base64("it is " + secret + ", yes")), HasSubstr(label));
  EXPECT_EQ(redactor.redact("SECRET=documentation1\nMY_PASSWORD=documentation"),
            "SECRET=[redacted:environment#2]\nMY_PASSWORD=[redacted:environment#3]");
  EXPECT_EQ(redactor.redact("read the documentation"), "read the documentation") << "a word stays one";
}

TEST(Redactor, JsonKeepsItsBytesButTheSecrets) {
  Redactor redactor(built_in());
  const std::string secret = password(3);
  EXPECT_EQ(
      redactor.redact_json("{ \"a\" : [1.50, \"\\u0041\\/\"],\n\"api_key\": \"" + secret + "\", \"b\":null }\n{}"),
      "{ \"a\" : [1.50, \"\\u0041\\/\"],\n\"api_key\": \"[redacted:assigned#1]\", \"b\":null }\n{}");
  EXPECT_EQ(redactor.redact_json("{\"" + github(4) + "\":1}"), "{\"[redacted:github#1]\":1}") << "a key";
  EXPECT_EQ(redactor.redact_json(R"({"password":"ab7\"cd ef\\gh"})"), R"({"password":"[redacted:password#1]"})");
  EXPECT_EQ(redactor.redact_json("\"plain\""), "\"plain\"");
  EXPECT_EQ(redactor.redact_json(""), "");
}

TEST(Redactor, ANumberThatIsASecretBecomesAString) {
  auto rules = std::make_shared<Rules>();
  ASSERT_TRUE(rules->add("name\tkeywords\tpattern\npin\t^\"pin\"\t\"pin\": *([0-9]{6,})\n"));
  Redactor redactor(rules);
  EXPECT_EQ(redactor.redact_json(R"({"pin": 73519264,"n":[1]})"), R"({"pin": "[redacted:pin#1]","n":[1]})");
}

TEST(Redactor, WhatCannotBeScannedIsLeftOutAndCounted) {
  Redactor redactor(built_in(), 100);
  EXPECT_EQ(redactor.redact(std::string(101, 'a'), "log"), "[redacted:unscanned]");
  EXPECT_EQ(redactor.redact_json("{\"a\":\"" + std::string(100, 'a') + "\"}", "log"), "\"[redacted:unscanned]\"");
  for (const char* wrong : {"{", "{\"a\":\"x}", "[1,]", "\"a\" oops", "\"\\x\"", "{\"a\":1}}"}) {
    EXPECT_EQ(redactor.redact_json(wrong, "other"), "\"[redacted:unscanned]\"") << wrong;
  }
  const auto taken = redactor.taken();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].rule, "unscanned");
  EXPECT_EQ(taken[0].count, 8U);
  EXPECT_EQ(taken[0].secrets, 0U);
  ASSERT_EQ(taken[0].places.size(), 2U);
  EXPECT_EQ(taken[0].places[0].name, "log");
  EXPECT_EQ(taken[0].places[0].count, 2U);
}

TEST(Redactor, EscapesThatAreTooDeepAreLeftOut) {
  Redactor redactor(built_in());
  std::string text = "\n" + github(1);
  for (int depth = 0; depth < 12; ++depth) {
    text = testing::escapings()[1].escape(text);
  }
  const std::string out = redactor.redact_json(text);
  EXPECT_THAT(out, HasSubstr("[redacted:unscanned]"));
  EXPECT_TRUE(json::is_one_value(out)) << out;
  EXPECT_FALSE(testing::has_part(out, github(1)));
  const std::string around = "before " + std::string(2000, ' ');
  EXPECT_THAT(redactor.redact(around + std::string(1024, '\\')), ::testing::StartsWith(around.substr(0, 1000)));
}

TEST(Redactor, TheReportCountsByRuleAndPlace) {
  Redactor redactor(built_in());
  redactor.redact(github(1) + " " + github(2) + " " + github(1), "one.md");
  redactor.redact_json("[\"" + github(1) + "\",\"mail bob@shop.com\"]", "two.json");
  const auto taken = redactor.taken();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].rule, "email");
  EXPECT_EQ(taken[1].rule, "github");
  EXPECT_EQ(taken[1].count, 4U);
  EXPECT_EQ(taken[1].secrets, 2U);
  ASSERT_EQ(taken[1].places.size(), 2U);
  EXPECT_EQ(taken[1].places[0].name, "one.md");
  EXPECT_EQ(taken[1].places[0].count, 3U);
}

TEST(Redactor, StandInsAndCodeStay) {
  Redactor redactor(built_in());
  for (const std::string text : {"PASSWORD=changeme",
                                 "export API_KEY=${OTHER_KEY}",
                                 "DB_PASSWORD=$DB_PASSWORD",
                                 "api_key: \"your_api_key_here1\"",
                                 "const token = await getToken(session1)",
                                 "token: string;",
                                 "password = os.environ['DB_PASSWORD1']",
                                 "\"input_tokens\": 1234567890",
                                 "secret = config.secrets.value2",
                                 "git@github.com:owner/name.git",
                                 "noreply@example.com",
                                 "icon@2x.png",
                                 "http://localhost:3000/a@b",
                                 "/home/user/x",
                                 "Bearer authentication-scheme",
                                 "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                                 "https://user:password@host/x",
                                 "@Override\npublic void run()",
                                 "the cookie: a small text",
                                 "Authorization: Bearer <token>",
                                 "token=input_tokens",
                                 "x = \"\\u0041\\n\\t%20\"",
                                 "tokens: 128000, secret: false",
                                 "a token:\\nsrc/store.cc:118:23"}) {
    EXPECT_EQ(redactor.redact(text), text);
  }
}

TEST(Redactor, ThePersonsNameAndHomeAreTaken) {
  auto rules = std::make_shared<Rules>();
  ASSERT_TRUE(rules->add(kRuleList));
  rules->add(Person{"sam", "/data/people/samuel"});
  Redactor redactor(rules);
  EXPECT_EQ(redactor.redact("ls -l: sam 4096, same, /home/sam/x, C:\\Users\\sam\\y, -home-sam-src"),
            "ls -l: [redacted:user#1] 4096, same, /home/[redacted:user#1]/x, C:\\Users\\[redacted:user#1]\\y, "
            "-home-[redacted:user#1]-src");
  EXPECT_EQ(redactor.redact_json(R"({"cwd":"/data/people/samuel/x","w":"C:\\Users\\kim\\y"})"),
            R"({"cwd":"/data/people/[redacted:user#2]/x","w":"C:\\Users\\[redacted:user#3]\\y"})");
}

TEST(Redactor, KeysOnOneLineAndInProgramsAreTakenWhole) {
  Redactor redactor(built_in());
  const Kind& kind = *std::find_if(kinds().begin(), kinds().end(),
                                   [](const Kind& one) { return std::string_view(one.name) == "private-key"; });
  const Planted key = plant(kind, 3);
  std::string one_line;
  std::string literals = "\"";
  for (const char c : key.text()) {
    one_line += c == '\n' ? std::string("\\n") : std::string(1, c);
    literals += c == '\n' ? std::string("\\n\"\n    \"") : std::string(1, c);
  }
  std::string numbered = "     1\t";
  for (const char c : key.text()) {
    numbered += c == '\n' ? std::string("\n     2\t") : std::string(1, c);
  }
  for (const std::string& text : {one_line, literals, numbered}) {
    const std::string out = redactor.redact(text);
    for (std::size_t at = 0; at + 30 <= key.secret.size(); at += 65) {
      EXPECT_THAT(out, Not(HasSubstr(key.secret.substr(at, 30)))) << out;
    }
    EXPECT_THAT(out, HasSubstr("END RSA PRIVATE")) << "and no more than it";
  }
}

// Only the text around an escape is decoded, but no part of a word or of a label.
TEST(Redactor, TextFarFromAnEscapeHasTheSameLabel) {
  Redactor redactor(built_in());
  for (std::size_t distance = 100; distance < 300; distance += 3) {
    const std::string around(distance, ' ');
    const std::string text = "a\\n" + around + "redis-cli -a " + password(1) + " and more";
    const std::string out = redactor.redact(text);
    EXPECT_EQ(out, "a\\n" + around + "redis-cli -a [redacted:option#1] and more");
    EXPECT_EQ(redactor.redact(out), out);
  }
}

TEST(Redactor, LongSecretsAreTakenWhole) {
  Redactor redactor(built_in());
  const std::string head = json::encode_base64(R"({"alg":"HS256"})");
  const Planted payload = plant({"", "", "{w30000}", ""}, 1);
  const std::string token =
      head.substr(0, head.find('=')) + "." + payload.secret + "." + plant({"", "", "{w43}", ""}, 2).secret;
  EXPECT_EQ(redactor.redact("it is " + token + "\n"), "it is [redacted:jwt#1]\n");
  std::string repeated;
  for (int i = 0; i < 100'000; ++i) {
    repeated +=
        "gh"
        "p_";
  }
  EXPECT_EQ(redactor.redact(repeated), "[redacted:github#1]") << "at once, and not from each of its keywords";
}

TEST(Redactor, ThreadsAgreeOnLabels) {
  Redactor redactor(built_in());
  std::vector<std::string> outs(4);
  std::vector<std::thread> threads;
  for (std::string& out : outs) {
    threads.emplace_back([&redactor, &out] {
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        out += redactor.redact("TOKEN=" + password(seed) + " and " + github(seed)) + "\n";
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& out : outs) {
    EXPECT_EQ(out, outs.front());
  }
}

// Innocent are all words of these files but addresses and names of accounts.
TEST(Redactor, FewInnocentWordsAreTaken) {
  namespace fs = std::filesystem;
  Redactor redactor(built_in());
  std::uint64_t words = 0;
  for (const char* folder : {"core", "fs", "tools", "docs", "man"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(tests::kSourceDir) / folder)) {
      if (entry.is_regular_file()) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        redactor.redact(text, entry.path().string());
        std::istringstream split(text);
        words += static_cast<std::uint64_t>(
            std::distance(std::istream_iterator<std::string>(split), std::istream_iterator<std::string>()));
      }
    }
  }
  std::uint64_t taken = 0;
  for (const Taken& one : redactor.taken()) {
    taken += one.rule == "user" || one.rule == "email" ? 0 : one.count;
  }
  EXPECT_GT(words, 300'000U);
  EXPECT_LE(taken * 1000, words) << taken << " of " << words;
}

}  // namespace
}  // namespace arborfs::redact
