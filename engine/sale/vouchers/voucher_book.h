// Vouchers in both stores: recorded in the database, in force in the keyspace, and back there if it
// was lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/lost_orders.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/ownership/keyspace_owner.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct VoucherBookOptions {
  /// A limit per user that comes up from 1 makes a hash of counts of the set of buyers, in the one
  /// script that changes it. With more buyers than this it is refused: on the embedded engine the
  /// script needs about 150 bytes a buyer (EngineOptions::script_memory_bytes_max), and no other
  /// request is served meanwhile.
  std::int64_t buyers_converted_max = 1'000'000;
  /// Adopts the stock and the buyers that another system keeps under a voucher's keys, when it is
  /// first published. Its stock must be their sum. Each buyer gets an order row, unless the order
  /// stream brings one. Needs `draw_ids`.
  bool adopt = false;
  /// Draws order ids until the span is full.
  std::function<absl::Status(std::span<OrderId>)> draw_ids = {};
  /// Drops cached copies of a voucher, when the database has another version in force. May be empty.
  std::function<absl::Status(VoucherId)> forget_copies = {};
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
};

/// Thread-safe. Does not own its arguments, which must outlive it.
class VoucherBook {
 public:
  /// A rebuild whose claim was not renewed for longer than this, by the keyspace's time, was
  /// interrupted: another process may begin again. On the embedded engine it need not wait for a
  /// rebuild that began before the engine was opened.
  static constexpr std::int64_t kRebuildAbandonedMs = 10'000;

  VoucherBook(Client& client, OrderStore& orders, KeyspaceOwner& owner, const SaleKeys& keys,
              VoucherBookOptions options = {});

  /// Finishes the work of an interrupted process: versions that are recorded but may not be in
  /// force, and vouchers that are closed or lost. A voucher that fails is logged and left
  /// unchanged. kUnavailable: a store cannot be reached.
  absl::Status recover();

  /// Makes `voucher` the version on sale. The same again changes nothing; anything else is a new
  /// version, which keeps what was sold: free stock grows or shrinks by the difference. With
  /// `expected_version` (0: never published) only if that version is in force; otherwise the last
  /// of several concurrent calls wins. A limit per day that is switched on, or another UTC offset,
  /// closes the sale for as long as a rebuild takes.
  ///
  /// kInvalidArgument names a field that makes no sense. kAlreadyExists: another version than the
  /// expected one is in force. kFailedPrecondition: more is sold than would be left, there are too
  /// many buyers to change the limit, or the keys belong to another sale or system. kAborted:
  /// another process is rebuilding the voucher, and trying again helps. kUnavailable: another
  /// change did not end while this one waited; or the version is in force, and cached copies of the
  /// one before may stay (VoucherCache). Then call it again.
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version = {});

  /// Publishes the version in force with `delta` more pieces, fewer if it is negative. Concurrent
  /// changes are all kept. kNotFound: the voucher is not on sale. Other errors: as publish().
  absl::Status add_stock(VoucherId voucher, std::int64_t delta);

  /// Ends the sale of a voucher now, by the keyspace's time. Errors: as add_stock().
  absl::Status close(VoucherId voucher);

  /// Brings back a voucher of which the keyspace has lost something: free = published − live orders
  /// − admitted orders not yet stored, buyers from both; admission is closed meanwhile. If nothing
  /// is missing, nothing happens. kNotFound: no such voucher; kAborted: another process is at it.
  absl::Status rebuild(VoucherId voucher);

  /// The result of restoring lost orders.
  struct Restored {
    std::size_t appended = 0;  // to the order stream: they are admitted again
    std::size_t buried = 0;    // dead letters without stock now, with the reason
  };
  /// Restores orders of one voucher that the keyspace lost. Rebuilds the voucher with
  /// the orders that no store has, as far as its stock and limits allow. A dead
  /// letter without stock stays one if there is none. May be repeated. Errors: as
  /// rebuild().
  absl::StatusOr<Restored> restore(VoucherId voucher, std::span<const LostOrder> lost);

 private:
  using Answer = std::vector<std::int64_t>;  // of a script: an outcome and its numbers
  struct Buyers;                             // of one voucher, as the stores know them
  struct Lost;                               // orders to restore, and their results

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
  absl::Status finish_pending();
  absl::Status rebuild_lost();
  absl::StatusOr<std::optional<VoucherVersion>> finish_latest(VoucherId voucher);
  absl::Status change(VoucherId voucher, absl::FunctionRef<absl::Status(Voucher&)> edit);
  absl::Status publish_locked(const Voucher& voucher, std::optional<std::int64_t> expected_version);
  absl::Status apply(const VoucherVersion& version);
  absl::StatusOr<Answer> run_apply(const VoucherVersion& version, bool may_create);
  absl::StatusOr<Answer> apply_or_rebuild(const VoucherVersion& version,
                                          const std::optional<VoucherVersion>& in_force);
  absl::Status finish_adoption(const Voucher& voucher);
  [[nodiscard]] std::string describe_foreign(const VoucherVersion& version,
                                             std::span<const std::int64_t> detail) const;
  absl::Status record_applied(const VoucherVersion& version);
  absl::Status forget_copies(VoucherId voucher) const;
  absl::Status refuse(const VoucherVersion& version, const std::string& why);
  absl::Status rebuild_locked(const VoucherVersion& version, const VoucherVersion* before = nullptr,
                              Lost* lost = nullptr);
  absl::StatusOr<std::int64_t> begin_rebuild(VoucherId voucher, const std::string& token,
                                             bool even_if_whole);
  absl::Status renew(VoucherId voucher, const std::string& token);
  absl::StatusOr<Buyers> read_buyers(const VoucherVersion& version, const std::string& token,
                                     Lost* lost);
  absl::StatusOr<bool> append(const LostOrder& lost, const std::string& token);
  absl::Status add_lost(const Limits& limits, std::int64_t stock, const std::string& token,
                        Buyers& buyers, Lost& lost);
  absl::Status load(const VoucherVersion& version, const VoucherVersion* before,
                    const std::string& token, Lost* lost);
  absl::StatusOr<bool> load_buyers(VoucherId voucher, const std::string& token,
                                   const Buyers& buyers);
  void log(const VoucherVersion& version, const absl::Status& failure) const;

  Client& client_;
  OrderStore& orders_;
  KeyspaceOwner& owner_;
  const SaleKeys keys_;
  const VoucherBookOptions options_;
  const std::string name_;  // as rebuilder: no other book's, in no other process
  // Allows one change or rebuild at a time. Not a mutex: the holder calls the client, which
  // may suspend its fiber. Another fiber of its thread would then block the thread on a
  // mutex.
  std::atomic<bool> changing_{false};
  std::uint64_t rebuilds_ = 0;  // guarded by changing_
};

}  // namespace rushgate
