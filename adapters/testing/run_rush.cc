#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "adapters/testing/refuse_if.h"
#include "adapters/testing/rush_ledger.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/random.h"
#include <rushgate/reply.h>
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

// ---- The place of a rush ----------------------------------------------------------------------

/// The keyspace of a sale, its clock, and its crashes.
class Place {
 public:
  virtual ~Place() = default;

  virtual Client& client() = 0;
  /// Moves the clock. Returns false and sets `error` if it cannot be moved.
  virtual bool advance_ms(std::int64_t duration_ms, std::string& error) = 0;
  /// Returns true if the process has crashed and restarted since the last call.
  virtual bool has_crashed() { return false; }
  /// Prevents further crashes.
  virtual void calm() {}
};

class OwnEngine final : public Place {
 public:
  OwnEngine(TestEngine& engine, std::size_t crashes, std::int64_t stock, Random& random)
      : engine_(engine),
        crashes_left_(crashes),
        commits_between_max_(crashes == 0 ? 0 : stock / static_cast<std::int64_t>(2 * crashes)),
        random_(random) {}

  Client& client() override { return engine_.client(); }
  bool advance_ms(std::int64_t duration_ms, std::string&) override {
    engine_.advance_ms(duration_ms);
    return true;
  }
  bool has_crashed() override {
    const bool failed = !engine_.engine().health().ok();
    const bool ends = restart_at_ != 0 && engine_.store().commits() >= restart_at_;
    if (failed || ends) restart();
    if (!is_planned_ && crashes_left_ > 0) plan_crash();
    return failed || ends;
  }
  void calm() override {
    if (is_planned_) restart();
    crashes_left_ = 0;
  }

 private:
  void restart() {
    engine_.restart();
    is_planned_ = false;
    restart_at_ = 0;
  }

  void plan_crash() {
    using Kept = faults::FaultyStore::Kept;
    --crashes_left_;
    is_planned_ = true;
    const auto between =
        static_cast<std::uint64_t>(std::max<std::int64_t>(commits_between_max_, 1));
    const int commits = 1 + static_cast<int>(random_.below(between));
    switch (random_.below(3)) {
      case 0:
        return engine_.store().fail_commit(commits, Kept::kNo);
      case 1:
        return engine_.store().fail_commit(commits, Kept::kYes);
      default:
        restart_at_ = engine_.store().commits() + commits;
    }
  }

  TestEngine& engine_;
  std::size_t crashes_left_;
  const std::int64_t commits_between_max_;
  Random& random_;
  bool is_planned_ = false;
  int restart_at_ = 0;  // restarts after this commit; 0: a failing commit is planned
};

class Port final : public Place {
 public:
  Port(Client& client, bool move_clock) : client_(client), moves_clock_(move_clock) {}

  Client& client() override { return client_; }
  bool advance_ms(std::int64_t duration_ms, std::string& error) override {
    if (!moves_clock_) return true;
    const Reply moved = client_("RUSHGATE.ADVANCE", duration_ms);
    if (moved.is_error()) error = concat("the clock cannot be moved: ", moved.text());
    return !moved.is_error();
  }

 private:
  Client& client_;
  const bool moves_clock_;
};

void check(const SaleUnderTest& sale, const RushOptions& rush, const RushConditions& conditions) {
  check_rush(rush);
  constexpr std::size_t kCrashesMax = 1'000'000;
  refuse_if(sale.buy == nullptr, "SaleUnderTest::buy is missing");
  refuse_if(conditions.pause_ms_max < 0 || conditions.pause_ms_max > kLongestMs,
            "RushConditions::pause_ms_max is from 0 ms to 24 days");
  refuse_if(conditions.drain_ms < 0 || conditions.drain_ms > kLongestMs,
            "RushConditions::drain_ms is from 0 ms to 24 days");
  refuse_if(conditions.crashes > kCrashesMax, "RushConditions::crashes is beyond 1,000,000");
}

