// Where a command ends in the text written to a control file (CONTRACT.md 4.1).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/write/command_stream.h"

namespace arborfs {
namespace {

std::string shown(const Result<CommandStream::Taken>& taken) {
  if (!taken) {
    return "error";
  }
  return *taken ? ((*taken)->is_json ? "json:" : "text:") + (*taken)->text : "-";
}

Errc code_of(const Result<CommandStream::Taken>& taken) {
  return taken ? Errc::io : taken.error().code;
}

TEST(CommandStream, LinesOfOneWriteFormOneCommand) {
  CommandStream stream(Framing::lines);
  EXPECT_EQ(shown(stream.feed("a1b2c3d4 x\na1b2c3d5 y\n")), "text:a1b2c3d4 x\na1b2c3d5 y\n");
  EXPECT_EQ(shown(stream.feed("a1b2c3d4\nno line")), "-");
  EXPECT_TRUE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed(" feed\n")), "text:a1b2c3d4\nno line feed\n");
  EXPECT_EQ(shown(stream.feed("rest")), "-");
  EXPECT_EQ(shown(stream.finish()), "text:rest");
  EXPECT_EQ(shown(stream.finish()), "-");
}

TEST(CommandStream, RestOfATooLongLineIsRefused) {
  CommandStream stream(Framing::lines);
  EXPECT_EQ(shown(stream.feed(std::string(kMaxLinesBytes, 'x'))), "-");
  EXPECT_EQ(code_of(stream.feed("y")), Errc::too_large);
  EXPECT_EQ(code_of(stream.feed("the rest\n")), Errc::too_large);
  EXPECT_TRUE(stream.is_waiting() && stream.ends_with_its_writer());
  EXPECT_EQ(shown(stream.finish()), "-");
  EXPECT_EQ(shown(stream.feed("again\n")), "text:again\n");
}

TEST(CommandStream, LinesMustBeUtf8) {
  CommandStream stream(Framing::lines);
  EXPECT_EQ(shown(stream.feed("caf\xC3")), "-");
  EXPECT_EQ(shown(stream.feed("\xA9\n")), "text:caf\xC3\xA9\n");
  EXPECT_EQ(code_of(stream.feed("caf\xE9\n")), Errc::not_utf8);
}

/// The command that results if its bytes arrive in these pieces.
std::string commands_of(const std::vector<std::string>& pieces) {
  CommandStream stream(Framing::target_and_text);
  std::string last;
  for (const std::string& piece : pieces) {
    const auto taken = stream.feed(piece);
    last = taken && *taken ? shown(taken) : last;
  }
  const auto rest = stream.finish();
  return rest && *rest ? shown(rest) : last;
}

TEST(CommandStream, TargetAndTextFormOneCommandForAnySplit) {
  const std::string all = "a1b2c3d4\nTried X,\n\xC3\xA9 failed\n";
  for (std::size_t one = 0; one <= all.size(); ++one) {
    for (std::size_t two = one; two <= all.size(); ++two) {
      EXPECT_EQ(commands_of({all.substr(0, one), all.substr(one, two - one), all.substr(two)}), "text:" + all)
          << one << " " << two;
    }
  }
}

TEST(CommandStream, LoneTargetIsTakenAtOnce) {
  CommandStream stream(Framing::target_and_text);
  EXPECT_EQ(shown(stream.feed("a1b2c3d4\n")), "text:a1b2c3d4\n");
  EXPECT_TRUE(stream.is_waiting());
  EXPECT_FALSE(stream.has_text_for_target());
  EXPECT_EQ(shown(stream.feed("\n")), "-");
  EXPECT_FALSE(stream.has_text_for_target());
  EXPECT_EQ(shown(stream.finish()), "-");
  EXPECT_EQ(shown(stream.feed("a1b2c3d4\n")), "text:a1b2c3d4\n");
  EXPECT_EQ(shown(stream.feed("Tried X")), "-");
  EXPECT_TRUE(stream.has_text_for_target() && stream.ends_with_its_writer());
  const auto whole = stream.finish();
  EXPECT_EQ(shown(whole), "text:a1b2c3d4\nTried X");
  EXPECT_TRUE((*whole)->extends);
}

TEST(CommandStream, JsonTargetTakesNoFurtherLines) {
  CommandStream stream(Framing::target_and_text);
  EXPECT_EQ(shown(stream.feed("{\"leaf\":\"a1b2\"}\n")), "text:{\"leaf\":\"a1b2\"}\n");
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("c3d4\n")), "text:c3d4\n");
}

