// The contract of RedisBackend on our server; redis_client_test.cc runs it on a real one.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/unit/adapters/redis/redis_client_contract.h"
#include <rushgate/memory_store.h>
#include <rushgate/resp_server.h>

namespace rushgate {
namespace {

class OurServer final : public AnyRedisServer {
 public:
  OurServer() {
    engine_ = *Engine::open(std::make_unique<MemoryStore>());
    server_ = *RespServer::start(*engine_, {.bind_address = "", .unix_socket = socket_path()});
  }
  [[nodiscard]] std::string socket_path() const override {
    return (directory_.path() / "socket").string();
  }

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
};

INSTANTIATE_TEST_SUITE_P(OnRushgate, RedisClientContract,
                         ::testing::Values([] { return std::make_unique<OurServer>(); }));

}  // namespace
}  // namespace rushgate
