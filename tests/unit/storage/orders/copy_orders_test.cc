// Copies of order databases, from each kind to each: complete, resumable at every point, and in use by one
// sale only.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.h"
#include "tests/support/sweep.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/archive_store.h>
#include <rushgate/copy_orders.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/random_seed.h>
#ifdef RUSHGATE_HAS_MYSQL
#include "tests/support/database_server/mariadb_server.h"
#include <rushgate/mysql_order_store.h>
#endif
#ifdef RUSHGATE_HAS_POSTGRES
#include "tests/support/database_server/postgresql_server.h"
#include <rushgate/postgresql_order_store.h>
#endif
#ifdef RUSHGATE_HAS_SQLITE
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::Random;
using EventKind = OrderEvent::Kind;

// ---- Databases --------------------------------------------------------------------------------

/// A place for a database, at first empty.
using OpenCopy = std::function<std::unique_ptr<OrderStore>()>;

/// Opens a database that keeps its place as long as it is open.
std::shared_ptr<OrderStore> opened(const OpenCopy& open) {
  return {open().release(), [open](OrderStore* store) { delete store; }};
}

OpenCopy place_in_file() {
  const auto directory = std::make_shared<TemporaryDirectory>();
  return [directory] { return SqliteOrderStore::open(directory->path() / "orders.db").value(); };
}
#ifdef RUSHGATE_HAS_POSTGRES
OpenCopy place_in_postgresql() {
  const std::string url = testing::PostgresqlServer::of_program().make_schema();
  return [url] { return open_postgresql_order_store(url).value(); };
}
#endif
#ifdef RUSHGATE_HAS_MYSQL
OpenCopy place_in_mariadb() {
  const std::string url = testing::MariadbServer::of_program().make_schema();
  return [url] { return open_mysql_order_store(url).value(); };
}
#endif

struct CopyCase {
  std::string name;
  OpenCopy (*from)();
  OpenCopy (*to)();

  friend void PrintTo(const CopyCase& copy, std::ostream* out) { *out << copy.name; }
};

std::vector<CopyCase> copy_cases() {
  return {
    {"SqliteToSqlite", place_in_file, place_in_file},
#ifdef RUSHGATE_HAS_POSTGRES
        {"SqliteToPostgresql", place_in_file, place_in_postgresql},
        {"PostgresqlToSqlite", place_in_postgresql, place_in_file},
#endif
#ifdef RUSHGATE_HAS_MYSQL
        {"SqliteToMariadb", place_in_file, place_in_mariadb},
#endif
#if defined(RUSHGATE_HAS_POSTGRES) && defined(RUSHGATE_HAS_MYSQL)
        {"MariadbToPostgresql", place_in_mariadb, place_in_postgresql},
#endif
  };
}

// ---- A sale -----------------------------------------------------------------------------------

/// Writes to a database what a sale would.
class CopiedSale {
 public:
  explicit CopiedSale(Random& random) : random_(random) {}

  static constexpr VoucherId kVouchers = 5;
  static constexpr std::int64_t kEndMs = 1'800'000'000'000;

  void publish(OrderStore& store) {
    for (VoucherId id = 1; id <= kVouchers; ++id) {
      const Voucher voucher{.id = id,
                            .title = std::string("caf\xc3\xa9 \0\xff", 8),
                            .stock = 1'000'000,
                            .end_ms = kEndMs,
                            .price_cents = 250,
                            .needs_token = id % 2 == 0,
                            .lanes = static_cast<std::int32_t>(1 + id % 3)};
      add_version(store, voucher, 1, VoucherVersion::State::kApplied);
    }
    add_version(store, {.id = 1, .stock = 7}, 2, VoucherVersion::State::kRefused);
    add_version(store, {.id = 9, .stock = 7}, 1, VoucherVersion::State::kPending);
    EXPECT_TRUE(store.reserve_ids(19'000, 0, 4'096).ok());
    divide(store);
  }

