#include "apps/input/demo_input.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "apps/input/file_text.h"
#include "apps/input/requests_file.h"
#include "apps/input/vouchers_file.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRobots = 8;       // the users with the lowest ids
constexpr std::size_t kRobotShare = 200;  // one in so many requests is one robot's
constexpr std::int64_t kRobotGapMs = 2;

/// Numbers that are the same on every machine, as the library's distributions need not be.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  /// From [0, below).
  std::int64_t roll(std::int64_t below) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(below));
  }

 private:
  std::mt19937_64 generator_;
};

VoucherId choose_voucher(Dice& dice) {
  const std::int64_t percent = dice.roll(100);
  if (percent < 60) return 1;   // gone at once
  return percent < 66 ? 2 : 3;  // 2: for sale well into the rush
}

/// Most come early: the lesser of two rolls.
std::int64_t choose_time(Dice& dice, std::int64_t span_ms) {
  return std::min(dice.roll(span_ms), dice.roll(span_ms));
}

/// One after the other, always the same voucher, from some moment soon after the beginning.
void add_robot(Dice& dice, UserId robot, std::size_t requests, std::int64_t span_ms,
               std::vector<RequestRow>& rows) {
  const std::int64_t begin_ms = dice.roll(span_ms / 10);
  const VoucherId voucher = 1 + robot % 3;
  for (std::size_t i = 0; i < requests; ++i) {
    const std::int64_t at_ms = begin_ms + static_cast<std::int64_t>(i) * kRobotGapMs;
    rows.push_back({.at_ms = std::min(at_ms, span_ms - 1), .user = robot, .voucher = voucher});
  }
}

}  // namespace

std::string demo_requests(const DemoOptions& options) {
  assert(options.users >= kRobots && std::cmp_greater_equal(options.requests, options.users));
  const std::int64_t span_ms = options.seconds * 1'000;
  Dice dice(options.seed);
  std::vector<RequestRow> rows;
  rows.reserve(options.requests);
  const auto add = [&](UserId user) {
    rows.push_back(
        {.at_ms = choose_time(dice, span_ms), .user = user, .voucher = choose_voucher(dice)});
  };
  for (UserId user = 1; user <= options.users; ++user) add(user);
  const std::size_t per_robot =
      std::min(options.requests / kRobotShare, (options.requests - rows.size()) / kRobots);
  for (UserId robot = 1; robot <= kRobots; ++robot) {
    add_robot(dice, robot, per_robot, span_ms, rows);
  }
  while (rows.size() < options.requests) add(1 + dice.roll(options.users));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RequestRow& a, const RequestRow& b) { return a.at_ms < b.at_ms; });

  std::string text = "at_ms,user_id,voucher_id\n";
  for (const RequestRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{}\n", row.at_ms, row.user, row.voucher);
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
  // The vouchers are written last: while they are missing, nothing has been sold.
  if (fs::exists(files.vouchers, ignored)) {
    const auto there = read_file(files.requests);
    if (!there.ok()) return there.status();
    if (*there != requests) {
      return absl::InvalidArgumentError(fmt::format(
          "{} was made from another seed, or changed; use another directory, or remove {}",
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
