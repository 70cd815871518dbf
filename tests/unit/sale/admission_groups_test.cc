// AdmissionGroups: threads that share one request, on every backend.
#include "engine/sale/orders/admission_groups.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/client/thread_wait.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

/// Holds late requests until they are released.
class HoldingClient final : public ForwardingClient {
 public:
  /// If `first` is not null, it names the oldest client that is open.
  explicit HoldingClient(std::unique_ptr<Client> client, HoldingClient** first = nullptr)
      : ForwardingClient(std::move(client)), first_(first) {
    if (first_ != nullptr && *first_ == nullptr) *first_ = this;
  }
  ~HoldingClient() override {
    if (first_ != nullptr && *first_ == this) *first_ = nullptr;
  }

  void submit_late(LateRequest& request) override {
    const std::lock_guard lock(mutex_);
    held_.push_back(&request);
    changed_.notify_all();
  }
  /// Returns when a request is held.
  void await_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_.empty(); });
  }
  /// Sends the held requests. Returns their number.
  std::size_t send_held() {
    const std::vector<LateRequest*> held = take_held();
    for (LateRequest* request : held) client().submit_late(*request);
    return held.size();
  }
  /// Replies to the held requests without sending them.
  std::size_t refuse_held(const Reply& reply) {
    const std::vector<LateRequest*> held = take_held();
    for (LateRequest* request : held) request->complete(reply);
    return held.size();
  }

 private:
  std::vector<LateRequest*> take_held() {
    const std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }

  HoldingClient** const first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LateRequest*> held_;  // guarded by mutex_
};

/// A backend whose clients are HoldingClients.
class HoldingBackend final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return std::make_unique<HoldingClient>(ForwardingBackend::open_client(options), &first_);
  }
  [[nodiscard]] HoldingClient& first() { return *first_; }

 private:
  HoldingClient* first_ = nullptr;
};

/// thread_wait() that counts the callers that have begun to wait.
class CountingWait final : public WaitMethod {
 public:
  void wait(absl::FunctionRef<void(Event&)> begin) const override {
    thread_wait().wait([&](Event& event) {
      begin(event);
      const std::lock_guard lock(mutex_);
      ++waiting_;
      changed_.notify_all();
    });
  }
  [[nodiscard]] std::uint64_t caller_number() const override {
    return thread_wait().caller_number();
  }
  /// Returns when `callers` more callers have begun to wait.
  void await(int callers) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == callers; });
    waiting_ = 0;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int waiting_ = 0;  // guarded by mutex_
};

constexpr VoucherId kVoucher = 7;
constexpr int kGroupStock = 50;

class AdmissionGroupsTest : public SaleFixture,
                            public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  AdmissionGroupsTest() : SaleFixture(*GetParam(), TestTime::kMachines) {
    const std::int64_t now_ms = backend_.clock().now_ms();
    EXPECT_EQ(sale_->publish({.id = kVoucher,
                              .title = "voucher",
                              .stock = kGroupStock,
                              .begin_ms = now_ms - 60'000,
                              .end_ms = now_ms + 3'600'000}),
              absl::OkStatus());
    backend_.client()("SCRIPT", "LOAD", admission_script().text());
  }

  /// Sends requests of users 1 to `count`, all concurrently. Calls `then` when all are waiting.
  std::vector<Reply> admit_together(int count, absl::FunctionRef<void()> then) {
    std::vector<Reply> replies(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        const UserId user(i + 1);
        replies[static_cast<std::size_t>(i)] =
            groups_.admit(kVoucher, {.user = &user, .order = 1'000'000 + i, .idempotency_key = {}});
      });
    }
    wait_.await(count);
    then();
    for (std::thread& thread : threads) thread.join();
    return replies;
  }

  CountingWait wait_;
  HoldingClient client_{backend_.keyspace().open_client()};
  AdmissionRequests requests_{client_, SaleKeys{}, 60'000};
  AdmissionGroups groups_{client_, requests_, &wait_};
};
INSTANTIATE_TEST_SUITE_P(Backends, AdmissionGroupsTest, each_backend(TestTime::kMachines),
                         backend_name);