  /// Adds two lanes, of which the last one has a state, reserved ids and a voucher.
  static void divide(OrderStore& store) {
    LaneStore& lanes = *store.lanes();
    EXPECT_TRUE(lanes.add_lanes(3).ok());
    EXPECT_EQ(lanes.put_on_lane(10, 2).value(), 2);
    EXPECT_TRUE(lanes.reserve_ids_of(2, 19'000, 500, 64).ok());
    const DatabaseState state = lanes.fence_lane(2).value();
    const BatchFence fence = {
        .epoch = state.epoch, .checkpoint = 17, .session = state.session, .lane = 2};
    EXPECT_TRUE(store.write({}, fence).ok());
    EXPECT_TRUE(lanes.record_moved({.voucher = 10, .from = 2, .to = 1, .pieces = 4}, fence).ok());
  }

  /// Stores `count` orders, and changes some of all.
  void sell(OrderStore& store, int count) {
    std::vector<OrderEvent> events;
    for (int i = 0; i < count; ++i) add_order(events);
    for (int i = 0; i < count; ++i) add_change(events);
    const auto state = store.state().value();
    const auto applied = store.payments()->apply(
        events,
        {.epoch = state.epoch, .checkpoint = state.checkpoint + 3, .session = state.session});
    ASSERT_TRUE(applied.ok()) << applied.status();
    int stored = 0;
    for (const OrderResult& result : *applied) {
      stored += result.kind == OrderResult::Kind::kStored ? 1 : 0;
    }
    EXPECT_GE(stored, count);
  }

  /// Archives the last three vouchers: a part of the first, all of the second, and deletes those of
  /// the third.
  void archive(OrderStore& store) {
    on_sale_ = kVouchers - 3;
    ArchiveStore& archive = *store.archive();
    for (VoucherId id = kVouchers - 2; id <= kVouchers; ++id) {
      end_orders(store, id);
      const absl::Status archived = archive.archive_voucher(id, kEndMs + 1);
      ASSERT_TRUE(archived.ok()) << archived;
    }
    EXPECT_EQ(archive.archive_orders(kVouchers - 2, 3).value(), 3U);
    EXPECT_GT(archive.archive_orders(kVouchers - 1, 100'000).value(), 0U);
    EXPECT_GT(archive.archive_orders(kVouchers, 100'000).value(), 0U);
    EXPECT_GT(archive.delete_orders(kVouchers, 100'000).value(), 0U);
  }

 private:
  static void add_version(OrderStore& store, const Voucher& voucher, std::int64_t number,
                          VoucherVersion::State state) {
    EXPECT_TRUE(store.vouchers()->record_pending({.voucher = voucher, .version = number}).ok());
    if (state == VoucherVersion::State::kPending) return;
    EXPECT_TRUE(store.vouchers()->resolve(voucher.id, number, state, "a reason").ok());
  }

  /// Completes what an archived voucher may not have.
  static void end_orders(OrderStore& store, VoucherId voucher) {
    std::vector<OrderEvent> events;
    for (const OrderStatus status : {OrderStatus::kUnpaid, OrderStatus::kRefunding}) {
      const auto open =
          store.list({.voucher = voucher, .status = status, .count_max = 100'000}).value();
      for (const Order& order : open) {
        events.push_back({.kind = status == OrderStatus::kUnpaid ? EventKind::kCancelled
                                                                 : EventKind::kRefundEnded,
                          .order = {.id = order.id},
                          .at_ms = kEndMs});
      }
    }
    const auto state = store.state().value();
    EXPECT_TRUE(store.payments()
                    ->apply(events, {.epoch = state.epoch,
                                     .checkpoint = state.checkpoint + 1,
                                     .session = state.session})
                    .ok());
  }

  void add_order(std::vector<OrderEvent>& events) {
    last_order_ += random_.between(1, 1'000'000'000);
    Order order{.id = last_order_,
                .user = random_.chance(50) ? UserId(random_.between(-5, 1'000'000'000))
                                           : UserId("user \xc3\xa4 " + std::to_string(last_order_)),
                .voucher = random_.between(1, on_sale_),
                .limit = random_.between(0, 1),
                .admitted_at_ms = 1'700'000'000'000 + static_cast<std::int64_t>(events.size()),
                .entry = {random_.bits(), random_.bits()},
                .created_at_ms = 1'700'000'000'001,
                .version = 1,
                .price_cents = 250,
                .reference = random_.chance(30) ? std::string("r\xfe'\\", 4) : ""};
    if (random_.chance(50)) {
      order.status = OrderStatus::kUnpaid;
      order.due_at_ms = order.admitted_at_ms + 60'000;
    }
    if (random_.chance(30)) {
      order.idempotency_key = "key " + std::to_string(order.id);
      order.key_expires_at_ms = order.admitted_at_ms + 1'000;
    }
    orders_.push_back(order.id);
    events.push_back({.kind = EventKind::kAdmitted, .order = order, .at_ms = order.admitted_at_ms});
  }

  void add_change(std::vector<OrderEvent>& events) {
    constexpr EventKind kKinds[] = {EventKind::kPaid,           EventKind::kSurplusPayment,
                                    EventKind::kCancelled,      EventKind::kUsed,
                                    EventKind::kRefundBegun,    EventKind::kRefundEnded,
                                    EventKind::kPaymentRefunded};
    OrderEvent event{.kind = random_.pick(kKinds),
                     .order = {.id = random_.pick(orders_)},
                     .at_ms = 1'700'000'100'000 + static_cast<std::int64_t>(events.size()),
                     .reason = "b\xc3\xa4",
                     .actor = "user"};
    event.order.keeps_stock = random_.chance(50);
    const bool is_new = event.kind == EventKind::kPaid || event.kind == EventKind::kSurplusPayment;
    if (is_new) payments_.push_back("pay\xff" + std::to_string(payments_.size()));
    if (!payments_.empty()) event.payment.id = is_new ? payments_.back() : random_.pick(payments_);
    event.payment.amount_cents = 250;
    event.payment.received_at_ms = event.at_ms;
    if (event.payment.id.empty()) return;
    events.push_back(std::move(event));
  }

  Random& random_;
  VoucherId on_sale_ = kVouchers;  // the last one
  OrderId last_order_ = 0;
  std::vector<OrderId> orders_;
  std::vector<std::string> payments_;
};

// ---- What a database has, as its ports tell ---------------------------------------------------

/// Not the identity and the epoch, in which copies differ.
struct PortContents {
  std::vector<Order> orders;
  std::vector<Order> archived;
  std::vector<Payment> payments;
  std::vector<Payment> payments_of_archived;
  std::vector<OrderChange> changes;
  std::vector<VoucherVersion> versions;
  std::vector<VoucherVersion> of_archived;
  std::vector<std::int64_t> numbers;

  friend bool operator==(const PortContents&, const PortContents&) = default;
};

PortContents contents_by_ports(OrderStore& store) {
  constexpr std::size_t kAll = 1'000'000;
  PortContents contents;
  contents.orders = store.list({.count_max = kAll}).value();
  contents.archived = store.archive()->list_archived({.count_max = kAll}).value();
  contents.payments = store.payments()->list_payments({.count_max = kAll}).value();
  for (const Order& order : contents.archived) {
    const auto payments =
        store.payments()->list_payments({.order = order.id, .count_max = kAll}).value();
    contents.payments_of_archived.insert(contents.payments_of_archived.end(), payments.begin(),
                                         payments.end());
  }
  contents.changes = store.payments()->changes(0, kAll, {}).value();
  contents.versions = store.vouchers()->all_versions().value();
  const auto archived = store.archive()->archived_vouchers().value();
  for (const ArchivedVoucher& voucher : archived) {
    contents.of_archived.push_back(voucher.last);
    contents.numbers.insert(
        contents.numbers.end(),
        {voucher.archived_at_ms, voucher.has_unmoved_orders, voucher.is_deleted});
  }
  for (VoucherId id = 1; id <= CopiedSale::kVouchers; ++id) {
    contents.numbers.push_back(store.count_live(id).value());
  }
  const auto state = store.state().value();
  contents.numbers.insert(contents.numbers.end(), {state.checkpoint, state.revision,
                                                   store.payments()->last_position().value(),
                                                   store.reserve_ids(19'000, 0, 0).value()});
  const DatabaseState of_lane = store.lanes()->state_of(2).value();
  contents.numbers.insert(
      contents.numbers.end(),
      {store.lanes()->count_lanes().value(), store.lanes()->lane_of(10).value().value_or(-1),
       of_lane.checkpoint, of_lane.revision,
       store.lanes()->reserve_ids_of(2, 19'000, 0, 0).value()});
  const auto all_moved = store.lanes()->moved_pieces(10).value();
  for (const MovedPieces& moved : all_moved) {
    contents.numbers.insert(contents.numbers.end(), {moved.from, moved.to, moved.pieces});
  }
  return contents;
}

std::string name_of_case(const ::testing::TestParamInfo<CopyCase>& tested) {
  return tested.param.name;
}

class CopyOrdersTest : public ::testing::TestWithParam<CopyCase> {
 protected:
  void fill(OrderStore& store) {
    sale_.emplace(random_);
    sale_->publish(store);
    for (int batch = 0; batch < 4; ++batch) sale_->sell(store, 40);
    sale_->archive(store);
  }

  void expect_equal(const PortContents& now, const PortContents& before) {
    EXPECT_EQ(now.orders.size(), before.orders.size());
    EXPECT_EQ(now.payments_of_archived.size(), before.payments_of_archived.size());
    EXPECT_EQ(now.numbers, before.numbers);
    EXPECT_TRUE(now == before);
  }

  const std::uint64_t seed_ = random_seed();
  Random random_{seed_};
  std::optional<CopiedSale> sale_;
};
INSTANTIATE_TEST_SUITE_P(Databases, CopyOrdersTest, ::testing::ValuesIn(copy_cases()),
                         name_of_case);

TEST_P(CopyOrdersTest, CopyHasEverythingAndSellsOn) {
  SCOPED_TRACE(seed_text(seed_));
  const auto from = opened(GetParam().from());
  const OpenCopy open = GetParam().to();
  fill(*from);
  const PortContents before = contents_by_ports(*from);
  const auto state = from->state().value();
  {
    const auto to = open();
    const auto report = copy_orders(*from, *to, {.portion = 16});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->orders,
              static_cast<std::int64_t>(before.orders.size() + before.archived.size()));
    EXPECT_EQ(report->changes, static_cast<std::int64_t>(before.changes.size()));
    EXPECT_FALSE(report->was_complete);
  }
  const auto to = open();
  expect_equal(contents_by_ports(*to), before);
  EXPECT_EQ(to->state()->identity, state.identity);
  EXPECT_GT(to->state()->epoch, state.epoch);
  EXPECT_TRUE(to->check_integrity().ok()) << to->check_integrity();
  EXPECT_TRUE(copy_orders(*from, *to)->was_complete);
  sale_->sell(*to, 20);
  EXPECT_TRUE(to->check_integrity().ok()) << to->check_integrity();
}

TEST_P(CopyOrdersTest, MovedDatabaseRefusesWriters) {
  const auto from = opened(GetParam().from());
  const auto to = opened(GetParam().to());
  fill(*from);
  const auto before = from->state().value();
  ASSERT_TRUE(copy_orders(*from, *to).ok());
  for (const std::int64_t epoch : {before.epoch, from->state()->epoch}) {
    const auto written = from->write({}, {.epoch = epoch, .session = before.session});
    EXPECT_TRUE(absl::IsFailedPrecondition(written.status())) << written.status();
    EXPECT_THAT(written.status().ToString(), HasSubstr("moved to another database"));
  }
  EXPECT_THAT(from->reserve_ids(19'000, 0, 10).status().ToString(),
              HasSubstr("moved to another database"));
}

TEST_P(CopyOrdersTest, ChangesMeanwhileAreCopiedByNextCall) {
  SCOPED_TRACE(seed_text(seed_));
  const auto from = opened(GetParam().from());
  const auto to = opened(GetParam().to());
  fill(*from);
  int portions = 0;
  const auto sell_meanwhile = [&](const CopyProgress&) {
    if (++portions % 5 == 0) sale_->sell(*from, 5);
    return absl::OkStatus();
  };
  const auto disturbed =
      copy_orders(*from, *to, {.portion = 16, .between_portions = sell_meanwhile});
  EXPECT_TRUE(absl::IsAborted(disturbed.status())) << disturbed.status();
  const auto early = to->write({}, {.epoch = to->state()->epoch, .session = to->state()->session});
  EXPECT_THAT(early.status().ToString(), HasSubstr("unfinished copy"));
  const auto archived = from->archive()->archive_orders(CopiedSale::kVouchers - 2, 100'000);
  EXPECT_GT(archived.value(), 0U);
  const PortContents before = contents_by_ports(*from);
  const auto copied = copy_orders(*from, *to, {.portion = 16});
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_GT(copied->written, 0);
  expect_equal(contents_by_ports(*to), before);
}

TEST_P(CopyOrdersTest, CopyingBackGoesBack) {
  SCOPED_TRACE(seed_text(seed_));
  const auto from = opened(GetParam().from());
  const auto to = opened(GetParam().to());
  fill(*from);
  ASSERT_TRUE(copy_orders(*from, *to).ok());
  sale_->sell(*to, 30);
  const PortContents before = contents_by_ports(*to);
  const auto back = copy_orders(*to, *from);
  ASSERT_TRUE(back.ok()) << back.status();
  expect_equal(contents_by_ports(*from), before);
  EXPECT_TRUE(from->check_integrity().ok()) << from->check_integrity();
  sale_->sell(*from, 5);
}

// ---- Interruptions ----------------------------------------------------------------------------

/// Fails with a number of calls left, before or after the call has taken effect: as if the process had been
/// killed there.
class EndingRecords final : public RecordStore {
 public:
  EndingRecords(RecordStore& inner, int& calls_left, bool takes_effect)
      : inner_(inner), calls_left_(calls_left), takes_effect_(takes_effect) {}

  absl::StatusOr<std::vector<Order>> read_orders(Shelf shelf, OrderId after,
                                                 std::size_t count_max) override {
    return run([&] { return inner_.read_orders(shelf, after, count_max); });
  }
  absl::StatusOr<std::vector<Payment>> read_payments(Shelf shelf, const std::string& after,
                                                     std::size_t count_max) override {
    return run([&] { return inner_.read_payments(shelf, after, count_max); });
  }
  absl::StatusOr<std::vector<OrderChange>> read_changes(Shelf shelf, std::int64_t after,
                                                        std::size_t count_max) override {
    return run([&] { return inner_.read_changes(shelf, after, count_max); });
  }
  absl::StatusOr<SaleRecords> read_sale() override {
    return run([&] { return inner_.read_sale(); });
  }
  absl::StatusOr<std::int64_t> count() override { return inner_.count(); }
  absl::Status replace(Shelf shelf, std::span<const Order> removed,
                       std::span<const Order> added) override {
    return run([&] { return inner_.replace(shelf, removed, added); });
  }
  absl::Status replace(Shelf shelf, std::span<const Payment> removed,
                       std::span<const Payment> added) override {
    return run([&] { return inner_.replace(shelf, removed, added); });
  }
  absl::Status replace(Shelf shelf, std::span<const OrderChange> removed,
                       std::span<const OrderChange> added) override {
    return run([&] { return inner_.replace(shelf, removed, added); });
  }
  absl::Status replace_sale(const SaleRecords& sale) override {
    return run([&] { return inner_.replace_sale(sale); });
  }
  absl::Status close(absl::FunctionRef<absl::Status(const SaleRecords&)> check,
                     const std::string& identity) override {
    return run([&] { return inner_.close(check, identity); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> run(Call call) {
    if (calls_left_ > 0) {
      --calls_left_;
      return call();
    }
    if (takes_effect_) static_cast<void>(call());
    return absl::UnavailableError("killed");
  }

  RecordStore& inner_;
  int& calls_left_;
  const bool takes_effect_;
};

TEST_P(CopyOrdersTest, CopyInterruptedAnywhereIsCompleted) {
  testing::Sweep sweep(GetParam().name == "SqliteToSqlite" ? 8 : 50);
  SCOPED_TRACE(sweep.seed_text());
  const CopyOrdersOptions options{.portion = 40};
  bool has_ended = false;
  while (!has_ended) {
    const int place = sweep.next();
    const auto from = opened(GetParam().from());
    const auto to = opened(GetParam().to());
    fill(*from);
    const PortContents before = contents_by_ports(*from);
    // Again and again, each time a little later: from where a run got, and from the beginning.
    for (int run = 0; run < 2 && !has_ended; ++run) {
      int calls_left = place - 1;
      EndingRecords ending_from(*from->records(), calls_left, run % 2 == 0);
      EndingRecords ending_to(*to->records(), calls_left, run % 2 == 0);
      has_ended = copy_records(ending_from, ending_to, options).ok() && run == 0;
    }
    const auto copied = copy_orders(*from, *to, options);
    ASSERT_TRUE(copied.ok()) << "ended after " << place << ": " << copied.status();
    expect_equal(contents_by_ports(*to), before);
    EXPECT_TRUE(to->check_integrity().ok()) << to->check_integrity();
  }
}

// ---- Refusals ---------------------------------------------------------------------------------

class CopyRefusalTest : public ::testing::Test {
 protected:
  static std::string error_of_copy(OrderStore& from, OrderStore& to) {
    const auto copied = copy_orders(from, to);
    EXPECT_FALSE(copied.ok());
    return copied.status().ToString();
  }
  std::shared_ptr<OrderStore> make_sold() {
    auto store = opened(place_in_file());
    CopiedSale sale(random_);
    sale.publish(*store);
    sale.sell(*store, 10);
    return store;
  }

  Random random_{random_seed()};
};

TEST_F(CopyRefusalTest, AnothersSaleIsLeftAlone) {
  const auto from = make_sold();
  const auto other = make_sold();
  const auto before = contents_by_ports(*other);
  EXPECT_THAT(error_of_copy(*from, *other), HasSubstr("has another sale"));
  EXPECT_TRUE(contents_by_ports(*other) == before);
  const auto used = opened(place_in_file());
  ASSERT_TRUE(used->fence().ok());  // a sale was opened with it
  EXPECT_THAT(error_of_copy(*from, *used), HasSubstr("has another sale"));
}

TEST_F(CopyRefusalTest, UnfinishedAndMovedDatabasesAreNotCopied) {
  const auto from = make_sold();
  const auto to = opened(place_in_file());
  const auto stop = [](const CopyProgress&) { return absl::CancelledError("stopped"); };
  EXPECT_THAT(copy_orders(*from, *to, {.portion = 2, .between_portions = stop}).status().ToString(),
              HasSubstr("stopped"));
  const auto third = opened(place_in_file());
  EXPECT_THAT(error_of_copy(*to, *third), HasSubstr("unfinished copy"));
  ASSERT_TRUE(copy_orders(*from, *to).ok());
  EXPECT_THAT(error_of_copy(*from, *third), HasSubstr("moved to another database"));
}

TEST_F(CopyRefusalTest, TwinsAndMemoryAreRefused) {
  const TemporaryDirectory directory;
  const auto from = make_sold();
  const auto copy_made = from->copy_to(
      directory.path() / "twin", [] { return absl::OkStatus(); },
      [](const CopyPortion& /*portion*/) { return absl::OkStatus(); });
  ASSERT_TRUE(copy_made.ok()) << copy_made;
  const auto twin = SqliteOrderStore::open(directory.path() / "twin").value();
  EXPECT_THAT(error_of_copy(*from, *twin), HasSubstr("both databases are in use"));
  MemoryOrderStore memory;
  EXPECT_TRUE(absl::IsUnimplemented(copy_orders(*from, memory).status()));
}

}  // namespace
}  // namespace rushgate
#endif
