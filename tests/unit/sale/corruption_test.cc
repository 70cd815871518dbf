// Corrupts every column of the order database and every kind of key by hand, at random. The audit fails
// and names it, or a table here says why nothing depends on it. The columns are those of the schema, the
// keys and fields those of a sale: a new one without a line in the tables has to be detected.
//
// docs/audit.md has the claims of the audit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/numbers.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/scripts/held_orders.h"
#include "tests/support/random.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// A corruption that the audit need not find.
struct Harmless {
  std::string_view what;  // a column or table of the database; a kind of key, and a field
  std::string_view
      condition;  // in SQL, about the row before, with ?1 for the new value; "": always
  std::string_view why;
};

constexpr std::string_view kCopy = "a copy for people: no rule reads it";
constexpr std::string_view kFormer =
    "a former version: its orders and the one in force are compared";
constexpr std::string_view kUncounted = "an ended order that counts against no limit";
constexpr std::string_view kEnded = "an ended sale: no rule reads it";

// In the database. "<table>" stands for a deleted row.
constexpr Harmless kColumns[] = {
    {"archived_changes.actor", "", kCopy},
    {"archived_changes.at_ms", "", kCopy},
    {"archived_changes.reason", "", kCopy},
    {"archived_orders.admitted_at_ms", "entry_ms = 0", kEnded},
    {"archived_orders.created_at_ms", "", kCopy},
    {"archived_orders.due_at_ms", "(?1 > 0) = (due_at_ms > 0)", kEnded},
    {"archived_orders.entry_seq", "", kEnded},
    {"archived_orders.id", "id NOT IN (SELECT order_id FROM archived_changes)", kEnded},
    {"archived_orders.idempotency_key", "", kEnded},
    {"archived_orders.keeps", "status > 5 OR (?1 & 3) = (keeps & 3)", kEnded},
    {"archived_orders.key_expires_at_ms", "", kEnded},
    {"archived_orders.price_cents", "", kEnded},
    {"archived_orders.quantity", "?1 BETWEEN 1 AND 10000", kEnded},
    {"archived_orders.reference", "", kCopy},
    {"archived_orders.user_id", "", kEnded},
    {"archived_orders.user_limit", "?1 >= 0", kEnded},
    {"archived_orders.voucher_version", "", kEnded},
    {"archived_payments.id", "", kEnded},
    {"archived_payments.order_id", "?1 IN (SELECT id FROM archived_orders)", kEnded},
    {"archived_payments.reason", "", kEnded},
    {"archived_payments.received_at_ms", "", kEnded},
    {"archived_payments.refunded_at_ms", "", kEnded},
    {"archived_payments.state", "", kEnded},
    {"archived_versions.begin_ms", "", kEnded},
    {"archived_versions.end_ms", "", kEnded},
    {"archived_versions.lanes", "", kEnded},
    {"archived_versions.limit_per_user", "", kEnded},
    {"archived_versions.limit_per_user_day", "", kEnded},
    {"archived_versions.limit_total", "", kEnded},
    {"archived_versions.needs_token", "", kEnded},
    {"archived_versions.payment_ms", "", kEnded},
    {"archived_versions.price_cents", "", kEnded},
    {"archived_versions.reason", "", kEnded},
    {"archived_versions.restock", "", kEnded},
    {"archived_versions.restore_allowance", "", kEnded},
    {"archived_versions.state", "", kEnded},
    {"archived_versions.stock", "", kEnded},
    {"archived_versions.title", "", kCopy},
    {"archived_versions.utc_offset_minutes", "", kEnded},
    {"archived_versions.version", "", kEnded},
    {"archived_versions.waiting_max", "", kEnded},
    {"archived_versions", "", kEnded},
    {"archived_vouchers.archived_at_ms", "", kCopy},
    {"archived_vouchers.deleted", "", "only allows gaps in the positions of changes"},
    {"database_state.checkpoint", "?1 < checkpoint",
     "the next batch raises it; until then fewer losses of a keyspace are noticed"},
    {"database_state.epoch", "", "only compared: with a rebuild's, and with that of the same call"},
    {"database_state.revision", "?1 > revision", "the next batch is above it"},
    {"database_state.only", "", "the schema allows no other value"},
    {"payment_totals.only", "", "the schema allows no other value"},
    {"order_changes.actor", "", kCopy},
    {"order_changes.at_ms", "to_status <> 3", kCopy},
    {"order_changes.reason",
     "to_status NOT IN (3, 5) OR order_id NOT IN (SELECT order_id FROM payments) OR ?1 = ''",
     kCopy},
    {"orders.created_at_ms", "", kCopy},
    {"orders.due_at_ms", "status <> 2 AND ?1 > 0 AND ?1 <= due_at_ms",
     "a deadline counts until the order is paid"},
    {"orders.entry_seq", "", "tells apart orders of the same ms, which are compared by their ids"},
    {"orders.id", "due_at_ms = 0 AND id NOT IN (SELECT order_id FROM order_changes)",
     "nothing but its buyer's copy names an order without payment and history"},
    {"orders.idempotency_key", "key_expires_at_ms = 0", "a key that has expired"},
    {"orders.keeps", "(?1 & 3) = (keeps & 3)", "two bits are read"},
    {"orders.key_expires_at_ms", "", "ends a key earlier or later in the next rebuild"},
    {"orders.price_cents", "due_at_ms = 0 AND ?1 = 0", "as of a version that had no price"},
    {"orders.quantity", "status = 6 AND keeps = 0 AND ?1 BETWEEN 1 AND 10000", kUncounted},
    {"orders.reference", "", "the caller's own"},
    {"orders.user_id", "status > 5 AND (keeps & 2) = 0", kUncounted},
    {"orders.user_limit", "voucher_version = 0 AND ?1 >= 1", "of another producer"},
    {"orders.voucher_id",
     "status > 5 AND keeps = 0 AND ?1 IN (SELECT voucher_id FROM archived_vouchers)",
     "a warning, as after an interrupted archiving"},
    {"orders.voucher_version", "due_at_ms = 0 AND ?1 = 0", "as of another producer's order"},
    {"payments.id", "state = 2 AND reason NOT LIKE 'refund%'",
     "the event of a surplus payment is gone: the provider's list is the only other copy"},
    {"payments.order_id",
     "state = 2 AND reason NOT LIKE 'refund%' AND ?1 IN (SELECT id FROM orders)", "as its id"},
    {"payments.received_at_ms", "state = 2 AND reason NOT LIKE 'refund%'", kCopy},
    {"payments.refunded_at_ms", "state = 3 AND ?1 > 0", kCopy},
    {"payments.reason", "state = 2 AND reason NOT LIKE 'refund%'", kCopy},
    {"payments.state", "state = 2 AND reason NOT LIKE 'refund%' AND ?1 = 3 AND refunded_at_ms > 0",
     "as its id"},
    {"reserved_ids.day", "", "a used counter would give an id that the database refuses twice"},
    {"reserved_ids.reserved", "", "as its day"},
    {"reserved_ids", "", "as its day"},
    {"voucher_versions.begin_ms",
     "version < (SELECT max(version) FROM voucher_versions AS v WHERE "
     "v.voucher_id = voucher_versions.voucher_id)",
     kFormer},
    {"voucher_versions.end_ms", "version < 2", kFormer},
    {"voucher_versions.lanes", "version < 2", kFormer},
    {"voucher_versions.limit_per_user_day", "version < 2", kFormer},
    {"voucher_versions.limit_total", "version < 2", kFormer},
    {"voucher_versions.needs_token", "version < 2 OR (?1 <> 0) = (needs_token <> 0)", kFormer},
    {"voucher_versions.payment_ms", "version < 2 AND ?1 > payment_ms", kFormer},
    {"voucher_versions.price_cents", "voucher_id <> 1 AND ?1 = 0", kFormer},
    {"voucher_versions.reason", "", kCopy},
    {"voucher_versions.restock", "version < 2 OR (?1 <> 0) = (restock <> 0)", kFormer},
    {"voucher_versions.restore_allowance", "version < 2 OR (?1 <> 0) = (restore_allowance <> 0)",
     kFormer},
    {"voucher_versions.state",
     "?1 = 0 OR (?1 = 2 AND version < (SELECT max(version) FROM voucher_versions AS v WHERE "
     "v.voucher_id = voucher_versions.voucher_id))",
     "a publication that the next opening finishes, or a version of a lost keyspace"},
    {"voucher_versions.stock", "version < 2", kFormer},
    {"voucher_versions.title", "", kCopy},
    {"voucher_versions.utc_offset_minutes", "version < 2", kFormer},
    {"voucher_versions.waiting_max", "version < 2", kFormer},
};

