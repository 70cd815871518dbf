// What is wrong with a simulated sale, while it runs and at its end.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/sale/split/piece_mover.h"
#include "tests/simulation/shop_process.h"
#include "tests/simulation/simulated_shop.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_rules.h>
#include <rushgate/payment_store.h>

namespace rushgate::testing {
namespace {

/// Returns how many pieces may be sold.
std::int64_t most_sold(const Voucher& voucher) {
  const std::int64_t total = voucher.limits.total;
  return total > 0 ? std::min(total, voucher.stock) : voucher.stock;
}

}  // namespace

// ---- Checks -----------------------------------------------------------------------------------

/// Returns the number in a reply; 0 if there is none.
std::int64_t SimulatedShop::number_at(const Reply& reply) {
  return reply.is_text() ? parse_int64(reply.text()).value_or(0) : 0;
}

/// Returns the pieces of a voucher that may be bought, and those on their way between its lanes. Those of a master
/// that is down are not known.
std::int64_t SimulatedShop::count_free(VoucherId voucher) {
  std::int64_t free = 0;
  for (const int lane : lanes_of(voucher)) {
    const SaleKeys keys = SaleKeys{}.of_lane(lane);
    free += number_at((*observer_)("GET", keys.stock(voucher)));
    free -= number_at((*observer_)("HGET", keys.voucher(voucher), "moved"));
    const std::int64_t total = number_at((*observer_)("HGET", keys.voucher(voucher), "total"));
    if (total == 0) continue;  // 0 on several lanes: on_lane() makes it their share of the stock
    free =
        std::min(free, total - number_at((*observer_)("HGET", keys.voucher(voucher), "admitted")));
  }
  return free;
}

/// A piece that has come back on another lane is sold within 200 ms, and nothing is known of a lane that is away
/// for longer.
void SimulatedShop::check_sold_out(const BuyRequest& request, std::int64_t began_ms) {
  const Voucher& voucher = vouchers_.at(request.voucher);
  const std::int64_t limit = voucher.limits.per_user;
  if (limit != 0 && request.quantity > limit) return;  // has no right to so many
  const std::int64_t known_ms = began_ms - (voucher.lanes > 1 ? PieceMover::kSoldOutMs : 0);
  for (const int lane : lanes_of(voucher.id)) {
    const int master = master_of_lane(lane);
    if (cluster_.is_up(master)) continue;
    if (down_since_ms_[static_cast<std::size_t>(master)] < known_ms) {
      blame(concat("voucher ", voucher.id, " is sold out, although its lane ", lane, " is away"));
    }
    return;
  }
  const std::int64_t free = count_free(voucher.id);
  const auto known = left_.find(voucher.id);
  const bool was_left = known != left_.end() && known->second.pieces >= request.quantity;
  if (was_left && free >= request.quantity && known->second.since_ms < known_ms) {
    blame(concat("voucher ", voucher.id, " is sold out, although ", free, " pieces are free since ",
                 cluster_.now_ms() - known->second.since_ms, " ms"));
  }
  if (!was_left || free < known->second.pieces) left_[voucher.id] = {cluster_.now_ms(), free};
}

// ---- The end ----------------------------------------------------------------------------------

void SimulatedShop::mend() {
  is_disturbed_ = false;
  set_database(true);
  for (int master = 0; master < options_.masters; ++master) {
    if (!cluster_.is_up(master)) cluster_.start(master, Comeback::kWithAll);
  }
  for (std::unique_ptr<Process>& process : processes_) replace(process);
}

/// Lets the workers of all lanes store in turn: an order may wait for another lane.
void SimulatedShop::store_all(Process& process) {
  constexpr int kIdleRounds = 3;
  constexpr int kRoundsMax = 100;
  int idle = 0;
  for (int rounds = 0; idle < kIdleRounds; ++rounds) {
    if (rounds > kRoundsMax) return blame("the workers are never idle");
    ++idle;
    for (auto& [lane, worker] : process.workers) {
      const OrderWorker::Step step = worker->step();
      if (step.kind == OrderWorker::Step::Kind::kIdle) continue;
      idle = 0;
      say(concat("lane ", lane, ": stored ", step.stored, ", changed ", step.changed, ", expired ",
                 step.expired, ", buried ", step.buried, ", restored ", step.restored, ", faulted ",
                 step.faulted, ", lost ", step.lost, " ", step.reason));
    }
    advance_ms(500);  // takes over what the other process has read
  }
}

void SimulatedShop::sell_out(Process& process, VoucherId voucher) {
  constexpr int kTriesMax = 100;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    BuyRequest request{.voucher = voucher, .user = next_user_++};
    request.purchase_token = issue_token(process, request);
    const BuyResult result = process.sale->buy(request);
    say(concat("the last of ", voucher, ": ", outcome_name(result.outcome), " ", result.order, " ",
               result.detail));
    if (result.outcome == Outcome::kSoldOut) return;
    note_result(request, result, promises_.losses());
    if (result.outcome == Outcome::kAccepted && vouchers_.at(voucher).payment_ms > 0) {
      pay(process, result.order);
    }
    if (result.outcome == Outcome::kOverloaded) advance_ms(1'000);
  }
  blame(concat("voucher ", voucher, " is never sold out"));
}

bool SimulatedShop::has_list(VoucherId voucher) const {
  return vouchers_.at(voucher).waiting_max > 0;
}

std::vector<LaneList> SimulatedShop::read_lists(VoucherId voucher) {
  std::vector<LaneList> lists;
  for (const int lane : lanes_of(voucher)) {
    const SaleKeys keys = SaleKeys{}.of_lane(lane);
    LaneList& list = lists.emplace_back(LaneList{.lane = lane});
    const Reply users = (*observer_)("ZRANGE", keys.waiting(voucher), 0, -1);
    for (const Reply& user : users.elements()) {
      const Reply order = (*observer_)("HGET", keys.waiting_orders(voucher), user.text());
      list.users.emplace_back(UserId(user.text()), number_at(order));
    }
  }
  return lists;
}

/// Checks that nobody waits while a piece is free, also after one has come back. Then all who wait leave.
void SimulatedShop::check_waiting(Process& process, VoucherId voucher) {
  constexpr std::int64_t kServedWithinMs = 1'000;
  advance_ms(kServedWithinMs);
  const std::vector<LaneList> before = read_lists(voucher);
  waiting_users_.check_kept(*process.sale, vouchers_.at(voucher), before);
  const auto is_empty = [](const LaneList& list) { return list.users.empty(); };
  if (std::ranges::all_of(before, is_empty)) return;
  const std::int64_t free = count_free(voucher);
  if (free > 0) blame(concat("voucher ", voucher, ": ", free, " pieces are free, and users wait"));
  if (vouchers_.at(voucher).restock) {
    give_piece_back(process, voucher);
    advance_ms(kServedWithinMs);
    waiting_users_.check_served(*process.sale, vouchers_.at(voucher), before, read_lists(voucher));
  }
  const auto waiting = process.sale->waiting_list(voucher);
  if (!waiting.ok()) return blame(concat("the list of ", voucher, " cannot be read"));
  for (const UserId& user : *waiting) {
    const auto left = process.sale->leave_waiting_list(voucher, user);
    if (!left.ok() || !*left) blame(concat("user ", user.text(), " cannot leave ", voucher));
  }
}

/// Ends an order that takes a piece.
void SimulatedShop::give_piece_back(Process& process, VoucherId voucher) {
  std::vector<Order> live = orders_of(voucher);
  std::erase_if(live, [](const Order& order) { return !is_live(order); });
  if (live.empty()) return blame(concat("users wait for ", voucher, ", which nobody has"));
  const Order order = random_.pick(live);
  const ChangeResult result = order.status == OrderStatus::kUnpaid
                                  ? process.sale->cancel(order.id, "", "user")
                                  : process.sale->refund(order.id, "", "user");
  say(concat("ends ", order.id, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::check_voucher(Process& process, VoucherId voucher) {
  const auto summary = process.sale->summary(voucher);
  if (!summary.ok() || !summary->has_value()) {
    return blame(concat("voucher ", voucher, " has no summary"));
  }
  const std::int64_t for_sale = most_sold((*summary)->voucher);
  const std::int64_t live = orders_.count_live(voucher).value();
  if (live != for_sale) {
    blame(concat("voucher ", voucher, ": ", live, " of ", for_sale, " pieces are sold, and ",
                 (*summary)->free.value_or(-1), " are free"));
  }
  check_limits((*summary)->voucher);
}

/// Checks that no user has more pieces than the limits allow, by what the database has recorded.
void SimulatedShop::check_limits(const Voucher& voucher) {
  constexpr std::int64_t kMinuteMs = 60'000;
  constexpr std::int64_t kDayMs = 1'440 * kMinuteMs;
  const Limits& limits = voucher.limits;
  std::map<std::string, std::int64_t> of_users;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> of_days;
  for (const Order& order : orders_of(voucher.id)) {
    const std::string user = order.user.text();
    const std::int64_t day =
        (order.admitted_at_ms + limits.utc_offset_minutes * kMinuteMs) / kDayMs;
    const std::int64_t in_all = of_users[user] += pieces_of_user(order);
    const std::int64_t on_day = of_days[{user, day}] += pieces_of_user(order);
    const bool is_within = (limits.per_user == 0 || in_all <= limits.per_user) &&
                           (limits.per_user_day == 0 || on_day <= limits.per_user_day);
    if (is_within) continue;
    blame(concat("voucher ", voucher.id, ": user ", user, " has ", in_all, " pieces, ", on_day,
                 " of them of one day"));
  }
}

/// Returns what the database has recorded of a voucher.
std::vector<Order> SimulatedShop::orders_of(VoucherId voucher) {
  std::vector<Order> orders = orders_.archive()->list_archived({.voucher = voucher}).value();
  const auto add = [&](const Order& order) { orders.push_back(order); };
  if (!for_each_order(orders_, {.voucher = voucher}, add).ok()) blame("no orders");
  return orders;
}

/// Compares the pieces of each lane with its orders, by what the database has recorded.
void SimulatedShop::check_pieces(VoucherId voucher) {
  const VoucherVersion version = orders_.applied(voucher).value().value();
  const std::vector<VoucherVersion> versions = orders_.versions(voucher).value();
  const std::vector<int> lanes = lanes_of(voucher);
  std::map<int, std::int64_t> pieces;
  for (const int lane : lanes) {
    pieces[lane] =
        lanes.size() > 1 ? on_lane(version, lane, versions).voucher.stock : version.voucher.stock;
  }
  const std::vector<MovedPieces> all_moved = orders_.moved_pieces(voucher).value();
  for (const MovedPieces& moved : all_moved) {
    const auto number = [&](int lane, std::string_view direction, int other) {
      const std::string key = SaleKeys{}.of_lane(lane).voucher(voucher);
      return number_at((*observer_)("HGET", key, concat(direction, other)));
    };
    const std::int64_t given = number(moved.from, "to:", moved.to);
    const std::int64_t got = number(moved.to, "from:", moved.from);
    if (given != moved.pieces || got != moved.pieces) {
      blame(concat("voucher ", voucher, ": ", given, ", ", moved.pieces, " and ", got,
                   " pieces went from lane ", moved.from, " to ", moved.to));
    }
    pieces[moved.from] -= moved.pieces;
    pieces[moved.to] += moved.pieces;
  }
  for (const Order& order : orders_of(voucher)) {
    pieces[lane_of_order(order.id)] -= pieces_taken(order);
  }
  for (const auto& [lane, left] : pieces) {
    const Reply stock = (*observer_)("GET", SaleKeys{}.of_lane(lane).stock(voucher));
    if (left == number_at(stock)) continue;
    blame(concat("voucher ", voucher, ": the lane ", lane, " should have ", left, " pieces, not ",
                 to_debug_string(stock)));
  }
}

void SimulatedShop::check_letters(Process& process) {
  const auto letters = process.sale->dead_letters();
  if (!letters.ok()) return blame(concat("dead letters: ", letters.status().message()));
  for (const DeadLetter& letter : *letters) {
    // The payment of an order that a master lost is paid back by an operator.
    if (letter.order.field("event") == order_event_name(OrderEvent::Kind::kSurplusPayment)) {
      const auto order = parse_int64(letter.order.field("id").value_or(""));
      if (order && promises_.may_be_lost(*order)) {
        const auto discarded = process.sale->discard_dead_letter(letter.id, "paid back");
        if (!discarded.ok() || !*discarded) blame(concat("a dead letter stays: ", letter.reason));
        continue;
      }
    }
    // A buyer whose order a master lost is told so, if its pieces are gone.
    const bool is_loss = options_.masters_lose && letter.reason.starts_with("the keyspace lost it");
    if (!is_loss) blame(concat("dead letter: ", letter.reason));
  }
}

// ---- Archiving ----

bool SimulatedShop::is_archived(VoucherId voucher) {
  return !orders_.applied(voucher).value().has_value();
}
bool SimulatedShop::is_over(VoucherId voucher) {
  const auto version = orders_.applied(voucher).value();
  return !version || version->voucher.end_ms <= cluster_.now_ms();
}

/// Confirms all refunds that are due: a voucher is not archived before.
void SimulatedShop::confirm_refunds(Process& process) {
  std::vector<std::string> due;
  const auto add = [&](const Payment& payment) { due.push_back(payment.id); };
  if (!for_each_payment(*orders_.payments(), {.state = Payment::State::kDue}, add).ok()) {
    blame("no payments");
  }
  for (const std::string& payment : due) {
    const ChangeResult result = process.sale->confirm_refund(payment);
    if (result.outcome == ChangeOutcome::kDone) continue;
    blame(concat("the refund of ", payment, ": ", change_outcome_name(result.outcome), " ",
                 result.detail));
  }
}

/// Archives a voucher whose sale is over. If it was archived before, open() has finished that.
void SimulatedShop::archive(Process& process, VoucherId voucher) {
  if (is_archived(voucher)) check_archived(process, voucher);
  // Letters of orders that masters lost remain (check_letters()).
  const absl::Status archived =
      process.sale->archive(voucher, {.discard_dead_letters = "told to the buyer"});
  if (!archived.ok()) return blame(concat("archiving ", voucher, ": ", archived.message()));
  promises_.check_recorded(voucher);
  check_archived(process, voucher);
  check_archived_orders(voucher);
}

/// Checks that an archived voucher was not oversold, and the limits of its users.
void SimulatedShop::check_archived_orders(VoucherId voucher) {
  const auto all_archived = orders_.archive()->archived_vouchers();
  for (const ArchivedVoucher& archived : all_archived.value()) {
    const Voucher& terms = archived.last.voucher;
    if (terms.id != voucher) continue;
    std::int64_t taken = 0;
    for (const Order& order : orders_of(voucher)) taken += pieces_taken(order);
    if (taken > most_sold(terms)) blame(concat("voucher ", voucher, " is oversold"));
    check_limits(terms);
  }
}

/// Checks that nothing is left of an archived voucher, and that nobody can sell it.
void SimulatedShop::check_archived(Process& process, VoucherId voucher) {
  for (const int lane : lanes_of(voucher)) {
    const SaleKeys keys = SaleKeys{}.of_lane(lane);
    const Reply left = (*observer_)("EXISTS", keys.voucher(voucher), keys.stock(voucher),
                                    keys.buyers(voucher), keys.days(voucher), keys.refunds(voucher),
                                    keys.waiting(voucher), keys.waiting_orders(voucher));
    if (left == Reply::integer(0)) continue;
    blame(concat("voucher ", voucher, " is archived, and has keys on lane ", lane));
  }
  const BuyResult result = process.sale->buy(voucher, next_user_++);
  if (result.outcome != Outcome::kUnknownVoucher) {
    blame(concat("archived voucher ", voucher, ": ", outcome_name(result.outcome), " ",
                 result.detail));
  }
  if (!absl::IsFailedPrecondition(process.sale->add_stock(voucher, 1))) {
    blame(concat("archived voucher ", voucher, " gets more stock"));
  }
}

// ---- All together ----

/// Checks waiting lists, sells all that is left, and stores it.
void SimulatedShop::sell_rest(Process& process, const std::vector<VoucherId>& vouchers) {
  if (std::ranges::any_of(vouchers, [this](VoucherId voucher) { return has_list(voucher); })) {
    store_all(process);
    for (const VoucherId voucher : vouchers) {
      if (has_list(voucher)) check_waiting(process, voucher);
    }
    advance_ms(6'000);  // those who were served do not pay
    store_all(process);
  }
  for (const VoucherId voucher : vouchers) sell_out(process, voucher);
  store_all(process);
}

/// Repeats the refunds that were begun. Opening the sale finishes them, but not those of a voucher that a process had
/// closed just before it ended.
void SimulatedShop::repeat_refunds(Process& process) {
  std::vector<OrderId> begun;
  const auto note = [&](const Order& order) { begun.push_back(order.id); };
  if (!for_each_order(orders_, {.status = OrderStatus::kRefunding}, note).ok()) blame("no orders");
  for (const OrderId order : begun) process.sale->refund(order, "changed mind", "user");
}

std::string SimulatedShop::end() {
  say("---- the end ----");
  mend();
  Process& process = *processes_[0];
  if (!open(process)) {
    blame("the sale cannot be opened again");
    return faults_;
  }
  store_all(process);
  promises_.repeat_all(*process.sale);
  advance_ms(60'000);  // unpaid orders are cancelled
  store_all(process);
  std::vector<VoucherId> on_sale;
  std::vector<VoucherId> over;
  for (const auto& [voucher, terms] : vouchers_) {
    // Also finishes a version that somebody else began to publish.
    const absl::Status added =
        is_archived(voucher) ? absl::OkStatus() : process.sale->add_stock(voucher, 1);
    if (!added.ok()) blame(concat("adding stock: ", added.message()));
    (is_over(voucher) ? over : on_sale).push_back(voucher);
  }
  repeat_refunds(process);
  sell_rest(process, on_sale);
  check_letters(process);
  if (!over.empty()) {
    advance_ms(60'000);  // users who were served until their sale was closed have not paid
    store_all(process);
    confirm_refunds(process);
  }
  for (const VoucherId voucher : over) archive(process, voucher);
  promises_.check_stored(*process.sale);
  waiting_users_.check_left();
  waiting_users_.check_sequence();
  for (const VoucherId voucher : on_sale) {
    check_voucher(process, voucher);
    check_pieces(voucher);
  }
  const auto report = process.sale->audit();
  if (!report.ok()) blame(concat("the audit fails: ", report.status().message()));
  if (report.ok()) {
    for (const std::string& problem : report->problems) blame(concat("audit: ", problem));
  }
  return faults_;
}

}  // namespace rushgate::testing
