// Streams on disk may exceed `maxmemory` without refused writes.
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

TEST(StreamMemoryDiskTest, StreamsLargerThanMemoryTakeWrites) {
  constexpr std::uint64_t kBytesMax = std::uint64_t{8} << 20;
  constexpr int kStreams = 24;
  constexpr int kEntries = 10;  // of 100 KB
  const TemporaryDirectory directory;
  auto store = RocksDbStore::open(directory.path());
  ASSERT_TRUE(store.ok()) << store.status();
  ManualClock clock;
  const auto engine =
      open_engine({.manual_clock = &clock, .memory_bytes_max = kBytesMax}, {}, *std::move(store));
  const auto client = engine->open_client();
  const std::string value(100'000, 'x');
  for (int stream = 0; stream < kStreams; ++stream) {
    for (int entry = 0; entry < kEntries; ++entry) {
      ASSERT_FALSE((*client)("XADD", stream, "*", "f", value).is_error()) << stream;
    }
  }
  for (int stream = 0; stream < kStreams; ++stream) {
    const Reply entries = (*client)("XRANGE", stream, "-", "+", "COUNT", 3);
    EXPECT_EQ(entries.elements().size(), 3U);
  }
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
}

}  // namespace
}  // namespace rushgate
