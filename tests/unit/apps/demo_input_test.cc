#include "apps/input/demo_input.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "apps/input/file_text.h"
#include "apps/input/requests_file.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

TEST(DemoInputTest, DefaultRushHasDocumentedSizes) {
  const ParsedRequests parsed = parse_requests(demo_requests({}));
  EXPECT_EQ(parsed.bad_count, 0u);
  ASSERT_EQ(parsed.rows.size(), 200'000u);
  std::map<UserId, int> requests_of;
  std::map<VoucherId, int> requests_for;
  for (const RequestRow& row : parsed.rows) {
    ++requests_of[row.user];
    ++requests_for[row.voucher];
    EXPECT_LT(row.at_ms, 10'000);
  }
  EXPECT_EQ(requests_of.size(), 50'000u);
  EXPECT_EQ(requests_for.size(), 3u);
  int robots = 0;
  int repeating = 0;
  for (const auto& [user, count] : requests_of) {
    robots += count >= 1'000 ? 1 : 0;
    repeating += count > 1 ? 1 : 0;
  }
  EXPECT_EQ(robots, 8);
  EXPECT_GT(repeating, 40'000);
}

TEST(DemoInputTest, OnlySeedDeterminesRequests) {
  DemoOptions options{.seed = 1, .requests = 1'000, .users = 100, .seconds = 1};
  EXPECT_EQ(content_hash(demo_requests(options)), content_hash(demo_requests(options)));
  const std::string one = demo_requests(options);
  options.seed = 2;
  EXPECT_NE(demo_requests(options), one);
}

TEST(DemoInputTest, ThirdVoucherBeginsLate) {
  const auto vouchers = demo_vouchers(5'000, 400);
  ASSERT_EQ(vouchers.size(), 3u);
  EXPECT_EQ(vouchers[0].stock, 1'000);
  EXPECT_EQ(vouchers[1].stock, 5'000);
  EXPECT_EQ(vouchers[2].stock, 20);
  EXPECT_EQ(vouchers[0].begin_ms, 5'000);
  EXPECT_EQ(vouchers[1].begin_ms, 5'000);
  EXPECT_EQ(vouchers[2].begin_ms, 5'400);
  for (const Voucher& voucher : vouchers) EXPECT_EQ(find_fault(voucher), "");
}

TEST(DemoInputTest, ExistingFilesAreKept) {
  const TemporaryDirectory scratch;
  const DemoOptions options{.seed = 1, .requests = 1'000, .users = 100, .seconds = 1};
  const auto first = write_demo(scratch.path(), options, 5'000, 400);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->reused);
  const auto vouchers = read_file(first->vouchers);
  const auto second = write_demo(scratch.path(), options, 9'000, 400);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->reused);
  EXPECT_EQ(*read_file(second->vouchers), *vouchers);

  DemoOptions other = options;
  other.seed = 2;
  EXPECT_TRUE(absl::IsInvalidArgument(write_demo(scratch.path(), other, 9'000, 400).status()));
}

TEST(DemoInputTest, InterruptedWriteIsRepeated) {
  const TemporaryDirectory scratch;
  const DemoOptions options{.seed = 1, .requests = 1'000, .users = 100, .seconds = 1};
  ASSERT_TRUE(write_file(scratch.path() / "requests.csv", "half of it").ok());
  const auto files = write_demo(scratch.path(), options, 5'000, 400);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_FALSE(files->reused);
  EXPECT_EQ(*read_file(files->requests), demo_requests(options));
}

}  // namespace
}  // namespace rushgate
