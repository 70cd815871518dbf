// A flash sale: publishes vouchers, admits buyers, and reports orders. Works on every backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/connection_check.h"
#include "engine/sale/admission/admission.h"
#include "engine/sale/admission/admission_groups.h"
#include "engine/sale/admission/custom_admission.h"
#include "engine/sale/admission/custom_admission_requests.h"
#include "engine/sale/admission/outcome.h"
#include "engine/sale/audit/audit.h"
#include "engine/sale/ids/order_ids.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/queued_orders.h"
#include "engine/sale/orders/recent_orders.h"
#include "engine/sale/ownership/keyspace_owner.h"
#include "engine/sale/ownership/server_run.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/sale_stores.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "engine/sale/vouchers/voucher_cache.h"
#include "engine/sale/vouchers/voucher_summary.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/script.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct BuyRequest {
  VoucherId voucher = 0;
  UserId user = 0;
  /// The idempotency key, if not empty. Within SaleOptions::request_ttl_ms, the same user, voucher
  /// and key get the order that was accepted first. A request that was refused is decided from
  /// scratch. With another user or voucher the key gets kKeyReused, so it must be unique in the
  /// whole sale.
  std::string request_key = {};
};

/// The state of an order.
struct OrderState {
  enum class Kind : std::uint8_t {
    kUnknown,  // no such order was accepted
    kQueued,   // accepted, not yet stored
    kCreated,  // stored
    kFailed,   // among the dead letters
  };
  Kind kind = Kind::kUnknown;
  std::optional<Order> order = {};  // set if created; from orders_of() always
  std::string reason = {};          // if failed
};

/// Returns "unknown", "queued", "created" or "failed".
std::string_view order_state_name(OrderState::Kind kind);

struct SaleOptions {
  SaleKeys keys = {};
  std::int64_t request_ttl_ms = std::int64_t{7} * 24 * 60 * 60 * 1'000;
  std::int64_t id_block_size = 1'024;
  std::int64_t buyers_converted_max = VoucherBookOptions{}.buyers_converted_max;
  /// Adopts another system's data under the same keys: its order stream, and a voucher's stock and
  /// buyers when the voucher is first published (VoucherBookOptions::adopt).
  bool adopt = false;
  /// Lets voucher() cache versions: in the keyspace, and up to this number in the process. For
  /// pages that are shown often, or a slow database. All processes that publish must set it too. 0:
  /// each call reads the database.
  std::size_t voucher_copies_max = 0;
  /// Names an order that the user has in results of kLimitReached and kDayLimitReached. The process
  /// remembers its newest 65,536 orders (1.5 MiB). For others a refusal looks into an index of the
  /// database. Queued orders that are not remembered are not named.
  bool names_order_at_limit = false;
  /// Decides in place of the sale's own admission script.
  std::optional<CustomAdmission> admission = {};
  /// Options of the sale's own client: the method of waiting, and the treatment of a full queue.
  /// The client uses RESP2 and subscribes to nothing.
  ClientOptions client = {};
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
};

/// Thread-safe. Does not own its arguments, which must outlive it.
class Sale {
 public:
  /// Claims the keyspace for the database, rebuilds lost vouchers, and finishes interrupted work.
  /// Later each new connection of the backend is checked in the same way before it admits anything.
  ///
  /// kFailedPrecondition: the keyspace belongs to another database or another system
  /// (KeyspaceOwner::verify()). kInvalidArgument: an option is out of range, or the custom
  /// admission script is not valid Lua; the message names it.
  static absl::StatusOr<std::unique_ptr<Sale>> open(Backend& backend, const SaleStores& stores,
                                                    SaleOptions options = {});

