#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/flash_sale/utc_time.h"
#include "engine/core/base/utf8.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string fault_of(const std::string& text) {
  const auto parsed = parse_vouchers(text, "v.json");
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

/// Returns a valid voucher with `more` after its last field.
std::string voucher_with(const std::string& more) {
  return R"([{"id": 1, "stock": 10, "begin_ms": 0, "end_ms": 5)" + more + "}]";
}

TEST(VouchersFileTest, MissingFieldsHaveDefaults) {
  const auto parsed = parse_vouchers(voucher_with(""), "v.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  Voucher voucher;
  voucher.id = 1;
  voucher.stock = 10;
  voucher.end_ms = 5;
  EXPECT_THAT(*parsed, ElementsAre(voucher));
  EXPECT_EQ(parsed->front().limits.per_user, 1);
}

TEST(VouchersFileTest, EveryFieldIsRead) {
  const std::vector<Voucher> vouchers = {
      {.id = 7,
       .title = "Ein \"Rad\"",
       .stock = 20,
       .begin_ms = 1'000,
       .end_ms = 2'000,
       .price_cents = 99,
       .limits = {.total = 5, .per_user = 3, .per_user_day = 2, .utc_offset_minutes = -90}}};
  const auto parsed = parse_vouchers(format_vouchers(vouchers), "v.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, vouchers);
}

TEST(VouchersFileTest, TimesMayBeWrittenAsDates) {
  const auto parsed = parse_vouchers(
      R"([{"id": 1, "stock": 1, "begin_ms": "2024-11-11T00:00:00Z", "end_ms": "2024-11-12"}])",
      "v.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->front().begin_ms, 1'731'283'200'000);
  EXPECT_EQ(parsed->front().end_ms, 1'731'369'600'000);
}

TEST(VouchersFileTest, NumbersMayBeStrings) {
  const auto parsed = parse_vouchers(
      R"([{"id": "9007199254740993", "stock": "5", "begin_ms": "0", "end_ms": "5"}])", "v.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->front().id, 9'007'199'254'740'993);
  EXPECT_EQ(parsed->front().stock, 5);
  const auto again = parse_vouchers(format_vouchers(*parsed), "v.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *parsed);
}

TEST(VouchersFileTest, ErrorNamesFileIndexAndField) {
  EXPECT_THAT(fault_of(voucher_with(R"(, "limit": 3)")),
              HasSubstr("v.json: [0].limit: is not a field here, only id, title, stock"));
  EXPECT_THAT(fault_of(voucher_with(R"(, "limits": {"per_usr": 3})")),
              HasSubstr("v.json: [0].limits.per_usr: is not a field here"));
  EXPECT_EQ(fault_of(voucher_with(R"(, "limits": 3)")), "v.json: [0].limits: must be an object");
  EXPECT_EQ(fault_of(voucher_with(R"(, "price_cents": 1.5)")),
            "v.json: [0].price_cents: must be a whole number, not 1.5");
  EXPECT_EQ(fault_of(voucher_with(R"(, "title": 5)")),
            "v.json: [0].title: must be a string, not 5");
  EXPECT_EQ(fault_of(R"([{"id": 1, "begin_ms": 0, "end_ms": 5}])"),
            "v.json: [0].stock: is missing");
  EXPECT_THAT(fault_of(R"([{"id": 1, "stock": 1, "begin_ms": "tomorrow", "end_ms": 5}])"),
              HasSubstr("v.json: [0].begin_ms: must be a time, such as"));
  EXPECT_EQ(fault_of(R"([{"id": 1, "stock": 1, "begin_ms": 0, "end_ms": 1731369600}])"),
            "v.json: [0].end_ms: must be in milliseconds since 1970; 1731369600 would be seconds");
  EXPECT_EQ(fault_of(R"([{"id": 1, "stock": 1, "begin_ms": 5, "end_ms": 5}])"),
            "v.json: [0]: end must lie after begin");
  EXPECT_EQ(fault_of(R"([{"id": 1, "stock": -3, "begin_ms": 0, "end_ms": 5}])"),
            "v.json: [0]: stock must be from 0 to 1000000000000, not -3");
  EXPECT_EQ(fault_of(R"([{"id": 1, "stock": 18446744073709551615, "begin_ms": 0, "end_ms": 5}])"),
            "v.json: [0].stock: must be a whole number, not 18446744073709551615");
  EXPECT_THAT(
      fault_of(voucher_with(R"(, "limits": {"utc_offset_minutes": 4294967296})")),
      HasSubstr("v.json: [0].limits.utc_offset_minutes: must be from -720 to 840 (minutes)"));
  EXPECT_THAT(fault_of(voucher_with(R"(, "limits": {"utc_offset_minutes": 1000})")),
              HasSubstr("[0]: the UTC offset must be from -720 to 840 (minutes), not 1000"));
}

TEST(VouchersFileTest, OnlyArrayOfVouchersIsAccepted) {
  EXPECT_THAT(fault_of("[{]"), HasSubstr("v.json: parse error at line 1, column 3"));
  EXPECT_EQ(fault_of("{}"), "v.json: must be an array of vouchers");
  EXPECT_EQ(fault_of("[]"), "v.json: there is no voucher in it");
  EXPECT_EQ(fault_of("[5]"), "v.json: [0]: must be an object");
}

TEST(VouchersFileTest, DeepOrDoubledJsonIsRefused) {
  constexpr std::size_t kDeep = 100'000;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  for (const std::string& text : {deep, voucher_with(", \"title\": " + deep)}) {
    EXPECT_EQ(fault_of(text), "v.json: nests deeper than 16");
  }
  EXPECT_EQ(fault_of(voucher_with(R"(, "limits": {"per_user": 1, "per_user": 5})")),
            "v.json: \"per_user\" is there twice");
}

TEST(VouchersFileTest, FaultOfLongTextIsShort) {
  const std::string lines(100'000, '\n');
  EXPECT_LT(fault_of("[{\"id" + lines).size(), 600U);
  for (const std::size_t more : {0U, 1U, 2U}) {  // where the message is cut within a character
    std::string name(more, 'x');
    while (name.size() < 1'000) name += "\xe8\x8c\xb6";
    const std::string fault = fault_of(voucher_with(", \"" + name + "\": 1"));
    EXPECT_LT(fault.size(), 600U);
    EXPECT_TRUE(is_utf8(fault)) << fault;
  }
}

TEST(VouchersFileTest, RepeatedIdIsRefused) {
  const std::string voucher = R"({"id": 1, "stock": 10, "begin_ms": 0, "end_ms": 5})";
  EXPECT_EQ(fault_of("[" + voucher + "," + voucher + "]"), "v.json: [1].id: 1 is there twice");
}

TEST(UtcTimeTest, WrittenVouchersAreReadBack) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(parse_time("2024-02-29T23:59:58.123Z"), 1'709'251'198'123);
  EXPECT_EQ(format_utc(1'709'251'198'123), "2024-02-29T23:59:58.123Z");
  EXPECT_EQ(parse_time("2024-02-29T23:59Z"), 1'709'251'140'000);
}

TEST(UtcTimeTest, OffsetIsSubtracted) {
  const auto noon = parse_time("2024-02-29T12:00:00Z");
  ASSERT_NE(noon, std::nullopt);
  EXPECT_EQ(parse_time("2024-02-29T20:00:00+08:00"), noon);
  EXPECT_EQ(parse_time("2024-02-29T20:00:00.250+08:00"), *noon + 250);
  EXPECT_EQ(parse_time("2024-02-29T08:30-03:30"), noon);
  EXPECT_EQ(parse_time("2024-03-01T02:00+14:00"), noon);
  EXPECT_EQ(parse_time("2024-02-29T00:00-12:00"), noon);
}

TEST(UtcTimeTest, MalformedFilesAreRefused) {
  for (const char* const text :
       {"", "2024", "2024-02-30", "2024-13-01", "2024-02-29T24:00Z", "2024-02-29T10:00",
        "2024-02-29T10:00:00+2", "2024-02-29T10:00+24:00", "2024-02-29T10:00+14:01",
        "2024-02-29T10:00-12:01", "2024-02-29 10:00:00Z", "2024-02-29T10:00:00.Z",
        "2024-02-29T10:00:00Zx", "20240229"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(VouchersFileTest, FileIsRead) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "vouchers.json";
  const std::vector<Voucher> vouchers = {{.id = 1, .title = "Tea", .stock = 10, .end_ms = 5}};
  std::ofstream(file) << format_vouchers(vouchers);
  const auto read = read_vouchers(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, vouchers);

  std::ofstream(file) << "[";
  EXPECT_THAT(std::string(read_vouchers(file).status().message()), HasSubstr("vouchers.json: "));
  EXPECT_EQ(read_vouchers(directory.path() / "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(read_vouchers(directory.path()).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace rushgate
