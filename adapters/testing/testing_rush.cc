#include <algorithm>
#include <random>
#include <set>

#include "adapters/testing/refuse_if.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

/// Random numbers that are equal on every machine, unlike those of the standard distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  /// Returns a number from 0 to `below` - 1.
  std::int64_t roll(std::int64_t below) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(below));
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace

void check_rush(const RushOptions& options) {
  constexpr std::size_t kRequestsMax = 100'000'000;
  constexpr std::int64_t kStockMax = 1'000'000'000'000;
  constexpr std::int64_t kShareMax = 1'000'000'000;
  refuse_if(options.vouchers.empty(), "a rush needs vouchers");
  refuse_if(options.span_ms < 1 || options.span_ms > kLongestMs,
            "a rush lasts for a millisecond to 24 days");
  refuse_if(options.buyers < 0, "a rush of less than no buyers");
  refuse_if(options.robots < 0 || options.robots > options.buyers, "robots are some of the buyers");
  refuse_if(options.robot_gap_ms < 0 || options.robot_gap_ms > kLongestMs,
            "robots wait for 0 ms to 24 days between their requests");
  refuse_if(options.requests > kRequestsMax, "more than 100,000,000 requests");
  const auto buyers = static_cast<std::size_t>(options.buyers);
  const auto robots = static_cast<std::size_t>(options.robots);
  refuse_if(buyers > options.requests ||
                (robots > 0 && options.robot_requests > (options.requests - buyers) / robots),
            "fewer requests than the buyers and robots make");
  refuse_if(options.requests > 0 && options.buyers < 1, "requests without buyers");
  std::set<std::int64_t> ids;
  for (const RushVoucher& voucher : options.vouchers) {
    refuse_if(!ids.insert(voucher.id).second, "two vouchers of one id");
    refuse_if(voucher.stock < 0 || voucher.stock > kStockMax,
              "a voucher's stock is from 0 to 1,000,000,000,000");
    refuse_if(voucher.per_user < 0, "a voucher of which a user may have less than none");
    refuse_if(voucher.share < 1 || voucher.share > kShareMax,
              "a voucher's share in the rush is from 1 to 1,000,000,000");
    refuse_if(voucher.begin_ms < 0 || voucher.begin_ms >= options.span_ms,
              "a voucher that does not begin during the rush");
  }
}

namespace {

class RushMaker {
 public:
  explicit RushMaker(const RushOptions& options) : options_(options), dice_(options.seed) {
    for (const RushVoucher& voucher : options.vouchers) shares_ += voucher.share;
  }

  std::vector<RushRequest> make() {
    requests_.reserve(options_.requests);
    for (std::int64_t user = 1; user <= options_.buyers; ++user) add(user);
    for (std::int64_t robot = 1; robot <= options_.robots; ++robot) add_robot(robot);
    while (requests_.size() < options_.requests) add(1 + dice_.roll(options_.buyers));
    std::stable_sort(requests_.begin(), requests_.end(),
                     [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
    for (std::size_t i = 0; i < requests_.size(); ++i) requests_[i].number = i;
    return std::move(requests_);
  }

 private:
  void add(std::int64_t user) {
    const std::int64_t wanted_ms = choose_time();
    const RushVoucher& voucher = choose_voucher();
    requests_.push_back(
        {.at_ms = time_for(voucher, wanted_ms), .user = user, .voucher = voucher.id});
  }

  /// Adds requests of one robot: one after the other, for one voucher, from a time near the start.
  void add_robot(std::int64_t robot) {
    const std::int64_t begin_ms = dice_.roll(std::max<std::int64_t>(options_.span_ms / 10, 1));
    const std::size_t voucher = static_cast<std::size_t>(robot) % options_.vouchers.size();
    for (std::size_t i = 0; i < options_.robot_requests; ++i) {
      const std::int64_t at_ms = begin_ms + static_cast<std::int64_t>(i) * options_.robot_gap_ms;
      requests_.push_back({.at_ms = std::min(at_ms, options_.span_ms - 1),
                           .user = robot,
                           .voucher = options_.vouchers[voucher].id});
    }
  }

  /// Returns a time. Early times are more likely: it is the lesser of two rolls.
  std::int64_t choose_time() {
    return std::min(dice_.roll(options_.span_ms), dice_.roll(options_.span_ms));
  }

  const RushVoucher& choose_voucher() {
    std::int64_t chosen = dice_.roll(shares_);
    auto voucher = options_.vouchers.begin();
    while (chosen >= voucher->share) chosen -= (voucher++)->share;
    return *voucher;
  }

  /// Returns the time of a request. For a late voucher it is at the begin or too early.
  std::int64_t time_for(const RushVoucher& voucher, std::int64_t wanted_ms) {
    constexpr std::int64_t kTooEarlyShare = 5;  // one in this many
    if (voucher.begin_ms == 0) return wanted_ms;
    if (dice_.roll(kTooEarlyShare) == 0) return dice_.roll(voucher.begin_ms);
    const std::int64_t left_ms = options_.span_ms - voucher.begin_ms;
    return voucher.begin_ms + wanted_ms * left_ms / options_.span_ms;
  }

  const RushOptions& options_;
  Dice dice_;
  std::int64_t shares_ = 0;
  std::vector<RushRequest> requests_;
};

}  // namespace

std::vector<RushRequest> make_rush(const RushOptions& options) {
  check_rush(options);
  return RushMaker(options).make();
}

}  // namespace rushgate::testing
