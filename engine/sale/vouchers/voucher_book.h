// Vouchers in both stores: recorded in the database, in force in the keyspace, and back there if it
// was lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct VoucherBookOptions {
  /// A limit per user that comes up from 1 makes a hash of counts of the set of buyers, in the one
  /// script that changes it. With more buyers than this it is refused: on the embedded engine the
  /// script needs about 150 bytes a buyer (EngineOptions::script_memory_bytes_max), and nobody else
  /// is served meanwhile.
  std::int64_t buyers_converted_max = 1'000'000;
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
};

/// Thread-safe. Does not own what it is given.
class VoucherBook {
 public:
  /// A rebuild that has taken longer than this, by the keyspace's time, was interrupted: somebody
  /// else may begin again. On the embedded engine he need not wait if it was begun before the
  /// engine was opened.
  static constexpr std::int64_t kRebuildAbandonedMs = 10'000;

  VoucherBook(Client& client, OrderStore& orders, const SaleKeys& keys,
              VoucherBookOptions options = {});

  /// Takes up what an interrupted process left: versions that are recorded but may not be in force,
  /// and rebuilds that nobody goes on with. A voucher for which that fails is logged and left as it
  /// is; kUnavailable: one of the stores cannot be asked.
  absl::Status recover();

  /// Makes `voucher` what is on sale. The same again changes nothing; something else is a new
  /// version, which keeps what was sold: free stock grows or shrinks by the difference.
  /// kInvalidArgument names a field that makes no sense; kFailedPrecondition: more is sold than
  /// would be left, there are too many buyers to change the limit, or the keyspace holds another
  /// sale's voucher of this id; kAborted: somebody else is rebuilding it, and
  /// trying again helps; kUnavailable: another change did not end while this one waited.
  absl::Status publish(const Voucher& voucher);

  /// Brings back a voucher of which the keyspace has lost something: free = published − live orders
  /// − admitted orders not yet stored, buyers from both; admission is closed meanwhile. If nothing
  /// is missing, nothing happens. kNotFound: no such voucher; kAborted: somebody else is at it.
  absl::Status rebuild(VoucherId voucher);

 private:
  using Answer = std::vector<std::int64_t>;  // of a script: an outcome, and what belongs to it

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
  absl::Status take_up_pending();
  absl::Status take_up_rebuilds();
  absl::Status apply(const VoucherVersion& version);
  absl::StatusOr<Answer> run_apply(const VoucherVersion& version, bool may_create);
  absl::Status mark_applied(const VoucherVersion& version);
  absl::Status refuse(const VoucherVersion& version, const std::string& why);
  absl::Status rebuild_locked(const VoucherVersion& version);
  absl::Status load(const VoucherVersion& version, const std::string& token);
  void log(const VoucherVersion& version, const absl::Status& failure) const;

  Client& client_;
  OrderStore& orders_;
  const SaleKeys keys_;
  const VoucherBookOptions options_;
  const std::string name_;  // as rebuilder: no other book's, in no other process
  // One change or rebuild at a time. Not a mutex: whoever has it asks the client meanwhile, which
  // may suspend his fiber, and another fiber of his thread that came for a mutex would block the
  // thread.
  std::atomic<bool> changing_{false};
  std::uint64_t rebuilds_ = 0;  // guarded by changing_
};

}  // namespace rushgate
