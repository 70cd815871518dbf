// What order_store.h promises about vouchers.
#include "tests/storage/orders/order_store_fixture.h"

namespace rushgate {
namespace {

class OrderStoreVouchersTest : public OrderStoreTest {
 protected:
  static VoucherVersion version(std::int64_t number, VoucherId voucher = kVoucher) {
    return {.voucher = {.id = voucher,
                        .title = "Überraschung " + std::to_string(number),
                        .stock = 100 * number,
                        .begin_ms = 1'700'000'000'000,
                        .end_ms = 1'800'000'000'000,
                        .price_cents = 995,
                        .limits = {.total = 90,
                                   .per_user = 3,
                                   .per_user_day = 2,
                                   .utc_offset_minutes = -90}},
            .version = number,
            .state = State::kPending,
            .reason = {}};
  }
  void publish(const VoucherVersion& version, State state = State::kApplied) {
    EXPECT_TRUE(store().record_pending(version).ok());
    EXPECT_TRUE(store().settle(version.voucher.id, version.version, state, "because").ok());
  }

  using Numbers = std::vector<std::pair<VoucherId, std::int64_t>>;
  static Numbers numbers(const absl::StatusOr<std::vector<VoucherVersion>>& versions) {
    Numbers result;
    for (const VoucherVersion& version : versions.value()) {
      result.emplace_back(version.voucher.id, version.version);
    }
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(All, OrderStoreVouchersTest, ::testing::ValuesIn(order_store_kinds()),
                         kind_name);

TEST_P(OrderStoreVouchersTest, AVersionIsFoundAsItWasRecorded) {
  const VoucherVersion recorded = version(1);
  EXPECT_TRUE(store().record_pending(recorded).ok());
  const std::optional<VoucherVersion> found = store().latest(kVoucher).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->voucher, recorded.voucher);
  EXPECT_EQ(found->version, 1);
  EXPECT_EQ(found->state, State::kPending);
  EXPECT_EQ(found->reason, "");
}

TEST_P(OrderStoreVouchersTest, ATitleMayHoldAnyBytes) {
  VoucherVersion recorded = version(1);
  recorded.voucher.title = std::string("a\0b'\"\xff", 6);
  EXPECT_TRUE(store().record_pending(recorded).ok());
  EXPECT_EQ(store().latest(kVoucher).value()->voucher.title, recorded.voucher.title);
}

TEST_P(OrderStoreVouchersTest, WhatIsRecordedIsPendingWhateverItSays) {
  VoucherVersion recorded = version(1);
  recorded.state = State::kApplied;
  recorded.reason = "none";
  EXPECT_TRUE(store().record_pending(recorded).ok());
  EXPECT_EQ(store().latest(kVoucher).value()->state, State::kPending);
  EXPECT_EQ(store().latest(kVoucher).value()->reason, "");
  EXPECT_FALSE(store().applied(kVoucher).value().has_value());
}

TEST_P(OrderStoreVouchersTest, AVersionMustBeOneAboveTheHighest) {
  const auto code = [&](std::int64_t number) {
    return store().record_pending(version(number)).code();
  };
  EXPECT_EQ(code(0), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(2), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(1), absl::StatusCode::kOk);
  EXPECT_EQ(code(1), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(3), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(2), absl::StatusCode::kOk);
  EXPECT_EQ(store().latest(kVoucher).value()->voucher.stock, 200);
}

TEST_P(OrderStoreVouchersTest, ASettledVersionIsPendingNoMore) {
  EXPECT_TRUE(store().record_pending(version(1)).ok());
  EXPECT_EQ(numbers(store().pending()), (Numbers{{kVoucher, 1}}));
  EXPECT_TRUE(store().settle(kVoucher, 1, State::kRefused, "too few").ok());
  EXPECT_TRUE(numbers(store().pending()).empty());
  EXPECT_EQ(store().latest(kVoucher).value()->state, State::kRefused);
  EXPECT_EQ(store().latest(kVoucher).value()->reason, "too few");
}

TEST_P(OrderStoreVouchersTest, RepeatedResolveIsNoError) {
  publish(version(1), State::kRefused);
  EXPECT_TRUE(store().settle(kVoucher, 1, State::kRefused, "something else").ok());
  EXPECT_EQ(store().latest(kVoucher).value()->reason, "because");
  EXPECT_EQ(store().settle(kVoucher, 1, State::kApplied, "").code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store().latest(kVoucher).value()->state, State::kRefused);
}

TEST_P(OrderStoreVouchersTest, OnlyAVersionThatExistsCanBeSettled) {
  EXPECT_TRUE(store().record_pending(version(1)).ok());
  EXPECT_EQ(store().settle(kVoucher, 2, State::kApplied, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().settle(kVoucher, 0, State::kApplied, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().settle(8, 1, State::kApplied, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().settle(kVoucher, 1, State::kPending, "").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(OrderStoreVouchersTest, AppliedIsTheHighestOfThoseApplied) {
  publish(version(1));
  publish(version(2));
  publish(version(3), State::kRefused);
  EXPECT_TRUE(store().record_pending(version(4)).ok());
  EXPECT_EQ(store().applied(kVoucher).value()->version, 2);
  EXPECT_EQ(store().latest(kVoucher).value()->version, 4);
}

TEST_P(OrderStoreVouchersTest, AnUnknownVoucherHasNoVersions) {
  EXPECT_FALSE(store().latest(kVoucher).value().has_value());
  EXPECT_FALSE(store().applied(kVoucher).value().has_value());
  EXPECT_TRUE(store().pending().value().empty());
  EXPECT_TRUE(store().all_applied().value().empty());
}

TEST_P(OrderStoreVouchersTest, ListsAreInOrderOfVoucherAndVersion) {
  publish(version(1, 9));
  publish(version(1, 8));
  publish(version(2, 8));
  publish(version(1, 7), State::kRefused);
  for (const VoucherVersion& pending :
       {version(3, 8), version(2, 7), version(3, 7), version(1, 6)}) {
    EXPECT_TRUE(store().record_pending(pending).ok());
  }
  EXPECT_EQ(numbers(store().all_applied()), (Numbers{{8, 2}, {9, 1}}));
  EXPECT_EQ(numbers(store().pending()), (Numbers{{6, 1}, {7, 2}, {7, 3}, {8, 3}}));
}

}  // namespace
}  // namespace rushgate
