// The line of docs/production.md that creates a user for a sale: it has the rights that a sale needs.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using rushgate::testing::RawConnection;
using rushgate::testing::RedisServer;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr VoucherId kPaid = 1;
constexpr VoucherId kFree = 2;

/// Returns the words of the line.
std::vector<std::string> documented_words() {
  std::ifstream in(fs::path(RUSHGATE_ROOT) / "docs/production.md");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("ACL SETUSER shop ")) return absl::StrSplit(line, ' ');
  }
  ADD_FAILURE() << "docs/production.md has no line ACL SETUSER shop";
  return {};
}

class DocumentedUserTest : public ::testing::Test {
 protected:
  DocumentedUserTest() { EXPECT_EQ(ask(documented_words()), Reply::ok()); }

  Reply ask(const std::vector<std::string>& words) const {
    Request request;
    for (const std::string& word : words) request.add(word);
    return RawConnection(server_.socket_path()).call(request);
  }

  /// Returns options with which everything that needs rights is used.
  [[nodiscard]] FlashSaleOptions options() const {
    FlashSaleOptions options;
    options.start_workers = false;
    options.sale.voucher_copies_max = 10;
    options.worker.claim_idle_ms = 0;
    options.worker.retry_after_ms = 1;
    return options;
  }
  absl::StatusOr<std::unique_ptr<FlashSale>> open() {
    RedisOptions redis;
    redis.unix_path = server_.socket_path();
    redis.user = "shop";
    redis.password = "secret";
    redis.client_name = "shop";
    auto backend = RedisBackend::open(redis);
    if (!backend.ok()) return backend.status();
    return FlashSale::open(*std::move(backend), *SqliteOrderStore::open(scratch_.path() / "o.db"),
                           options());
  }
  /// Opens a sale that knows that no other process has workers.
  absl::StatusOr<std::unique_ptr<FlashSale>> open_alone() {
    FlashSaleOptions alone = options();
    alone.orders_dir = scratch_.path() / "alone";
    return FlashSale::open("unix://shop:secret@" + server_.socket_path(), alone);
  }

  static OrderId bought(FlashSale& sale, VoucherId voucher, std::int64_t user) {
    const BuyResult result =
        sale.buy({.voucher = voucher, .user = user, .idempotency_key = std::to_string(user)});
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return result.order;
  }
  static void expect_done(const ChangeResult& result) {
    EXPECT_EQ(result.outcome, ChangeOutcome::kDone) << result.detail;
  }

  static void expect_audit_passes(FlashSale& sale) {
    const AuditReport report = sale.audit().value();
    EXPECT_TRUE(report.passed()) << ::testing::PrintToString(report.problems);
  }

  void sell(FlashSale& sale) {
    ASSERT_EQ(sale.publish({.id = kPaid,
                            .stock = 3,
                            .price_cents = 100,
                            .limits = {.per_user = 2, .per_user_day = 2},
                            .payment_ms = 600'000,
                            .waiting_max = 5}),
              absl::OkStatus());
    ASSERT_EQ(sale.publish({.id = kFree, .stock = 10}), absl::OkStatus());
    const OrderId paid = bought(sale, kPaid, 1);
    const OrderId cancelled = bought(sale, kPaid, 2);
    const OrderId refunded = bought(sale, kPaid, 3);
    EXPECT_EQ(sale.sale().wait_for(kPaid, 4).outcome, WaitOutcome::kWaiting);
    EXPECT_EQ(sale.sale().wait_for(kPaid, 5).outcome, WaitOutcome::kWaiting);
    EXPECT_TRUE(sale.sale().leave_waiting_list(kPaid, 5).value());
    EXPECT_THAT(sale.sale().waiting_list(kPaid).value(), SizeIs(1));
    expect_done(sale.pay({.order = paid, .payment = "p1", .amount_cents = 100}));
    expect_done(sale.pay({.order = refunded, .payment = "p3", .amount_cents = 100}));
    expect_done(sale.cancel(cancelled, "no"));
    for (std::int64_t user = 11; user <= 15; ++user) bought(sale, kFree, user);
    // A consumer that is gone has read one.
    EXPECT_EQ(ask({"XGROUP", "CREATE", "stream.orders", "g1", "0"}), Reply::ok());
    ask({"XREADGROUP", "GROUP", "g1", "gone", "COUNT", "1", "STREAMS", "stream.orders", ">"});
    ASSERT_EQ(sale.start_workers(), absl::OkStatus());
    ASSERT_EQ(sale.drain(), absl::OkStatus());
    expect_done(sale.use(paid));
    expect_done(sale.refund(refunded, "broken"));
    expect_done(sale.confirm_refund("p3"));
    EXPECT_EQ(sale.buy({.voucher = kFree, .user = 11, .idempotency_key = "11"}).outcome,
              Outcome::kAccepted)
        << "repeated";
    EXPECT_EQ(sale.status(paid).value().location, OrderLocation::kStored);
    EXPECT_THAT(sale.sale().orders_of(1).value(), SizeIs(1));
    EXPECT_THAT(sale.vouchers().value(), SizeIs(2));
    EXPECT_TRUE(sale.sale().voucher(kFree).value().has_value());
    EXPECT_TRUE(sale.backlog().value().empty);
  }

