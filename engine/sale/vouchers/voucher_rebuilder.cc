#include "engine/sale/vouchers/voucher_rebuilder.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/keyspace/lost_requests.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/stores/voucher_lanes.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"
#include "engine/sale/vouchers/rebuilt_buyers.h"
#include "engine/sale/vouchers/voucher_replies.h"
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

// Orders in one read of the database.
constexpr std::size_t kRowsPerPage = 10'000;

/// What was moved from and to a lane of a voucher that is on several.
struct MovedFields {
  std::int64_t balance = 0;              // pieces that came, less those that went
  std::vector<std::string> fields = {};  // of the voucher's hash, with their values
};

absl::StatusOr<MovedFields> read_moved(OrderStore& orders, const Voucher& voucher) {
  MovedFields moved;
  if (voucher.lanes <= 1) return moved;
  const auto add = [&](std::string field, std::int64_t pieces) {
    moved.fields.push_back(std::move(field));
    moved.fields.push_back(std::to_string(pieces));
  };
  ASSIGN_OR_RETURN(const auto all, orders.moved_pieces(voucher.id));
  for (const MovedPieces& one : all) {
    const bool has_gone = one.from == orders.lane();
    if (!has_gone && one.to != orders.lane()) continue;
    add(has_gone ? concat("to:", one.to) : concat("from:", one.from), one.pieces);
    moved.balance += has_gone ? -one.pieces : one.pieces;
  }
  add("moved", moved.balance);
  return moved;
}

}  // namespace

VoucherRebuilder::VoucherRebuilder(Client& client, const SaleStores& stores, KeyspaceOwner& owner,
                                   const SaleKeys& keys)
    : client_(client), stores_(stores), owner_(owner), keys_(keys), name_(random_name()) {}

absl::Status VoucherRebuilder::rebuild(VoucherId voucher) {
  return begin_and_load({.voucher = voucher}, /*even_if_whole=*/false);
}

absl::Status VoucherRebuilder::rebuild_whole(VoucherId voucher, LostOrders* lost) {
  return begin_and_load({.voucher = voucher, .lost = lost}, /*even_if_whole=*/true);
}

absl::Status VoucherRebuilder::rebuild_with(const VoucherVersion& pending) {
  return begin_and_load({.voucher = pending.voucher.id, .pending_version = pending.version},
                        /*even_if_whole=*/true);
}

absl::Status VoucherRebuilder::begin_and_load(Work work, bool even_if_whole) {
  work.token = name_ + ':' + std::to_string(++rebuilds_);
  const VoucherId id = work.voucher;
  const std::string& token = work.token;
  // Copies of a database have one identity: only the copy with the lease rebuilds.
  RETURN_IF_ERROR(owner_.renew_lease(client_));
  auto begun = begin_rebuild(id, token, even_if_whole);
  if (begun.ok() && *begun == voucher_scripts::kUnclaimed) {
    RETURN_IF_ERROR(owner_.verify(client_));
    begun = begin_rebuild(id, token, even_if_whole);
  }
  if (begun.ok() && *begun == voucher_scripts::kLostRequests) {
    RETURN_IF_ERROR(restore_lost_requests(client_, stores_, keys_));
    begun = begin_rebuild(id, token, even_if_whole);
  }
  if (!begun.ok()) {
    give_claim_back(work);  // the reply may be lost, and the claim be there
    return begun.status();
  }
  switch (*begun) {
    case voucher_scripts::kDone: {
      absl::Status loaded = load(work);
      if (!loaded.ok()) give_claim_back(work);
      return loaded;
    }
    case voucher_scripts::kAlreadyDone:
      return absl::OkStatus();
    case voucher_scripts::kAnothers:
      return owner_.refusal(client_);
    case voucher_scripts::kLostOrders:
      return absl::FailedPreconditionError(
          concat("voucher ", id, " is closed: the order database has lost orders that ",
                 keys_.order_stream, " no longer has"));
    default:
      return being_rebuilt(id);
  }
}

absl::StatusOr<std::int64_t> VoucherRebuilder::begin_rebuild(VoucherId voucher,
                                                             const std::string& token,
                                                             bool even_if_whole) {
  ASSIGN_OR_RETURN(const auto identity, owner_.identity());
  const Reply run = client_.run(keyspace_run_script(), {}, {});
  if (run.is_error()) return to_status(run, "asking for the run of the keyspace");
  const std::vector<std::string> names = {
      keys_.voucher(voucher), keys_.stock(voucher), keys_.buyers(voucher),  keys_.days(voucher),
      keys_.stream_owner(),   keys_.held(),         keys_.refunds(voucher), keys_.lost_requests()};
  const std::int64_t abandoned_ms = owner_.is_alone() ? 0 : kAbandonedMs;
  const std::vector<std::string> arguments = {
      token,    std::string(run.text()),   std::to_string(abandoned_ms),
      identity, even_if_whole ? "1" : "0", std::to_string(voucher)};
  return read_voucher_outcome(
      client_.run(voucher_scripts::begin_rebuild(), as_views(names), as_views(arguments)),
      concat("closing voucher ", voucher));
}