/// A corruption of a key that the audit need not find, or only of some fields.
struct HarmlessKey {
  std::string_view what;  // "<kind>[.<field>] <changed, removed or added>"
  std::string_view why;
};

constexpr std::string_view kLeft = "one too many: it is looked up, and found to be nothing";

constexpr std::string_view kLease = "a lease, which its process renews";
constexpr std::string_view kBehind = "read if the database loses what it has recorded";
constexpr std::string_view kGivenUp = "a letter that was given up: only its user and voucher count";

constexpr HarmlessKey kKeys[] = {
    {"deadlines added", kLeft},
    {"held.closed: added", "named if its voucher is there"},
    {"icr:order changed", "a counter that is too low begins above the reserved ones"},
    {"icr:order removed", "as a changed one"},
    {"order.* added", kLeft},
    {"payments:stored entry removed", "a note of what to forget"},
    {"payments:stored removed", "a note of what to forget"},
    {"payments:stored.ids changed", "a note of what to forget"},
    {"refunds.* changed", "read until the refund is stored"},
    {"refunds.* removed", "read until the refund is stored"},
    {"refunds removed", "read until the refund is stored"},
    {"stream.orders.actor changed", kCopy},
    {"stream.orders.reason changed", kCopy},
    {"stream.orders.reference changed", "the caller's own"},
    {"stream.orders.database.checkpoint changed", "a higher one is the next that is drawn"},
    {"stream.orders.database.instance changed", kLease},
    {"stream.orders.database.instance removed", kLease},
    {"stream.orders.database.instance_name changed", kLease},
    {"stream.orders.database.instance_name removed", kLease},
    {"stream.orders.database.instance_place changed", kLease},
    {"stream.orders.database.instance_place removed", kLease},
    {"stream.orders.database.instance_until changed", kLease},
    {"stream.orders.database.instance_until removed", kLease},
    {"stream.orders.database.recorded removed", kBehind},
    {"stream.orders.database.epoch changed", kBehind},
    {"stream.orders.database.epoch removed", kBehind},
    {"stream.orders.database.marks changed", kBehind},
    {"stream.orders.database.marks removed", kBehind},
    {"stream.orders.database.retain_ms changed", kBehind},
    {"stream.orders.database.retain_ms removed", kBehind},
    {"stream.orders.versions.* changed", kBehind},
    {"stream.orders.versions entry removed", kBehind},
    {"stream.orders.versions removed", kBehind},
    {"stream.orders.dead.reason changed", kCopy},
    {"stream.orders.dead.entry changed", "the time of its admission, checked by the window alone"},
    {"stream.orders.dead.reference changed", "the caller's own"},
    {"stream.orders.dead.orders.* changed", "looked up, and found to be wrong"},
    {"stream.orders.dead.orders.* removed", "of a discarded letter: only its reason is read"},
    {"stream.orders.dead.orders.dead_to changed", "letters above it are indexed again"},
    {"stream.orders.dead.orders.dead_to removed", "letters are indexed again"},
    {"stream.orders.dead.orders.discarded_to changed", "letters above it are indexed again"},
    {"stream.orders.dead.orders.discarded_to removed", "letters are indexed again"},
    {"stream.orders.dead.orders removed", "letters are indexed again"},
    {"stream.orders.discarded.dead changed", kGivenUp},
    {"stream.orders.discarded.entry changed", kGivenUp},
    {"stream.orders.discarded.id changed", kGivenUp},
    {"stream.orders.discarded.limit changed", kGivenUp},
    {"stream.orders.discarded.price changed", kGivenUp},
    {"stream.orders.discarded.reason changed", kGivenUp},
    {"stream.orders.discarded.version changed", kGivenUp},
    {"stream.orders.discarded.why changed", kGivenUp},
    {"voucher.epoch changed", "compared with the database's, which only grows"},
    {"voucher.epoch removed", "as a lower one"},
    {"vouchers added", "a voucher that was never in force"},
    {"waiting changed", "the order of arrival is in no other place"},
    {"waiting-orders.* changed", "an id that nobody has used"},
};