TEST_P(AdmissionGroupsTest, CallersJoinUntilRequestIsSent) {
  constexpr int kCallers = AdmissionGroups::kBuyersMax + 6;
  std::size_t requests = 0;
  const std::vector<Reply> replies =
      admit_together(kCallers, [&] { requests = client_.send_held(); });
  EXPECT_EQ(requests, 2U);
  int accepted = 0;
  for (const Reply& reply : replies) {
    const auto answer = AdmissionReply::read(reply, 1);
    ASSERT_TRUE(answer) << to_debug_string(reply);
    EXPECT_TRUE(answer->code == AdmissionCode::kAccepted ||
                answer->code == AdmissionCode::kSoldOut);
    if (answer->code == AdmissionCode::kAccepted) ++accepted;
  }
  EXPECT_EQ(accepted, kGroupStock);
  EXPECT_EQ(backend_.client()("XLEN", "stream.orders"), Reply::integer(kGroupStock));
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:7"), Reply::bulk("0"));
}

TEST_P(AdmissionGroupsTest, EachCallerGetsReplyForItsUser) {
  for (const std::int64_t user : {2, 3, 5, 7}) {
    ASSERT_EQ(sale_->buy(kVoucher, user).outcome, Outcome::kAccepted);
  }
  const std::vector<Reply> replies = admit_together(8, [&] { client_.send_held(); });
  for (int user = 1; user <= 8; ++user) {
    const bool has_one = user == 2 || user == 3 || user == 5 || user == 7;
    EXPECT_EQ(replies[static_cast<std::size_t>(user - 1)], Reply::integer(has_one ? 2 : 0)) << user;
  }
}

TEST_P(AdmissionGroupsTest, FailureFailsWholeGroup) {
  const Reply refusal = Reply::error("CLOSED the connection was lost");
  std::size_t requests = 0;
  for (const Reply& reply : admit_together(8, [&] { requests = client_.refuse_held(refusal); })) {
    EXPECT_EQ(reply, refusal);
  }
  EXPECT_EQ(requests, 1U);
  // The failed group leaves nothing behind.
  const std::vector<Reply> replies = admit_together(2, [&] { client_.send_held(); });
  EXPECT_EQ(replies[0], Reply::integer(0));
  EXPECT_EQ(replies[1], Reply::integer(0));
}

TEST_P(AdmissionGroupsTest, ForgottenScriptIsLoadedAgain) {
  ASSERT_EQ(sale_->buy(kVoucher, 1).outcome, Outcome::kAccepted);
  ASSERT_EQ(backend_.client()("SCRIPT", "FLUSH"), Reply::ok());
  EXPECT_EQ(sale_->buy(kVoucher, 2).outcome, Outcome::kAccepted);
}

class GroupsOfServerTest : public AdmissionGroupsTest {};
INSTANTIATE_TEST_SUITE_P(Backends, GroupsOfServerTest,
                         each_backend_that(&SaleBackendKind::is_server, TestTime::kMachines),
                         backend_name);

// The group's first caller may wait for space in the request queue. Callbacks free that space.
TEST_P(GroupsOfServerTest, CallbackNeverWaitsForGroup) {
  HoldingBackend keyspace(backend_.keyspace());
  const std::unique_ptr<Sale> sale = open_sale(keyspace);
  HoldingClient& held = keyspace.first();  // the client that buys
  std::future<BuyResult> of_group =
      std::async(std::launch::async, [&] { return sale->buy(kVoucher, 1); });
  held.await_held();

  std::promise<BuyResult> bought;
  std::future<BuyResult> of_callback = bought.get_future();
  backend_.client().submit(Request::of("PING"),
                           [&](const Reply&) { bought.set_value(sale->buy(kVoucher, 2)); });
  EXPECT_EQ(of_callback.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(held.send_held(), 1U);
  EXPECT_EQ(of_callback.get().outcome, Outcome::kAccepted);
  EXPECT_EQ(of_group.get().outcome, Outcome::kAccepted);
}

}  // namespace
}  // namespace rushgate
