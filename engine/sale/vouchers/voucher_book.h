// Vouchers in both stores: recorded in the database, in force in the keyspace, and back there if it
// was lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"
#include "engine/time/clock.h"

namespace rushgate {

/// Thread-safe. Does not own what it is given.
class VoucherBook {
 public:
  VoucherBook(Client& client, OrderStore& orders, const Clock& clock, const SaleKeys& keys);

  /// Takes up what an interrupted process left: versions that are recorded but may not be in force.
  absl::Status recover();

  /// Makes `voucher` what is on sale. The same again changes nothing; something else is a new
  /// version, which keeps what was sold: free stock grows or shrinks by the difference.
  /// kInvalidArgument names a field that makes no sense; kFailedPrecondition: more is sold than
  /// would be left; kUnavailable: another change or rebuild did not end while this one waited.
  absl::Status publish(const Voucher& voucher);

  /// Brings back a voucher of which the keyspace has lost something: free = published − live orders
  /// − admitted orders not yet stored, buyers from both; admission is closed meanwhile. If nothing
  /// is missing, nothing happens. kNotFound: no such voucher; kUnavailable: somebody else is at it.
  absl::Status rebuild(VoucherId voucher);

 private:
  /// Has the book to itself while it lives, if it is_ours().
  class Change {
   public:
    explicit Change(std::atomic<bool>& changing)
        : changing_(changing), is_ours_(!changing.exchange(true)) {}
    ~Change() {
      if (is_ours_) changing_ = false;
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    [[nodiscard]] bool is_ours() const { return is_ours_; }
    bool try_again() { return is_ours_ = is_ours_ || !changing_.exchange(true); }

   private:
    std::atomic<bool>& changing_;
    bool is_ours_;
  };

  absl::Status wait_for(Change& change);
  absl::Status apply(const VoucherVersion& version);
  absl::StatusOr<int> run_apply(const VoucherVersion& version, bool may_create,
                                std::string& detail);
  absl::Status rebuild_locked(const VoucherVersion& version);
  absl::Status load(const VoucherVersion& version, const std::string& token);

  Client& client_;
  OrderStore& orders_;
  const Clock& clock_;
  const SaleKeys keys_;
  // One change or rebuild at a time. Not a mutex: whoever has it asks the client meanwhile, which
  // may suspend his fiber, and another fiber of his thread that came for a mutex would block the
  // thread.
  std::atomic<bool> changing_{false};
  std::uint64_t rebuilds_ = 0;  // guarded by changing_
};

}  // namespace rushgate
