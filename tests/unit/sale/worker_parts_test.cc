// The parts of the order worker, each by itself, with a real keyspace and database.
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "engine/sale/worker/acknowledger.h"
#include "engine/sale/worker/batch_reader.h"
#include "engine/sale/worker/batch_writer.h"
#include "engine/sale/worker/hold_timeouts.h"
#include "engine/sale/worker/released_entries.h"
#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Fate = DecidedEntry::Fate;
using BatchPoison = faults::FaultyOrderStore::Poison;

/// Has everything that the parts share.
class WorkerPartsTest : public PaidSaleTest {
 protected:
  WorkerPartsTest() { options_of_worker_.consumer = "c1"; }

  /// Buys a piece for each user from 1 on. Returns the orders.
  std::vector<OrderId> buy_for_users(int count) {
    std::vector<OrderId> orders;
    for (int user = 1; user <= count; ++user) orders.push_back(bought(user));
    return orders;
  }
  EntryBatch read_new() {
    EXPECT_TRUE(reader_.ensure_group().ok());
    auto batch = reader_.next(0, 0);
    EXPECT_TRUE(batch.ok()) << batch.status();
    return batch.ok() ? *std::move(batch) : EntryBatch{};
  }
  [[nodiscard]] BatchFence fence() {
    return {.epoch = backend_.orders().state()->epoch,
            .checkpoint = owner_.draw_checkpoint(*client_).value()};
  }
  EntryWrites writes_of(const EntryBatch& batch) {
    EntryWrites writes;
    for (const OrderEntry& entry : batch.entries) {
      writes.add(read_storable(entry, backend_.orders()).value(), entry);
    }
    return writes;
  }
  std::size_t pending() {
    return static_cast<std::size_t>(
        (*client_)("XPENDING", keys_.order_stream, keys_.group).elements()[0].integer());
  }
  static std::vector<Fate> fates_of(const std::vector<DecidedEntry>& decided) {
    std::vector<Fate> fates;
    for (const DecidedEntry& one : decided) fates.push_back(one.fate);
    return fates;
  }

  WorkerOptions options_of_worker_;
  const SaleKeys keys_;
  const std::unique_ptr<Client> client_ = backend_.keyspace().open_client();
  const SaleStores stores_{backend_.orders()};
  KeyspaceOwner owner_{stores_, keys_, {}};
  VoucherBook vouchers_{*client_, stores_, owner_, keys_};
  QueuedOrders queued_{*client_, keys_};
  OrderChanges changes_{*client_, backend_.clock(), stores_, keys_, queued_, owner_, vouchers_};
  ReleasedEntries released_{*client_, stores_, keys_, vouchers_, changes_, nullptr};
  BatchReader reader_{*client_,           backend_.clock(), stores_,  keys_,
                      options_of_worker_, owner_,           released_};
};

// ---- Reading ----

class BatchReaderTest : public WorkerPartsTest {};
INSTANTIATE_TEST_SUITE_P(Backends, BatchReaderTest, each_embedded_backend(), backend_name);

TEST_P(BatchReaderTest, NewEntriesAreReadOnce) {
  publish();
  buy_for_users(3);
  const EntryBatch batch = read_new();
  EXPECT_EQ(batch.entries.size(), 3U);
  EXPECT_FALSE(batch.is_redelivery);
  EXPECT_TRUE(reader_.had_none_pending());
  EXPECT_THAT(read_new().entries, IsEmpty());
}

TEST_P(BatchReaderTest, PendingEntriesAreReadAgainWhenDue) {
  publish();
  buy_for_users(3);
  read_new();
  reader_.retry_later();
  EXPECT_THAT(read_new().entries, IsEmpty()) << "not yet";
  backend_.advance_ms(options_of_worker_.retry_after_ms);
  const EntryBatch again = read_new();
  EXPECT_EQ(again.entries.size(), 3U);
  EXPECT_TRUE(again.is_redelivery);
  EXPECT_FALSE(reader_.had_none_pending());
}

