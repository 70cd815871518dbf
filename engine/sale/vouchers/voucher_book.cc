#include "engine/sale/vouchers/voucher_book.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/admission/admission.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/order_entry.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/payments/holds.h"
#include "engine/sale/payments/waiting_list.h"
#include "engine/sale/vouchers/adoption.h"
#include "engine/sale/vouchers/archived_vouchers.h"
#include "engine/sale/vouchers/keyspace_run.h"
#include "engine/sale/vouchers/keyspace_time.h"
#include "engine/sale/vouchers/lost_requests.h"
#include "engine/sale/vouchers/sale_day.h"
#include "engine/sale/vouchers/voucher_scripts.h"
#include "engine/sale/vouchers/voucher_terms.h"
#include <rushgate/archive_store.h>

namespace rushgate {
namespace {

/// The orders of one buyer.
struct Bought {
  std::int64_t count = 0;
  std::int64_t day = std::numeric_limits<std::int64_t>::min();  // the latest with an order
  std::int64_t on_day = 0;
};

// Orders in one read of the database.
constexpr std::size_t kRowsPerPage = 10'000;

std::string voucher_name(VoucherId id) { return "voucher " + std::to_string(id); }

absl::Status being_rebuilt(VoucherId id) {
  return absl::AbortedError(voucher_name(id) + " is being rebuilt by another process");
}

absl::Status not_on_sale(VoucherId id) {
  return absl::NotFoundError("there is no voucher " + std::to_string(id));
}

absl::Status check_terms(const Voucher& voucher) {
  const std::string fault = find_fault(voucher);
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(voucher_name(voucher.id) + ": " + fault);
}

/// As check_terms(), for a change of a voucher in force, whose offset stays. An earlier version of
/// Rushgate may have published one that is refused now.
absl::Status check_change(Voucher changed) {
  changed.limits.utc_offset_minutes = 0;
  return check_terms(changed);
}

std::vector<std::string_view> views(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

/// Returns a script's reply: an outcome, and its numbers.
absl::StatusOr<std::vector<std::int64_t>> result_of(const Reply& reply, std::string_view doing) {
  if (!reply.is_aggregate() || reply.elements().empty()) return to_status(reply, doing);
  std::vector<std::int64_t> result;
  for (const Reply& element : reply.elements()) {
    const auto number = element.is_integer() ? element.integer()
                        : element.is_text()  ? parse_int64(element.text())
                                             : std::nullopt;
    if (!number) return to_status(reply, doing);
    result.push_back(*number);
  }
  return result;
}

absl::StatusOr<std::int64_t> outcome_of(const Reply& reply, std::string_view doing) {
  const auto result = result_of(reply, doing);
  if (!result.ok()) return result.status();
  return result->front();
}

// A change that never ends may be waiting for the caller, such as the check of a connection.
constexpr std::chrono::seconds kPatience{10};

absl::Status is_changing() {
  return absl::UnavailableError("another change of a voucher is still being made");
}

}  // namespace

struct VoucherBook::Buyers {
  std::map<UserId, Bought> bought;
  std::map<OrderId, Order> unpaid;
  std::map<OrderId, std::string> ended;        // as describe_end() says; not stored yet
  absl::btree_map<std::string, Order> of_key;  // by idempotency keys that have not expired
  std::int64_t taken = 0;                      // pieces, from the stock
  std::int64_t given_back = 0;                 // as payment_scripts.cc counts them
  std::int64_t withheld = 0;
  bool counted = false;                          // a set cannot hold the counts
  bool with_days = false;                        // there is a limit per day
  std::int64_t epoch = 0;                        // that began before they were read
  std::int64_t now_ms = 0;                       // by the keyspace, before they were read
  absl::flat_hash_map<OrderId, UserId> waiting;  // users, by the orders that they will get
  std::vector<UserId> served;                    // of those: their orders exist

  void add(const Order& order, const Limits& limits) {
    add_key(order);
    note_used(order.id);
    const std::int64_t of_user = pieces_of_user(order);
    const std::int64_t of_stock = pieces_taken(order);
    taken += of_stock;
    given_back += std::max<std::int64_t>(of_user - of_stock, 0);
    withheld += std::max<std::int64_t>(of_stock - of_user, 0);
    if (order.status == OrderStatus::kUnpaid) unpaid.emplace(order.id, order);
    if (of_user == 0) return;
    Bought& buyer = bought[order.user];
    buyer.count += of_user;
    counted = counted || buyer.count > 1;
    const std::int64_t day = sale_day(order.admitted_at_ms, limits.utc_offset_minutes);
    if (day > buyer.day) buyer = {buyer.count, day, 0};
    if (day == buyer.day) buyer.on_day += of_user;
  }

