#include "storage/sqlite/payment_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "storage/sqlite/query.h"

namespace rushgate {
namespace {

const std::string kSelectPayments = concat("SELECT ", kPaymentColumns, " FROM payments");

// The numbers of states in SQL are those of Payment::State.
constexpr char kFind[] = " WHERE id = ?1";

std::optional<Payment> find_payment(SQLite::Statement& find, std::string_view id) {
  Query query(find, std::string(id));
  if (!query.next()) return std::nullopt;
  return to_payment(query);
}

// ---- Lists ------------------------------------------------------------------------------------

// The conditions of a list, as bits.
constexpr unsigned kByOrder = 1;
constexpr unsigned kByState = 2;
// In place of kByState: the due payments, which have an index.
constexpr unsigned kDue = 4;

// Parameters: ?1 after, ?2 count, ?3 order, ?4 state. A missing condition is replaced by one that
// always holds, so all lists are bound alike. The list of an order has its archived payments too.
std::string list_payments_sql(unsigned by) {
  const char* const index = by == kDue ? " INDEXED BY payments_due" : "";
  const std::string rest = concat((by & kByState) ? " AND state = ?4" : " AND ?4 IS NOT NULL",
                                  by == kDue ? " AND state = 2" : "");
  const std::string end = " ORDER BY id LIMIT ?2";
  if ((by & kByOrder) == 0) {
    return concat(kSelectPayments, index, " WHERE id > ?1 AND ?3 IS NOT NULL", rest, end);
  }
  const auto select = [&](const char* table) {
    return concat("SELECT ", kPaymentColumns, " FROM ", table, " INDEXED BY ", table,
                  "_by_order WHERE id > ?1 AND order_id = ?3", rest);
  };
  return concat(select("payments"), " UNION ALL ", select("archived_payments"), end);
}

unsigned conditions_of(const PaymentFilter& filter) {
  if (!filter.order && filter.state == Payment::State::kDue) return kDue;
  return (filter.order ? kByOrder : 0) | (filter.state ? kByState : 0);
}

}  // namespace

Payment to_payment(const Query& row) {
  return {.id = row.text(0),
          .order = row.integer(1),
          .amount_cents = row.integer(2),
          .state = static_cast<Payment::State>(row.integer(3)),
          .received_at_ms = row.integer(4),
          .refunded_at_ms = row.integer(5),
          .reason = row.text(6)};
}

void bind_payment(Query& query, const Payment& payment) {
  query.bind_all(payment.id, payment.order, payment.amount_cents,
                 static_cast<std::int64_t>(payment.state), payment.received_at_ms,
                 payment.refunded_at_ms, payment.reason);
}

PaymentReader::PaymentReader(const SQLite::Database& database)
    : database_(database), find_(database, concat(kSelectPayments, kFind)) {}

std::optional<Payment> PaymentReader::find(std::string_view id) { return find_payment(find_, id); }

std::vector<Payment> PaymentReader::list(const PaymentFilter& filter) {
  const unsigned by = conditions_of(filter);
  std::unique_ptr<SQLite::Statement>& statement = lists_[by];
  if (!statement) statement = std::make_unique<SQLite::Statement>(database_, list_payments_sql(by));

  const auto state = static_cast<std::int64_t>(filter.state.value_or(Payment::State{}));
  Query query(*statement, filter.after, to_limit(filter.count_max), filter.order.value_or(0),
              state);
  std::vector<Payment> payments;
  while (query.next()) payments.push_back(to_payment(query));
  return payments;
}

PaymentWriter::PaymentWriter(const SQLite::Database& database)
    : find_(database, concat(kSelectPayments, kFind)),
      put_(database, insert_row("payments", kPaymentColumns, "INSERT OR REPLACE")),
      make_due_(database,
                "UPDATE payments SET state = 2, reason = ?2 WHERE order_id = ?1 AND state = 1"),
      archive_(database, concat("INSERT INTO archived_payments (", kPaymentColumns, ") ",
                                kSelectPayments, kFind)),
      remove_(database, concat("DELETE FROM payments", kFind)),
      count_(database, "UPDATE payment_totals SET payments = payments + ?1, cents = cents + ?2") {}

std::optional<Payment> PaymentWriter::find(std::string_view id) { return find_payment(find_, id); }

void PaymentWriter::add(const Payment& payment) {
  put(payment);
  ++added_;
  added_cents_ += payment.amount_cents % kCountedCents;
}

void PaymentWriter::end_batch() {
  if (added_ > 0) Query(count_, added_, added_cents_).next();
}

void PaymentWriter::put(const Payment& payment) {
  Query query(put_);
  bind_payment(query, payment);
  query.next();
}

void PaymentWriter::archive(const std::string& id) {
  Query(archive_, id).next();
  Query(remove_, id).next();
}

void PaymentWriter::make_due(OrderId order, const std::string& reason) {
  Query(make_due_, order, reason).next();
}

}  // namespace rushgate