TEST_P(BatchReaderTest, KeptBatchIsReturnedUntilItIsOld) {
  publish();
  buy_for_users(2);
  reader_.keep(read_new());
  auto kept = reader_.take_kept();
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->entries.size(), 2U);
  EXPECT_FALSE(reader_.take_kept().has_value()) << "it was taken";
  reader_.keep(*std::move(kept));
  backend_.advance_ms(options_of_worker_.claim_idle_ms / 2);
  EXPECT_FALSE(reader_.take_kept().has_value()) << "another consumer might claim it";
  EXPECT_EQ(read_new().entries.size(), 2U);
}

TEST_P(BatchReaderTest, FailedBatchGetsNewEntriesInFront) {
  publish();
  const std::vector<OrderId> orders = buy_for_users(1);
  EntryBatch failed = read_new();
  const OrderId second = bought(2);
  const auto extended = reader_.extend(std::move(failed));
  ASSERT_TRUE(extended.ok()) << extended.status();
  std::vector<OrderId> ids;
  for (const OrderEntry& entry : extended->entries) ids.push_back(read_order(entry)->id);
  EXPECT_THAT(ids, ElementsAre(second, orders[0]));
}

TEST_P(BatchReaderTest, EntriesOfDeadConsumerAreClaimed) {
  publish();
  buy_for_users(2);
  read_new();
  WorkerOptions options;
  options.consumer = "c2";
  BatchReader other(*client_, backend_.clock(), stores_, keys_, options, owner_, released_);
  ASSERT_TRUE(other.ensure_group().ok());
  EXPECT_THAT(other.next(0, 0)->entries, IsEmpty());
  backend_.advance_ms(options.claim_idle_ms);
  const auto claimed = other.next(0, 0);
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_EQ(claimed->entries.size(), 2U);
  EXPECT_TRUE(claimed->is_redelivery);
}

TEST_P(BatchReaderTest, LostEntryIsRestored) {
  publish();
  const std::vector<OrderId> orders = buy_for_users(1);
  EntryBatch batch = read_new();
  released_.add_all(batch);
  (*client_)("DEL", keys_.order_stream, keys_.stock(1));
  reader_.forget_group();
  reader_.read_again();
  const EntryBatch restored = read_new();
  ASSERT_EQ(restored.entries.size(), 1U);
  EXPECT_EQ(read_order(restored.entries[0])->id, orders[0]);
  EXPECT_EQ(released_.take_restored().appended, 1U);
}

// ---- Writing ----

/// Forgets the result of the last order.
class MiscountingStore final : public OrderStore {
 public:
  explicit MiscountingStore(OrderStore& orders) : orders_(orders) {}

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override {
    auto results = orders_.write(orders, fence);
    if (results.ok() && !results->empty()) results->pop_back();
    return results;
  }
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override {
    return orders_.list(filter);
  }
  absl::StatusOr<DatabaseState> state() override { return orders_.state(); }
  absl::StatusOr<DatabaseState> fence() override { return orders_.fence(); }
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override {
    return orders_.reserve_ids(day, above, count);
  }

 private:
  OrderStore& orders_;
};

class BatchWriterTest : public WorkerPartsTest {
 protected:
  static constexpr int kIsolateAfter = 2;

  /// Writes the batch. Returns the result, and puts the decisions in `decided_`.
  absl::Status write(const EntryBatch& batch) {
    decided_.clear();
    return writer_.write_all(writes_of(batch), {}, fence(), decided_);
  }
  void poison(std::set<OrderId> bad, BatchPoison how) {
    backend_.orders().poison(
        [bad = std::move(bad)](const Order& order) { return bad.contains(order.id); }, how);
  }
  /// The orders of the decisions with this fate.
  [[nodiscard]] std::vector<OrderId> orders_that(Fate fate) const {
    std::vector<OrderId> ids;
    for (const DecidedEntry& one : decided_) {
      if (one.fate == fate) ids.push_back(read_order(*one.entry)->id);
    }
    return ids;
  }

  BatchWriter writer_{stores_, kIsolateAfter};
  std::vector<DecidedEntry> decided_;
};
INSTANTIATE_TEST_SUITE_P(Backends, BatchWriterTest, each_embedded_backend(), backend_name);

TEST_P(BatchWriterTest, NamedOrderIsIsolatedAtOnce) {
  publish();
  const std::vector<OrderId> orders = buy_for_users(5);
  const EntryBatch batch = read_new();
  poison({orders[3]}, BatchPoison::kFailsTheBatch);
  EXPECT_EQ(write(batch), absl::OkStatus());
  EXPECT_THAT(orders_that(Fate::kFault), ElementsAre(orders[3]));
  EXPECT_EQ(orders_that(Fate::kStored).size(), 4U);
  EXPECT_FALSE(writer_.is_isolating());
}

