// Images and usage in the records of agents that render through MessageRenderer.
#include <gtest/gtest.h>

#include <string>

#include "core/entry/message_renderer.h"
#include "core/entry/text_sizes.h"
#include "core/json/base64.h"

namespace arborfs {
namespace {

/// Records are {"images":[...],"tokens":1,"request":"r"}.
class TestRenderer : public MessageRenderer {
 public:
  [[nodiscard]] Result<std::shared_ptr<const Content>> context(
      const ContextPath& /*path*/, std::shared_ptr<const LogSource> /*log*/,
      std::shared_ptr<const BlobSource> /*blobs*/) const override {
    return std::make_shared<const Content>();
  }

 protected:
  [[nodiscard]] std::optional<Message> message_of(EntryType /*type*/, const json::Value& record) const override {
    const json::Value* images = json::member(record, "images");
    if (images == nullptr) {
      return std::nullopt;
    }
    Message message{{MessagePart::Kind::text, "look", ""}};
    for (const json::Value& image : images->GetArray()) {
      message.push_back({MessagePart::Kind::image, std::string(json::string_member(image, "type").value_or("")), "",
                         json::member(image, "data")});
    }
    return message;
  }
  [[nodiscard]] std::optional<RecordUsage> usage_of(EntryType /*type*/, const json::Value& record) const override {
    const json::Value* tokens = json::member(record, "tokens");
    if (tokens == nullptr) {
      return std::nullopt;
    }
    RecordUsage told;
    told.usage.input = tokens->GetDouble();
    told.request = json::string_member(record, "request").value_or("");
    return told;
  }
};

std::string text_of(std::string_view raw) {
  std::string text;
  TestRenderer().render(EntryType::message, raw, text);
  return text;
}

std::string bytes_of(const std::string& raw, const ImageRef& image) {
  const auto log = log_from_bytes(raw);
  const auto bytes = read_inline_image(*log, Entry{}, image, 0, image.size);
  return bytes ? *bytes : "error: " + bytes.error().message;
}

TEST(RenderMessageTest, ImagesAreFoundWhereTheRecordHasThem) {
  const std::string raw =
      R"({"images":[{"type":"image/png","data":"aGVs\/bG8="},{"data":"https://host/a.png"},)"
      R"({"data":"data:image\/jpeg;base64,d29ybGQ="},{"type":"image/gif"},{"type":"image/webp","data":"AAECAwQ="}]})";
  EXPECT_EQ(text_of(raw),
            "look\n\n[image 1: image/png]\n\n[image 2]\n\n[image 3: image/jpeg]\n\n"
            "[image 4: image/gif]\n\n[image 5: image/webp]\n");
  const TextMeasure found = TestRenderer().measure(EntryType::message, raw);
  EXPECT_EQ(found.size, text_of(raw).size());
  ASSERT_EQ(found.images.size(), 3U);
  EXPECT_EQ(found.images[0].number, 1U);
  EXPECT_EQ(found.images[0].extension, "png");
  EXPECT_FALSE(found.images[0].plain_base64);
  EXPECT_EQ(bytes_of(raw, found.images[0]), json::decode_base64("aGVs/bG8="));
  EXPECT_EQ(found.images[1].number, 3U);
  EXPECT_EQ(found.images[1].extension, "jpg");
  EXPECT_EQ(bytes_of(raw, found.images[1]), "world");
  EXPECT_EQ(found.images[2].number, 5U);
  EXPECT_TRUE(found.images[2].plain_base64);
  EXPECT_EQ(bytes_of(raw, found.images[2]), std::string("\0\1\2\3\4", 5));
}

TEST(RenderMessageTest, ImagesOfARecordThatIsNotUtf8HaveNumbersButNoBytes) {
  const std::string raw = "{\"images\":[{\"data\":\"aGVsbG8=\"}],\"x\":\"\xff\"}";
  EXPECT_EQ(text_of(raw), "look\n\n[image 1]\n");
  EXPECT_TRUE(TestRenderer().measure(EntryType::message, raw).images.empty());
}

TEST(RenderMessageTest, OneRequestIsCountedOnceAndOnlyWhatIsToldIsShown) {
  TextSizes sizes;
  EXPECT_EQ(plain_usage_json(sizes.usage()), "{}");
  TextSizes::Delta delta = sizes.next();
  for (const char* raw : {R"({"tokens":5,"request":"a"})", R"({"tokens":5,"request":"a"})", R"({"tokens":2})",
                          R"({"tokens":2})", R"({"tokens":7,"request":"b"})", R"({"text":"none"})"}) {
    delta.add(TestRenderer().measure(EntryType::message, raw));
  }
  sizes.apply(std::move(delta));
  EXPECT_EQ(plain_usage_json(sizes.usage()), R"({"input":16})");
}

}  // namespace
}  // namespace arborfs
