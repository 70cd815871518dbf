// The same on RocksDB, with an engine that is closed and reopened at times.
#include <gtest/gtest.h>

#include "tests/conformance/random/random_commands.h"
#include "tests/conformance/stored_backend.h"

namespace rushgate::testing {
namespace {

using StoredRandomly = RandomCommandsTest<StoredBackend>;

TEST_P(StoredRandomly, RepliesEqualRedisAfterReopening) {
  constexpr bool kReopens = true;
  play(commands_wanted(3'000), kReopens);
}

INSTANTIATE_TEST_SUITE_P(Families, StoredRandomly,
                         ::testing::ValuesIn(families([](const Grammar& grammar) {
                           return grammar.sessions() == 1;
                         })),
                         name_of);

}  // namespace
}  // namespace rushgate::testing