TEST_P(BatchWriterTest, OutageDecidesNothing) {
  publish();
  const std::vector<OrderId> orders = buy_for_users(3);
  const EntryBatch batch = read_new();
  poison({orders.begin(), orders.end()}, BatchPoison::kFailsAsAnOutage);
  for (int again = 0; again < 2 * kIsolateAfter; ++again) {
    EXPECT_FALSE(write(batch).ok());
    EXPECT_THAT(decided_, IsEmpty());
  }
  backend_.orders().poison(nullptr);
  EXPECT_EQ(write(batch), absl::OkStatus());
  EXPECT_EQ(orders_that(Fate::kStored), orders);
  EXPECT_FALSE(writer_.is_isolating()) << "a success ends it";
}

TEST_P(BatchWriterTest, OrderThatFailsAloneIsSuspect) {
  publish();
  const std::vector<OrderId> orders = buy_for_users(5);
  const EntryBatch batch = read_new();
  poison({orders[0]}, BatchPoison::kFailsAsAnOutage);
  for (int failures = 0; failures < kIsolateAfter; ++failures) EXPECT_FALSE(write(batch).ok());
  ASSERT_TRUE(writer_.is_isolating());
  EXPECT_EQ(write(batch), absl::OkStatus());
  EXPECT_THAT(orders_that(Fate::kFault), ElementsAre(orders[0]));
  EXPECT_TRUE(writer_.is_suspect(batch.entries[0].id));
  EXPECT_FALSE(writer_.is_isolating());

  EntryBatch alone;
  alone.entries = {batch.entries[0]};
  decided_.clear();
  EXPECT_EQ(writer_.write_all({}, writes_of(alone), fence(), decided_), absl::OkStatus());
  EXPECT_THAT(fates_of(decided_), ElementsAre(Fate::kFault)) << "a suspect stops nobody else";
}

TEST_P(BatchWriterTest, OtherEpochIsNoFailure) {
  publish();
  buy_for_users(1);
  const EntryBatch batch = read_new();
  const BatchFence old = fence();
  ASSERT_TRUE(backend_.orders().fence().ok());
  for (int again = 0; again < 2 * kIsolateAfter; ++again) {
    EXPECT_TRUE(absl::IsAborted(writer_.write_all(writes_of(batch), {}, old, decided_)));
  }
  EXPECT_FALSE(writer_.is_isolating());
}

TEST_P(BatchWriterTest, StoreThatMiscountsPausesWorker) {
  publish();
  buy_for_users(2);
  const EntryBatch batch = read_new();
  MiscountingStore orders(backend_.orders());
  const SaleStores stores{orders, *backend_.orders().vouchers()};
  BatchWriter writer(stores, kIsolateAfter);

  const absl::Status written = writer.write_all(writes_of(batch), {}, fence(), decided_);

  EXPECT_EQ(written, absl::InternalError("the order store returned 1 results for 2 writes"));
  EXPECT_THAT(decided_, IsEmpty());
}

// ---- Acknowledging ----

class AcknowledgerTest : public WorkerPartsTest {
 protected:
  DecidedEntry decided(const OrderEntry& entry, Fate fate) { return {&entry, fate, "bad"}; }
  absl::StatusOr<bool> bury(DecidedEntry one) {
    return acknowledger_.bury_if_final(one, waiting_, step_);
  }

  Acknowledger acknowledger_{*client_, keys_, options_of_worker_, owner_};
  OrderWorker::Step step_;
  absl::flat_hash_set<OrderId> waiting_;
};
INSTANTIATE_TEST_SUITE_P(Backends, AcknowledgerTest, each_embedded_backend(), backend_name);

TEST_P(AcknowledgerTest, OnlyStoredEntriesAreAcknowledged) {
  publish();
  buy_for_users(2);
  const EntryBatch batch = read_new();
  const std::vector<DecidedEntry> both = {decided(batch.entries[0], Fate::kStored),
                                          decided(batch.entries[1], Fate::kRefused)};
  EXPECT_EQ(acknowledger_.acknowledge_stored(both, false, fence(), step_), absl::OkStatus());
  EXPECT_EQ(step_.stored, 1U);
  EXPECT_EQ(pending(), 1U);
}

