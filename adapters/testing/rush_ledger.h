// The requests, replies and orders of a rush, and the contradictions between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <rushgate/testing_rush.h>

namespace rushgate::testing {

/// Records one rush. Not thread-safe.
class RushLedger {
 public:
  explicit RushLedger(const RushOptions& rush);

  /// Adds the result of a request at `at_ms` after the start of the rush.
  void add_reply(const RushRequest& request, RushResult result, std::int64_t at_ms);
  /// Adds a raw reply and its interpretation.
  void add_reply(RushResult result, std::string reply);
  /// Adds a request without a known outcome. It may be repeated.
  void add_lost_answer(const RushRequest& request);
  void add_crash() { ++report_.crashes; }
  void add_error(std::string error);
  /// Sets all orders so far. Without orders, only replies are checked.
  void set_orders(const std::vector<RushOrder>& orders);
  /// Sets the buyers that the sale recorded, each as often as recorded.
  void set_buyers(const std::vector<RushOrder>& buyers);

  /// The new pieces of a voucher, and the users that it refused so far and that could have it.
  struct Restock {
    std::int64_t voucher = 0;
    std::int64_t pieces = 0;
    std::vector<std::int64_t> users = {};
  };
  /// Ends a part of the rush without open requests: notes the faults of its vouchers, and begins a
  /// part whose stock includes the returned pieces and in which each returned user asks once.
  std::vector<Restock> restock(bool find_withheld);

  /// Ends the last part.
  RushReport judge(bool find_withheld);

 private:
  /// The state of one user and voucher.
  struct Account {
    std::int64_t accepted = 0;
    std::int64_t too_early = 0;
    std::int64_t refused_on_sale = 0;  // after the voucher began, in this part of the rush
    std::int64_t orders = 0;
    std::int64_t recorded = 0;
    std::int64_t in_doubt = 0;
  };
  /// The totals of a voucher, over all users.
  struct Total {
    std::int64_t accepted = 0;
    std::int64_t orders = 0;
    std::int64_t maybe_sold = 0;  // upper bound of sold: requests with lost replies count
    std::vector<std::int64_t> refused = {};  // users that could have had it, in this part
  };

  [[nodiscard]] std::int64_t begin_ms(std::int64_t voucher) const;
  [[nodiscard]] std::map<std::int64_t, Total> totals() const;
  void judge_vouchers(bool find_withheld);
  void judge_account(const RushOrder& whose, const Account& account);
  void judge_record(const RushReport::UserFault& fault, std::int64_t limit);

  std::map<std::int64_t, RushVoucher> vouchers_;  // with the stock so far
  std::map<RushOrder, Account> accounts_;
  std::map<RushResult, std::map<std::string, std::size_t>> replies_;  // with their frequency
  std::set<std::size_t> in_doubt_;  // requests with lost replies, by number
  bool knows_orders_ = false;
  bool knows_buyers_ = false;
  RushReport report_;  // with its counts
};

}  // namespace rushgate::testing