/// Lets another process begin a rebuild at once, after an error. If this fails, too, others wait until the claim
/// is abandoned.
void VoucherRebuilder::give_claim_back(const Work& work) {
  const std::string voucher = keys_.voucher(work.voucher);
  const std::string_view names[] = {voucher};
  const std::string_view arguments[] = {work.token};
  client_.run(voucher_scripts::give_back_rebuild(), names, arguments);
}

/// Renews the claim between portions of long work. kAborted if it is lost.
absl::Status VoucherRebuilder::renew(VoucherId voucher, const std::string& token) {
  const auto renewed = load_buyers(voucher, token, {});
  if (!renewed.ok()) return renewed.status();
  return *renewed ? absl::OkStatus() : being_rebuilt(voucher);
}

/// Reads every order of the voucher that was admitted and survives.
absl::StatusOr<RebuiltBuyers> VoucherRebuilder::read_buyers(const VoucherVersion& version,
                                                            const std::string& token,
                                                            LostOrders* lost) {
  const VoucherId id = version.voucher.id;
  const auto renew_claim = [&] { return renew(id, token); };
  RebuiltBuyers buyers;
  if (lost != nullptr) lost->seek_all();
  ASSIGN_OR_RETURN(buyers.caught_up, read_caught_up(client_, keys_));
  // From here on, a batch that a worker read before is refused, unless the worker finds it in the
  // stream once more. So no order reaches the database that is in neither of the stores now.
  ASSIGN_OR_RETURN(const auto fenced, stores_.orders.fence());
  // The streams first: an order that moves to the database meanwhile is found there.
  ASSIGN_OR_RETURN(auto unstored, read_unstored_orders(client_, keys_, id, renew_claim));
  absl::flat_hash_map<OrderId, Order> not_stored;
  for (const auto* orders : {&unstored.queued, &unstored.dead}) {
    for (const Order& order : *orders) not_stored.emplace(order.id, order);
  }
  const auto find = [lost](const Order& order) {
    if (lost != nullptr) lost->left.erase(order.id);
  };
  for (const auto& [order_id, order] : not_stored) find(order);
  if (lost != nullptr) {
    for (const Order& order : unstored.without_stock) {
      const auto same = lost->left.find(order.id);
      if (same != lost->left.end() && same->second->letter.empty()) lost->left.erase(same);
    }
  }
  // An order that ended while it was queued, or before its end was stored. The database may have
  // refused its end, which then is a dead letter.
  absl::flat_hash_map<OrderId, const OrderEvent*> ended;
  for (const auto* events : {&unstored.events, &unstored.dead_events}) {
    for (const OrderEvent& event : *events) {
      if (ends_hold(event)) ended.emplace(event.order.id, &event);
    }
  }
  // An order that was discarded together with its end is not held again.
  for (const OrderEvent& event : unstored.discarded_events) {
    const bool is_discarded = unstored.discarded.contains(event.order.id);
    if (is_discarded && ends_hold(event)) ended.emplace(event.order.id, &event);
  }
  const auto with_end = [&](Order order) {
    const auto found = ended.find(order.id);
    if (found == ended.end() || order.status != OrderStatus::kUnpaid) return order;
    const OrderEvent& event = *found->second;
    const bool is_paid = event.kind == OrderEvent::Kind::kPaid;
    order.status = is_paid ? OrderStatus::kPaid : OrderStatus::kCancelled;
    order.keeps_stock = event.order.keeps_stock;
    order.keeps_allowance = event.order.keeps_allowance;
    if (!unstored.discarded.contains(order.id)) {
      buyers.ended.emplace(order.id, describe_end(order, event));
    }
    return order;
  };
  buyers.counted = version.voucher.limits.per_user != 1;
  buyers.with_days = version.voucher.limits.per_user_day > 0;
  buyers.epoch = fenced.epoch;
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
  buyers.now_ms = now_ms;
  ASSIGN_OR_RETURN(buyers.waiting, read_waiting_orders(client_, keys_, id));
  for (const Order& order : unstored.without_stock) buyers.note_used(order.id);
  const auto visit = [&](const Order& order) {
    not_stored.erase(order.id);
    find(order);
    buyers.add(with_end(order), version.voucher.limits);
  };
  const OrderFilter filter{
      .user = {}, .voucher = id, .status = {}, .after = 0, .count_max = kRowsPerPage};
  RETURN_IF_ERROR(for_each_order(stores_.orders, filter, visit, renew_claim));
  // A database that has lost orders since lacks some that were acknowledged when the stream was read. Then it is
  // caught up now, and everything is read again.
  RETURN_IF_ERROR(owner_.check(client_));
  for (const auto& [order_id, order] : not_stored) {
    buyers.add(with_end(order), version.voucher.limits);
  }
  return buyers;
}