TEST(CommandStream, TextForATargetIsLimited) {
  CommandStream stream(Framing::target_and_text, 16);
  EXPECT_EQ(shown(stream.feed("a1b2c3d4\n")), "text:a1b2c3d4\n");
  EXPECT_EQ(shown(stream.feed("1234567")), "-");
  EXPECT_EQ(code_of(stream.feed("8\n")), Errc::too_large);
  EXPECT_EQ(code_of(stream.feed("c3d4\n")), Errc::too_large);
  EXPECT_EQ(shown(stream.finish()), "-");
}

TEST(CommandStream, JsonOfOneWriteFormsOneCommand) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":1}\n{\"b\":\"}\"} \r\n")), "json:{\"a\":1}\n{\"b\":\"}\"} \r\n");
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("\n \n")), "-");
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("{}{}\n")), "json:{}{}\n");
}

TEST(CommandStream, JsonGivesTheSameCommandsForAnySplit) {
  const std::string all = " {\"a\":[1,\"\\u00e9 \xC3\xA9 \xF0\x9F\x98\x80\",{}]}\n{\"b\":1}\n";
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    CommandStream stream(Framing::messages);
    std::string got;
    for (const auto& piece : {all.substr(0, cut), all.substr(cut)}) {
      const auto taken = stream.feed(piece);
      ASSERT_TRUE(taken) << cut << ": " << taken.error().message;
      got += *taken ? (*taken)->text : "";
    }
    EXPECT_EQ(got, all) << cut;
    EXPECT_FALSE(stream.is_waiting()) << cut;
  }
}

TEST(CommandStream, IncompleteRestOfAWriteWaits) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":1}\n{\"b\":")), "json:{\"a\":1}\n");
  EXPECT_TRUE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("2}")), "-");
  EXPECT_EQ(shown(stream.feed("\n")), "json:{\"b\":2}\n");
  EXPECT_EQ(shown(stream.feed("{\"c\":3}")), "-");
  EXPECT_EQ(shown(stream.finish()), "json:{\"c\":3}");
}

TEST(CommandStream, ContinuedPieceIsTakenWithItsRest) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":1}\n{\"b\"", true)), "-");
  EXPECT_EQ(shown(stream.feed(":2}\n")), "json:{\"a\":1}\n{\"b\":2}\n");
  EXPECT_EQ(shown(stream.feed("{\"c\":1}\n", true)), "json:{\"c\":1}\n");
}

TEST(CommandStream, InvalidJsonIsRefusedWithItsRest) {
  for (const char* bad : {"{]\n", "{\"a\":1}\n{\"b\":}\n", "{}x", "{\"a\":tru}", "{} ,", "{}\n[1]\n", "{}\ntext\n"}) {
    CommandStream stream(Framing::messages);
    EXPECT_EQ(code_of(stream.feed(bad)), Errc::invalid_argument) << bad;
    EXPECT_EQ(code_of(stream.feed("{\"nested\":1}\n")), Errc::invalid_argument) << bad;
    EXPECT_TRUE(stream.ends_with_its_writer()) << bad;
    EXPECT_EQ(shown(stream.finish()), "-") << bad;
    EXPECT_EQ(shown(stream.feed("{\"good\":1}\n")), "json:{\"good\":1}\n") << bad;
    EXPECT_EQ(code_of(stream.feed("no text now\n")), Errc::invalid_argument) << bad;
    stream.drop();
    EXPECT_EQ(shown(stream.feed("text\n")), "-") << bad;
    EXPECT_EQ(shown(stream.finish()), "text:text\n") << bad;
  }
}

TEST(CommandStream, IncompleteValueFailsTheFinish) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":")), "-");
  EXPECT_EQ(code_of(stream.finish()), Errc::invalid_argument);
  EXPECT_FALSE(stream.is_waiting());
}

TEST(CommandStream, TextFormsOneMessageUntilTheEnd) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("\n hello\n")), "-");
  EXPECT_FALSE(stream.ends_with_its_writer());
  EXPECT_EQ(shown(stream.feed("{\"not\":\"json\"}\n")), "-");
  EXPECT_EQ(shown(stream.finish()), "text:\n hello\n{\"not\":\"json\"}\n");
  EXPECT_EQ(shown(stream.feed("{}\n")), "json:{}\n");
}

