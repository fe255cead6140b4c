// Where commands end in what is written to a control file (DESIGN 4).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/manager/command_stream.h"

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

TEST(CommandStream, LinesOfOneWriteAreOneCommand) {
  CommandStream stream(Framing::lines);
  EXPECT_EQ(shown(stream.feed("a1b2c3d4\nTried X\n")), "text:a1b2c3d4\nTried X\n");
  EXPECT_EQ(shown(stream.feed("a1b2c3d4\nno line")), "-");
  EXPECT_TRUE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed(" feed\n")), "text:a1b2c3d4\nno line feed\n");
  EXPECT_EQ(shown(stream.feed("rest")), "-");
  EXPECT_EQ(shown(stream.finish()), "text:rest");
  EXPECT_EQ(shown(stream.finish()), "-");
}

TEST(CommandStream, LinesHaveALimit) {
  CommandStream stream(Framing::lines);
  EXPECT_EQ(shown(stream.feed(std::string(kMaxLinesBytes, 'x'))), "-");
  EXPECT_EQ(code_of(stream.feed("y")), Errc::too_large);
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("again\n")), "text:again\n");
}

TEST(CommandStream, JsonInOneWriteIsOneCommand) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":1}\n{\"b\":\"}\"} \r\n")), "json:{\"a\":1}\n{\"b\":\"}\"} \r\n");
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("\n \n")), "-");
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("{}{}\n")), "json:{}{}\n");
}

TEST(CommandStream, JsonCutAnywhereGivesTheSameCommands) {
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

TEST(CommandStream, TheRestOfAWriteWaits) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":1}\n{\"b\":")), "json:{\"a\":1}\n");
  EXPECT_TRUE(stream.is_waiting());
  EXPECT_EQ(shown(stream.feed("2}")), "-");
  EXPECT_EQ(shown(stream.feed("\n")), "json:{\"b\":2}\n");
  EXPECT_EQ(shown(stream.feed("{\"c\":3}")), "-");
  EXPECT_EQ(shown(stream.finish()), "json:{\"c\":3}");
}

TEST(CommandStream, APieceThatGoesOnIsTakenWithItsRest) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":1}\n{\"b\"", true)), "-");
  EXPECT_EQ(shown(stream.feed(":2}\n")), "json:{\"a\":1}\n{\"b\":2}\n");
  EXPECT_EQ(shown(stream.feed("{\"c\":1}\n", true)), "json:{\"c\":1}\n");
}

TEST(CommandStream, WhatCanBecomeNoJsonFailsAtOnceAndIsDropped) {
  for (const char* bad : {"{]\n", "{\"a\":1}\n{\"b\":}\n", "{}x", "{\"a\":tru}", "{} ,", "{}\n[1]\n", "{}\ntext\n"}) {
    CommandStream stream(Framing::messages);
    EXPECT_EQ(code_of(stream.feed(bad)), Errc::invalid_argument) << bad;
    EXPECT_FALSE(stream.is_waiting()) << bad;
    EXPECT_EQ(shown(stream.feed("{\"good\":1}\n")), "json:{\"good\":1}\n") << bad;
    EXPECT_EQ(code_of(stream.feed("no text now\n")), Errc::invalid_argument) << bad;
  }
}

TEST(CommandStream, AnIncompleteValueCannotBeFinished) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("{\"a\":")), "-");
  EXPECT_EQ(code_of(stream.finish()), Errc::invalid_argument);
  EXPECT_FALSE(stream.is_waiting());
}

TEST(CommandStream, TextIsOneMessageUntilTheEnd) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("\n hello\n")), "-");
  EXPECT_TRUE(stream.is_text());
  EXPECT_EQ(shown(stream.feed("{\"not\":\"json\"}\n")), "-");
  EXPECT_EQ(shown(stream.finish()), "text:\n hello\n{\"not\":\"json\"}\n");
  EXPECT_EQ(shown(stream.feed("{}\n")), "json:{}\n");
}

TEST(CommandStream, TextIsCheckedAsItComes) {
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

TEST(CommandStream, NoPartOfARefusedTextIsTaken) {
  CommandStream stream(Framing::messages, 10);
  EXPECT_EQ(shown(stream.feed("12345")), "-");
  EXPECT_EQ(code_of(stream.feed("6789012")), Errc::too_large);
  EXPECT_EQ(code_of(stream.feed("tail")), Errc::too_large);
  EXPECT_FALSE(stream.is_waiting());
  EXPECT_EQ(shown(stream.finish()), "-");
  EXPECT_EQ(shown(stream.feed("anew")), "-");
  EXPECT_EQ(shown(stream.finish()), "text:anew");
}

TEST(CommandStream, TheNewlineBehindWhatWasRefusedIsNoCommand) {
  CommandStream text(Framing::messages);
  EXPECT_EQ(shown(text.feed("a long one")), "-");
  text.fail({Errc::no_space, ""});
  EXPECT_EQ(shown(text.feed("\n")), "-");
  EXPECT_FALSE(text.is_waiting());
  EXPECT_EQ(shown(text.finish()), "-");
  EXPECT_EQ(shown(text.feed(" \n")), "-");
  EXPECT_EQ(shown(text.finish()), "text: \n");

  CommandStream line(Framing::lines, 10);
  EXPECT_EQ(code_of(line.feed("12345678901")), Errc::too_large);
  EXPECT_EQ(shown(line.feed("\n")), "-");
  EXPECT_EQ(shown(line.feed("123\n")), "text:123\n");
  line.fail({Errc::not_found, ""});
  EXPECT_EQ(shown(line.feed("\n")), "text:\n");
}

TEST(CommandStream, AFailureElsewhereDropsTheSame) {
  CommandStream stream(Framing::messages);
  EXPECT_EQ(shown(stream.feed("first")), "-");
  stream.fail({Errc::busy, ""});
  EXPECT_EQ(shown(stream.feed("second")), "-");
  EXPECT_EQ(shown(stream.feed("third")), "-");
  stream.fail({Errc::no_space, ""});
  EXPECT_EQ(code_of(stream.feed("fourth")), Errc::no_space);
}

}  // namespace
}  // namespace arborfs
