#include "apps/input/requests_file.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/output/record_output.h"
#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns `<line>: <reason>` of the only bad line in `text`.
std::string fault_of(const std::string& text) {
  const ParsedRequests parsed = parse_requests(text);
  EXPECT_EQ(parsed.bad_count, 1u) << text;
  if (parsed.bad.empty()) return {};
  return std::to_string(parsed.bad[0].line) + ": " + parsed.bad[0].reason;
}

TEST(RequestsFileTest, RowsKeepTheirLines) {
  const ParsedRequests parsed = parse_requests("0,7,1\n\n5,8,2\n");
  EXPECT_EQ(parsed.bad_count, 0u);
  EXPECT_THAT(parsed.rows, ElementsAre(RequestRow{0, 7, 1, 1}, RequestRow{5, 8, 2, 3}));
}

TEST(RequestsFileTest, HeaderIsSkipped) {
  const ParsedRequests parsed = parse_requests("at_ms,user_id,voucher_id\n0,7,1\n");
  EXPECT_THAT(parsed.rows, ElementsAre(RequestRow{0, 7, 1, 2}));
}

TEST(RequestsFileTest, FormatsOfOtherProgramsAreRead) {
  // A BOM, carriage returns, quotes, spaces, and no newline at the end.
  const ParsedRequests parsed =
      parse_requests("\xEF\xBB\xBF\"at_ms\",\"user_id\",\"voucher_id\"\r\n\"0\", 7 ,1\r\n1,8,2");
  EXPECT_EQ(parsed.bad_count, 0u);
  EXPECT_THAT(parsed.rows, ElementsAre(RequestRow{0, 7, 1, 2}, RequestRow{1, 8, 2, 3}));
}

TEST(RequestsFileTest, QuotedFieldsAreThoseOfExport) {
  const std::string names[] = {"a\"b", "\"", "a,b", "'x", "\"quoted\"", "=1+1"};
  for (const std::string& name : names) {
    const ParsedRequests parsed = parse_requests("0," + csv_field(name) + ",1\n1,last,1\n");
    EXPECT_EQ(parsed.bad_count, 0u) << name;
    ASSERT_EQ(parsed.rows.size(), 2u) << name;
    EXPECT_EQ(parsed.rows[0].user, UserId(name));
    EXPECT_EQ(parsed.rows[1].line, 2u);
  }
}

TEST(RequestsFileTest, DamagedNumberIsBadInEveryRow) {
  for (const std::string_view damaged :
       {"1.38E+10", "1001.0", "'1001", "\"=\"\"1001\"\"\"", "'1e5"}) {
    for (const std::string_view before : {"", "0,7,1\n", "0,anna,1\n"}) {
      EXPECT_THAT(fault_of(concat(before, "1,", damaged, ",1\n")),
                  HasSubstr("user_id is not a whole number: "));
    }
    EXPECT_THAT(fault_of(concat(damaged, ",7,1\n")), HasSubstr("at_ms is not a whole number: "));
  }
  EXPECT_THAT(fault_of("0,=\"1001\",1\n"), HasSubstr("1: a field with a quote must be in quotes"));
}

TEST(RequestsFileTest, Utf16IsRefused) {
  const std::string utf16 = {'\xFF', '\xFE', '0', '\0', ',', '\0'};
  EXPECT_EQ(fault_of(utf16), "1: the file is UTF-16; save it as UTF-8");
  EXPECT_EQ(fault_of(utf16.substr(2)), "1: the file is UTF-16; save it as UTF-8");
}

TEST(RequestsFileTest, RowsAreSortedStablyByTime) {
  const ParsedRequests parsed = parse_requests("5,1,1\n0,2,1\n5,3,1\n0,4,1\n");
  EXPECT_THAT(parsed.rows, ElementsAre(RequestRow{0, 2, 1, 2}, RequestRow{0, 4, 1, 4},
                                       RequestRow{5, 1, 1, 1}, RequestRow{5, 3, 1, 3}));
}

TEST(RequestsFileTest, BadLineIsNamedWithReason) {
  EXPECT_EQ(fault_of("0,7,1\n0,x7,1\n"), "2: user_id is not a whole number: \"x7\"");
  EXPECT_EQ(fault_of("0,7,1\n0,7\n"),
            "2: 2 fields where 3 are expected (at_ms,user_id,voucher_id)");
  EXPECT_EQ(fault_of("0,7,1,9\n"), "1: 4 fields where 3 are expected (at_ms,user_id,voucher_id)");
  EXPECT_EQ(fault_of("-1,7,1\n"), "1: at_ms must not be negative: -1");
  EXPECT_EQ(fault_of("0,7,\n"), "1: voucher_id is not a whole number: \"\"");
  EXPECT_EQ(fault_of("0.5,7,1\n"), "1: at_ms is not a whole number: \"0.5\"");
  EXPECT_EQ(fault_of("0,7,99999999999999999999\n"),
            "1: voucher_id is not a whole number: \"99999999999999999999\"");
}

TEST(RequestsFileTest, UsersMayHaveNames) {
  const ParsedRequests parsed = parse_requests("at_ms,user_id,voucher_id\n0,anna,1\n1,42,1\n");
  EXPECT_THAT(parsed.rows,
              ElementsAre(RequestRow{0, UserId("anna"), 1, 2}, RequestRow{1, 42, 1, 3}));
  EXPECT_EQ(fault_of("0,anna,1\n1,two words,1\n"),
            "2: user_id: the name of a user has no spaces or control characters: \"two words\"");
}