// ---- The rush ---------------------------------------------------------------------------------

class RushRun {
 public:
  RushRun(Place& place, const SaleUnderTest& sale, const RushOptions& rush,
          const RushConditions& conditions, Random& random)
      : place_(place),
        sale_(sale),
        conditions_(conditions),
        random_(random),
        span_ms_(rush.span_ms),
        requests_(make_rush(rush)),
        asked_(requests_.size()),
        ledger_(rush) {}

  RushReport run() {
    if (sale_.prepare) sale_.prepare(place_.client());
    for (const RushRequest& request : requests_) plan(request.number, request.at_ms);
    if (move_to(0) && run_requests() && sale_.restock && restock()) run_requests();
    finish();
    return ledger_.judge(conditions_.find_withheld);
  }

 private:
  /// The state of one request.
  struct Asked {
    std::vector<Reply> replies = {};
    Request next = {};  // the next command; empty before the first
  };
  /// The next command of a request, with its time.
  struct Due {
    std::int64_t at_ms;
    std::uint64_t lot;  // orders commands of the same moment
    std::size_t number;
    friend bool operator<(const Due& a, const Due& b) {
      return std::tie(a.at_ms, a.lot, a.number) < std::tie(b.at_ms, b.lot, b.number);
    }
  };

  void plan(std::size_t number, std::int64_t at_ms) {
    due_.insert({.at_ms = at_ms, .lot = random_.next(), .number = number});
  }

  /// Runs all planned requests. Returns false if the rush cannot continue.
  bool run_requests() {
    while (!due_.empty()) {
      if (!run_group()) return false;
    }
    return true;
  }

  /// Adds stock, and plans requests of the users that were refused. Returns false if the rush cannot
  /// continue.
  bool restock() {
    place_.calm();  // a crash could lose the new stock
    read_orders();
    if (!move_to(std::max(span_ms_, now_ms_))) return false;
    for (const auto& [voucher, pieces, users] : ledger_.restock(conditions_.find_withheld)) {
      sale_.restock(place_.client(), voucher, pieces);
      for (const std::int64_t user : users) plan_retry(user, voucher);
    }
    return true;
  }

