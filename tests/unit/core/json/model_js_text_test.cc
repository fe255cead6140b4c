// Values as JavaScript converts them to text: each expectation is the result of String(value).

#include <gtest/gtest.h>

#include "core/json/js_text.h"

namespace arborfs {
namespace {

TEST(JsText, ScalarsArePrintedAsInJavaScript) {
  EXPECT_EQ(js_text_of_json(R"("a\u00e9")"), "aé");
  EXPECT_EQ(js_text_of_json("1.50"), "1.5");
  EXPECT_EQ(js_text_of_json("1e400"), "Infinity");
  EXPECT_EQ(js_text_of_json("-1e400"), "-Infinity");
  EXPECT_EQ(js_text_of_json("null"), "null");
  EXPECT_EQ(js_text_of_json("true"), "true");
  EXPECT_EQ(js_text_of_json("false"), "false");
  EXPECT_EQ(js_text_of_json("{\"a\":1}"), "[object Object]");
  EXPECT_EQ(js_text_of_json(""), "undefined");
  EXPECT_EQ(js_text(nullptr), "undefined");
}

TEST(JsText, ArraysAreJoinedWithEmptyNulls) {
  EXPECT_EQ(js_text_of_json("[]"), "");
  EXPECT_EQ(js_text_of_json("[1,null,\"x\",[2,[3,null]],{}]"), "1,,x,2,3,,[object Object]");
}

TEST(JsText, TextIsSplitIntoCharacters) {
  EXPECT_EQ(characters_json(""), "[]");
  EXPECT_EQ(characters_json("a\"é€😀"), R"(["a","\"","é","€","😀"])");
  EXPECT_EQ(character_length(""), 0U);
  EXPECT_EQ(character_length("\xE2\x82"), 2U) << "cut short";
}

TEST(JsText, BlankTextIsEmptyAfterTrim) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\n\v\f\r\u00A0\u2003\u2028\u3000\uFEFF"));
  EXPECT_FALSE(is_blank(" \u200B"));
  EXPECT_FALSE(is_blank("\u3000x"));
}

}  // namespace
}  // namespace arborfs
