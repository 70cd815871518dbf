// Commands that remove or overwrite large values free them on another thread.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/unit/executor/engine_fixture.h"

namespace rushgate {
namespace {

/// Returns the number of values that the thread has freed or will free, from one INFO.
std::int64_t freed_later(Client& client) {
  const Reply info = client.call(Request::of("INFO", "memory"));
  std::int64_t sum = 0;
  for (const absl::string_view line : absl::StrSplit(info.text(), "\r\n")) {
    const std::vector<std::string> parts = absl::StrSplit(line, ':');
    std::int64_t count = 0;
    if (parts[0].starts_with("lazyfree") && absl::SimpleAtoi(parts[1], &count)) sum += count;
  }
  return sum;
}

void make_large(Client& client, const std::string& key) {
  const Reply made = client.call(Request::of(
      "EVAL", "for i = 1, 5000 do redis.call('SADD', KEYS[1], 'member' .. i) end", 1, key));
  ASSERT_FALSE(made.is_error());
}

TEST(LazyFreeEngineTest, CommandsLeaveFreeingToThread) {
  const auto engine = open_engine();
  const auto client = engine->open_client();
  for (const char* command :
       {"UNLINK k", "DEL k", "SET k v", "RENAME small k", "SUNIONSTORE k small",
        "ZUNIONSTORE k 1 small", "FLUSHALL", "FLUSHDB ASYNC"}) {
    (*client)("FLUSHALL");
    make_large(*client, "k");
    const std::int64_t keys_flushed = absl::StrContains(command, "FLUSH") ? 2 : 1;
    (*client)("SADD", "small", 1);
    const std::int64_t before = freed_later(*client);
    Request request;
    for (const absl::string_view part : absl::StrSplit(command, ' ')) {
      request.add(std::string_view(part.data(), part.size()));
    }
    EXPECT_FALSE(client->call(std::move(request)).is_error()) << command;
    EXPECT_EQ(freed_later(*client) - before, keys_flushed) << command;
  }
}

TEST(LazyFreeEngineTest, ManualModeFreesAtOnce) {
  ManualClock clock;
  const auto engine = open_engine({.manual_clock = &clock});
  const auto client = engine->open_client();
  make_large(*client, "k");
  EXPECT_EQ((*client)("UNLINK", "k"), Reply::integer(1));
  EXPECT_EQ(freed_later(*client), 0);
}

}  // namespace
}  // namespace rushgate
