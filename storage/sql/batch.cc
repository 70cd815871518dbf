#include "storage/sql/batch.h"

#include <algorithm>
#include <cassert>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/sql/common_sql.h"
#include "storage/sql/rows.h"

namespace rushgate::sql {
namespace {

using Kind = OrderEvent::Kind;

/// Removes repetitions.
template <class Values>
Values distinct(Values values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Returns a table with the values that a query looks for, in the column `wanted`.
Table wanted(Integers values) { return {{"wanted", distinct(std::move(values))}}; }
Table wanted(Texts values) { return {{"wanted", distinct(std::move(values))}}; }

bool is_empty(const Table& table) {
  return std::visit([](const auto& values) { return values.empty(); }, table.front().values);
}

bool is_of_payment(Kind kind) {
  return kind == Kind::kPaid || kind == Kind::kSurplusPayment || kind == Kind::kPaymentRefunded;
}
/// Returns true if an archived voucher's orders no longer allow such an event.
bool is_begun_in_database(Kind kind) { return kind == Kind::kUsed || kind == Kind::kRefundBegun; }

// Indexes of the schema.
constexpr char kByUser[] = "by_user";
constexpr char kByKey[] = "by_key";

/// Returns a query of the rows of `table` whose column has a wanted value.
std::string select_wanted(const Database& database, const std::string& columns,
                          std::string_view table, std::string_view column, const char* index) {
  return concat("SELECT ", columns, " FROM @1", database.join_by_index(table, index), " ON ",
                column, " = wanted");
}

/// Returns a query of the orders with these ids, which are sorted. Those of new orders are mostly above all in
/// the table: then one look for an order between the first and the last of them is all that is done.
Statement select_orders(const Database& database, std::string_view table, const Integers& ids) {
  return {concat(select_wanted(database, order_columns(), table, "id", kById),
                 " WHERE EXISTS (SELECT 1 FROM ", table,
                 " AS between_ids WHERE between_ids.id BETWEEN ?1 AND ?2)"),
          {ids.front(), ids.back()},
          {{{"wanted", ids}}}};
}

/// Returns those events' values that `is_wanted`.
template <class IsWanted, class Get>
auto values_of(std::span<const OrderEvent> events, IsWanted is_wanted, Get get) {
  std::vector<std::decay_t<std::invoke_result_t<Get, const OrderEvent&>>> values;
  for (const OrderEvent& event : events) {
    if (is_wanted(event)) values.push_back(get(event));
  }
  return values;
}

OrderId order_of(const OrderEvent& event) { return event.order.id; }
const std::string& payment_of(const OrderEvent& event) { return event.payment.id; }

/// Returns true if a batch of the lane has no changes of orders, which need positions in the whole database.
bool needs_only_lane(std::span<const OrderEvent> events, int lane) {
  return lane != 0 && std::ranges::all_of(events, [](const OrderEvent& event) {
           return event.kind == Kind::kAdmitted && !change_before(event);
         });
}

}  // namespace

Batch::Batch(const Database& database, std::span<const OrderEvent> events, const BatchFence& fence,
             Records records, std::int64_t session)
    : database_(database),
      events_(events),
      fence_(fence),
      records_(records),
      session_(session),
      has_only_lane_(needs_only_lane(events, fence.lane)) {}

absl::StatusOr<std::vector<OrderResult>> Batch::apply(Transaction& transaction) {
  RETURN_IF_ERROR(load(transaction));
  if (absl::Status current = check_fence(fence_, state_); !current.ok()) {
    return decided(std::move(current));
  }
  std::vector<OrderResult> results;
  results.reserve(events_.size());
  for (const OrderEvent& event : events_) {
    ASSIGN_OR_RETURN(OrderResult result, decide(transaction, event));
    results.push_back(std::move(result));
  }
  RETURN_IF_ERROR(write(transaction));
  return results;
}

// ---- Reading ----------------------------------------------------------------------------------

absl::Status Batch::load(Transaction& transaction) {
  if (!has_only_lane_) ask(lock_state(), &Batch::take_state);
  if (fence_.lane != 0) ask(lock_lane(fence_.lane), &Batch::take_lane_state);
  if (has_only_lane_) ask(read_state(), &Batch::take_state);
  ask_for_orders();
  ask_for_vouchers();
  ask_for_orders_of_users();
  ask_for_orders_of_keys();
  ask_for_payments();
  ASSIGN_OR_RETURN(const auto results, transaction.run(queries_));
  for (std::size_t i = 0; i < results.size(); ++i) (this->*takers_[i])(results[i]);
  if (state_.identity.empty()) return absl::NotFoundError("the row of database_state is missing");
  if (state_.epoch == 0) return decided(no_lane_error(fence_.lane));
  return absl::OkStatus();
}

void Batch::ask(Statement query, void (Batch::*take)(const Rows& rows)) {
  if (!query.tables.empty() && is_empty(query.tables.front())) return;
  queries_.push_back(std::move(query));
  takers_.push_back(take);
}

void Batch::take_state(const Rows& rows) {
  if (rows.empty()) return;
  state_.identity = rows.front().text(0);
  state_.session = session_;
  last_change_ = rows.front().integer(4);
  if (fence_.lane == 0) take_position(rows.front(), 1);
}

void Batch::take_lane_state(const Rows& rows) {
  if (!rows.empty()) take_position(rows.front(), 0);
}

/// `first`: the first of the columns epoch, checkpoint and revision.
void Batch::take_position(const Row& row, std::size_t first) {
  state_.epoch = row.integer(first);
  state_.checkpoint = row.integer(first + 1);
  state_.revision = row.integer(first + 2);
}

void Batch::ask_for_orders() {
  const auto has_order = [](const OrderEvent& event) {
    return event.kind != Kind::kPaymentRefunded;
  };
  const Integers ids = distinct(values_of(events_, has_order, order_of));
  if (!ids.empty()) {
    ask(select_orders(database_, "orders", ids), &Batch::take_orders);
    ask(select_orders(database_, "archived_orders", ids), &Batch::take_archived_orders);
  }
  const auto is_begun = [](const OrderEvent& event) { return is_begun_in_database(event.kind); };
  ask({concat("SELECT id FROM @1", database_.join_by_index("orders", kById),
              " ON id = wanted JOIN archived_vouchers ON archived_vouchers.voucher_id = "
              "orders.voucher_id"),
       {},
       {wanted(values_of(events_, is_begun, order_of))}},
      &Batch::take_orders_of_archived_vouchers);
}

void Batch::take_order(Order order, bool is_archived) {
  const OrderId id = order.id;
  const auto [known, is_new] = orders_.try_emplace(
      id, KnownOrder{.order = std::move(order), .is_stored = true, .is_archived = is_archived});
  if (!is_new) return;
  const Order& taken = known->second.order;
  if (!is_archived) {
    OrdersOfUser& of_user = of_user_[{taken.user, taken.voucher}];
    of_user.ids.push_back(id);
    if (is_live(taken)) of_user.live += taken.quantity;
  }
  if (!taken.idempotency_key.empty()) of_key_[taken.idempotency_key].push_back(id);
}

void Batch::take_orders(const Rows& rows) {
  for (const Row& row : rows) take_order(to_order(row), /*is_archived=*/false);
}
void Batch::take_archived_orders(const Rows& rows) {
  for (const Row& row : rows) take_order(to_order(row), /*is_archived=*/true);
}
void Batch::take_orders_of_archived_vouchers(const Rows& rows) {
  for (const Row& row : rows) of_archived_vouchers_.insert(row.integer(0));
}

void Batch::ask_for_vouchers() {
  const auto is_new = [](const OrderEvent& event) { return event.kind == Kind::kAdmitted; };
  ask({"SELECT wanted, (SELECT live FROM live_orders WHERE voucher_id = wanted), "
       "(SELECT max(stock) FROM voucher_versions WHERE voucher_id = wanted AND (state = 0 OR "
       "version = (SELECT max(version) FROM voucher_versions WHERE voucher_id = wanted AND "
       "state = 1))) FROM @1",
       {},
       {wanted(values_of(events_, is_new,
                         [](const OrderEvent& event) { return event.order.voucher; }))}},
      &Batch::take_vouchers);
}

void Batch::take_vouchers(const Rows& rows) {
  for (const Row& row : rows) {
    KnownVoucher& voucher = vouchers_[row.integer(0)];
    voucher.taken = row.integer(1);
    if (fence_.stock) {
      voucher.stock = fence_.stock_of(row.integer(0));
    } else if (!row.is_null(2)) {
      voucher.stock = row.integer(2);
    }
  }
}

void Batch::ask_for_orders_of_users() {
  absl::flat_hash_set<UserOfVoucher> asked;
  Integers numbers;
  Texts names;
  Integers vouchers;
  for (const OrderEvent& event : events_) {
    const Order& order = event.order;
    if (event.kind != Kind::kAdmitted || !is_limited(order)) continue;
    if (!asked.emplace(order.user, order.voucher).second) continue;
    numbers.push_back(number_column(order.user));
    names.push_back(name_column(order.user));
    vouchers.push_back(order.voucher);
  }
  ask({concat("SELECT ", order_columns(), " FROM @1", database_.join_by_index("orders", kByUser),
              " ON user_id = wanted_user AND user_name = wanted_name AND "
              "voucher_id = wanted_voucher WHERE ",
              live_rows()),
       {},
       {{{"wanted_user", std::move(numbers)},
         {"wanted_name", std::move(names)},
         {"wanted_voucher", std::move(vouchers)}}}},
      &Batch::take_orders);
}

void Batch::ask_for_orders_of_keys() {
  Texts keys;
  Integers times;
  for (const OrderEvent& event : events_) {
    if (event.kind != Kind::kAdmitted || event.order.idempotency_key.empty()) continue;
    keys.push_back(event.order.idempotency_key);
    times.push_back(event.order.admitted_at_ms);
  }
  const Table wanted_keys = {{"wanted_key", std::move(keys)}, {"wanted_from", std::move(times)}};
  for (const bool archived : {false, true}) {
    ask({concat("SELECT ", order_columns(), " FROM @1",
                database_.join_by_index(archived ? "archived_orders" : "orders", kByKey),
                " ON idempotency_key = wanted_key AND key_expires_at_ms >= wanted_from WHERE ",
                rows_with_key()),
         {},
         {wanted_keys}},
        archived ? &Batch::take_archived_orders : &Batch::take_orders);
  }
}

void Batch::ask_for_payments() {
  const auto of_payment = [](const OrderEvent& event) { return is_of_payment(event.kind); };
  const Table ids = wanted(values_of(events_, of_payment, payment_of));
  ask({select_wanted(database_, payment_columns(), "payments", "id", kById), {}, {ids}},
      &Batch::take_payments);
  ask({select_wanted(database_, payment_columns(), "archived_payments", "id", kById), {}, {ids}},
      &Batch::take_archived_payments);
  const auto is_refunded = [](const OrderEvent& event) {
    return event.kind == Kind::kPaymentRefunded;
  };
  ask({concat("SELECT payments.id FROM @1", database_.join_by_index("payments", kById),
              " ON payments.id = wanted JOIN archived_orders ON archived_orders.id = order_id"),
       {},
       {wanted(values_of(events_, is_refunded, payment_of))}},
      &Batch::take_payments_of_archived_orders);
  const auto makes_due = [](const OrderEvent& event) { return event.kind == Kind::kRefundBegun; };
  ask({select_wanted(database_, payment_columns(), "payments", "order_id", kByOrder),
       {},
       {wanted(values_of(events_, makes_due, order_of))}},
      &Batch::take_payments);
}

void Batch::take_payments(const Rows& rows) {
  for (const Row& row : rows) {
    Payment payment = to_payment(row);
    std::string id = payment.id;
    payments_.try_emplace(std::move(id), KnownPayment{.payment = std::move(payment)});
  }
}
void Batch::take_archived_payments(const Rows& rows) {
  for (const Row& row : rows) {
    Payment payment = to_payment(row);
    std::string id = payment.id;
    payments_.try_emplace(std::move(id),
                          KnownPayment{.payment = std::move(payment), .is_archived = true});
  }
}
void Batch::take_payments_of_archived_orders(const Rows& rows) {
  for (const Row& row : rows) of_archived_orders_.insert(row.text(0));
}

// ---- Deciding ---------------------------------------------------------------------------------

absl::StatusOr<OrderResult> Batch::decide(Transaction& transaction, const OrderEvent& event) {
  if (event.kind == Kind::kAdmitted) return store(transaction, event);
  return change(event);
}

absl::StatusOr<OrderResult> Batch::store(Transaction& transaction, const OrderEvent& event) {
  const Order& order = event.order;
  OrderRivals rivals = rivals_of(order);
  OrderResult result = check_order(order, rivals);
  // Only now it matters how many pieces of the voucher are being refunded.
  if (result.lacks_pieces) {
    ASSIGN_OR_RETURN(rivals.refunding_of_voucher, read_refunding(transaction, order.voucher));
    result = check_order(order, rivals);
  }
  if (result.kind != OrderResult::Kind::kStored) return result;
  orders_.emplace(order.id, KnownOrder{.order = order});
  of_user_[{order.user, order.voucher}].ids.push_back(order.id);
  if (!order.idempotency_key.empty()) of_key_[order.idempotency_key].push_back(order.id);
  count(order, 1);
  const auto change = change_before(event);
  if (change && records_ == Records::kChanges) record(*change);
  return result;
}

OrderRivals Batch::rivals_of(const Order& order) const {
  OrderRivals rivals;
  if (const auto same = orders_.find(order.id); same != orders_.end()) {
    rivals.same_id = same->second.order;
    return rivals;
  }
  if (const auto of_user = of_user_.find(UserOfVoucher(order.user, order.voucher));
      of_user != of_user_.end()) {
    rivals.live_of_user = of_user->second.live;
    if (may_exceed_limit(order, rivals.live_of_user)) {
      rivals.live_of_user = 0;
      for (const OrderId id : of_user->second.ids) rivals.add_of_user(orders_.at(id).order, order);
    }
  }
  if (const auto of_key = of_key_.find(order.idempotency_key); of_key != of_key_.end()) {
    for (const OrderId id : of_key->second) {
      const Order& other = orders_.at(id).order;
      if (!rivals.same_key && shares_key(other, order)) rivals.same_key = other;
    }
  }
  const KnownVoucher& voucher = vouchers_.at(order.voucher);
  rivals.taken_of_voucher = voucher.taken;
  rivals.stock = voucher.stock;
  return rivals;
}

absl::StatusOr<std::int64_t> Batch::read_refunding(Transaction& transaction, VoucherId voucher) {
  std::optional<std::int64_t>& refunding = vouchers_.at(voucher).refunding;
  if (!refunding) {
    ASSIGN_OR_RETURN(const Rows rows,
                     transaction.run({concat("SELECT ", database_.to_integer("sum(quantity)"),
                                             " FROM orders WHERE voucher_id = ?1 AND status = ",
                                             static_cast<int>(OrderStatus::kRefunding)),
                                      {voucher}}));
    refunding = rows.front().integer(0);
  }
  const auto delta = deltas_.find(voucher);
  return *refunding + (delta == deltas_.end() ? 0 : delta->second.refunding);
}

OrderResult Batch::change(const OrderEvent& event) {
  EventDecision decision = check_event(event, context_of(event));
  if (decision.result.kind != OrderResult::Kind::kStored) return decision.result;
  if (decision.payment) put(*decision.payment);
  if (decision.are_payments_due) make_payments_due(event.order.id, event.reason);
  if (decision.status) set_status(orders_.at(event.order.id), *decision.status, event);
  return std::move(decision.result);
}

EventContext Batch::context_of(const OrderEvent& event) const {
  EventContext context;
  if (is_of_payment(event.kind)) {
    const auto payment = payments_.find(event.payment.id);
    if (payment != payments_.end()) context.payment = payment->second.payment;
  }
  const auto known = orders_.find(event.order.id);
  if (known == orders_.end() || event.kind == Kind::kPaymentRefunded) return context;
  // Of an archived order, only a late payment is recorded. A keyspace that was rolled back repeats
  // older events.
  const bool may_change = known->second.is_archived
                              ? is_of_keyspace(event.kind)
                              : !of_archived_vouchers_.contains(event.order.id);
  if (may_change) context.order = known->second.order;
  return context;
}

void Batch::put(const Payment& payment) {
  KnownPayment& known = payments_[payment.id];
  assert(!known.is_archived);
  known.payment = payment;
  known.is_changed = true;
}

void Batch::make_payments_due(OrderId order, const std::string& reason) {
  for (auto& [id, known] : payments_) {
    if (known.payment.order != order || known.payment.state != Payment::State::kKept) continue;
    Payment due = known.payment;
    due.state = Payment::State::kDue;
    due.reason = reason;
    put(due);
  }
}

void Batch::set_status(KnownOrder& known, OrderStatus status, const OrderEvent& event) {
  assert(!known.is_archived);
  count(known.order, -1);
  record(change_status(known.order, status, event));
  count(known.order, 1);
  known.is_changed = true;
}

void Batch::count(const Order& order, std::int64_t sign) {
  Delta& delta = deltas_[order.voucher];
  delta.taken += sign * pieces_taken(order);
  if (order.status == OrderStatus::kRefunding) delta.refunding += sign * order.quantity;
  if (is_live(order)) of_user_[{order.user, order.voucher}].live += sign * order.quantity;
  if (const auto voucher = vouchers_.find(order.voucher); voucher != vouchers_.end()) {
    voucher->second.taken += sign * pieces_taken(order);
  }
}

void Batch::record(OrderChange change) {
  assert(!has_only_lane_);
  change.position = last_change_ + static_cast<std::int64_t>(changes_.size()) + 1;
  changes_.push_back(std::move(change));
}

// ---- Writing ----------------------------------------------------------------------------------

absl::Status Batch::write(Transaction& transaction) {
  std::vector<Statement> statements = added_;
  write_orders(statements);
  write_payments(statements);
  write_changes(statements);
  write_counts(statements);
  write_state(statements);
  return transaction.commit(statements);
}

void Batch::write_orders(std::vector<Statement>& statements) const {
  std::vector<const Order*> added;
  std::vector<const Order*> changed;
  for (const auto& [id, known] : orders_) {
    if (!known.is_stored) {
      added.push_back(&known.order);
    } else if (known.is_changed) {
      changed.push_back(&known.order);
    }
  }
  const std::string insert = insert_into("orders", order_columns());
  if (!added.empty()) statements.push_back({insert, {}, {to_table(added)}});
  if (!changed.empty()) {
    statements.push_back(
        {concat(insert, database_.or_update("id"), " status = ", database_.inserted("status"),
                ", keeps = ", database_.inserted("keeps")),
         {},
         {to_table(changed)}});
  }
}

/// A payment of an archived order was left to be refunded. Then it follows its order.
void Batch::write_payments(std::vector<Statement>& statements) const {
  std::vector<const Payment*> changed;
  std::vector<const Payment*> archived;
  Texts archived_ids;
  for (const auto& [id, known] : payments_) {
    if (!known.is_changed) continue;
    const auto order = orders_.find(known.payment.order);
    const bool is_of_archived_order =
        of_archived_orders_.contains(id) || (order != orders_.end() && order->second.is_archived);
    const bool is_over = known.payment.state == Payment::State::kRefunded && is_of_archived_order;
    (is_over ? archived : changed).push_back(&known.payment);
    if (is_over) archived_ids.push_back(id);
  }
  if (!changed.empty()) {
    statements.push_back(
        {concat(insert_into("payments", payment_columns()), database_.or_update("id"),
                " state = ", database_.inserted("state"), ", refunded_at_ms = ",
                database_.inserted("refunded_at_ms"), ", reason = ", database_.inserted("reason")),
         {},
         {to_table(changed)}});
  }
  if (archived.empty()) return;
  statements.push_back(
      {insert_into("archived_payments", payment_columns()), {}, {to_table(archived)}});
  statements.push_back(
      {concat(database_.delete_by_index("payments", kById, "@1"), " payments.id = wanted"),
       {},
       {wanted(std::move(archived_ids))}});
}

void Batch::write_changes(std::vector<Statement>& statements) const {
  if (changes_.empty()) return;
  statements.push_back({insert_into("order_changes", change_columns()), {}, {to_table(changes_)}});
}

void Batch::write_counts(std::vector<Statement>& statements) const {
  Integers vouchers;
  Integers added;
  for (const auto& [voucher, delta] : deltas_) {
    if (delta.taken == 0) continue;
    vouchers.push_back(voucher);
    added.push_back(delta.taken);
  }
  if (vouchers.empty()) return;
  statements.push_back(
      {concat(insert_into("live_orders", "voucher_id, live"), database_.or_update("voucher_id"),
              " live = live_orders.live + ", database_.inserted("live")),
       {},
       {{{"voucher_id", std::move(vouchers)}, {"live", std::move(added)}}}});
}

void Batch::write_state(std::vector<Statement>& statements) const {
  DatabaseState state = state_;
  state.record(fence_);
  const std::int64_t last_change = last_change_ + static_cast<std::int64_t>(changes_.size());
  if (fence_.lane == 0) {
    statements.push_back(
        {"UPDATE database_state SET checkpoint = ?1, revision = ?2, last_change = ?3 WHERE "
         "only_row = 1",
         {state.checkpoint, state.revision, last_change}});
    return;
  }
  if (!has_only_lane_) {
    statements.push_back(
        {"UPDATE database_state SET last_change = ?1 WHERE only_row = 1", {last_change}});
  }
  statements.push_back({"UPDATE lane_states SET checkpoint = ?1, revision = ?2 WHERE lane = ?3",
                        {state.checkpoint, state.revision, std::int64_t{fence_.lane}}});
}

}  // namespace rushgate::sql