class CorruptionTest : public PaidSaleTest {
 protected:
  static constexpr VoucherId kFree = 2;
  static constexpr VoucherId kOver = 3;
  static constexpr VoucherId kDead = 4;
  static constexpr VoucherId kKept = 5;

  /// Makes a sale with a row of every table, and a key of every kind.
  void SetUp() override {
    sell_and_archive();
    sell_with_payments();
    sell_freely();
    leave_unfinished();
    expect_audit_passes();
  }

  std::vector<std::string> audit_problems() {
    const auto report = sale_->audit();
    if (!report.ok()) return {std::string(report.status().message())};
    return report->problems;
  }
  /// Expects that the audit names a corruption.
  void expect_named(const std::string& corruption) {
    EXPECT_THAT(audit_problems(), ::testing::Not(::testing::IsEmpty()))
        << "not detected, and in no table: " << corruption;
  }

  const std::uint64_t seed_ = random_seed();
  testing::Random random_{seed_};

 private:
  void sell_and_archive() {
    Voucher over = paid_voucher(5);
    over.id = kOver;
    ASSERT_TRUE(sale_->publish(over).ok());
    over.stock = 6;
    ASSERT_TRUE(sale_->publish(over).ok());
    const OrderId paid = sale_->buy(kOver, 1).order;
    const OrderId cancelled = sale_->buy(kOver, 2).order;
    pay(paid, "over");
    sale_->cancel(cancelled, "no");
    drain();
    ASSERT_TRUE(sale_->close(kOver).ok());
    const absl::Status archived = sale_->archive(kOver);
    ASSERT_TRUE(archived.ok()) << archived;
    backend_.advance_ms(1);
  }