  /// Notes that an order has this id. No other one may get it.
  void note_used(OrderId id) {
    if (const auto user = waiting.find(id); user != waiting.end()) served.push_back(user->second);
  }

  /// Of several orders of a key, which only a damaged keyspace admits, the first keeps it.
  void add_key(const Order& order) {
    if (order.idempotency_key.empty() || order.key_expires_at_ms < now_ms) return;
    Order& first = of_key.try_emplace(order.idempotency_key, order).first->second;
    if (order.entry < first.entry) first = order;
  }

  /// Returns why one more order is too many; empty if it is not.
  [[nodiscard]] std::string find_excess(const Order& order, const Limits& limits,
                                        std::int64_t stock) const {
    const auto same_key = of_key.find(order.idempotency_key);
    if (same_key != of_key.end() && shares_key(same_key->second, order)) {
      return concat("its request was repeated: order ", same_key->second.id);
    }
    const std::int64_t room = limits.total > 0 ? std::min(limits.total, stock) : stock;
    if (taken > room - order.quantity) return "its stock was sold again";
    const auto found = bought.find(order.user);
    if (found == bought.end()) return {};
    const Bought& buyer = found->second;
    const bool is_same_day = buyer.day == sale_day(order.admitted_at_ms, limits.utc_offset_minutes);
    const bool is_above_limit = order.limit > 0 && buyer.count > order.limit - order.quantity;
    const bool is_above_day = limits.per_user_day > 0 && is_same_day &&
                              buyer.on_day > limits.per_user_day - order.quantity;
    return is_above_limit || is_above_day ? "its user bought again" : "";
  }
};

struct VoucherBook::Lost {
  explicit Lost(std::span<const LostOrder> lost) {
    for (const LostOrder& one : lost) orders.emplace(one.order.id, &one);
  }

