#include <cstdlib>
#include <ctime>

#include "core/json/date.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::json {
namespace {

class ZoneScope {
 public:
  explicit ZoneScope(const char* zone) {
    if (const char* old = std::getenv("TZ"); old != nullptr) {
      old_ = old;
    }
    setenv("TZ", zone, 1);
    tzset();
  }
  ~ZoneScope() {
    old_ ? setenv("TZ", old_->c_str(), 1) : unsetenv("TZ");
    tzset();
  }

 private:
  std::optional<std::string> old_;
};

TEST(JsonDate, DatesOfTheVectorsAreParsed) {
  const ZoneScope utc("UTC");
  testing::for_each_vector("dates.jsonl", [](const Value& vector) {
    if (!vector[0].IsString()) {
      return;
    }
    const auto time = parse_date(as_string(vector[0]));
    if (vector[1].IsNull()) {
      EXPECT_FALSE(time.has_value()) << *time;
    } else {
      ASSERT_TRUE(time.has_value());
      EXPECT_EQ(static_cast<double>(*time), vector[1].GetDouble());
    }
  });
}

TEST(JsonDate, TextsWithoutAZoneAreLocalTime) {
  const ZoneScope zone("EST5EDT,M3.2.0,M11.1.0");
  EXPECT_EQ(iso_time(*parse_date("2026-02-16T10:20:30")), "2026-02-16T15:20:30.000Z");
  EXPECT_EQ(iso_time(*parse_date("2026-07-16 10:20")), "2026-07-16T14:20:00.000Z");
  EXPECT_EQ(iso_time(*parse_date("2026-02-16")), "2026-02-16T00:00:00.000Z");
  EXPECT_EQ(iso_time(*parse_date("Feb 16, 2026")), "2026-02-16T05:00:00.000Z");
  EXPECT_EQ(iso_time(*parse_date("2026/02/16")), "2026-02-16T05:00:00.000Z");
  EXPECT_EQ(iso_time(*parse_date("2026-02-16T10:20:30Z")), "2026-02-16T10:20:30.000Z");
}

TEST(JsonDate, LooseFormsAreParsed) {
  const ZoneScope utc("UTC");
  const std::string expected = "2026-02-16T10:20:30.000Z";
  for (const char* text :
       {"Mon, 16 Feb 2026 10:20:30 GMT", "16 Feb 2026 12:20:30 +0200", "Monday, 16-Feb-26 10:20:30 GMT",
        "Mon Feb 16 10:20:30 2026", "Mon Feb 16 10:20:30 UTC 2026", "February 16, 2026 10:20:30 am",
        "Feb 16, 2026, 10:20:30 AM", "2/16/2026 10:20:30", "16 feb 2026 05:20:30 EST", "2026/2/16 10:20:30 (comment)",
        "Mon Feb 16 2026 10:20:30 GMT+0000 (Coordinated Universal Time)", "2026-02-16T05:20:30-0500",
        "2026-02-16T10:20:30+00", "2026-02-16T15:50:30+05:30"}) {
    const auto time = parse_date(text);
    ASSERT_TRUE(time.has_value()) << text;
    EXPECT_EQ(iso_time(*time), expected) << text;
  }
  for (const char* text :
       {"yesterday", "Feb", "32 Foo 2026", "2026-02-16T10:20:30+0", "2026-02-16T10", "2026-02-16T", "2026-02-",
        "13/13/2026", "99999999999999999999", "2026-02-16T10:20:30Zx", "(", "Feb 16 2026 x"}) {
    EXPECT_FALSE(parse_date(text).has_value()) << text;
  }
}

TEST(JsonDate, ACalendarDateIsADayOfItsMonth) {
  const ZoneScope utc("UTC");
  EXPECT_EQ(iso_time(*parse_date("2026-02-30")), "2026-03-02T00:00:00.000Z");
  for (const char* text : {"2026-02-30", "2026-02-29T10:00:00Z", "Feb 30, 2026", "2026/04/31", "2100-02-29", "soon"}) {
    EXPECT_FALSE(parse_calendar_date(text)) << text;
  }
  for (const char* text : {"2024-02-29", "2026", "2026-02", "2026-12-31T23:59:59Z", "+012000-02-29", "2000-02-29"}) {
    EXPECT_EQ(parse_calendar_date(text), parse_date(text)) << text;
    EXPECT_TRUE(parse_date(text)) << text;
  }
}

TEST(JsonDate, IsoTimesRoundTrip) {
  for (const std::int64_t time : {0L, -1L, 1'771'237'230'123L, -62'198'755'200'000L, 253'402'300'800'000L,
                                  8'640'000'000'000'000L, -8'640'000'000'000'000L, 951'782'400'000L}) {
    EXPECT_EQ(parse_date(iso_time(time)), time) << iso_time(time);
  }
  EXPECT_EQ(iso_time(8'640'000'000'000'000), "+275760-09-13T00:00:00.000Z");
  EXPECT_EQ(iso_time(-8'640'000'000'000'000), "-271821-04-20T00:00:00.000Z");
  EXPECT_EQ(iso_time(1'771'237'230'999), "2026-02-16T10:20:30.999Z");
}

}  // namespace
}  // namespace arborfs::json
