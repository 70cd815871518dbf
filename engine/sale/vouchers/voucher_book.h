// Vouchers in both stores: recorded in the database, and in force in the keyspace.
#pragma once

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
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/stream/lost_orders.h"
#include "engine/sale/vouchers/change_turn.h"
#include "engine/sale/vouchers/voucher_rebuilder.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace spdlog {
class logger;
}

namespace rushgate {

/// What the lane 0 asks of the other lanes of a voucher that is on several.
struct OtherLanes {
  /// As VoucherBook::check_place(), of each.
  std::function<absl::Status(const Voucher&, const Voucher* before)> check_places = {};
  /// Puts a version in force there, by VoucherBook::put_in_force_here().
  std::function<absl::Status(const VoucherVersion&)> put_in_force = {};
  /// As VoucherBook::follow_here(), of each.
  std::function<absl::Status(const Voucher&)> follow = {};
  /// As PieceMover::gather(), to the lane 0.
  std::function<absl::StatusOr<std::int64_t>(const Voucher&, std::int64_t wanted,
                                             std::int64_t spare)>
      gather = {};
};

struct VoucherBookOptions {
  /// SaleOptions::buyers_converted_max.
  std::int64_t buyers_converted_max = 0;
  /// SaleOptions::adopt. Needs `draw_ids`.
  bool adopt = false;
  /// Draws order ids until the span is full.
  std::function<absl::Status(std::span<OrderId>)> draw_ids = {};
  /// Drops cached copies of a voucher when another version has come into force. May be empty.
  std::function<absl::Status(VoucherId)> forget_copies = {};
  /// Empty: no voucher on several lanes is published here.
  std::optional<OtherLanes> other_lanes = {};
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
  /// ClientOptions::wait of the client. Suspends a caller while another changes a voucher.
  const WaitMethod* wait = nullptr;
};

/// Thread-safe. Does not own its arguments, which must outlive it.
class VoucherBook {
 public:
  VoucherBook(Client& client, const SaleStores& stores, KeyspaceOwner& owner, const SaleKeys& keys,
              VoucherBookOptions options = {});

  /// Finishes the work of an interrupted process: recorded versions that may not be in force, and
  /// vouchers that are closed or lost. Logs a voucher that fails and leaves it unchanged.
  /// kUnavailable: a store cannot be reached.
  absl::Status recover();

  /// As restore_lost_requests(). kAborted also if this process is changing a voucher.
  absl::Status restore_requests();

  /// As Sale::publish(). Does not ask a custom admission script.
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version = {});

  /// Puts a recorded version of a voucher on several lanes in force on this one, which is not the first. The
  /// first one records it as applied after that.
  absl::Status put_in_force_here(const VoucherVersion& version);
  /// Brings a voucher to its version in force, if it has another one: it was rebuilt while that was published, or
  /// refused.
  absl::Status follow_here(VoucherId voucher);
  /// Returns an error if a voucher on several lanes cannot be published on this one: the keyspace cannot be reached,
  /// another system has made the keys of a new one, or more buyers would have to be counted than this does.
  /// `before`: the terms in force; null: it is new.
  absl::Status check_place(const Voucher& voucher, const Voucher* before);

  /// As Sale::add_stock().
  absl::Status add_stock(VoucherId voucher, std::int64_t delta);
  /// As Sale::close().
  absl::Status close(VoucherId voucher);

  /// Rebuilds a voucher of which the keyspace has lost something. Free stock = published − live
  /// orders − admitted orders not yet stored; the buyers come from both. Admission is closed
  /// meanwhile. Decides about a version that is being published (VoucherRebuilder::rebuild()). Changes
  /// nothing if nothing is missing. kNotFound: no such voucher; kAborted: another process is rebuilding it.
  absl::Status rebuild(VoucherId voucher);

  /// Rebuilds a voucher of which the keyspace has lost a hold or an idempotency key. Errors: as
  /// rebuild().
  absl::Status rebuild_holds(VoucherId voucher);
  /// Rebuilds each voucher that demands payment and is closed or lost. No purchase might do so
  /// before the payments of its orders are due. Logs a failure.
  absl::Status rebuild_lost_holds();
  /// Sells free pieces to waiting users of vouchers whose window opened after their last version
  /// was published. Returns how long it is until the next window opens, ms.
  absl::StatusOr<std::int64_t> serve_opened_lists();

  /// Restores orders of one voucher that the keyspace lost. Rebuilds the voucher with the orders
  /// that are in no store, as far as its stock and limits allow. A dead letter without stock stays
  /// one if no stock is free. `orders.restored` has what it did, also before an error. May be repeated.
  /// Errors: as rebuild().
  absl::Status restore(VoucherId voucher, LostOrders& orders);

 private:
  using ScriptResult = std::vector<std::int64_t>;  // of a script: an outcome and its numbers

  absl::Status finish_pending();
  absl::Status rebuild_lost(std::vector<VoucherVersion> on_sale);
  absl::StatusOr<std::optional<VoucherVersion>> finish_latest(VoucherId voucher);
  absl::Status check_new_terms(const Voucher& voucher);
  absl::StatusOr<VoucherVersion> find_in_force(VoucherId voucher);
  absl::Status change(VoucherId voucher, absl::FunctionRef<absl::Status(Voucher&)> edit);
  absl::Status publish_locked(const Voucher& voucher, std::optional<std::int64_t> expected_version);
  absl::Status apply(const VoucherVersion& version);
  absl::Status put_in_force_everywhere(const VoucherVersion& version);
  absl::Status put_in_force(const VoucherVersion& version);
  absl::Status put_in_force_and_seal(const VoucherVersion& version);
  absl::Status follow(VoucherId voucher);
  absl::StatusOr<ScriptResult> run_apply(const VoucherVersion& version, const VoucherVersion& here,
                                         bool may_create);
  absl::StatusOr<ScriptResult> apply_or_rebuild(const VoucherVersion& version,
                                                const VoucherVersion& here,
                                                const std::optional<VoucherVersion>& in_force);
  absl::StatusOr<ScriptResult> apply_or_gather(const VoucherVersion& version,
                                               const VoucherVersion& here,
                                               const std::optional<VoucherVersion>& in_force);
  absl::Status finish_adoption(const Voucher& voucher);
  [[nodiscard]] std::string describe_too_many_buyers(VoucherId voucher, std::int64_t count) const;
  absl::Status refuse_unknown(VoucherId voucher);
  [[nodiscard]] std::string describe_foreign(const VoucherVersion& version,
                                             std::span<const std::int64_t> detail) const;
  absl::Status record_applied(const VoucherVersion& version);
  absl::Status forget_copies(VoucherId voucher) const;
  absl::Status check_not_refused(const VoucherVersion& version) const;
  absl::Status refuse(const VoucherVersion& version, const std::string& reason) const;
  void log(const VoucherVersion& version, const absl::Status& failure) const;

  Client& client_;
  const SaleStores stores_;
  KeyspaceOwner& owner_;
  const SaleKeys keys_;
  const VoucherBookOptions options_;
  VoucherRebuilder rebuilder_;  // for the holder of the turn
  ChangeTurn changing_;         // of a change or rebuild
};

}  // namespace rushgate