/// Appends a lost order to the stream while the voucher is closed. Returns false if the claim is
/// lost.
absl::StatusOr<bool> VoucherRebuilder::append(const LostOrder& lost, const std::string& token) {
  const std::vector<std::string> names = {keys_.voucher(lost.order.voucher), keys_.order_stream,
                                          keys_.dead_letters(), keys_.dead_letter_orders()};
  std::vector<std::string> arguments = {token, lost.letter, std::to_string(lost.order.id)};
  for (const auto& [name, value] : lost.entry.fields) {
    arguments.push_back(name);
    arguments.push_back(value);
  }
  if (!lost.entry.field(kAdmittedField)) {
    arguments.emplace_back(kAdmittedField);
    arguments.push_back(lost.entry.id);
  }
  ASSIGN_OR_RETURN(
      const auto appended,
      read_voucher_outcome(
          client_.run(voucher_scripts::append_lost(), as_views(names), as_views(arguments)),
          concat("restoring an order of voucher ", lost.order.voucher)));
  return appended == voucher_scripts::kDone;
}

/// Gives the lost orders that are in no store to the buyers, as far as stock and limits allow;
/// buries the others.
absl::Status VoucherRebuilder::add_lost(const Limits& limits, std::int64_t stock,
                                        const std::string& token, RebuiltBuyers& buyers,
                                        LostOrders& lost) {
  for (const auto& [id, order] : lost.left) {
    const std::string excess = buyers.find_excess(order->order, limits, stock);
    if (excess.empty()) {
      ASSIGN_OR_RETURN(const auto appended, append(*order, token));
      if (!appended) return being_rebuilt(order->order.voucher);
      buyers.add(order->order, limits);
      ++lost.restored.appended;
    } else if (order->letter.empty()) {
      ASSIGN_OR_RETURN(const bool is_buried,
                       bury_without_stock(client_, keys_, order->order.voucher, token, order->entry,
                                          "the keyspace lost it, and meanwhile " + excess));
      if (!is_buried) return being_rebuilt(order->order.voucher);
      buyers.note_used(id);
      ++lost.restored.buried;
    }
  }
  return absl::OkStatus();
}

/// Gives up the rebuild of a voucher without a version: it was archived meanwhile. Archiving removes the keys of a
/// rebuild that began before it.
absl::Status VoucherRebuilder::give_up(VoucherId voucher, const std::string& token) {
  const std::vector<std::string> names = {keys_.voucher(voucher), keys_.held()};
  const std::vector<std::string> arguments = {token, std::to_string(voucher)};
  const auto abandoned = read_voucher_outcome(
      client_.run(voucher_scripts::abandon_rebuild(), as_views(names), as_views(arguments)),
      concat("giving up the rebuild of voucher ", voucher));
  return abandoned.ok() ? not_on_sale(voucher) : abandoned.status();
}

/// Returns the version that a rebuild puts in force: the one in force, or a pending one. The process that publishes it
/// may have put it in force in what was lost, and be about to record that. Of a voucher on several lanes, the first
/// lane decides about it.
std::optional<VoucherVersion> VoucherRebuilder::choose(const std::vector<VoucherVersion>& versions,
                                                       std::int64_t pending_version) const {
  if (versions.empty()) return std::nullopt;
  auto in_force = version_in_force(versions);
  const VoucherVersion& latest = versions.back();
  if (latest.state != VoucherVersion::State::kPending) return in_force;
  const bool is_chosen =
      is_decided_here(stores_, latest.voucher) || latest.version == pending_version || !in_force;
  return is_chosen ? latest : in_force;
}