  /// As VoucherBook::publish(), add_stock() and close(). publish() also returns kInvalidArgument if
  /// the voucher has a limit that the custom admission script does not keep.
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version = {});
  absl::Status add_stock(VoucherId voucher, std::int64_t delta) {
    return vouchers_.add_stock(voucher, delta);
  }
  absl::Status close(VoucherId voucher) { return vouchers_.close(voucher); }
  /// Returns the version in force; nothing if the voucher was never on sale.
  ///
  /// With SaleOptions::voucher_copies_max, may return a version that another process has replaced,
  /// until that process's message arrives. If that process died before it sent the message: for
  /// little more than a minute.
  absl::StatusOr<std::optional<VoucherVersion>> voucher(VoucherId voucher) {
    return voucher_cache_ ? voucher_cache_->find(voucher) : stores_.vouchers.applied(voucher);
  }

  /// Returns the terms in force, the free stock and the number admitted; nothing if the voucher was
  /// never on sale. Reads the terms as voucher() does and, in one request, the keyspace.
  absl::StatusOr<std::optional<VoucherSummary>> summary(VoucherId voucher);
  /// Returns the summary of every voucher, in ascending order of ids. Sends one request per
  /// voucher.
  absl::StatusOr<std::vector<VoucherSummary>> summaries();

  /// Decides on a purchase, atomically and as durably as the backend's writes.
  BuyResult buy(VoucherId voucher, UserId user, std::string_view request_key = {});

  /// Decides on several purchases in this order: one round trip, one commit batch.
  std::vector<BuyResult> buy_all(std::span<const BuyRequest> requests);

  /// Returns the state of an order; an accepted one is never unknown. Reads indexes, and the order
  /// stream's new entries since the last call, except those of this sale.
  absl::StatusOr<OrderState> status(OrderId order);
  /// Returns every accepted order of a user: created ones, then queued ones, then failed ones.
  /// Reads the whole backlog (the order stream and the dead letters) in portions. So do not call it
  /// for every page view while many orders are queued. OrderStore::list() returns the created ones
  /// alone.
  absl::StatusOr<std::vector<OrderState>> orders_of(UserId user);

  /// Audits the sale and names its problems (audit/audit.h).
  absl::StatusOr<AuditReport> audit();

  absl::StatusOr<std::vector<DeadLetter>> dead_letters();
  /// Returns a dead letter to the order stream. A letter without stock first needs a rebuild that
  /// finds free stock. Returns false if the letter stays or does not exist.
  absl::StatusOr<bool> retry_dead_letter(const std::string& id);
  /// Discards a dead letter, and keeps `why` with it. The order stays admitted: the buyer's record
  /// and the stock do not change. Returns false if no letter has this id.
  absl::StatusOr<bool> discard_dead_letter(const std::string& id, const std::string& why);
  absl::StatusOr<std::vector<DiscardedLetter>> discarded_letters();

  [[nodiscard]] const SaleOptions& options() const { return options_; }

 private:
  Sale(Backend& backend, const SaleStores& stores, SaleOptions options);

  Reply admit(VoucherId voucher, const AdmissionRequests::Buyer& buyer);
  std::vector<Request> make_calls(std::span<const BuyRequest> requests,
                                  std::span<const AdmissionRequests::Buyer> buyers,
                                  std::vector<std::size_t>& begins) const;
  [[nodiscard]] const Script& script() const;
  [[nodiscard]] std::optional<AdmissionAnswer> read_answer(const Reply& reply, OrderId order) const;
  [[nodiscard]] BuyResult read_result(const Reply& reply, OrderId order) const;
  BuyResult conclude(const Reply& reply, const BuyRequest& request, OrderId order);
  BuyResult buy_after_rebuild(AdmissionCode lacks, const BuyRequest& request, OrderId order);
  absl::StatusOr<std::optional<OrderState>> final_state(OrderId order);
  absl::StatusOr<bool> restore(const std::string& letter);
  void name_order(VoucherId voucher, UserId user, BuyResult& result);
  absl::StatusOr<VoucherSummary> summarize(VoucherVersion version);

  const SaleStores stores_;
  const SaleOptions options_;
  const std::unique_ptr<Client> client_;
  AdmissionRequests requests_;
  const std::unique_ptr<CustomAdmissionRequests> custom_;  // null: the sale's own script decides
  std::optional<AdmissionGroups> groups_;                  // on a keyspace behind a network
  OrderIdReservations reservations_;
  IdGenerator ids_;
  QueuedOrders queued_;
  std::unique_ptr<RecentOrders> recent_;  // null without names_order_at_limit
  KeyspaceOwner owner_;
  ServerRun server_run_;
  std::unique_ptr<VoucherCache> voucher_cache_;  // null: none
  VoucherBook vouchers_;
  const OwnedConnectionCheck connection_check_;
};

/// Returns the native implementations of the sale's scripts. Sale::open() adds them to its backend;
/// call this for an engine that only serves other processes.
std::vector<NamedScript> native_sale_scripts();

}  // namespace rushgate