  absl::btree_map<OrderId, const LostOrder*> orders;  // orders that no store was found to have yet
  Restored restored;
};

VoucherBook::VoucherBook(Client& client, const SaleStores& stores, KeyspaceOwner& owner,
                         const SaleKeys& keys, VoucherBookOptions options)
    : client_(client),
      stores_(stores),
      owner_(owner),
      keys_(keys),
      options_(std::move(options)),
      name_(random_name()),
      changing_(options_.wait) {}

// ---- Recovering ----

absl::Status VoucherBook::recover() {
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  const absl::Status restored = restore_lost_requests(client_, stores_, keys_);
  if (!restored.ok()) return restored;
  const absl::Status pending = finish_pending();
  if (!pending.ok()) return pending;
  auto on_sale = stores_.vouchers.all_applied();
  return on_sale.ok() ? rebuild_lost(*std::move(on_sale)) : on_sale.status();
}

absl::Status VoucherBook::restore_requests() {
  // A purchase of any voucher id comes here: it keeps nobody from changing a voucher.
  const auto are_lost = are_requests_lost(client_, keys_);
  if (!are_lost.ok() || !*are_lost) return are_lost.status();
  const VoucherChange change(changing_);
  if (!change.is_ours()) return absl::AbortedError("idempotency keys are being restored");
  return restore_lost_requests(client_, stores_, keys_);
}

absl::Status VoucherBook::rebuild_lost_holds() {
  const VoucherChange change(changing_);
  if (!change.is_ours()) return absl::OkStatus();  // it will be called again
  auto on_sale = stores_.vouchers.all_applied();
  if (!on_sale.ok()) return on_sale.status();
  // An earlier version may have demanded payment.
  std::erase_if(*on_sale, [](const VoucherVersion& version) {
    return version.voucher.payment_ms == 0 && version.version == 1;
  });
  return on_sale->empty() ? absl::OkStatus() : rebuild_lost(*std::move(on_sale));
}

absl::StatusOr<std::int64_t> VoucherBook::serve_opened_lists() {
  const auto on_sale = stores_.vouchers.all_applied();
  if (!on_sale.ok()) return on_sale.status();
  const auto now_ms = keyspace_time_ms(client_);
  if (!now_ms.ok()) return now_ms.status();
  std::int64_t next_ms = kNeverEndsMs;
  std::vector<VoucherId> opened;
  std::vector<Request> requests;
  for (const VoucherVersion& version : *on_sale) {
    const Voucher& voucher = version.voucher;
    if (voucher.waiting_max == 0 || voucher.end_ms <= *now_ms) continue;
    if (voucher.begin_ms > *now_ms) {
      next_ms = std::min(next_ms, voucher.begin_ms);
      continue;
    }
    opened.push_back(voucher.id);
    requests.push_back(Request::of("HEXISTS", keys_.voucher(voucher.id), "serve"));
  }
  const std::vector<Reply> replies = client_.pipeline(requests);
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const Reply& serves = replies[i];
    if (!serves.is_integer()) return to_status(serves, "looking for waiting users");
    if (serves.integer() == 0) continue;
    const absl::Status served = serve_waiting_list(client_, keys_, opened[i]);
    if (!served.ok()) return served;
  }
  return next_ms - *now_ms;
}

absl::Status VoucherBook::finish_pending() {
  const auto pending = stores_.vouchers.pending();
  if (!pending.ok()) return pending.status();
  for (const VoucherVersion& version : *pending) {
    absl::Status applied = apply(version);
    if (absl::IsUnavailable(applied)) return applied;
    log(version, applied);
  }
  return absl::OkStatus();
}

/// Rebuilds vouchers that are closed, or have no terms or no stock.
absl::Status VoucherBook::rebuild_lost(std::vector<VoucherVersion> on_sale) {
  std::vector<Request> requests;
  for (const VoucherVersion& version : on_sale) {
    const VoucherId id = version.voucher.id;
    requests.push_back(Request::of("HEXISTS", keys_.voucher(id), "closed"));
    requests.push_back(Request::of("EXISTS", keys_.voucher(id), keys_.stock(id)));
  }
  const std::vector<Reply> replies = client_.pipeline(requests);
  for (std::size_t i = 0; i < on_sale.size(); ++i) {
    const Reply& closed = replies[2 * i];
    const Reply& keys = replies[2 * i + 1];
    if (closed == Reply::integer(0) && keys == Reply::integer(2)) continue;
    absl::Status rebuilt = closed.is_error() ? to_status(closed, "looking at the vouchers")
                           : keys.is_error() ? to_status(keys, "looking at the vouchers")
                                             : rebuild_locked(on_sale[i]);
    if (absl::IsUnavailable(rebuilt)) return rebuilt;
    log(on_sale[i], rebuilt);
  }
  return absl::OkStatus();
}

void VoucherBook::log(const VoucherVersion& version, const absl::Status& failure) const {
  if (failure.ok() || !options_.logger) return;
  log_error(*options_.logger,
            concat("version ", version.version, " of voucher ", version.voucher.id,
                   " could not be recovered: ", failure.message()));
}

// ---- Publishing ----

absl::Status VoucherBook::publish(const Voucher& voucher,
                                  std::optional<std::int64_t> expected_version) {
  if (const absl::Status checked = check_new_terms(voucher); !checked.ok()) return checked;
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  return publish_locked(voucher, expected_version);
}

/// As check_terms(). The offset of the version in force may stay, whatever it is.
absl::Status VoucherBook::check_new_terms(const Voucher& voucher) {
  absl::Status checked = check_terms(voucher);
  if (checked.ok() || !check_change(voucher).ok()) return checked;
  const auto in_force = stores_.vouchers.applied(voucher.id);
  if (!in_force.ok()) return in_force.status();
  const bool stays = in_force->has_value() && (*in_force)->voucher.limits.utc_offset_minutes ==
                                                  voucher.limits.utc_offset_minutes;
  return stays ? absl::OkStatus() : checked;
}

absl::Status VoucherBook::add_stock(VoucherId voucher, std::int64_t delta) {
  return change(voucher, [delta](Voucher& changed) {
    std::int64_t stock = 0;
    if (__builtin_add_overflow(changed.stock, delta, &stock)) {
      return absl::InvalidArgumentError(concat(voucher_name(changed.id), ": a stock of ",
                                               changed.stock, " cannot grow by ", delta));
    }
    changed.stock = stock;
    return absl::OkStatus();
  });
}

absl::Status VoucherBook::close(VoucherId voucher) {
  const auto now_ms = keyspace_time_ms(client_);
  if (!now_ms.ok()) return now_ms.status();
  return change(voucher, [now = *now_ms](Voucher& changed) {
    changed.end_ms = std::min(changed.end_ms, now);
    changed.begin_ms = std::min(changed.begin_ms, changed.end_ms - 1);
    return absl::OkStatus();
  });
}

/// Edits the version in force. Repeats that if another process publishes meanwhile.
absl::Status VoucherBook::change(VoucherId voucher,
                                 absl::FunctionRef<absl::Status(Voucher&)> edit) {
  constexpr int kTries = 100;
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  for (int i = 1;; ++i) {
    auto in_force = stores_.vouchers.applied(voucher);
    if (!in_force.ok()) return in_force.status();
    if (!in_force->has_value()) return refuse_unknown(voucher);
    Voucher changed = (*in_force)->voucher;
    if (const absl::Status edited = edit(changed); !edited.ok()) return edited;
    if (const absl::Status checked = check_change(changed); !checked.ok()) return checked;
    absl::Status published = publish_locked(changed, (*in_force)->version);
    if (!absl::IsAlreadyExists(published) || i == kTries) return published;
  }
}

/// Returns why a voucher without a version in force cannot be changed.
absl::Status VoucherBook::refuse_unknown(VoucherId voucher) {
  const auto archived = is_archived(stores_, voucher);
  if (!archived.ok()) return archived.status();
  return *archived ? was_archived(voucher) : not_on_sale(voucher);
}

absl::Status VoucherBook::publish_locked(const Voucher& voucher,
                                         std::optional<std::int64_t> expected_version) {
  constexpr int kTries = 100;  // each fails only because another process published
  for (int i = 1;; ++i) {
    const auto latest = finish_latest(voucher.id);
    if (!latest.ok()) return latest.status();
    const auto in_force = stores_.vouchers.applied(voucher.id);
    if (!in_force.ok()) return in_force.status();
    const std::int64_t now = in_force->has_value() ? (*in_force)->version : 0;
    if (expected_version.value_or(now) != now) {
      return absl::AlreadyExistsError(concat(voucher_name(voucher.id), ": version ", now,
                                             " is in force, not ", *expected_version));
    }
    if (in_force->has_value() && (*in_force)->voucher == voucher) return forget_copies(voucher.id);

    VoucherVersion version;
    version.voucher = voucher;
    version.version = latest->has_value() ? (*latest)->version + 1 : 1;
    const absl::Status recorded = stores_.vouchers.record_pending(version);
    if (recorded.ok()) return apply(version);
    if (!absl::IsFailedPrecondition(recorded) || i == kTries) return recorded;
  }
}

/// Returns the latest version, once it is applied or refused.
absl::StatusOr<std::optional<VoucherVersion>> VoucherBook::finish_latest(VoucherId voucher) {
  auto latest = stores_.vouchers.latest(voucher);
  const auto is_pending = [&] {
    return latest.ok() && latest->has_value() &&
           (*latest)->state == VoucherVersion::State::kPending;
  };
  if (!is_pending()) return latest;
  const absl::Status applied = apply(**latest);
  latest = stores_.vouchers.latest(voucher);
  if (!applied.ok() && is_pending()) return applied;  // a refusal ends it too
  return latest;
}

absl::Status VoucherBook::apply(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  const auto in_force = stores_.vouchers.applied(id);
  if (!in_force.ok()) return in_force.status();
  const auto result = apply_or_rebuild(version, *in_force);
  if (!result.ok()) return result.status();

  const auto detail = std::span(*result).subspan(1);
  const std::string count = detail.empty() ? "?" : std::to_string(detail.front());
  switch (result->front()) {
    case voucher_scripts::kDone:
    case voucher_scripts::kAlreadyDone: {
      const std::vector<std::optional<std::int64_t>> there(detail.begin(), detail.end());
      const std::string different = find_differences(version, there);
      if (!different.empty()) {
        // Left pending: nothing was decided, and the next version would change another sale.
        return absl::FailedPreconditionError(
            voucher_name(id) + ", version " + std::to_string(version.version) +
            ": the keyspace holds another sale's voucher of this id: " + different);
      }
      if (!in_force->has_value()) {
        const absl::Status adopted = finish_adoption(version.voucher);
        if (!adopted.ok()) return adopted;
      }
      if (version.voucher.waiting_max > 0) {
        const absl::Status served = serve_waiting_list(client_, keys_, id);
        if (!served.ok()) return served;
      }
      return record_applied(version);
    }
    case voucher_scripts::kRefused:
      return refuse(version, count + " more are sold than a stock of " +
                                 std::to_string(version.voucher.stock) + " allows");
    case voucher_scripts::kTooManyBuyers:
      return refuse(version, "it has " + count + " buyers, and the limit per user can no longer " +
                                 "come up from 1 when there are more than " +
                                 std::to_string(options_.buyers_converted_max));
    case voucher_scripts::kForeign:
      return refuse(version, describe_foreign(version, detail));
    case voucher_scripts::kAnothers:
      return anothers_keyspace(keys_);
    default:
      return being_rebuilt(id);
  }
}

/// Stores rows for the buyers of an adopted voucher. The adoption may be this call's or an
/// interrupted one's.
absl::Status VoucherBook::finish_adoption(const Voucher& voucher) {
  const std::string key = keys_.voucher(voucher.id);
  const Reply adopting = client_("HEXISTS", key, "adopting");
  if (!adopting.is_integer()) return to_status(adopting, "adopting " + voucher_name(voucher.id));
  if (adopting.integer() == 0) return absl::OkStatus();
  const absl::Status imported = import_buyers(client_, stores_, keys_, voucher, options_.draw_ids);
  if (!imported.ok()) return imported;
  const Reply finished = client_("HDEL", key, "adopting");
  if (!finished.is_integer()) return to_status(finished, "adopting " + voucher_name(voucher.id));
  return absl::OkStatus();
}

std::string VoucherBook::describe_foreign(const VoucherVersion& version,
                                          std::span<const std::int64_t> detail) const {
  const VoucherId id = version.voucher.id;
  if (detail.size() != 2) return "another system made its keys";
  return concat(
      "another system made ", keys_.stock(id), " or ", keys_.buyers(id), ": ", detail[0],
      " are free and ", detail[1], " have bought; ",
      options_.adopt ? "to adopt them, publish a stock of " : "adopt them, with a stock of ",
      detail[0] + detail[1]);
}

/// Puts the version in force. Rebuilds the voucher first, or instead, where that is needed.
absl::StatusOr<VoucherBook::ScriptResult> VoucherBook::apply_or_rebuild(
    const VoucherVersion& version, const std::optional<VoucherVersion>& in_force) {
  constexpr int kTries = 4;
  for (int i = 1;; ++i) {
    // Counted each time: until the database is fenced, a worker's batch may still reach it.
    const auto live = stores_.orders.count_live(version.voucher.id);
    if (!live.ok()) return live.status();
    // Only a voucher that was never on sale may start from its full stock.
    const bool may_create = !in_force.has_value() && *live == 0;
    auto result = run_apply(version, may_create);
    if (!result.ok() || i == kTries) return result;
    absl::Status prepared;
    switch (result->front()) {
      case voucher_scripts::kUnclaimed:
        prepared = owner_.verify(client_);
        break;
      case voucher_scripts::kLostRequests:
        prepared = restore_lost_requests(client_, stores_, keys_);
        break;
      case voucher_scripts::kMissing:
      case voucher_scripts::kRebuilding:
        prepared = rebuild_locked(in_force.value_or(version));
        break;
      case voucher_scripts::kNeedsDays:
        prepared = rebuild_locked(version, &*in_force);
        break;
      default:
        return result;
    }
    if (!prepared.ok()) return prepared;
  }
}

absl::StatusOr<VoucherBook::ScriptResult> VoucherBook::run_apply(const VoucherVersion& version,
                                                                 bool may_create) {
  const VoucherId id = version.voucher.id;
  const auto identity = owner_.identity();
  if (!identity.ok()) return identity.status();
  const std::vector<std::string> names = {
      keys_.voucher(id),    keys_.stock(id),   keys_.buyers(id),     keys_.vouchers(),
      keys_.stream_owner(), keys_.waiting(id), keys_.lost_requests()};
  std::vector<std::string> arguments = {may_create ? "1" : "0",
                                        std::to_string(options_.buyers_converted_max),
                                        std::to_string(id), *identity, options_.adopt ? "1" : "0"};
  append_terms(version, arguments);
  return result_of(client_.run(voucher_scripts::apply(), views(names), views(arguments)),
                   "publishing " + voucher_name(id));
}

absl::Status VoucherBook::record_applied(const VoucherVersion& version) {
  // The database must never record as applied a version that a power cut could remove from the log.
  if (absl::Status sealed = owner_.seal(client_); !sealed.ok()) return sealed;
  const absl::Status resolved = stores_.vouchers.resolve(version.voucher.id, version.version,
                                                         VoucherVersion::State::kApplied, {});
  return resolved.ok() ? forget_copies(version.voucher.id) : resolved;
}

absl::Status VoucherBook::forget_copies(VoucherId voucher) const {
  return options_.forget_copies ? options_.forget_copies(voucher) : absl::OkStatus();
}

absl::Status VoucherBook::refuse(const VoucherVersion& version, const std::string& why) {
  const std::string reason = voucher_name(version.voucher.id) + ": " + why;
  const absl::Status resolved = stores_.vouchers.resolve(version.voucher.id, version.version,
                                                         VoucherVersion::State::kRefused, reason);
  return resolved.ok() ? absl::FailedPreconditionError(reason) : resolved;
}

// ---- Rebuilding ----

absl::Status VoucherBook::rebuild(VoucherId voucher) {
  const VoucherChange change(changing_);  // purchases come here: they do not wait
  if (!change.is_ours()) return absl::AbortedError(voucher_name(voucher) + " is being rebuilt");
  const auto in_force = find_in_force(voucher);
  return in_force.ok() ? rebuild_locked(*in_force) : in_force.status();
}

/// Returns the version in force. A first one may be pending, if its process ended after it had put it
/// in force in the keyspace: puts it in force in the database, too. kNotFound: there is none.
absl::StatusOr<VoucherVersion> VoucherBook::find_in_force(VoucherId voucher) {
  auto in_force = stores_.vouchers.applied(voucher);
  if (in_force.ok() && !in_force->has_value()) {
    const auto finished = finish_latest(voucher);
    if (!finished.ok()) return finished.status();
    in_force = stores_.vouchers.applied(voucher);
  }
  if (!in_force.ok()) return in_force.status();
  if (!in_force->has_value()) return not_on_sale(voucher);
  return **std::move(in_force);
}

absl::StatusOr<VoucherBook::Restored> VoucherBook::restore(VoucherId voucher,
                                                           std::span<const LostOrder> lost) {
  const VoucherChange change(changing_);
  if (!change.is_ours()) return being_rebuilt(voucher);
  const auto in_force = find_in_force(voucher);
  if (!in_force.ok()) return in_force.status();
  Lost orders(lost);
  const absl::Status rebuilt = rebuild_locked(*in_force, nullptr, &orders);
  if (!rebuilt.ok()) return rebuilt;
  return orders.restored;
}

/// Rebuilds a closed or lost voucher. With `before`, the version in force: rebuilds a whole voucher
/// too, to put `version` in force. If `version` has less stock than was sold, `before` stays. With
/// `lost`: rebuilds a whole voucher too, to restore these orders.
absl::Status VoucherBook::rebuild_locked(const VoucherVersion& version,
                                         const VoucherVersion* before, Lost* lost) {
  const VoucherId id = version.voucher.id;
  const std::string token = name_ + ':' + std::to_string(++rebuilds_);
  const bool even_if_whole = before != nullptr || lost != nullptr;
  // Copies of a database have one identity: only the copy with the lease rebuilds.
  if (absl::Status leased = owner_.renew_lease(client_); !leased.ok()) return leased;
  auto begun = begin_rebuild(id, token, even_if_whole);
  if (begun.ok() && *begun == voucher_scripts::kUnclaimed) {
    const absl::Status verified = owner_.verify(client_);
    if (!verified.ok()) return verified;
    begun = begin_rebuild(id, token, even_if_whole);
  }
  if (begun.ok() && *begun == voucher_scripts::kLostRequests) {
    const absl::Status restored = restore_lost_requests(client_, stores_, keys_);
    if (!restored.ok()) return restored;
    begun = begin_rebuild(id, token, even_if_whole);
  }
  if (!begun.ok()) return begun.status();
  switch (*begun) {
    case voucher_scripts::kDone:
      return load(version, before, token, lost);
    case voucher_scripts::kAlreadyDone:
      return absl::OkStatus();
    case voucher_scripts::kAnothers:
      return anothers_keyspace(keys_);
    default:
      return being_rebuilt(id);
  }
}

absl::StatusOr<std::int64_t> VoucherBook::begin_rebuild(VoucherId voucher, const std::string& token,
                                                        bool even_if_whole) {
  const auto identity = owner_.identity();
  if (!identity.ok()) return identity.status();
  const Reply run = client_.run(keyspace_run_script(), {}, {});
  if (run.is_error()) return to_status(run, "asking for the run of the keyspace");
  const std::vector<std::string> names = {
      keys_.voucher(voucher), keys_.stock(voucher), keys_.buyers(voucher),  keys_.days(voucher),
      keys_.stream_owner(),   keys_.held(),         keys_.refunds(voucher), keys_.lost_requests()};
  const std::vector<std::string> arguments = {
      token,     std::string(run.text()),   std::to_string(kRebuildAbandonedMs),
      *identity, even_if_whole ? "1" : "0", std::to_string(voucher)};
  return outcome_of(client_.run(voucher_scripts::begin_rebuild(), views(names), views(arguments)),
                    "closing voucher " + std::to_string(voucher));
}

/// Renews the claim between portions of long work. kAborted if it is lost.
absl::Status VoucherBook::renew(VoucherId voucher, const std::string& token) {
  const auto renewed = load_buyers(voucher, token, {});
  if (!renewed.ok()) return renewed.status();
  return *renewed ? absl::OkStatus() : being_rebuilt(voucher);
}

/// Reads every order of the voucher that was admitted and survives.
absl::StatusOr<VoucherBook::Buyers> VoucherBook::read_buyers(const VoucherVersion& version,
                                                             const std::string& token, Lost* lost) {
  const VoucherId id = version.voucher.id;
  const auto renew_claim = [&] { return renew(id, token); };
  // From here on, a batch that a worker read before is refused, unless the worker finds it in the
  // stream once more. So no order reaches the database that is in neither of the stores now.
  const auto fenced = stores_.orders.fence();
  if (!fenced.ok()) return fenced.status();
  // The streams first: an order that moves to the database meanwhile is found there.
  auto unstored = read_unstored_orders(client_, keys_, id, renew_claim);
  if (!unstored.ok()) return unstored.status();
  absl::flat_hash_map<OrderId, Order> not_stored;
  for (const auto* orders : {&unstored->queued, &unstored->dead}) {
    for (const Order& order : *orders) not_stored.emplace(order.id, order);
  }
  const auto find = [lost](const Order& order) {
    if (lost != nullptr) lost->orders.erase(order.id);
  };
  for (const auto& [order_id, order] : not_stored) find(order);
  if (lost != nullptr) {
    for (const Order& order : unstored->without_stock) {
      const auto same = lost->orders.find(order.id);
      if (same != lost->orders.end() && same->second->letter.empty()) lost->orders.erase(same);
    }
  }
  // An order that ended while it was queued, or before its end was stored. The database may have
  // refused its end, which then is a dead letter.
  absl::flat_hash_map<OrderId, const OrderEvent*> ended;
  for (const auto* events : {&unstored->events, &unstored->dead_events}) {
    for (const OrderEvent& event : *events) {
      if (ends_hold(event)) ended.emplace(event.order.id, &event);
    }
  }
  // An order that was discarded together with its end is not held again.
  for (const OrderEvent& event : unstored->discarded_events) {
    const bool is_discarded = unstored->discarded.contains(event.order.id);
    if (is_discarded && ends_hold(event)) ended.emplace(event.order.id, &event);
  }
  Buyers buyers;
  const auto with_end = [&](Order order) {
    const auto found = ended.find(order.id);
    if (found == ended.end() || order.status != OrderStatus::kUnpaid) return order;
    const OrderEvent& event = *found->second;
    const bool is_paid = event.kind == OrderEvent::Kind::kPaid;
    order.status = is_paid ? OrderStatus::kPaid : OrderStatus::kCancelled;
    order.keeps_stock = event.order.keeps_stock;
    order.keeps_allowance = event.order.keeps_allowance;
    if (!unstored->discarded.contains(order.id)) {
      buyers.ended.emplace(order.id, describe_end(order, event));
    }
    return order;
  };
  buyers.counted = version.voucher.limits.per_user != 1;
  buyers.with_days = version.voucher.limits.per_user_day > 0;
  buyers.epoch = fenced->epoch;
  const auto now_ms = keyspace_time_ms(client_);
  if (!now_ms.ok()) return now_ms.status();
  buyers.now_ms = *now_ms;
  auto waiting = read_waiting_orders(client_, keys_, id);
  if (!waiting.ok()) return waiting.status();
  buyers.waiting = *std::move(waiting);
  for (const Order& order : unstored->without_stock) buyers.note_used(order.id);
  const auto visit = [&](const Order& order) {
    not_stored.erase(order.id);
    find(order);
    buyers.add(with_end(order), version.voucher.limits);
  };
  const OrderFilter filter{
      .user = {}, .voucher = id, .status = {}, .after = 0, .count_max = kRowsPerPage};
  const absl::Status read = for_each_order(stores_.orders, filter, visit, renew_claim);
  if (!read.ok()) return read;
  for (const auto& [order_id, order] : not_stored) {
    buyers.add(with_end(order), version.voucher.limits);
  }
  return buyers;
}

/// Appends a lost order to the stream while the voucher is closed. Returns false if the claim is
/// lost.
absl::StatusOr<bool> VoucherBook::append(const LostOrder& lost, const std::string& token) {
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
  const auto appended =
      outcome_of(client_.run(voucher_scripts::append_lost(), views(names), views(arguments)),
                 "restoring an order of voucher " + std::to_string(lost.order.voucher));
  if (!appended.ok()) return appended.status();
  return *appended == voucher_scripts::kDone;
}

/// Gives the lost orders that are in no store to the buyers, as far as stock and limits allow;
/// buries the others.
absl::Status VoucherBook::add_lost(const Limits& limits, std::int64_t stock,
                                   const std::string& token, Buyers& buyers, Lost& lost) {
  for (const auto& [id, order] : lost.orders) {
    const std::string excess = buyers.find_excess(order->order, limits, stock);
    if (excess.empty()) {
      const auto appended = append(*order, token);
      if (!appended.ok()) return appended.status();
      if (!*appended) return being_rebuilt(order->order.voucher);
      buyers.add(order->order, limits);
      ++lost.restored.appended;
    } else if (order->letter.empty()) {
      const absl::Status buried = bury_without_stock(
          client_, keys_, order->entry, "the keyspace lost it, and meanwhile " + excess);
      if (!buried.ok()) return buried;
      buyers.note_used(id);
      ++lost.restored.buried;
    }
  }
  return absl::OkStatus();
}

/// Gives the rebuild up if the voucher was archived after its versions were read. Archiving removes
/// the keys of a rebuild that began before it.
absl::Status VoucherBook::check_kept(VoucherId voucher, const std::string& token) {
  const auto versions = stores_.vouchers.versions(voucher);
  if (!versions.ok()) return versions.status();
  if (!versions->empty()) return absl::OkStatus();
  const std::vector<std::string> names = {keys_.voucher(voucher), keys_.held()};
  const std::vector<std::string> arguments = {token, std::to_string(voucher)};
  const auto abandoned =
      outcome_of(client_.run(voucher_scripts::abandon_rebuild(), views(names), views(arguments)),
                 "giving up the rebuild of voucher " + std::to_string(voucher));
  return abandoned.ok() ? not_on_sale(voucher) : abandoned.status();
}

absl::Status VoucherBook::load(const VoucherVersion& version, const VoucherVersion* before,
                               const std::string& token, Lost* lost) {
  const VoucherId id = version.voucher.id;
  if (const absl::Status kept = check_kept(id, token); !kept.ok()) return kept;
  auto buyers = read_buyers(version, token, lost);
  if (!buyers.ok()) return buyers.status();
  if (before != nullptr && version.voucher.stock < buyers->taken) {
    return load(*before, nullptr, token, lost);
  }
  if (lost != nullptr) {
    const absl::Status added =
        add_lost(version.voucher.limits, version.voucher.stock, token, *buyers, *lost);
    if (!added.ok()) return added;
  }
  const absl::Status left = leave_waiting_list(client_, keys_, id, buyers->served);
  if (!left.ok()) return left;
  // The buyers last: finish_rebuild() counts them, so it finds a loss of anything before them.
  for (const auto load_part :
       {&VoucherBook::load_requests, &VoucherBook::load_holds, &VoucherBook::load_buyers}) {
    const auto loaded = (this->*load_part)(id, token, *buyers);
    if (!loaded.ok()) return loaded.status();
    if (!*loaded) return being_rebuilt(id);
  }

  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id), keys_.vouchers(),
                                          keys_.buyers(id),  keys_.held(),    keys_.waiting(id)};
  std::vector<std::string> arguments = {token,
                                        std::to_string(version.voucher.stock - buyers->taken),
                                        std::to_string(buyers->taken),
                                        buyers->counted ? "1" : "0",
                                        std::to_string(id),
                                        std::to_string(buyers->bought.size()),
                                        std::to_string(buyers->given_back),
                                        std::to_string(buyers->withheld),
                                        std::to_string(buyers->epoch)};
  append_terms(version, arguments);
  const auto finished =
      outcome_of(client_.run(voucher_scripts::finish_rebuild(), views(names), views(arguments)),
                 "opening voucher " + std::to_string(id));
  if (!finished.ok()) return finished.status();
  if (*finished != voucher_scripts::kDone) return being_rebuilt(id);
  return version.voucher.waiting_max > 0 ? serve_waiting_list(client_, keys_, id)
                                         : absl::OkStatus();
}