  void sell_with_payments() {
    Voucher paid = paid_voucher(9);
    paid.limits = {.total = 30, .per_user = 1};
    paid.waiting_max = 5;
    ASSERT_TRUE(sale_->publish(paid).ok());
    std::vector<OrderId> orders;
    for (std::int64_t user = 1; user <= 6; ++user) orders.push_back(bought(user));
    for (const std::size_t i : {0U, 1U, 3U, 4U}) pay(orders[i], concat("p", i));
    backend_.advance_ms(1);
    pay(orders[0], "surplus");
    sale_->cancel(orders[2], "no");
    drain();
    sale_->use(orders[1]);
    sale_->refund(orders[3], "refund asked for");
    sale_->refund(orders[4], "refund asked for");
    sale_->confirm_refund("p4");
    paid.price_cents = kPrice + 50;
    ASSERT_TRUE(sale_->publish(paid).ok());
    backend_.advance_ms(1);
    Voucher kept = paid_voucher(9);
    kept.id = kKept;
    kept.limits.per_user = 3;
    kept.restore_allowance = false;
    ASSERT_TRUE(sale_->publish(kept).ok());
    const OrderId ended = sale_->buy({.voucher = kKept, .user = 1, .quantity = 2}).order;
    for (const std::int64_t user : {2, 3}) {
      EXPECT_EQ(sale_->buy(kKept, user, concat(user)).outcome, Outcome::kAccepted);
    }
    sale_->cancel(ended, "no");
    drain();
  }

  void sell_freely() {
    ASSERT_TRUE(sale_->publish(voucher(kFree, 9, {.per_user = 3, .per_user_day = 2})).ok());
    for (std::int64_t user = 1; user <= 3; ++user) {
      EXPECT_EQ(sale_->buy({.voucher = kFree, .user = user, .reference = "cart"}).outcome,
                Outcome::kAccepted);
    }
    ASSERT_TRUE(sale_->publish(voucher(kDead, 9)).ok());
    for (std::int64_t user = 90; user <= 92; ++user)
      EXPECT_EQ(buy(kDead, user), Outcome::kAccepted);
    backend_.orders().poison([](const Order& order) { return order.user.number() >= 90; },
                             faults::FaultyOrderStore::Poison::kIsRefused);
    drain();
    backend_.orders().poison(nullptr);
    const auto letters = sale_->dead_letters();
    ASSERT_TRUE(letters.ok() && letters->size() == 3U);
    ASSERT_TRUE(*sale_->discard_dead_letter(letters->front().id, "a test"));
  }

