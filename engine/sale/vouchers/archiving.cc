#include "engine/sale/vouchers/archiving.h"

#include <algorithm>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/scripts/held_orders.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

// Orders in one transaction: other writes wait for it.
constexpr std::size_t kOrdersPerStep = 2'000;
// Archived vouchers in one request.
constexpr std::size_t kVouchersPerStep = 1'000;

absl::Status not_yet(VoucherId voucher, std::string_view why) {
  return absl::FailedPreconditionError(concat("voucher ", voucher, " cannot be archived: ", why));
}

absl::Status no_archive() {
  return absl::FailedPreconditionError("the order store keeps no archive");
}

}  // namespace

absl::Status Archiving::prepare(VoucherId voucher, const std::string& discard_dead_letters) {
  if (stores_.orders.archive() == nullptr) return no_archive();
  ASSIGN_OR_RETURN(const auto archived, is_archived(stores_, voucher));
  if (archived) return absl::OkStatus();
  RETURN_IF_ERROR(check(voucher));
  absl::Status without_letters = check_letters(voucher);
  if (without_letters.ok() || discard_dead_letters.empty()) return without_letters;
  RETURN_IF_ERROR(discard_dead_letters_of(client_, keys_, voucher, discard_dead_letters));
  return check_letters(voucher);
}

absl::Status Archiving::record(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto archived, is_archived(stores_, voucher));
  if (archived) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
  return stores_.orders.archive()->archive_voucher(voucher, now_ms);
}

/// Checks everything but the dead letters. The queue before the database: an order that moves meanwhile
/// is found there.
absl::Status Archiving::check(VoucherId voucher) {
  for (const auto part : {&Archiving::check_ended, &Archiving::check_queue,
                          &Archiving::check_settled, &Archiving::check_payments}) {
    RETURN_IF_ERROR((this->*part)(voucher));
  }
  return absl::OkStatus();
}

absl::Status Archiving::check_letters(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto letters, find_dead_letters_of(client_, keys_, voucher));
  return letters.empty() ? absl::OkStatus()
                         : not_yet(voucher, "it has dead letters: retry or discard them");
}

absl::Status Archiving::check_ended(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.applied(voucher));
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
  ArchiveContext context;
  if (in_force.has_value()) context.end_ms = in_force->voucher.end_ms;
  return check_archivable(voucher, now_ms, context);
}

/// Checks that no stored order waits for something. The database checks that once more when it
/// archives the voucher.
absl::Status Archiving::check_settled(VoucherId voucher) {
  for (const OrderStatus status : {OrderStatus::kUnpaid, OrderStatus::kRefunding}) {
    const auto found = stores_.orders.list({.voucher = voucher, .status = status, .count_max = 1});
    if (!found.ok()) return found.status();
    if (!found->empty()) {
      return not_yet(voucher,
                     concat("order ", found->front().id, " is ", order_status_name(status)));
    }
  }
  return absl::OkStatus();
}

/// Checks that the streams have nothing of the voucher which the database does not have.
absl::Status Archiving::check_queue(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto unstored, read_unstored_orders(client_, keys_, voucher));
  ASSIGN_OR_RETURN(const auto acknowledged, AcknowledgedEntries::read(client_, keys_));
  for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
    if (acknowledged.contains(unstored.queued_as[i])) continue;
    return not_yet(voucher, concat("order ", unstored.queued[i].id, " is queued"));
  }
  for (const OrderEvent& event : unstored.events) {
    if (acknowledged.contains(event.order.entry)) continue;
    return not_yet(voucher, concat("a change of order ", event.order.id, " is queued"));
  }
  return absl::OkStatus();
}

absl::Status Archiving::check_payments(VoucherId voucher) {
  PaymentStore* const payments = stores_.orders.payments();
  if (payments == nullptr) return absl::OkStatus();
  absl::Status settled;
  const absl::Status read =
      for_each_payment(*payments, {.state = Payment::State::kDue}, [&](const Payment& payment) {
        if (!settled.ok()) return;
        const auto order = stores_.orders.find(payment.order);
        if (!order.ok()) {
          settled = order.status();
        } else if (order->has_value() && (*order)->voucher == voucher) {
          settled = not_yet(voucher, concat("payment ", payment.id, " is due to be refunded"));
        }
      });
  return read.ok() ? settled : read;
}