  void handle_dead_letters(FlashSale& sale) {
    ask({"XADD", "stream.orders", "*", "no", "order"});
    ask({"XADD", "stream.orders", "*", "no", "order"});
    ASSERT_EQ(sale.drain(), absl::OkStatus());
    const std::vector<DeadLetter> letters = sale.sale().dead_letters().value();
    ASSERT_EQ(letters.size(), 2U);
    EXPECT_TRUE(sale.sale().retry_dead_letter(letters[0].id).value());
    EXPECT_TRUE(sale.sale().discard_dead_letter(letters[1].id, "malformed").value());
    EXPECT_THAT(sale.sale().discarded_letters().value(), SizeIs(1));
    ASSERT_EQ(sale.drain(), absl::OkStatus());
    const std::vector<DeadLetter> again = sale.sale().dead_letters().value();
    for (const DeadLetter& letter : again) {
      EXPECT_TRUE(sale.sale().discard_dead_letter(letter.id, "malformed").value());
    }
  }

  void lose_and_rebuild(FlashSale& sale) {
    ask({"FLUSHALL"});
    bought(sale, kFree, 21);
    bought(sale, kPaid, 31);
    ASSERT_EQ(sale.drain(), absl::OkStatus());
  }

  void end(FlashSale& sale) {
    EXPECT_EQ(sale.sale().add_stock(kFree, 5), absl::OkStatus());
    expect_audit_passes(sale);
    EXPECT_TRUE(sale.sale().repair().value().passed());
    EXPECT_EQ(sale.refund_all(kFree, "over").value(), 6U);
    for (const VoucherId voucher : {kPaid, kFree}) {
      EXPECT_EQ(sale.sale().close(voucher), absl::OkStatus());
    }
    for (const std::int64_t user : {4, 31}) {
      const std::vector<OrderState> unpaid = sale.sale().orders_of(user).value();
      for (const OrderState& order : unpaid) {
        expect_done(sale.cancel(order.order.value().id, "unpaid"));
      }
    }
    ASSERT_EQ(sale.drain(), absl::OkStatus());
    for (const VoucherId voucher : {kPaid, kFree}) {
      EXPECT_EQ(sale.sale().archive(voucher), absl::OkStatus());
    }
    EXPECT_EQ(sale.sale().delete_archived(kFree).value(), 6U);
    expect_audit_passes(sale);
  }

  void run_whole_sale(FlashSale& sale) {
    sell(sale);
    handle_dead_letters(sale);
    lose_and_rebuild(sale);
    end(sale);
    sale.stop_workers();
  }

  const TemporaryDirectory scratch_;
  const RedisServer server_{{.append_only = true}};
};

TEST_F(DocumentedUserTest, RunsWholeSale) {
  for (const bool is_alone : {false, true}) {
    SCOPED_TRACE(is_alone ? "alone" : "shared");
    ask({"FLUSHALL"});
    ask({"ACL", "LOG", "RESET"});
    const auto sale = is_alone ? open_alone() : open();
    ASSERT_TRUE(sale.ok()) << sale.status();
    run_whole_sale(**sale);
    const Reply denied = ask({"ACL", "LOG"});
    EXPECT_THAT(denied.elements(), IsEmpty()) << to_debug_string(denied);
  }
}

/// Those that are not necessary are what the page says.
TEST_F(DocumentedUserTest, LacksNoRightUnnoticed) {
  const std::set<std::string_view> others = {
      "ping",    "info", "client|id", "client|setname", "client|unblock", "select",  "multi",
      "discard", "wait", "publish",   "subscribe",      "unsubscribe",    "pexpire", "pttl"};
  for (const std::string& word : documented_words()) {
    if (!word.starts_with('+') || others.contains(word.substr(1))) continue;
    const std::string name = word.substr(1);
    ASSERT_EQ(ask({"ACL", "SETUSER", "shop", "-" + name}), Reply::ok());
    const absl::Status opened = open().status();
    EXPECT_EQ(opened.code(), absl::StatusCode::kPermissionDenied) << name << ": " << opened;
    EXPECT_THAT(std::string(opened.message()), HasSubstr("the commands " + name + " ("));
    ASSERT_EQ(ask({"ACL", "SETUSER", "shop", word}), Reply::ok());
  }
}

}  // namespace
}  // namespace rushgate