  /// Leaves entries in the stream, and users on the waiting list.
  void leave_unfinished() {
    const std::int64_t price = kPrice + 50;
    const OrderId paid = bought(11);
    pay(paid, "p11", price);
    drain();
    backend_.advance_ms(1);
    const OrderId cancelled = bought(12);
    const OrderId queued = bought(13);
    bought(14);
    sale_->cancel(cancelled, "no");
    pay(queued, "p13", price);
    EXPECT_EQ(pay(queued, "surplus-13", price).outcome, ChangeOutcome::kTooLate);
    EXPECT_EQ(sale_->buy({.voucher = kFree, .user = 4, .reference = "cart"}).outcome,
              Outcome::kAccepted);
    for (std::int64_t user = 21; sale_->buy(1, user).outcome == Outcome::kAccepted; ++user) {
    }
    for (const std::int64_t user : {31, 32}) {
      EXPECT_EQ(sale_->wait_for(1, user).outcome, WaitOutcome::kWaiting);
    }
    backend_.advance_ms(1);
  }
};

// ---- The order database ----

class DatabaseCorruptionTest : public CorruptionTest {
 protected:
  /// A row, by its primary key.
  struct Row {
    std::string table;
    std::string key = {};     // a condition in SQL
    std::string values = {};  // in SQL, of all columns
  };

  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> found;
    SQLite::Statement rows(raw_, sql);
    while (rows.executeStep()) found.push_back(rows.getColumn(0).getString());
    return found;
  }
  /// A sale with one lane leaves the tables of the others empty.
  std::vector<std::string> tables() {
    return texts(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND name NOT IN ('lane_states', 'lane_reserved_ids', 'voucher_lanes', "
        "'moved_pieces') ORDER BY name");
  }
  std::vector<std::string> columns(const std::string& table) {
    return texts(concat("SELECT name FROM pragma_table_info('", table, "')"));
  }

  Row pick_row(const std::string& table) {
    const auto count = std::stoll(texts(concat("SELECT count(*) FROM ", table)).front());
    EXPECT_GT(count, 0) << table << " has no row to corrupt";
    if (count == 0) return {};
    const auto at = random_.between(0, count - 1);
    std::string values;
    for (const std::string& column : columns(table)) {
      values += concat(values.empty() ? "" : " || ', ' || ", "quote(", column, ")");
    }
    std::string key;
    for (const std::string& column :
         texts(concat("SELECT name FROM pragma_table_info('", table, "') WHERE pk > 0"))) {
      key +=
          concat(key.empty() ? "" : " || ' AND ' || ", "'", column, " = ' || quote(", column, ")");
    }
    // One statement: others may read the rows in another order.
    SQLite::Statement row(
        raw_, concat("SELECT ", key, ", ", values, " FROM ", table, " LIMIT 1 OFFSET ", at));
    row.executeStep();
    return {.table = table,
            .key = row.getColumn(0).getString(),
            .values = row.getColumn(1).getString()};
  }

  /// Returns another value for a column of the type, in SQL.
  std::string another(const std::string& value) {
    if (value.starts_with('\'')) {
      return random_.chance(20) ? "''" : concat(value.substr(0, value.size() - 1), "x'");
    }
    const std::int64_t number = std::stoll(value);
    const std::int64_t others[] = {number + 1, number - 1, -number, 0, number + 1'000'000, 3};
    return concat(random_.pick(others));
  }

  bool is_harmless(const std::string& what, const Row& row, const std::string& value) {
    const auto line = std::ranges::find(kColumns, what, &Harmless::what);
    if (line == std::end(kColumns)) return false;
    if (line->condition.empty()) return true;
    std::string condition(line->condition);
    for (auto at = condition.find("?1"); at != condition.npos; at = condition.find("?1")) {
      condition.replace(at, 2, value);
    }
    return !texts(concat("SELECT 1 FROM ", row.table, " WHERE ", row.key, " AND (", condition, ")"))
                .empty();
  }

  /// Changes a row, and returns false if the schema refuses that.
  bool replace(const std::string& change) {
    try {
      raw_.exec(change);
      return true;
    } catch (const SQLite::Exception&) {
      return false;
    }
  }
  void restore(const Row& row, const std::string& new_key) {
    raw_.exec(concat("DELETE FROM ", row.table, " WHERE ", new_key));
    raw_.exec(concat("INSERT INTO ", row.table, " VALUES (", row.values, ")"));
  }

  /// Corrupts a column of a random row that is not harmless; tries several rows and values.
  void corrupt(const std::string& table, const std::string& column) {
    const std::string what = concat(table, ".", column);
    constexpr int kTries = 40;
    for (int i = 0; i < kTries; ++i) {
      const Row row = pick_row(table);
      const std::string before =
          texts(concat("SELECT quote(", column, ") FROM ", table, " WHERE ", row.key)).front();
      const std::string after = another(before);
      if (after == before || is_harmless(what, row, after)) continue;
      const std::string is_key = concat(" AND ", column, " = ", before, " AND ");
      if (!replace(concat("UPDATE ", table, " SET ", column, " = ", after, " WHERE ", row.key))) {
        continue;
      }
      std::string new_key = concat(" AND ", row.key, " AND ");
      if (const auto at = new_key.find(is_key); at != new_key.npos) {
        new_key.replace(at, is_key.size(), concat(" AND ", column, " = ", after, " AND "));
      }
      new_key = concat("1", new_key, "1");
      expect_named(concat(what, " from ", before, " to ", after, " in ", row.values));
      restore(row, new_key);
      return;
    }
  }

  void remove_row(const std::string& table) {
    constexpr int kTries = 20;
    for (int i = 0; i < kTries; ++i) {
      const Row row = pick_row(table);
      if (is_harmless(table, row, "0")) continue;
      raw_.exec(concat("DELETE FROM ", table, " WHERE ", row.key));
      expect_named(concat("a deleted row of ", table, ": ", row.values));
      raw_.exec(concat("INSERT INTO ", table, " VALUES (", row.values, ")"));
      return;
    }
  }

  SQLite::Database raw_ = [this] {
    SQLite::Database raw(backend_.orders_file().string(), SQLite::OPEN_READWRITE);
    raw.exec("PRAGMA synchronous = OFF");
    return raw;
  }();
};
/// One keyspace is enough: the other test has all of them.
INSTANTIATE_TEST_SUITE_P(Backends, DatabaseCorruptionTest,
                         ::testing::ValuesIn(sale_backends(TestTime::kManual,
                                                           [](const SaleBackendKind& kind) {
                                                             return kind.keeps_orders_in_file &&
                                                                    !kind.is_server;
                                                           })),
                         backend_name);