TEST(CommandStream, TextIsValidatedAsItArrives) {
  const std::string smile = "x\xF0\x9F\x98\x80y\xC3\xA9";
  for (std::size_t cut = 0; cut <= smile.size(); ++cut) {
    CommandStream stream(Framing::messages);
    EXPECT_EQ(shown(stream.feed(smile.substr(0, cut))), "-") << cut;
    EXPECT_EQ(shown(stream.feed(smile.substr(cut))), "-") << cut;
    EXPECT_EQ(shown(stream.finish()), "text:" + smile) << cut;
  }
  for (const char* bad : {"\xFF", "a\xC3(", "\xED\xA0\x80", "\xC0\x80", "\x80", "\xF5\x80\x80\x80"}) {
    CommandStream stream(Framing::messages);
    EXPECT_EQ(code_of(stream.feed(bad)), Errc::not_utf8) << bad;
  }
  CommandStream cut(Framing::messages);
  EXPECT_EQ(shown(cut.feed("a\xC3")), "-");
  EXPECT_EQ(code_of(cut.finish()), Errc::not_utf8);
}

TEST(CommandStream, RefusedTextIsDroppedWhole) {
  CommandStream stream(Framing::messages, 10);
  EXPECT_EQ(shown(stream.feed("12345")), "-");
  EXPECT_EQ(code_of(stream.feed("6789012")), Errc::too_large);
  EXPECT_EQ(code_of(stream.feed("tail")), Errc::too_large);
  EXPECT_FALSE(stream.ends_with_its_writer());
  EXPECT_EQ(shown(stream.finish()), "-");
  EXPECT_EQ(shown(stream.feed("anew")), "-");
  EXPECT_EQ(shown(stream.finish()), "text:anew");
}

TEST(CommandStream, FailedInputIsRefusedWithItsRest) {
  for (const Framing framing : {Framing::messages, Framing::lines, Framing::target_and_text}) {
    CommandStream stream(framing);
    EXPECT_EQ(shown(stream.feed("a long one")), "-");
    stream.fail({Errc::no_space, ""});
    EXPECT_EQ(code_of(stream.feed("\n")), Errc::no_space);
    EXPECT_EQ(code_of(stream.feed("rest\n")), Errc::no_space);
    EXPECT_EQ(shown(stream.finish()), "-");
    EXPECT_FALSE(stream.is_waiting());
  }
}

TEST(CommandStream, NextCommandBeginsAfterARefusedCompleteOne) {
  CommandStream line(Framing::lines);
  EXPECT_EQ(shown(line.feed("#9 x\n")), "text:#9 x\n");
  line.fail({Errc::not_found, ""});
  EXPECT_EQ(shown(line.feed("#1 x\n")), "text:#1 x\n");
  CommandStream json(Framing::messages);
  EXPECT_EQ(shown(json.feed("{}\n")), "json:{}\n");
  json.fail({Errc::busy, ""});
  EXPECT_EQ(shown(json.feed("{}\n")), "json:{}\n");
  EXPECT_EQ(shown(json.feed("{}\n{")), "json:{}\n");
  json.fail({Errc::busy, ""});
  EXPECT_EQ(code_of(json.feed("}\n")), Errc::busy);
}

TEST(CommandStream, TextAfterARefusedTargetIsRefused) {
  CommandStream stream(Framing::target_and_text);
  EXPECT_EQ(shown(stream.feed("#9\n")), "text:#9\n");
  stream.fail({Errc::not_found, ""});
  EXPECT_EQ(code_of(stream.feed("root\n")), Errc::not_found);
  EXPECT_TRUE(stream.ends_with_its_writer());
  EXPECT_EQ(shown(stream.finish()), "-");
}

TEST(CommandStream, ReportsItsBufferedInput) {
  CommandStream json(Framing::messages);
  EXPECT_EQ(shown(json.feed("{\"a\":1}")), "-");
  EXPECT_TRUE(json.so_far().is_json && json.so_far().is_whole);
  EXPECT_EQ(json.so_far().text, "{\"a\":1}");
  EXPECT_EQ(shown(json.feed(" {")), "-");
  EXPECT_FALSE(json.so_far().is_whole);
  CommandStream text(Framing::messages);
  EXPECT_EQ(shown(text.feed(std::string(10'000, 'x'))), "-");
  EXPECT_TRUE(text.so_far().text.starts_with("xxx"));
  EXPECT_LT(text.so_far().text.size(), 10'000U);
  EXPECT_EQ(shown(text.feed("yz")), "-");
  EXPECT_EQ(text.so_far().fresh, std::string(kLookBack, 'x') + "yz");
}

}  // namespace
}  // namespace arborfs
