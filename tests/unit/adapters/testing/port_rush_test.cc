// The same rush has the same report over a port: on the engine behind a server, and on Redis.
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/adapters/testing/shops.h"
#include <rushgate/redis_backend.h>
#include <rushgate/resp_server.h>
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A server over an engine in manual mode, and a client of it.
class Served {
 public:
  Served() {
    const std::string socket = directory_.path() / "socket";
    server_ =
        RespServer::start(engine_.engine(), {.bind_address = "", .unix_socket = socket}).value();
    backend_ = RedisBackend::open(*RedisOptions::from_url("unix://" + socket)).value();
    client_ = backend_->open_client();
  }

  Client& client() { return *client_; }

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  TestEngine engine_;
  std::unique_ptr<RespServer> server_;
  std::unique_ptr<RedisBackend> backend_;
  std::unique_ptr<Client> client_;
};

TEST(PortRushTest, ServerReportEqualsEngineReport) {
  for (const std::string& script :
       {std::string(kGoodScript), good_script_but("redis.call('DECR', KEYS[1])", ""),
        forgetful_script()}) {
    SaleUnderTest sale = seckill(script, 100);
    sale.restock = add_stock;
    sale.buyers = orders_in_sets("buyers:", {1});
    const RushOptions rush{.vouchers = {{.stock = 100}}};
    TestEngine engine;
    const RushReport own = run_rush(engine, sale, rush);
    Served served;
    const RushReport over_port = run_rush(served.client(), sale, rush);
    EXPECT_EQ(over_port, own) << over_port << own;
  }
}

TEST(PortRushTest, ServersInOneProcessAreIndependent) {
  Served one;
  Served two;
  EXPECT_TRUE(run_rush(one.client(), seckill(kGoodScript)).passed());
  EXPECT_TRUE(run_rush(two.client(), seckill(kGoodScript)).passed());
}

TEST(PortRushTest, RedisWithRealClockGivesSameReport) {
  RedisServer server;
  const auto backend = RedisBackend::open(*RedisOptions::from_url(server.url())).value();
  const auto client = backend->open_client();
  EXPECT_THAT(run_rush(*client, seckill(kGoodScript)).errors,
              ElementsAre(HasSubstr("the clock cannot be moved: ERR unknown command")));
  for (const std::string& script :
       {std::string(kGoodScript), good_script_but("redis.call('DECR', KEYS[1])", "")}) {
    server.flush_all();
    TestEngine engine;
    const RushReport own = run_rush(engine, seckill(script));
    const RushReport over_port = run_rush(*client, seckill(script), {}, {.move_clock = false});
    EXPECT_EQ(over_port, own) << over_port << own;
  }
}

TEST(PortRushTest, ServerCannotCrashHere) {
  Served served;
  EXPECT_THROW(run_rush(served.client(), seckill(kGoodScript), {}, {.crashes = 1}),
               std::invalid_argument);
}

}  // namespace
}  // namespace rushgate::testing