TEST_P(DatabaseCorruptionTest, EveryColumnIsNamedOrHarmless) {
  SCOPED_TRACE(seed_text(seed_));
  for (const std::string& table : tables()) {
    for (const std::string& column : columns(table)) corrupt(table, column);
    remove_row(table);
  }
  expect_audit_passes();
}

TEST_P(DatabaseCorruptionTest, NegativeDeadlineIsNamed) {
  for (const std::string_view of_order : {"due_at_ms = 0", "due_at_ms > 0"}) {
    const std::string order = texts(concat("SELECT MIN(id) FROM orders WHERE ", of_order)).front();
    const std::string before =
        texts(concat("SELECT due_at_ms FROM orders WHERE id = ", order)).front();
    raw_.exec(concat("UPDATE orders SET due_at_ms = -1 WHERE id = ", order));
    expect_named(concat("a deadline of -1, of an order where ", of_order));
    raw_.exec(concat("UPDATE orders SET due_at_ms = ", before, " WHERE id = ", order));
    expect_audit_passes();
  }
}

TEST_P(DatabaseCorruptionTest, EveryIndexIsNamed) {
  const auto indexes =
      texts("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL");
  ASSERT_FALSE(indexes.empty());
  for (const std::string& index : indexes) {
    const std::string sql =
        texts(concat("SELECT sql FROM sqlite_schema WHERE name = '", index, "'")).front();
    raw_.exec(concat("DROP INDEX ", index));
    expect_named(concat("a dropped index: ", index));
    raw_.exec(sql);
  }
  expect_audit_passes();
}

TEST_P(DatabaseCorruptionTest, TableOfHarmlessColumnsIsCurrent) {
  std::set<std::string> known;
  for (const std::string& table : tables()) {
    known.insert(table);
    for (const std::string& column : columns(table)) known.insert(concat(table, ".", column));
  }
  for (const Harmless& line : kColumns) {
    EXPECT_TRUE(known.contains(std::string(line.what))) << line.what;
    EXPECT_FALSE(line.why.empty());
  }
}

// ---- The keyspace ----

class KeyCorruptionTest : public CorruptionTest {
 protected:
  Reply call(const std::vector<std::string>& words) {
    Request request = Request::of(words.front());
    for (std::size_t i = 1; i < words.size(); ++i) request.add(words[i]);
    return backend_.client().call(std::move(request));
  }
  std::vector<std::string> list(const std::vector<std::string>& words) {
    std::vector<std::string> found;
    const Reply reply = call(words);
    for (const Reply& element : reply.elements()) found.emplace_back(element.text());
    return found;
  }

