// Measures the cost of running a script: the seckill script over commands that do nothing.
#include <string_view>

#include <benchmark/benchmark.h>

#include "engine/redis/script/lua_host.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {
namespace {

constexpr std::string_view kSeckill = R"(
local stock = redis.call('GET', KEYS[1])
if not stock then return 3 end
if tonumber(stock) <= 0 then return 1 end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return 2 end
redis.call('INCRBY', KEYS[1], -1)
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('XADD', KEYS[3], '*', 'userId', ARGV[1], 'voucherId', ARGV[2], 'id', ARGV[3])
return 0)";

struct StubCommands final : CommandCaller {
  Reply call(RequestView request) override {
    switch (request[0][0]) {
      case 'G':
        return Reply::bulk("100");
      case 'X':
        return Reply::bulk("1700000000123-0");
      default:
        return Reply::integer(request[0] == "SISMEMBER" ? 0 : 1);
    }
  }
  [[nodiscard]] bool knows(RequestView) const override { return true; }
  void set_protocol(int) override {}
};

struct NeverStop final : BusyMonitor {
  bool poll() override { return false; }
};

void BM_Seckill(benchmark::State& state) {
  NeverStop monitor;
  LuaHost host({}, monitor, nullptr);
  Reply error;
  host.load(kSeckill, error);
  StubCommands commands;
  const std::string_view keys[] = {"seckill:stock:7", "seckill:order:7", "stream.orders"};
  const std::string_view arguments[] = {"123456", "7", "987654321012345"};
  const std::string sha1 = host.load(kSeckill, error)->sha1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(host.run(*host.find(sha1), {keys, arguments, 0, commands}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Seckill);

void BM_NearlyEmptyScript(benchmark::State& state) {
  NeverStop monitor;
  LuaHost host({}, monitor, nullptr);
  Reply error;
  const LuaScript& script = *host.load("return 0", error);
  StubCommands commands;
  for (auto _ : state) {
    benchmark::DoNotOptimize(host.run(script, {{}, {}, 0, commands}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_NearlyEmptyScript);

void BM_LuaLoop(benchmark::State& state) {
  NeverStop monitor;
  LuaHost host({}, monitor, nullptr);
  Reply error;
  const LuaScript& script =
      *host.load("local n = 0 for i = 1, 100000 do n = n + i % 7 end return n", error);
  StubCommands commands;
  for (auto _ : state) {
    benchmark::DoNotOptimize(host.run(script, {{}, {}, 0, commands}));
  }
}
BENCHMARK(BM_LuaLoop);

}  // namespace
}  // namespace rushgate
