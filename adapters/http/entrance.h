// The entrance to vouchers that need a purchase token.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>
#include <rushgate/limits.h>

namespace rushgate::http {

/// Has a waiting room for each voucher, in the sale's keyspace. Users that have entered get a purchase
/// token. Asks the keyspace alone. Thread-safe.
class Entrance {
 public:
  Entrance(FlashSale& sale, const HttpServerOptions& options);
  /// Returns the fault of the options.
  [[nodiscard]] absl::Status status() const;

  struct Visit {
    std::string token = {};         // empty: the user waits
    WaitingRoom::Place place = {};  // of a user that waits
  };
  /// Lets the user wait, or returns the token of one who has entered. A repetition returns the same.
  /// Errors:
  /// - kNotFound: the voucher is not on sale.
  /// - kFailedPrecondition: it needs no token.
  /// - kResourceExhausted: too many users wait.
  absl::StatusOr<Visit> visit(VoucherId voucher, const UserId& user);

 private:
  absl::Status check(const SaleKeys& keys, VoucherId voucher);

  FlashSale& sale_;
  // Of each lane:
  std::vector<absl::StatusOr<std::unique_ptr<WaitingRoom>>> rooms_;
  std::vector<absl::StatusOr<std::unique_ptr<PurchaseTokens>>> tokens_;
};

}  // namespace rushgate::http