/// Removes the holds of orders that were discarded, and deadlines that nothing needs any more. No other
/// order of the voucher has a hold.
absl::Status Archiving::remove_holds(Client& client, VoucherId voucher) {
  std::vector<OrderId> orders;
  const absl::Status read = for_each_hold(client, keys_, [&](OrderId order, const KnownHold& hold) {
    if (hold.voucher == voucher) orders.push_back(order);
  });
  if (!read.ok()) return read;
  RETURN_IF_ERROR(remove_held(client, keys_, orders).status());
  const Reply opened = client("HDEL", keys_.held(), concat(kClosedField, voucher));
  return opened.is_integer() ? remove_ended_deadlines(client, keys_)
                             : to_status(opened, "removing the mark of a rebuild");
}

absl::Status Archiving::remove_keys(Client& client, VoucherId voucher) {
  const std::string doing = concat("archiving voucher ", voucher);
  const Reply gone = client("UNLINK", keys_.voucher(voucher), keys_.stock(voucher),
                            keys_.buyers(voucher), keys_.days(voucher), keys_.refunds(voucher),
                            keys_.waiting(voucher), keys_.waiting_orders(voucher));
  if (!gone.is_integer()) return to_status(gone, doing);
  RETURN_IF_ERROR(remove_holds(client, voucher));
  const Reply forgotten = client("SREM", keys_.vouchers(), voucher);
  return forgotten.is_integer() ? seal(client) : to_status(forgotten, doing);
}

/// Makes a loss of the removals noticeable. A keyspace that was emptied meanwhile has nothing to
/// remove.
absl::Status Archiving::seal(Client& client) {
  absl::Status sealed = owner_.seal(client).status();
  if (!absl::IsNotFound(sealed)) return sealed;
  const absl::Status verified = owner_.verify(client);
  return verified.ok() ? owner_.seal(client).status() : verified;
}

absl::Status Archiving::move(VoucherId voucher) {
  RETURN_IF_ERROR(remove_keys(client_, voucher));
  while (true) {
    ASSIGN_OR_RETURN(const auto moved,
                     stores_.orders.archive()->archive_orders(voucher, kOrdersPerStep));
    if (moved < kOrdersPerStep) return absl::OkStatus();
  }
}

/// Returns the vouchers that are not gone: the keyspace has their ids, or, unless `only_in_keyspace`,
/// the database has unmoved orders.
absl::StatusOr<std::vector<VoucherId>> Archiving::find_unfinished(Client& client,
                                                                  bool only_in_keyspace) {
  ASSIGN_OR_RETURN(const auto archived, read_archived(stores_.orders));
  std::vector<VoucherId> unfinished;
  for (std::span<const ArchivedVoucher> left = archived; !left.empty();) {
    const auto portion = left.first(std::min(left.size(), kVouchersPerStep));
    Request request = Request::of("SMISMEMBER", keys_.vouchers());
    for (const ArchivedVoucher& one : portion) request.add(one.last.voucher.id);
    const Reply known = client.call(request);
    if (!known.is_aggregate() || known.elements().size() != portion.size()) {
      return to_status(known, "looking for archived vouchers");
    }
    for (std::size_t i = 0; i < portion.size(); ++i) {
      const bool is_in_keyspace = known.elements()[i] == Reply::integer(1);
      const bool has_unmoved_orders = portion[i].has_unmoved_orders && !only_in_keyspace;
      if (is_in_keyspace || has_unmoved_orders) unfinished.push_back(portion[i].last.voucher.id);
    }
    left = left.subspan(portion.size());
  }
  return unfinished;
}

absl::StatusOr<std::vector<VoucherId>> Archiving::finish() {
  auto unfinished = find_unfinished(client_, /*only_in_keyspace=*/false);
  if (!unfinished.ok()) return unfinished;
  for (const VoucherId voucher : *unfinished) {
    RETURN_IF_ERROR(move(voucher));
  }
  return unfinished;
}

absl::Status Archiving::remove_returned_keys(Client& client) {
  ASSIGN_OR_RETURN(const auto returned, find_unfinished(client, /*only_in_keyspace=*/true));
  for (const VoucherId voucher : returned) {
    RETURN_IF_ERROR(remove_keys(client, voucher));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> Archiving::delete_orders(VoucherId voucher) {
  ArchiveStore* const archive = stores_.orders.archive();
  if (archive == nullptr) return no_archive();
  std::size_t deleted = 0;
  while (true) {
    ASSIGN_OR_RETURN(const auto portion, archive->delete_orders(voucher, kOrdersPerStep));
    deleted += portion;
    if (portion < kOrdersPerStep) break;
  }
  RETURN_IF_ERROR(delete_discarded_letters(client_, keys_, voucher));
  // A database that lacks the orders is not to get them again.
  RETURN_IF_ERROR(seal(client_));
  RETURN_IF_ERROR(owner_.mark(client_));
  return deleted;
}

}  // namespace rushgate
