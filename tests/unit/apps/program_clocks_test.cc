// A sale of processes on hosts whose clocks differ by hours: the keyspace's clock decides.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/flash_sale/utc_time.h"
#include "apps/exit_code.h"
#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/postgresql_server.h"
#include "tests/support/http_program.h"
#include "tests/support/other_clock.h"
#include "tests/support/patterns.h"
#include "tests/support/redis_server/patience.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/clock.h>
#include <rushgate/sale_keys.h>

namespace rushgate {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using testing::HttpProgram;
using testing::HttpReply;
using ::testing::Le;
using testing::MariadbServer;
using testing::OtherClock;
using testing::PostgresqlServer;
using testing::wait_or_throw;

constexpr std::int64_t kMinuteMs = 60'000;

std::int64_t now_ms() { return SystemClock().now_ms(); }

/// Returns the clock of a database's host, in s since 1970 UTC.
std::int64_t seconds_of(PostgresqlServer& server) {
  return std::stoll(
      server.execute(server.url("postgres"), "SELECT extract(epoch FROM now())::bigint"));
}
std::int64_t seconds_of(MariadbServer& server) {
  return std::stoll(server.execute("", "SELECT unix_timestamp()"));
}

/// Starts something on a host whose clock is this much ahead.
template <class Start>
auto on_host(hours ahead, Start start) {
  const OtherClock clock(ahead);
  return start();
}

template <class Server>
class ClocksTest : public ::testing::Test {
 protected:
  /// Publishes vouchers: 1 is sold now and gives an hour to pay, 2 gives 1.5 s, 3 has ended.
  void publish() {
    const std::int64_t now = now_ms();
    const auto voucher = [&](int id, std::int64_t end_ms, std::int64_t payment_ms) {
      return R"({"id": )" + std::to_string(id) +
             R"(, "stock": 10, "price_cents": 100, "begin_ms": )" +
             std::to_string(now - kMinuteMs) + R"(, "end_ms": )" + std::to_string(end_ms) +
             R"(, "payment_ms": )" + std::to_string(payment_ms) + "}";
    };
    std::ofstream(files_.vouchers())
        << "[" << voucher(1, now + 60 * kMinuteMs, 60 * kMinuteMs) << ", "
        << voucher(2, now + 60 * kMinuteMs, 1'500) << ", " << voucher(3, now - 1, 100) << "]";
    expect_done(run(kSeller, {"publish", files_.vouchers()}));
  }

  ProgramResult run(hours ahead, const std::vector<std::string>& words) {
    return on_host(ahead, [&] { return run_program(command(words)); });
  }
  static void expect_done(const ProgramResult& result) {
    EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  }
  std::unique_ptr<Program> worker() {
    return on_host(kWorker, [&] {
      return std::make_unique<Program>(command({"work", "--retain", "3600"}));
    });
  }
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.end(), {"--keyspace", redis_.url(), "--orders", orders_});
    return words;
  }

  void start_seller() {
    seller_ = on_host(kSeller, [&] { return std::make_unique<HttpProgram>(command({})); });
  }
  /// Returns a time of an order.
  std::int64_t time_of(const std::string& id, const char* what) {
    const auto order = seller_->call("GET", "/v1/orders/" + id).json();
    return parse_time(order[what].get<std::string>()).value_or(0);
  }
  /// Returns the state of an order, as an operator sees it.
  std::string state_of(const std::string& id) {
    return run(kDatabase, {"status", id, "--json"}).json()["state"];
  }
  std::string buy(int voucher, const std::string& user) {
    const HttpReply reply =
        seller_->call("POST", "/v1/vouchers/" + std::to_string(voucher) + "/orders",
                      R"({"user": ")" + user + R"("})");
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.json()["order"];
  }
  /// Returns when workers noted what they had stored.
  std::vector<std::int64_t> times_of_marks() {
    const Reply marks =
        testing::ask(redis_, Request::of("HGET", SaleKeys{}.stream_owner(), "marks"));
    std::vector<std::int64_t> times;
    for (const std::string& time :
         testing::find_all(std::string(marks.text()), "([0-9]+) [0-9]+-[0-9]+ [0-9]+")) {
      times.push_back(std::stoll(time));
    }
    EXPECT_FALSE(times.empty());
    return times;
  }

  static constexpr hours kSeller{-5};
  static constexpr hours kWorker{7};
  static constexpr hours kDatabase{40};

  testing::RedisServer redis_;
  const SaleFiles files_ = {};
  const std::unique_ptr<Server> server_ =
      on_host(kDatabase, [] { return std::make_unique<Server>(); });
  const std::string orders_ = server_->make_database();
  std::unique_ptr<HttpProgram> seller_;
};

using Servers = ::testing::Types<PostgresqlServer, MariadbServer>;
TYPED_TEST_SUITE(ClocksTest, Servers);

TYPED_TEST(ClocksTest, KeyspaceDecidesWhatTimeItIs) {
  EXPECT_GT(seconds_of(*this->server_), now_ms() / 1'000 + 39 * 3'600);
  this->publish();
  this->start_seller();
  // Sold though it has not begun for the seller.
  const std::int64_t before_ms = now_ms();
  const std::string slow = this->buy(1, "anna");
  const std::int64_t after_ms = now_ms();
  EXPECT_EQ(this->seller_->call("POST", "/v1/vouchers/3/orders", R"({"user": "anna"})").problem(),
            "ended");
  const std::string quick = this->buy(2, "anna");
  this->seller_->stop();  // it has a worker, too

  // A worker ends what is due. Not the other hold, which is due by its own clock.
  const auto worker = this->worker();
  wait_or_throw("not cancelled", [&] { return this->state_of(quick) == "cancelled"; });
  EXPECT_EQ(this->state_of(slow), "unpaid");
  this->start_seller();
  EXPECT_THAT(this->time_of(slow, "due_at"),
              AllOf(Ge(before_ms + 60 * kMinuteMs), Le(after_ms + 60 * kMinuteMs)));
  const HttpReply paid = this->seller_->call("POST", "/v1/orders/" + slow + "/payments",
                                             R"({"payment": "p1", "amount_cents": 100})");
  EXPECT_EQ(paid.status, 200) << paid.body;
  wait_or_throw("not paid", [&] { return this->state_of(slow) == "paid"; });

  EXPECT_GT(std::abs(this->time_of(slow, "created_at") - now_ms()), 240 * kMinuteMs)
      << "by the host of the worker that stored it, which may be the seller's";

  EXPECT_EQ(this->run(this->kWorker, {"archive", "1"}).exit_code, kExitNegative)
      << "it has not ended";
  this->expect_done(this->run(this->kSeller, {"archive", "3"}));
  this->expect_done(this->run(this->kDatabase, {"audit"}));

  // How long entries are retained is counted from times of the keyspace, too.
  EXPECT_THAT(this->times_of_marks(), Each(AllOf(Ge(before_ms - kMinuteMs), Le(now_ms()))));
}

}  // namespace
}  // namespace rushgate
