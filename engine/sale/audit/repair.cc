#include "engine/sale/audit/repair.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/audit/hold_audit.h"
#include "engine/sale/audit/key_audit.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/holds/received_payments.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using Lines = std::vector<std::string>;
using Fields = std::vector<std::string>;

std::vector<std::string_view> views_of(const Fields& texts) { return {texts.begin(), texts.end()}; }

/// Makes the repairs that follow from one look at both stores.
class Repair {
 public:
  Repair(Client& client, const SaleStores& stores, const SaleKeys& keys, VoucherBook& vouchers)
      : client_(client), stores_(stores), keys_(keys), vouchers_(vouchers) {}

  absl::StatusOr<Lines> run() {
    // In this order: an event moves from the stream to the database, and its end is removed then.
    HoldAuditor auditor(client_, stores_.orders, keys_);
    RETURN_IF_ERROR(auditor.read());
    ASSIGN_OR_RETURN(const auto unstored, read_unstored_orders(client_, keys_, std::nullopt));
    ASSIGN_OR_RETURN(const auto acknowledged, AcknowledgedEntries::read(client_, keys_));
    note_events(unstored);
    for (const EndedHold& ended : auditor.ends()) {
      RETURN_IF_ERROR(forget_end(ended, unstored));
    }
    ASSIGN_OR_RETURN(const auto faults, auditor.find_faults(unstored, acknowledged));
    RETURN_IF_ERROR(find_noted(faults));
    for (const HoldFault& fault : faults) {
      RETURN_IF_ERROR(mend(fault));
    }
    for (const VoucherId voucher : incomplete_) {
      const absl::Status rebuilt = vouchers_.rebuild_holds(voucher);
      if (!rebuilt.ok()) return rebuilt;
      lines_.push_back(concat("voucher ", voucher, ": rebuilt with its lost holds"));
    }
    RETURN_IF_ERROR(repair_keys());
    RETURN_IF_ERROR(restore_archived_keys());
    return std::move(lines_);
  }

 private:
  // ---- Ends ----

  void note_events(const UnstoredOrders& unstored) {
    const auto note = [](const std::vector<OrderEvent>& events,
                         absl::flat_hash_set<OrderId>& orders) {
      for (const OrderEvent& event : events) {
        if (ends_hold(event)) orders.insert(event.order.id);
      }
    };
    note(unstored.events, on_their_way_);
    note(unstored.dead_events, on_their_way_);
    note(unstored.discarded_events, given_up_);
  }

  /// Removes an end that is stored or was given up.
  absl::Status forget_end(const EndedHold& ended, const UnstoredOrders& unstored) {
    const OrderId id = ended.order.id;
    if (on_their_way_.contains(id)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto order, stores_.orders.find(id));
    const bool is_stored = order.has_value() && order->status != OrderStatus::kUnpaid;
    if (is_stored || unstored.discarded.contains(id)) {
      const auto removed = remove_held(client_, keys_, {&id, 1});
      if (!removed.ok()) return removed.status();
      if (*removed == 1) {
        lines_.push_back(concat("order ", id, ": removed its end, ",
                                is_stored ? "which is stored" : "the order was discarded"));
      }
      return absl::OkStatus();
    }
    return given_up_.contains(id) ? hold_again(ended) : absl::OkStatus();
  }

  /// Makes an order unpaid again whose payment was discarded. A discarded cancellation has given the
  /// pieces back, so that order stays as it is.
  absl::Status hold_again(const EndedHold& ended) {
    const auto payment = ended.payment();
    if (!payment) return absl::OkStatus();
    const Reply removed = client_("HDEL", keys_.payments(), *payment);
    if (!removed.is_integer()) return to_status(removed, "removing a discarded payment");
    RETURN_IF_ERROR(vouchers_.rebuild_holds(ended.order.voucher));
    lines_.push_back(concat("order ", ended.order.id, ": is unpaid again, payment ", *payment,
                            " was discarded"));
    return absl::OkStatus();
  }

  // ---- Faults ----

  /// Finds the lost payments that the keyspace notes as stored.
  absl::Status find_noted(const std::vector<HoldFault>& faults) {
    absl::flat_hash_set<std::string> lost;
    for (const HoldFault& fault : faults) {
      if (fault.kind == HoldFault::Kind::kLostPayment) lost.insert(fault.payment->id);
    }
    ASSIGN_OR_RETURN(noted_, find_noted_as_stored(client_, keys_, lost));
    return absl::OkStatus();
  }