/// Records that a pending version is refused, unless it was applied meanwhile.
absl::Status VoucherRebuilder::refuse(const VoucherVersion& version, std::int64_t missing) {
  const absl::Status refused =
      stores_.vouchers.resolve(version.voucher.id, version.version, VoucherVersion::State::kRefused,
                               describe_lack_of_stock(version.voucher, missing));
  return absl::IsFailedPrecondition(refused) ? absl::OkStatus() : refused;
}

absl::Status VoucherRebuilder::load(const Work& work) {
  // Each fails because a version had less stock, or because the database failed over.
  constexpr int kTries = 10;
  for (int i = 1; i <= kTries; ++i) {
    ASSIGN_OR_RETURN(const bool is_loaded, try_load(work));
    if (is_loaded) return absl::OkStatus();
  }
  return being_rebuilt(work.voucher);
}

/// Returns false if a pending version was refused, or applied meanwhile, or if the database was caught up meanwhile.
absl::StatusOr<bool> VoucherRebuilder::try_load(const Work& work) {
  const auto& [id, lost, pending_version, token] = work;
  // Read while the voucher is closed: a version that was put in force before is recorded, at least as pending.
  ASSIGN_OR_RETURN(const auto versions, stores_.vouchers.versions(id));
  const auto chosen = choose(versions, pending_version);
  if (!chosen) return give_up(id, token);
  const VoucherVersion& version = *chosen;
  ASSIGN_OR_RETURN(auto buyers, read_buyers(version, token, lost));
  ASSIGN_OR_RETURN(const auto caught_up, read_caught_up(client_, keys_));
  if (caught_up != buyers.caught_up) return false;
  // Read after the database was fenced: what is recorded later is not in the keyspace yet.
  ASSIGN_OR_RETURN(const MovedFields moved, read_moved(stores_.orders, version.voucher));
  const VoucherVersion here = on_lane(version, stores_.orders.lane(), versions);
  const std::int64_t stock = here.voucher.stock + moved.balance;
  const std::int64_t wanted = buyers.taken + (lost != nullptr ? lost->pieces() : 0);
  const auto in_force = version_in_force(versions);
  // As voucher_apply.lua. What is for sale may grow meanwhile, if a total limit is dropped.
  const bool withdraws =
      in_force &&
      here.voucher.stock < on_lane(*in_force, stores_.orders.lane(), versions).voucher.stock;
  const bool may_refuse =
      version.state == VoucherVersion::State::kPending && is_decided_here(stores_, version.voucher);
  if (withdraws && may_refuse && stock < wanted) {
    RETURN_IF_ERROR(renew(id, token));
    RETURN_IF_ERROR(refuse(version, wanted - stock));
    return false;
  }
  if (lost != nullptr) {
    RETURN_IF_ERROR(add_lost(here.voucher.limits, stock, token, buyers, *lost));
  }
  RETURN_IF_ERROR(leave_waiting_list(client_, keys_, id, buyers.served));
  // The buyers last: finish_rebuild() counts them, so it finds a loss of anything before them.
  for (const auto load_part : {&VoucherRebuilder::load_requests, &VoucherRebuilder::load_holds,
                               &VoucherRebuilder::load_buyers}) {
    ASSIGN_OR_RETURN(const auto loaded, (this->*load_part)(id, token, buyers));
    if (!loaded) return being_rebuilt(id);
  }

  const std::vector<std::string> names = {keys_.voucher(id),   keys_.stock(id), keys_.vouchers(),
                                          keys_.buyers(id),    keys_.held(),    keys_.waiting(id),
                                          keys_.stream_owner()};
  std::vector<std::string> arguments = {token,
                                        std::to_string(stock - buyers.taken),
                                        std::to_string(buyers.taken),
                                        buyers.counted ? "1" : "0",
                                        std::to_string(id),
                                        std::to_string(buyers.bought.size()),
                                        std::to_string(buyers.given_back),
                                        std::to_string(buyers.withheld),
                                        std::to_string(buyers.epoch),
                                        buyers.caught_up};
  append_terms(version, here, arguments);
  arguments.insert(arguments.end(), moved.fields.begin(), moved.fields.end());
  ASSIGN_OR_RETURN(const auto finished,
                   read_voucher_outcome(client_.run(voucher_scripts::finish_rebuild(),
                                                    as_views(names), as_views(arguments)),
                                        concat("opening voucher ", id)));
  if (finished != voucher_scripts::kDone) return being_rebuilt(id);
  if (version.voucher.waiting_max > 0) RETURN_IF_ERROR(serve_waiting_list(client_, keys_, id));
  return true;
}