TEST(RequestsFileTest, EventsAreLinkedToPurchases) {
  const ParsedRequests parsed = parse_requests(
      "at_ms,user_id,voucher_id,key,event,amount_cents\n"
      "0,7,1,,,\n"
      "0,8,1,k,buy,\n"
      "2,7,1,,pay,250\n"
      "1,8,1,k,cancel,\n"
      "3,7,1,,buy,\n");
  EXPECT_EQ(parsed.bad_count, 0u);
  EXPECT_THAT(parsed.rows,
              ElementsAre(RequestRow{0, 7, 1, 2}, RequestRow{0, 8, 1, 3},
                          RequestRow{1, 8, 1, 5, RowEvent::kCancel, true, true, 0, 1},
                          RequestRow{2, 7, 1, 4, RowEvent::kPay, true, false, 250, 0},
                          RequestRow{3, 7, 1, 6, RowEvent::kBuy, /*follows=*/true, false, 0, 0}));
}

TEST(RequestsFileTest, OptionalColumnsBelongToTheirEvents) {
  const ParsedRequests parsed = parse_requests(
      "at_ms,user_id,voucher_id,event,quantity,payment,reference\n"
      "0,7,1,buy,3,,cart 1\n"
      "1,7,1,pay,,pi_1,\n");
  EXPECT_EQ(parsed.bad_count, 0u);
  ASSERT_EQ(parsed.rows.size(), 2u);
  EXPECT_EQ(parsed.rows[0].quantity, 3);
  EXPECT_EQ(parsed.rows[0].reference, "cart 1");
  EXPECT_EQ(parsed.rows[1].payment, "pi_1");
  const std::string head =
      "at_ms,user_id,voucher_id,event,quantity,payment,reference\n0,7,1,buy,,,\n";
  EXPECT_EQ(fault_of(head + "1,7,1,pay,2,,\n"), "3: quantity is for buy rows: \"2\"");
  EXPECT_EQ(fault_of(head + "1,7,1,buy,,p,\n"), "3: payment is for pay rows: \"p\"");
  EXPECT_EQ(fault_of(head + "1,7,1,pay,,,r\n"), "3: reference is for buy rows: \"r\"");
  EXPECT_EQ(fault_of(head + "1,7,1,buy,0,,\n"),
            "3: quantity is not a positive whole number: \"0\"");
  EXPECT_EQ(fault_of(head + "1,7,1,buy,10001,,\n"), "3: quantity is at most 10000: 10001");
  EXPECT_EQ(fault_of(head + "1,7,1,buy,,," + std::string(65, 'r') + "\n"),
            "3: reference has at most 64 bytes, not 65");
}

TEST(RequestsFileTest, BadEventIsNamedWithField) {
  const std::string head = "at_ms,user_id,voucher_id,event,key,amount_cents\n0,7,1,buy,k,\n";
  EXPECT_EQ(fault_of(head + "1,7,1,sell,,\n"), "3: event must be buy, pay or cancel, not \"sell\"");
  EXPECT_EQ(fault_of(head + "1,7,1,pay,,-5\n"),
            "3: amount_cents is not a positive whole number: \"-5\"");
  EXPECT_EQ(fault_of(head + "1,7,1,pay,,1000000000000001\n"),
            "3: amount_cents is at most 1000000000000000: 1000000000000001");
  EXPECT_EQ(fault_of(head + "1,7,1,cancel,,5\n"), "3: amount_cents is for pay rows: \"5\"");
  EXPECT_EQ(fault_of(head + "1,8,1,pay,,\n"),
            "3: event: no buy row of user 8 and voucher 1 is before this pay");
  EXPECT_EQ(fault_of(head + "1,7,1,pay,x,\n"),
            "3: key: no buy row before this pay has the key \"x\"");
  EXPECT_EQ(fault_of(head + "1,8,1,pay,k,\n"),
            "3: key: line 2, which has this key, is of user 7 and voucher 1");
  EXPECT_EQ(fault_of(head + "1,8,1,buy,k,\n"), "3: key: line 2 has the key \"k\" too");
  EXPECT_EQ(fault_of(head + "1,8,1,buy\n"),
            "3: 4 fields where 6 are expected (at_ms,user_id,voucher_id,event,key,amount_cents)");
}

TEST(RequestsFileTest, UnknownColumnIsBadLine) {
  EXPECT_THAT(fault_of("at_ms,user_id,voucher_id,colour\n"), HasSubstr("not \"colour\""));
  EXPECT_THAT(fault_of("at_ms,user_id,voucher_id,event,event\n"), HasSubstr("each once"));
}

TEST(RequestsFileTest, HeaderOfOtherColumnsIsBadLine) {
  EXPECT_THAT(fault_of("user_id,at_ms,voucher_id\n0,7,1\n"),
              HasSubstr("1: the columns must be at_ms,user_id,voucher_id"));
}

TEST(RequestsFileTest, LaterHeaderIsBadLine) {
  EXPECT_EQ(fault_of("0,7,1\nat_ms,user_id,voucher_id\n"),
            "2: at_ms is not a whole number: \"at_ms\"");
}

TEST(RequestsFileTest, BadLinesAreCountedAndFirstKept) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "nonsense\n";
  const ParsedRequests parsed = parse_requests(text + "0,7,1\n");
  EXPECT_EQ(parsed.bad_count, 1'000u);
  EXPECT_EQ(parsed.bad.size(), 100u);
  EXPECT_EQ(parsed.rows.size(), 1u);
}

}  // namespace
}  // namespace rushgate