TEST_P(AcknowledgerTest, RefusalIsBuriedOnce) {
  publish();
  buy_for_users(1);
  const EntryBatch batch = read_new();
  EXPECT_TRUE(bury(decided(batch.entries[0], Fate::kRefused)).value());
  EXPECT_EQ(step_.buried, 1U);
  EXPECT_EQ(pending(), 0U);
  EXPECT_EQ(sale_->dead_letters()->at(0).reason, "bad");
  EXPECT_FALSE(bury(decided(batch.entries[0], Fate::kRefused)).value()) << "no longer pending";
  EXPECT_EQ(sale_->dead_letters()->size(), 1U);
}

TEST_P(AcknowledgerTest, FaultIsBuriedAfterLastAttempt) {
  publish();
  const std::vector<OrderId> orders = buy_for_users(1);
  const EntryBatch batch = read_new();
  for (int attempt = 1; attempt < options_of_worker_.attempts_max; ++attempt) {
    EXPECT_FALSE(bury(decided(batch.entries[0], Fate::kFault)).value());
  }
  EXPECT_THAT(waiting_, ElementsAre(orders[0]));
  EXPECT_TRUE(bury(decided(batch.entries[0], Fate::kFault)).value());
  EXPECT_EQ(step_.faulted, static_cast<std::size_t>(options_of_worker_.attempts_max - 1));
}

TEST_P(AcknowledgerTest, EarlierEntryDelaysVerdict) {
  publish();
  buy_for_users(1);
  const EntryBatch batch = read_new();
  DecidedEntry refused = decided(batch.entries[0], Fate::kRefused);
  refused.may_need_earlier = true;
  for (int again = 0; again < 2 * options_of_worker_.attempts_max; ++again) {
    EXPECT_FALSE(bury(refused).value());
  }
  EXPECT_EQ(pending(), 1U);
}

// ---- Timeouts ----

class HoldTimeoutsTest : public WorkerPartsTest {
 protected:
  std::size_t expire() {
    std::size_t expired = 0;
    EXPECT_EQ(timeouts_.expire(expired), absl::OkStatus());
    return expired;
  }

  HoldTimeouts timeouts_{*client_, backend_.clock(), keys_, vouchers_};
};
INSTANTIATE_TEST_SUITE_P(Backends, HoldTimeoutsTest, each_embedded_backend(), backend_name);

TEST_P(HoldTimeoutsTest, UnpaidOrdersEndWhenDue) {
  publish();
  buy_for_users(3);
  EXPECT_EQ(expire(), 0U);
  backend_.advance_ms(kPaymentMs + 1);
  EXPECT_GE(backend_.clock().monotonic_ms(), timeouts_.next_ms());
  EXPECT_EQ(expire(), 3U);
  EXPECT_GT(timeouts_.next_ms(), backend_.clock().monotonic_ms());
}

TEST_P(HoldTimeoutsTest, ExpectedDeadlineComesSooner) {
  publish();
  EXPECT_EQ(expire(), 0U);
  const std::int64_t next_ms = timeouts_.next_ms();
  timeouts_.expect_in(5);
  EXPECT_EQ(timeouts_.next_ms(), backend_.clock().monotonic_ms() + 5);
  timeouts_.expect_in(next_ms);
  EXPECT_EQ(timeouts_.next_ms(), backend_.clock().monotonic_ms() + 5) << "the sooner one stays";
}

TEST_P(HoldTimeoutsTest, FailureIsTriedAgainSoon) {
  publish();
  buy_for_users(1);
  backend_.advance_ms(kPaymentMs + 1);
  backend_.orders().fail_reads();
  std::size_t expired = 0;
  EXPECT_FALSE(timeouts_.expire(expired).ok());
  EXPECT_GT(timeouts_.next_ms(), backend_.clock().monotonic_ms());
  backend_.orders().fail_reads(absl::OkStatus());
  backend_.advance_ms(1'000);
  EXPECT_LE(timeouts_.next_ms(), backend_.clock().monotonic_ms());
  EXPECT_EQ(expire(), 1U);
}

}  // namespace
}  // namespace rushgate
