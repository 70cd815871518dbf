#include "apps/input/demo_input.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "apps/input/file_text.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/flash_sale.h>
#include <rushgate/testing_rush.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRobots = 8;
constexpr std::size_t kRobotShare = 200;  // one request in this many comes from a robot

}  // namespace

std::string demo_requests(const DemoOptions& options) {
  assert(options.users >= kRobots && std::cmp_greater_equal(options.requests, options.users));
  const std::size_t repeats = options.requests - static_cast<std::size_t>(options.users);
  const std::vector<testing::RushRequest> rush = testing::make_rush({
      .seed = options.seed,
      .span_ms = options.seconds * 1'000,
      .buyers = options.users,
      .requests = options.requests,
      .robots = kRobots,
      .robot_requests = std::min(options.requests / kRobotShare, repeats / kRobots),
      .vouchers = {{.id = 1, .share = 60},  // sold out at once
                   {.id = 2, .share = 6},   // on sale well into the rush
                   {.id = 3, .share = 34}},
  });

  std::string text = "at_ms,user_id,voucher_id\n";
  for (const testing::RushRequest& request : rush) {
    text += fmt::format("{},{},{}\n", request.at_ms, request.user, request.voucher);
  }
  return text;
}

std::vector<Voucher> demo_vouchers(std::int64_t now_ms, std::int64_t late_ms) {
  constexpr std::int64_t kMonthMs = std::int64_t{30} * 24 * 60 * 60 * 1'000;
  const std::int64_t end_ms = now_ms + kMonthMs;
  return {
      {.id = 1,
       .title = "Headphones at half price",
       .stock = 1'000,
       .begin_ms = now_ms,
       .end_ms = end_ms,
       .price_cents = 4'990,
       .limits = {.total = 0, .per_user = 1, .per_user_day = 0, .utc_offset_minutes = 0}},
      {.id = 2,
       .title = "Dinner for two, up to three, two a day",
       .stock = 5'000,
       .begin_ms = now_ms,
       .end_ms = end_ms,
       .price_cents = 2'500,
       .limits = {.total = 0, .per_user = 3, .per_user_day = 2, .utc_offset_minutes = 0}},
      {.id = 3,
       .title = "A bicycle for one cent, later",
       .stock = 20,
       .begin_ms = now_ms + late_ms,
       .end_ms = end_ms,
       .price_cents = 1,
       .limits = {.total = 0, .per_user = 1, .per_user_day = 0, .utc_offset_minutes = 0}},
  };
}

absl::StatusOr<DemoFiles> write_demo(const fs::path& dir, const DemoOptions& options,
                                     std::int64_t now_ms, std::int64_t late_ms) {
  DemoFiles files{.requests = dir / "requests.csv", .vouchers = dir / "vouchers.json"};
  const std::string requests = demo_requests(options);
  std::error_code ignored;
  // The vouchers are written last. While they are missing, nothing has been sold.
  if (fs::exists(files.vouchers, ignored)) {
    ASSIGN_OR_RETURN(const auto there, read_file(files.requests));
    if (there != requests) {
      return absl::InvalidArgumentError(fmt::format(
          "{} was generated from another seed, or changed; use another directory, or remove {}",
          files.requests.string(), dir.string()));
    }
    files.reused = true;
    return files;
  }
  absl::Status written = write_file(files.requests, requests);
  if (written.ok()) {
    written = write_file(files.vouchers, format_vouchers(demo_vouchers(now_ms, late_ms)));
  }
  if (!written.ok()) return written;
  return files;
}

}  // namespace rushgate
