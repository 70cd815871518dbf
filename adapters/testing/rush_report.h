// The result of a rush. Use: EXPECT_TRUE(report.passed()) << report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "adapters/testing/sale_under_test.h"

namespace rushgate::testing {

/// A value type: equal runs give equal reports.
struct RushReport {
  /// A voucher that was oversold, or undersold without a reason.
  struct VoucherFault {
    std::int64_t voucher = 0;
    std::int64_t stock = 0;
    std::int64_t accepted = 0;
    std::int64_t orders = 0;
    friend bool operator==(const VoucherFault&, const VoucherFault&) = default;
  };
  /// The numbers of a user's confirmed and stored orders of a voucher.
  struct UserFault {
    std::int64_t user = 0;
    std::int64_t voucher = 0;
    std::int64_t accepted = 0;
    std::int64_t orders = 0;
    std::int64_t in_doubt = 0;  // requests with lost replies: each may be an order
    friend bool operator==(const UserFault&, const UserFault&) = default;
  };

  /// A reply to the last command of a request, and its interpretation.
  struct FrequentReply {
    std::string reply;
    RushAnswer answer = RushAnswer::kRefused;
    std::size_t times = 0;
    friend bool operator==(const FrequentReply&, const FrequentReply&) = default;
  };

  std::uint64_t seed = 0;  // repeats the rush
  std::size_t requests = 0;
  std::size_t accepted = 0;
  std::size_t refused = 0;
  std::size_t failed = 0;        // RushAnswer::kFailed
  std::size_t answers_lost = 0;  // in crashes
  std::size_t crashes = 0;
  std::vector<FrequentReply> replies = {};  // the most frequent ones

  // ---- Faults: all empty in a sale that passes ----

  std::vector<VoucherFault> oversold = {};
  std::vector<UserFault> doubled = {};      // more than RushVoucher::per_user
  std::vector<UserFault> lost = {};         // accepted but not among the orders
  std::vector<UserFault> unfounded = {};    // orders without a confirmation
  std::vector<UserFault> too_early = {};    // accepted before RushVoucher::begin_ms
  std::vector<VoucherFault> withheld = {};  // refused on sale although stock was left
  std::vector<std::string> errors = {};     // the first few, as the sale reported them

  [[nodiscard]] bool passed() const;
  /// Returns a description of the faults. The longest lists are shortened.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const RushReport&, const RushReport&) = default;
};

std::ostream& operator<<(std::ostream& out, const RushReport& report);

}  // namespace rushgate::testing