  absl::Status mend(const HoldFault& fault) {
    switch (fault.kind) {
      case HoldFault::Kind::kNotHeld:
        incomplete_.insert(fault.order.voucher);
        return absl::OkStatus();
      case HoldFault::Kind::kHeld:
        return remove_hold(fault.order);
      case HoldFault::Kind::kOtherHold:
        return hold_as(fault.order, fault.hold->text);
      case HoldFault::Kind::kLostEnd:
        return append_end(fault);
      case HoldFault::Kind::kLostPayment:
        return append_payment(fault.order, *fault.payment);
      case HoldFault::Kind::kOtherPayment:
        return forget_payment(*fault.payment);
      case HoldFault::Kind::kForgedClosing:
        return open(fault.order.voucher);
      case HoldFault::Kind::kUnqueuedPayment:
      case HoldFault::Kind::kWithoutOrder:
        break;  // nothing says which of the two is right
    }
    return absl::OkStatus();
  }

  absl::Status remove_hold(const Order& order) {
    const auto removed = remove_held(client_, keys_, {&order.id, 1});
    if (!removed.ok()) return removed.status();
    lines_.push_back(
        concat("order ", order.id, ": removed its hold, it is ", order_status_name(order.status)));
    return absl::OkStatus();
  }

  /// Makes the hold say the same as its unpaid order.
  absl::Status hold_as(const Order& order, const std::string& present) {
    const Fields arguments = {concat(order.id), present, describe_hold(order),
                              concat(order.due_at_ms)};
    const auto held = run(payment_scripts::correct_hold(), {keys_.held(), keys_.deadlines()},
                          arguments, "correcting a hold");
    if (!held.ok()) return held.status();
    if (*held) lines_.push_back(concat("order ", order.id, ": is held as ", arguments[2]));
    return absl::OkStatus();
  }

  /// Appends the lost event of a hold that ended.
  absl::Status append_end(const HoldFault& fault) {
    const EndedHold& ended = *fault.hold->ended;
    ASSIGN_OR_RETURN(auto fields, event_of(fault.order, ended));
    if (fields.empty()) return absl::OkStatus();
    Fields arguments = {concat(ended.order.id), ended.value()};
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    const auto appended = run(payment_scripts::append_event(), {keys_.held(), keys_.order_stream},
                              arguments, "appending a lost event");
    if (!appended.ok()) return appended.status();
    if (*appended) {
      lines_.push_back(
          concat("order ", ended.order.id, ": appended its lost event: ", ended.value()));
    }
    return absl::OkStatus();
  }

  /// Returns fields and values of the event of a hold that ended; empty if they are not known.
  absl::StatusOr<Fields> event_of(const Order& order, const EndedHold& ended) {
    const auto space = ended.how.find(' ');
    if (space == ended.how.npos) return Fields{};
    const std::string kind = ended.how.substr(0, space);
    const std::string rest = ended.how.substr(space + 1);
    Fields fields = {"event",     kind,
                     "id",        concat(ended.order.id),
                     "userId",    ended.order.user.text(),
                     "voucherId", concat(ended.order.voucher)};
    if (kind == order_event_name(OrderEvent::Kind::kCancelled)) {
      ASSIGN_OR_RETURN(const auto version, stores_.vouchers.applied(ended.order.voucher));
      if (!version.has_value()) return Fields{};
      const Voucher& terms = version->voucher;
      fields.insert(fields.end(),
                    {"keeps", concat(keeps_of(!terms.restock, !terms.restore_allowance)), "reason",
                     "repaired", "actor", rest});
      return fields;
    }
    // Only a payment of its amount ends a hold.
    fields.insert(fields.end(), {"payment", rest, "amount", concat(amount_of(order))});
    return fields;
  }

  /// Appends the lost event of a payment. Its order's hold ends by it, if the order is still held.
  absl::Status append_payment(const Order& its_order, const ReceivedPayment& payment) {
    if (its_order.id == 0) return absl::OkStatus();  // no event of it could be applied
    // The database lost it: its order may still count as paid.
    if (noted_.contains(payment.id)) return absl::OkStatus();
    const Fields arguments = {payment.id,
                              payment.value,
                              concat(payment.order),
                              concat(its_order.voucher),
                              its_order.user.text(),
                              std::string(order_event_name(payment.kind)),
                              concat(payment.amount_cents)};
    const auto appended =
        run(payment_scripts::append_payment(), {keys_.held(), keys_.payments(), keys_.order_stream},
            arguments, "appending a payment");
    if (!appended.ok()) return appended.status();
    if (*appended) {
      lines_.push_back(concat("order ", payment.order, ": appended its lost payment ", payment.id));
    }
    return absl::OkStatus();
  }

  absl::Status forget_payment(const ReceivedPayment& payment) {
    const auto removed = run(payment_scripts::forget_payment(), {keys_.payments()},
                             {payment.id, payment.value}, "removing a payment");
    if (!removed.ok()) return removed.status();
    if (*removed) {
      lines_.push_back(
          concat("payment ", payment.id, ": removed its entry, which differs from the database"));
    }
    return absl::OkStatus();
  }

