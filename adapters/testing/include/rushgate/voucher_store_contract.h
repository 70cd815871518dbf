// The contract of VoucherStore as a test suite. Include this in one file of a test program, and
// instantiate VoucherStoreTest with a way to make your store:
//
//   namespace rushgate::voucher_store_contract {
//   INSTANTIATE_TEST_SUITE_P(Mine, VoucherStoreTest, ::testing::Values(Maker{"Mine", make_mine}));
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/order_store.h>

namespace rushgate::voucher_store_contract {

/// A new, empty voucher store, and everything that it needs.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual VoucherStore& store() = 0;
  /// Closes the store and opens it again, as a new process does. Returns false if the store is lost
  /// with its process.
  virtual bool reopen() { return false; }
};

struct Maker {
  std::string name;
  std::function<std::unique_ptr<Subject>()> make;

  friend void PrintTo(const Maker& maker, std::ostream* out) { *out << maker.name; }
};

inline std::string name_of(const ::testing::TestParamInfo<Maker>& info) { return info.param.name; }

class VoucherStoreTest : public ::testing::TestWithParam<Maker> {
 protected:
  using State = VoucherVersion::State;

  static constexpr VoucherId kVoucher = 7;

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
    EXPECT_TRUE(store().resolve(version.voucher.id, version.version, state, "because").ok());
  }

  using Numbers = std::vector<std::pair<VoucherId, std::int64_t>>;
  static Numbers numbers(const absl::StatusOr<std::vector<VoucherVersion>>& versions) {
    Numbers result;
    for (const VoucherVersion& version : versions.value()) {
      result.emplace_back(version.voucher.id, version.version);
    }
    return result;
  }

  VoucherStore& store() { return subject_->store(); }
  bool reopen() { return subject_->reopen(); }

 private:
  std::unique_ptr<Subject> subject_ = GetParam().make();
};

TEST_P(VoucherStoreTest, AVersionIsFoundAsItWasRecorded) {
  const VoucherVersion recorded = version(1);
  EXPECT_TRUE(store().record_pending(recorded).ok());
  const std::optional<VoucherVersion> found = store().latest(kVoucher).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->voucher, recorded.voucher);
  EXPECT_EQ(found->version, 1);
  EXPECT_EQ(found->state, State::kPending);
  EXPECT_EQ(found->reason, "");
}

TEST_P(VoucherStoreTest, ATitleMayHoldAnyBytes) {
  VoucherVersion recorded = version(1);
  recorded.voucher.title = std::string("a\0b'\"\xff", 6);
  EXPECT_TRUE(store().record_pending(recorded).ok());
  EXPECT_EQ(store().latest(kVoucher).value()->voucher.title, recorded.voucher.title);
}

TEST_P(VoucherStoreTest, RecordedVersionIsAlwaysPending) {
  VoucherVersion recorded = version(1);
  recorded.state = State::kApplied;
  recorded.reason = "none";
  EXPECT_TRUE(store().record_pending(recorded).ok());
  EXPECT_EQ(store().latest(kVoucher).value()->state, State::kPending);
  EXPECT_EQ(store().latest(kVoucher).value()->reason, "");
  EXPECT_FALSE(store().applied(kVoucher).value().has_value());
}

TEST_P(VoucherStoreTest, AVersionMustBeOneAboveTheHighest) {
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

TEST_P(VoucherStoreTest, ResolvedVersionIsNotPending) {
  EXPECT_TRUE(store().record_pending(version(1)).ok());
  EXPECT_EQ(numbers(store().pending()), (Numbers{{kVoucher, 1}}));
  EXPECT_TRUE(store().resolve(kVoucher, 1, State::kRefused, "too few").ok());
  EXPECT_TRUE(numbers(store().pending()).empty());
  EXPECT_EQ(store().latest(kVoucher).value()->state, State::kRefused);
  EXPECT_EQ(store().latest(kVoucher).value()->reason, "too few");
}

TEST_P(VoucherStoreTest, RepeatedResolveIsNoError) {
  publish(version(1), State::kRefused);
  EXPECT_TRUE(store().resolve(kVoucher, 1, State::kRefused, "something else").ok());
  EXPECT_EQ(store().latest(kVoucher).value()->reason, "because");
  EXPECT_EQ(store().resolve(kVoucher, 1, State::kApplied, "").code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store().latest(kVoucher).value()->state, State::kRefused);
}

TEST_P(VoucherStoreTest, ResolvingUnknownVersionFails) {
  EXPECT_TRUE(store().record_pending(version(1)).ok());
  EXPECT_EQ(store().resolve(kVoucher, 2, State::kApplied, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().resolve(kVoucher, 0, State::kApplied, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().resolve(8, 1, State::kApplied, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().resolve(kVoucher, 1, State::kPending, "").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(VoucherStoreTest, AppliedIsHighestAppliedVersion) {
  publish(version(1));
  publish(version(2));
  publish(version(3), State::kRefused);
  EXPECT_TRUE(store().record_pending(version(4)).ok());
  EXPECT_EQ(store().applied(kVoucher).value()->version, 2);
  EXPECT_EQ(store().latest(kVoucher).value()->version, 4);
}

TEST_P(VoucherStoreTest, AnUnknownVoucherHasNoVersions) {
  EXPECT_FALSE(store().latest(kVoucher).value().has_value());
  EXPECT_FALSE(store().applied(kVoucher).value().has_value());
  EXPECT_TRUE(store().pending().value().empty());
  EXPECT_TRUE(store().all_applied().value().empty());
  EXPECT_TRUE(store().versions(kVoucher).value().empty());
  EXPECT_TRUE(store().all_versions().value().empty());
}

TEST_P(VoucherStoreTest, ListsAreInOrderOfVoucherAndVersion) {
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
  EXPECT_EQ(numbers(store().versions(8)), (Numbers{{8, 1}, {8, 2}, {8, 3}}));
  EXPECT_EQ(numbers(store().all_versions()),
            (Numbers{{6, 1}, {7, 1}, {7, 2}, {7, 3}, {8, 1}, {8, 2}, {8, 3}, {9, 1}}));
}

TEST_P(VoucherStoreTest, EveryVersionIsThereAfterReopening) {
  publish(version(1));
  publish(version(2), State::kRefused);
  EXPECT_TRUE(store().record_pending(version(3)).ok());
  if (!reopen()) GTEST_SKIP() << "is lost with its process";
  const std::vector<VoucherVersion> versions = store().versions(kVoucher).value();
  ASSERT_EQ(versions.size(), 3U);
  EXPECT_EQ(versions[0].voucher, version(1).voucher);
  EXPECT_EQ(versions[0].state, State::kApplied);
  EXPECT_EQ(versions[1].state, State::kRefused);
  EXPECT_EQ(versions[1].reason, "because");
  EXPECT_EQ(versions[2].state, State::kPending);
}

}  // namespace rushgate::voucher_store_contract
