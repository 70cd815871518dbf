#include "apps/replay/report.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/replay/progress.h"
#include "apps/replay/run_record.h"
#include "apps/text_table.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report some_report() {
  Report report;
  report.file = "rush.csv";
  report.rows = 5'000;
  report.outcomes[static_cast<std::size_t>(Outcome::kAccepted)] = 1'000;
  report.outcomes[static_cast<std::size_t>(Outcome::kSoldOut)] = 4'000;
  report.starts = 2;
  report.seconds = 0.1 + 0.2;  // many formats would round this number
  report.p50_ns = 1'500;
  report.p99_ns = 2'500'000;
  report.p999_ns = 3'500'000'000;
  report.last_stored_seconds = 0.5;
  report.created = 1'000;
  report.audit.emplace();
  report.audit->vouchers.push_back({.voucher = 1,
                                    .published = 1'000,
                                    .free = 0,
                                    .admitted = 1'000,
                                    .given_back = 0,
                                    .created = 1'000,
                                    .queued = 0,
                                    .dead = 0});
  return report;
}

TEST(ReportTest, StoredTableIsUnchanged) {
  Report report = some_report();
  EXPECT_EQ(format_report(report_from_json(to_json(report))), format_report(report));
  report.audit->problems.emplace_back("voucher 1: oversold");
  report.last_stored_seconds.reset();
  EXPECT_EQ(format_report(report_from_json(to_json(report))), format_report(report));
  report.audit.reset();
  EXPECT_EQ(format_report(report_from_json(to_json(report))), format_report(report));
  report.created.reset();
  EXPECT_EQ(format_report(report_from_json(to_json(report))), format_report(report));
  EXPECT_THAT(format_report(report), HasSubstr("orders created       unknown\n"));
}

TEST(ReportTest, EventsAndMoneyAreKept) {
  Report report = some_report();
  report.pays.outcomes[static_cast<std::size_t>(ChangeOutcome::kDone)] = 80;
  report.pays.without_order = 2;
  report.cancels.outcomes[static_cast<std::size_t>(ChangeOutcome::kTooLate)] = 3;
  report.rows += 85;
  report.audit->money = {.received = 500, .kept = 300, .due = 150, .refunded = 50};
  report.audit->vouchers[0].withheld = 11;
  report.audit->vouchers[0].unpaid = 12;
  report.audit->vouchers[0].ended = 13;
  const Report read = report_from_json(to_json(report));
  EXPECT_EQ(read.pays, report.pays);
  EXPECT_EQ(read.cancels, report.cancels);
  EXPECT_EQ(format_report(read), format_report(report));
  EXPECT_THAT(format_report(read), HasSubstr("  pay: done             80\n"));
  EXPECT_THAT(format_report(read), HasSubstr("  pay: no order          2\n"));
  EXPECT_THAT(format_report(read), HasSubstr("  cancel: too late       3\n"));
  EXPECT_THAT(format_report(read),
              HasSubstr("money in cents: received 500 = kept 300 + due 150 + refunded 50\n"));
  EXPECT_TRUE(read.is_complete());
  report.cancels.outcomes[static_cast<std::size_t>(ChangeOutcome::kFailed)] = 1;
  report.rows += 1;
  EXPECT_FALSE(report.is_complete());
}

TEST(ReportTest, OlderTableIsRead) {
  auto json = to_json(some_report());
  json.erase("pay");
  json.erase("cancel");
  json["audit"].erase("money");
  for (const char* const name : {"withheld", "unpaid", "ended", "discarded"}) {
    json["audit"]["vouchers"][0].erase(name);
  }
  EXPECT_EQ(format_report(report_from_json(json)), format_report(some_report()));
}

TEST(ReportTest, TableShowsCounts) {
  const std::string text = format_report(some_report());
  EXPECT_THAT(text, HasSubstr("requests             5,000\n"));
  EXPECT_THAT(text, HasSubstr("  accepted           1,000\n"));
  EXPECT_THAT(text, HasSubstr("  sold out           4,000\n"));
  EXPECT_THAT(text, HasSubstr("  not started            0\n"));
  EXPECT_THAT(text, HasSubstr("p50 1.5 us, p99 2.5 ms, p99.9 3.50 s"));
  EXPECT_THAT(text, HasSubstr("0.50 s after the first request, 0.20 s after the last reply"));
  EXPECT_THAT(text, HasSubstr("audit passed"));
  EXPECT_THAT(text, Not(HasSubstr("not sent")));
}

TEST(ReportTest, CompleteNeedsFinalReplyForEachRow) {
  EXPECT_TRUE(some_report().is_complete());
  Report report = some_report();
  report.rows += 1;
  EXPECT_FALSE(report.is_complete());
  EXPECT_THAT(format_report(report), HasSubstr("not sent               1\n"));
  report = some_report();
  report.outcomes[static_cast<std::size_t>(Outcome::kOutcomeUnknown)] = 1;
  report.rows += 1;
  EXPECT_FALSE(report.is_complete());
  report = some_report();
  *report.created -= 1;
  EXPECT_FALSE(report.is_complete());
  report.dead += 1;
  EXPECT_TRUE(report.is_complete());
  report = some_report();
  report.audit->problems.emplace_back("x");
  EXPECT_FALSE(report.is_complete());
  report = some_report();
  report.audit.reset();
  EXPECT_FALSE(report.is_complete());
}

TEST(RunBookTest, EachFileHasItsRecord) {
  auto engine = Engine::open(std::make_unique<MemoryStore>());
  ASSERT_TRUE(engine.ok());
  const auto client = (*engine)->open_client();
  RunBook book(*client, "one");
  EXPECT_FALSE(book.load()->has_value());
  ASSERT_TRUE(book.save({.vouchers_hash = "v",
                         .starts = 3,
                         .completed_up_to_ms = 17,
                         .report = some_report()})
                  .ok());
  const auto record = book.load();
  ASSERT_TRUE(record.ok() && record->has_value());
  EXPECT_EQ((*record)->vouchers_hash, "v");
  EXPECT_EQ((*record)->starts, 3);
  EXPECT_EQ((*record)->completed_up_to_ms, 17);
  EXPECT_EQ(format_report(*(*record)->report), format_report(some_report()));
  EXPECT_FALSE(RunBook(*client, "other").load()->has_value());
}

TEST(RunBookTest, InvalidRecordIsError) {
  auto engine = Engine::open(std::make_unique<MemoryStore>());
  ASSERT_TRUE(engine.ok());
  const auto client = (*engine)->open_client();
  (*client)("SET", "rushgate:replay:one", "{}");
  EXPECT_TRUE(absl::IsDataLoss(RunBook(*client, "one").load().status()));
}

TEST(ProgressTest, BarFitsTerminal) {
  const ProgressState state{
      .completed = 50'000, .rows = 200'000, .accepted = 1'234, .stored = 1'000, .note = ""};
  const std::string text = "]  25%  50,000 of 200,000 requests, 1,234 accepted, 1,000 stored";
  EXPECT_EQ(Progress::bar(state, 200), "[##########------------------------------" + text);
  EXPECT_EQ(Progress::bar(state, text.size() + 13), "[###---------" + text);
  EXPECT_EQ(Progress::bar(state, 30).size(), 30u);
  EXPECT_THAT(Progress::bar({}, 200), HasSubstr("########] 100%"));
}

TEST(TextTableTest, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
}

TEST(TextTableTest, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table("lr");
  table.add({"a", "1"});
  table.add({"bcd", "23"});
  EXPECT_EQ(table.text(), "a     1\nbcd  23\n");
}

}  // namespace
}  // namespace rushgate