/// Renews the claim, at least once, and makes `buyers` the voucher's. Returns false if the claim is
/// lost.
absl::StatusOr<bool> VoucherRebuilder::load_buyers(VoucherId voucher, const std::string& token,
                                                   const RebuiltBuyers& buyers) {
  constexpr std::size_t kBuyersPerCall = 1'000;
  const std::vector<std::string> names = {keys_.voucher(voucher), keys_.buyers(voucher),
                                          keys_.days(voucher)};
  auto buyer = buyers.bought.begin();
  do {
    std::vector<std::string> arguments = {token, buyers.counted ? "1" : "0"};
    for (std::size_t i = 0; i < kBuyersPerCall && buyer != buyers.bought.end(); ++i, ++buyer) {
      const auto& [user, bought] = *buyer;
      arguments.push_back(user.text());
      arguments.push_back(std::to_string(bought.count));
      arguments.push_back(buyers.with_days ? concat(bought.day, ":", bought.on_day) : "");
    }
    ASSIGN_OR_RETURN(const auto loaded,
                     read_voucher_outcome(client_.run(voucher_scripts::load_buyers(),
                                                      as_views(names), as_views(arguments)),
                                          concat("loading the buyers of voucher ", voucher)));
    if (loaded != voucher_scripts::kDone) return false;
  } while (buyer != buyers.bought.end());
  return true;
}

/// Restores the idempotency keys of the orders. Returns false if the claim is lost.
absl::StatusOr<bool> VoucherRebuilder::load_requests(VoucherId voucher, const std::string& token,
                                                     const RebuiltBuyers& buyers) {
  constexpr std::size_t kRequestsPerCall = 1'000;
  for (auto request = buyers.of_key.begin(); request != buyers.of_key.end();) {
    std::vector<std::string> names = {keys_.voucher(voucher)};
    std::vector<std::string> arguments = {token, std::to_string(voucher)};
    for (std::size_t i = 0; i < kRequestsPerCall && request != buyers.of_key.end();
         ++i, ++request) {
      names.push_back(keys_.request(request->first));
      arguments.push_back(request_record(request->second));
      arguments.push_back(std::to_string(request->second.key_expires_at_ms));
    }
    ASSIGN_OR_RETURN(
        const auto loaded,
        read_voucher_outcome(
            client_.run(voucher_scripts::load_requests(), as_views(names), as_views(arguments)),
            concat("loading the idempotency keys of voucher ", voucher)));
    if (loaded != voucher_scripts::kDone) return false;
  }
  return true;
}

/// Makes the unpaid orders the voucher's holds, and removes its other ones. Restores the ends of holds
/// that are not stored yet. Returns false if the claim is lost.
absl::StatusOr<bool> VoucherRebuilder::load_holds(VoucherId voucher, const std::string& token,
                                                  const RebuiltBuyers& buyers) {
  constexpr std::size_t kHoldsPerCall = 1'000;
  const std::vector<std::string> names = {keys_.voucher(voucher), keys_.deadlines(), keys_.held()};
  std::vector<std::string> arguments;
  const auto send = [&]() -> absl::StatusOr<bool> {
    arguments.insert(arguments.begin(), token);
    const auto loaded = read_voucher_outcome(
        client_.run(voucher_scripts::load_holds(), as_views(names), as_views(arguments)),
        concat("loading the holds of voucher ", voucher));
    arguments.clear();
    if (!loaded.ok()) return loaded.status();
    return *loaded == voucher_scripts::kDone;
  };
  absl::flat_hash_set<OrderId> gone;
  const absl::Status read =
      for_each_hold(client_, keys_, [&](OrderId order, const KnownHold& hold) {
        const bool is_open = hold.voucher == voucher && !hold.ended;
        if (is_open && !buyers.unpaid.contains(order)) gone.insert(order);
      });
  if (!read.ok()) return read;
  const auto add = [&](OrderId order, std::string deadline,
                       std::string description) -> absl::StatusOr<bool> {
    arguments.push_back(std::to_string(order));
    arguments.push_back(std::move(deadline));
    arguments.push_back(std::move(description));
    return arguments.size() < 3 * kHoldsPerCall ? true : send();
  };
  for (const OrderId order : gone) {
    const auto added = add(order, "", "");
    if (!added.ok() || !*added) return added;
  }
  for (const auto& [id, end] : buyers.ended) {
    const auto added = add(id, "", end);
    if (!added.ok() || !*added) return added;
  }
  for (const auto& [id, order] : buyers.unpaid) {
    const auto added = add(id, std::to_string(order.due_at_ms), describe_hold(order));
    if (!added.ok() || !*added) return added;
  }
  return arguments.empty() ? true : send();
}

}  // namespace rushgate