/// Renews the claim, at least once, and makes `buyers` the voucher's. Returns false if the claim is
/// lost.
absl::StatusOr<bool> VoucherBook::load_buyers(VoucherId voucher, const std::string& token,
                                              const Buyers& buyers) {
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
    const auto loaded =
        outcome_of(client_.run(voucher_scripts::load_buyers(), views(names), views(arguments)),
                   "loading the buyers of voucher " + std::to_string(voucher));
    if (!loaded.ok()) return loaded.status();
    if (*loaded != voucher_scripts::kDone) return false;
  } while (buyer != buyers.bought.end());
  return true;
}

/// Restores the idempotency keys of the orders. Returns false if the claim is lost.
absl::StatusOr<bool> VoucherBook::load_requests(VoucherId voucher, const std::string& token,
                                                const Buyers& buyers) {
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
    const auto loaded =
        outcome_of(client_.run(voucher_scripts::load_requests(), views(names), views(arguments)),
                   "loading the idempotency keys of voucher " + std::to_string(voucher));
    if (!loaded.ok()) return loaded.status();
    if (*loaded != voucher_scripts::kDone) return false;
  }
  return true;
}

/// Makes the unpaid orders the voucher's holds, and removes its other ones. Restores the ends of holds
/// that are not stored yet. Returns false if the claim is lost.
absl::StatusOr<bool> VoucherBook::load_holds(VoucherId voucher, const std::string& token,
                                             const Buyers& buyers) {
  constexpr std::size_t kHoldsPerCall = 1'000;
  const std::vector<std::string> names = {keys_.voucher(voucher), keys_.deadlines(), keys_.held()};
  std::vector<std::string> arguments;
  const auto send = [&]() -> absl::StatusOr<bool> {
    arguments.insert(arguments.begin(), token);
    const auto loaded =
        outcome_of(client_.run(voucher_scripts::load_holds(), views(names), views(arguments)),
                   "loading the holds of voucher " + std::to_string(voucher));
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