  /// Returns the name of a key without prefix, voucher and day.
  static std::string kind_of(const std::string& key) {
    std::string kind = key.starts_with("seckill:") ? key.substr(8) : key;
    const auto colon = kind.rfind(':');
    const bool is_numbered = colon != kind.npos && parse_int64(kind.substr(colon + 1)).has_value();
    return is_numbered ? kind.substr(0, colon) : kind;
  }
  /// Returns true if the fields of such a hash are names of its own, not users or orders.
  static bool has_named_fields(const std::string& kind) {
    return kind == "voucher" || kind == "stream.orders.database";
  }

  std::string another(const std::string& value) {
    const auto number = parse_int64(value);
    return number ? concat(*number + (random_.chance(50) ? 1 : 999)) : value + 'x';
  }

  /// Returns true if a field is harmless for its present value: nothing reads it, or reads it so.
  bool is_irrelevant(const std::string& kind, const std::string& field, const std::string& before,
                     const std::string& after) {
    const bool is_removed = after.empty();
    if (kind == "payments") return is_removed && backend_.orders().find_payment(field)->has_value();
    if (kind == "held") {
      HeldBlock block;
      EXPECT_TRUE(block.read(before));
      const auto is_open = [](const std::string& hold) {
        return !hold.empty() && !EndedHold::read(1, hold);
      };
      return is_removed && std::ranges::none_of(block.holds, is_open);
    }
    if (kind != "voucher") return false;
    if (field == "counted") return (before == "1") == (after == "1");
    const bool is_flag = field == "restock" || field == "allowance";
    const bool is_free = before == "100";  // as voucher() says
    if (field == "price") return is_removed && is_free;
    return is_removed && before == (is_flag ? "1" : "0");
  }

  /// Applies a corruption, audits, and restores the key.
  void corrupt(const std::string& key, const std::string& what, const std::string& detail,
               const std::function<void()>& change) {
    met_.insert(what);
    const bool is_harmless = std::ranges::find(kKeys, what, &HarmlessKey::what) != std::end(kKeys);
    if (is_harmless) return;
    const Reply dump = call({"DUMP", key});
    ASSERT_FALSE(dump.is_error()) << dump.text();
    change();
    expect_named(concat(what, " (", key, " ", detail, ")"));
    const Reply restored = call({"RESTORE", key, "0", std::string(dump.text()), "REPLACE"});
    ASSERT_EQ(restored, Reply::ok()) << key << ": " << restored.text();
  }

  void corrupt_hash(const std::string& key, const std::string& kind) {
    auto fields = list({"HKEYS", key});
    const bool is_named = has_named_fields(kind);
    if (!is_named) {
      random_.shuffle(fields);
      fields.resize(std::min<std::size_t>(fields.size(), 2));
    }
    for (const std::string& field : fields) {
      const bool is_mark = field.ends_with("_to");
      const std::string name = concat(kind, ".", is_named || is_mark ? field : "*");
      const std::string value(call({"HGET", key, field}).text());
      const std::string other = another(value);
      if (!is_irrelevant(kind, field, value, other)) {
        corrupt(key, name + " changed", field, [&] { call({"HSET", key, field, other}); });
      }
      if (!is_irrelevant(kind, field, value, "")) {
        corrupt(key, name + " removed", field, [&] { call({"HDEL", key, field}); });
      }
    }
  }

  void corrupt_set(const std::string& key, const std::string& kind) {
    const std::string member = random_.pick(list({"SMEMBERS", key}));
    corrupt(key, kind + " member removed", member, [&] { call({"SREM", key, member}); });
    corrupt(key, kind + " added", "777777", [&] { call({"SADD", key, "777777"}); });
  }

  /// Returns true if a deadline has an order that is held.
  bool is_open(std::string_view deadline) {
    bool is_held = false;
    while (!deadline.empty()) {
      const DeadlineBlock block = DeadlineBlock::take(deadline);
      for (const char digit : block.digits) {
        const auto order = parse_int64(concat(block.name, std::string(1, digit)));
        is_held = is_held || is_order_held(backend_.client(), order.value_or(0));
      }
    }
    return is_held;
  }