  absl::Status open(VoucherId voucher) {
    ASSIGN_OR_RETURN(const auto opened, find_forged_closing(client_, keys_, voucher, true));
    if (opened) lines_.push_back(concat("voucher ", voucher, ": opened its holds"));
    return absl::OkStatus();
  }

  // ---- Idempotency keys ----

  /// Rebuilds the vouchers of orders whose idempotency keys the keyspace has lost. A key that went to
  /// another voucher is given back to the stored order. Of two queued orders, the first that is stored
  /// keeps it.
  absl::Status repair_keys() {
    absl::btree_set<VoucherId> without_keys;
    const auto check = [&](std::span<const Order> orders, bool are_stored) -> absl::Status {
      ASSIGN_OR_RETURN(const auto wrong, find_wrong_keys(client_, keys_, orders));
      for (const WrongKey& key : wrong) {
        if (key.of_other_voucher == 0) {
          without_keys.insert(key.voucher);
        } else if (are_stored) {
          const auto order = std::ranges::find(orders, key.order, &Order::id);
          RETURN_IF_ERROR(restore_key(*order, key));
        }
      }
      return absl::OkStatus();
    };
    ASSIGN_OR_RETURN(const auto queued, read_queued());
    RETURN_IF_ERROR(check(queued, false));
    std::vector<Order> portion;
    const auto check_portion = [&] {
      absl::Status checked = check(portion, true);
      portion.clear();
      return checked;
    };
    const absl::Status read = for_each_order(
        stores_.orders, {}, [&](const Order& order) { portion.push_back(order); }, check_portion);
    if (!read.ok()) return read;
    RETURN_IF_ERROR(check_portion());
    for (const VoucherId voucher : without_keys) {
      const absl::Status rebuilt = vouchers_.rebuild_holds(voucher);
      if (absl::IsNotFound(rebuilt)) continue;
      if (!rebuilt.ok()) return rebuilt;
      lines_.push_back(concat("voucher ", voucher, ": rebuilt with its lost idempotency keys"));
    }
    return absl::OkStatus();
  }

  /// Restores the lost keys of archived orders, which no rebuild does.
  absl::Status restore_archived_keys() {
    ASSIGN_OR_RETURN(const auto archived, read_archived(stores_.orders));
    const auto restore = [&](const Order& order, const WrongKey& key) {
      return restore_key(order, key);
    };
    return for_each_wrong_key_of_archived(client_, stores_.orders, keys_, archived, restore);
  }

  /// Gives a stored order its key. The database stores no other order of it. Only a version of
  /// Rushgate that compared the orders of each voucher alone stored two: then the key stays as it is.
  absl::Status restore_key(const Order& order, const WrongKey& key) {
    if (key.of_other_voucher != 0) {
      ASSIGN_OR_RETURN(const auto other, stores_.orders.find(key.of_other_voucher));
      if (other.has_value() && shares_key(order, *other)) return absl::OkStatus();
    }
    const Reply set = client_("SET", keys_.request(order.idempotency_key), request_record(order),
                              "PXAT", order.key_expires_at_ms);
    if (set != Reply::ok()) return to_status(set, "restoring an idempotency key");
    lines_.push_back(concat("order ", order.id, ": restored its idempotency key"));
    return absl::OkStatus();
  }

  /// Returns the orders in the stream that the group has not acknowledged. The others are stored, or
  /// dead and without their keys.
  absl::StatusOr<std::vector<Order>> read_queued() {
    ASSIGN_OR_RETURN(auto unstored, read_unstored_orders(client_, keys_, std::nullopt));
    ASSIGN_OR_RETURN(const auto acknowledged, AcknowledgedEntries::read(client_, keys_));
    std::vector<Order> queued;
    for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
      if (acknowledged.contains(unstored.queued_as[i])) continue;
      queued.push_back(std::move(unstored.queued[i]));
    }
    return queued;
  }

  /// Runs a script that returns 1 if it did its work, else 0.
  absl::StatusOr<bool> run(const Script& script, const Fields& names, const Fields& arguments,
                           std::string_view doing) {
    const Reply reply = client_.run(script, views_of(names), views_of(arguments));
    if (!reply.is_integer()) return to_status(reply, doing);
    return reply.integer() == 1;
  }

  Client& client_;
  const SaleStores& stores_;
  const SaleKeys& keys_;
  VoucherBook& vouchers_;
  Lines lines_;
  absl::flat_hash_set<OrderId> on_their_way_;  // ends whose events are in the stream or dead
  absl::flat_hash_set<OrderId> given_up_;      // ends whose events were discarded
  absl::flat_hash_set<std::string> noted_;     // payments that were stored before they were lost
  absl::btree_set<VoucherId> incomplete_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> repair(Client& client, const SaleStores& stores,
                                                const SaleKeys& keys, VoucherBook& vouchers) {
  return Repair(client, stores, keys, vouchers).run();
}

}  // namespace rushgate