  void plan_retry(std::int64_t user, std::int64_t voucher) {
    const auto wait_ms =
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(span_ms_)));
    requests_.push_back(
        {.number = requests_.size(), .at_ms = now_ms_ + wait_ms, .user = user, .voucher = voucher});
    asked_.emplace_back();
    plan(requests_.back().number, requests_.back().at_ms);
  }

  bool move_to(std::int64_t at_ms) {
    std::string error;
    const bool moved = place_.advance_ms(at_ms - now_ms_, error);
    if (!moved) ledger_.add_error(std::move(error));
    now_ms_ = at_ms;
    note_crash();
    return moved;
  }

  /// Sends the commands of the next moment. Returns false if the rush cannot continue.
  bool run_group() {
    if (!move_to(due_.begin()->at_ms)) return false;
    const std::size_t group_max =
        1 + random_.below(std::max<std::size_t>(conditions_.group_max, 1));
    std::vector<std::size_t> numbers;
    std::vector<Request> commands;
    while (!due_.empty() && due_.begin()->at_ms == now_ms_ && numbers.size() < group_max) {
      const std::size_t number = due_.begin()->number;
      due_.erase(due_.begin());
      Asked& asked = asked_[number];
      if (asked.replies.empty() && !take_step(number)) continue;
      numbers.push_back(number);
      commands.push_back(asked.next);
    }
    if (commands.empty()) return true;
    const std::vector<Reply> replies = place_.client().pipeline(commands);
    for (std::size_t i = 0; i < numbers.size(); ++i) take_reply(numbers[i], replies[i]);
    note_crash();
    return true;
  }

  void take_reply(std::size_t number, const Reply& reply) {
    if (has_code(reply, error_code::kOutcomeUnknown)) return lose_reply(number);
    asked_[number].replies.push_back(reply);
    if (!take_step(number)) return;
    constexpr std::size_t kCommandsMax = 1'000;
    if (asked_[number].replies.size() == kCommandsMax) {
      ledger_.add_error(concat("request ", number, " does not come to an end"));
      return ledger_.add_reply(requests_[number], RushResult::kFailed, now_ms_);
    }
    plan(number, now_ms_ + pause_ms());
  }

  /// Runs the sale's next step for a request. Returns false if that step is the result.
  bool take_step(std::size_t number) {
    Asked& asked = asked_[number];
    RushStep step = sale_.buy(requests_[number], asked.replies);
    if (Request* const command = std::get_if<Request>(&step)) {
      asked.next = std::move(*command);
      return true;
    }
    const RushResult result = std::get<RushResult>(step);
    if (!asked.replies.empty()) {
      std::string reply = to_debug_string(asked.replies.back());
      if (result == RushResult::kFailed) ledger_.add_error(reply);
      ledger_.add_reply(result, std::move(reply));
    }
    ledger_.add_reply(requests_[number], result, now_ms_);
    return false;
  }

  std::int64_t pause_ms() {
    return static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(conditions_.pause_ms_max) + 1));
  }

  /// Records a crash: running requests get no reply.
  void note_crash() {
    if (!place_.has_crashed()) return;
    ledger_.add_crash();
    std::vector<Due> cut_off;
    std::ranges::copy_if(due_, std::back_inserter(cut_off),
                         [this](const Due& due) { return !asked_[due.number].replies.empty(); });
    for (const Due& due : cut_off) {
      due_.erase(due);
      lose_reply(due.number);
    }
  }

  void lose_reply(std::size_t number) {
    ledger_.add_lost_answer(requests_[number]);
    asked_[number] = {};
    if (conditions_.ask_again) plan(number, now_ms_ + 1 + pause_ms());
  }

  void finish() {
    place_.calm();
    read_buyers();
    if (conditions_.drain_ms > 0) move_to(now_ms_ + conditions_.drain_ms);
    read_orders();
  }

  void read_orders() {
    if (!sale_.orders) return;
    const auto orders = sale_.orders(place_.client());
    if (orders.ok()) return ledger_.set_orders(*orders);
    ledger_.add_error(concat("the orders cannot be read: ", orders.status().message()));
  }

  void read_buyers() {
    if (!sale_.buyers) return;
    const auto buyers = sale_.buyers(place_.client());
    if (buyers.ok()) return ledger_.set_buyers(*buyers);
    ledger_.add_error(concat("the buyers cannot be read: ", buyers.status().message()));
  }

  Place& place_;
  const SaleUnderTest& sale_;
  const RushConditions& conditions_;
  Random& random_;
  const std::int64_t span_ms_;
  std::vector<RushRequest> requests_;
  std::vector<Asked> asked_;  // by request number
  std::set<Due> due_;
  std::int64_t now_ms_ = 0;  // since the start of the rush
  RushLedger ledger_;
};

}  // namespace

RushReport run_rush(TestEngine& engine, const SaleUnderTest& sale, const RushOptions& rush,
                    const RushConditions& conditions) {
  check(sale, rush, conditions);
  std::int64_t stock = 0;
  for (const RushVoucher& voucher : rush.vouchers) stock += voucher.stock;
  Random random(rush.seed);
  OwnEngine place(engine, conditions.crashes, stock, random);
  return RushRun(place, sale, rush, conditions, random).run();
}

RushReport run_rush(Client& port, const SaleUnderTest& sale, const RushOptions& rush,
                    const RushConditions& conditions) {
  check(sale, rush, conditions);
  refuse_if(conditions.crashes > 0, "a server on a port does not crash here");
  Random random(rush.seed);
  Port place(port, conditions.move_clock);
  return RushRun(place, sale, rush, conditions, random).run();
}

}  // namespace rushgate::testing