  void corrupt_sorted_set(const std::string& key, const std::string& kind) {
    auto members = list({"ZRANGE", key, "0", "-1"});
    // A deadline whose orders have all ended is removed when it is due.
    if (kind == "deadlines") std::erase_if(members, [&](auto& member) { return !is_open(member); });
    const std::string member = random_.pick(members);
    const std::string added = kind == "deadlines" ? "777:7" : "777777";
    corrupt(key, kind + " member removed", member, [&] { call({"ZREM", key, member}); });
    corrupt(key, kind + " changed", member, [&] { call({"ZINCRBY", key, "3600000", member}); });
    corrupt(key, kind + " added", added, [&] { call({"ZADD", key, "1", added}); });
  }

  /// Returns the last entry that the group was given; empty if there is no group.
  std::string last_delivered(const std::string& key) {
    const Reply groups = call({"XINFO", "GROUPS", key});
    for (const Reply& group : groups.elements()) {
      const auto& parts = group.elements();
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        if (parts[i].text() == "last-delivered-id") return parts[i + 1].text();
      }
    }
    return {};
  }

  /// Rewrites a stream with a changed entry, and the group that has read it.
  void rewrite(const std::string& key, const std::vector<OrderEntry>& entries) {
    const std::string delivered = last_delivered(key);
    call({"DEL", key});
    for (const OrderEntry& entry : entries) {
      std::vector<std::string> words = {"XADD", key, entry.id};
      for (const auto& [name, value] : entry.fields) {
        words.push_back(name);
        words.push_back(value);
      }
      const Reply added = call(words);
      ASSERT_FALSE(added.is_error()) << added.text();
    }
    if (!delivered.empty()) call({"XGROUP", "CREATE", key, "g1", delivered});
  }

  void corrupt_stream(const std::string& key, const std::string& kind) {
    std::vector<OrderEntry> entries;
    std::set<std::string> names;
    const Reply read = call({"XRANGE", key, "-", "+"});
    // The entries that were delivered are acknowledged: the database has them.
    const StreamId delivered = StreamId::parse(last_delivered(key)).value_or(StreamId::min());
    std::vector<std::string> unread;
    for (const Reply& element : read.elements()) {
      entries.push_back(*read_entry(element));
      if (*StreamId::parse(entries.back().id) <= delivered) continue;
      unread.push_back(entries.back().id);
      for (const auto& [name, value] : entries.back().fields) names.insert(name);
    }
    for (const std::string& name : names) {
      std::vector<std::size_t> with_field;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const bool is_unread = *StreamId::parse(entries[i].id) > delivered;
        // Nothing but its buyer's copy names an order without payment and key.
        const bool is_named_once =
            name == "id" && !entries[i].field("due") && !is_event(entries[i]);
        if (is_unread && !is_named_once && entries[i].field(name)) with_field.push_back(i);
      }
      if (with_field.empty()) continue;
      auto changed = entries;
      OrderEntry& entry = changed[random_.pick(with_field)];
      for (auto& [its_name, value] : entry.fields) {
        if (its_name == name) value = another(value);
      }
      const bool is_version = kind == "stream.orders.versions";
      corrupt(key, concat(kind, ".", is_version ? "*" : name, " changed"), entry.id,
              [&] { rewrite(key, changed); });
    }
    const std::string id = random_.pick(unread);
    corrupt(key, kind + " entry removed", id, [&] { call({"XDEL", key, id}); });
  }

  std::set<std::string> met_;
};
INSTANTIATE_TEST_SUITE_P(Backends, KeyCorruptionTest,
                         each_backend_that(&SaleBackendKind::keeps_orders_in_file), backend_name);

TEST_P(KeyCorruptionTest, EveryKeyIsNamedOrHarmless) {
  SCOPED_TRACE(seed_text(seed_));
  auto keys = list({"KEYS", "*"});
  std::ranges::sort(keys);
  ASSERT_GT(keys.size(), 20U);
  for (const std::string& key : keys) {
    const std::string kind = kind_of(key);
    const std::string type(call({"TYPE", key}).text());
    if (type == "hash") corrupt_hash(key, kind);
    if (type == "set") corrupt_set(key, kind);
    if (type == "zset") corrupt_sorted_set(key, kind);
    if (type == "stream") corrupt_stream(key, kind);
    if (type == "string") {
      const std::string value(call({"GET", key}).text());
      corrupt(key, kind + " changed", value, [&] { call({"SET", key, another(value)}); });
    }
    corrupt(key, kind + " removed", "", [&] { call({"DEL", key}); });
  }
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
