// For any commands, the engine replies as a real Redis does, and holds the same data afterwards.
#include <gtest/gtest.h>

#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/random/random_commands.h"
#include "tests/conformance/server_backend.h"

namespace rushgate::testing {
namespace {

using EmbeddedRandomly = RandomCommandsTest<EmbeddedBackend>;

TEST_P(EmbeddedRandomly, RepliesEqualRedis) { play(commands_wanted(20'000)); }

INSTANTIATE_TEST_SUITE_P(Families, EmbeddedRandomly,
                         ::testing::ValuesIn(families([](const Grammar& grammar) {
                           return !grammar.has_connections();
                         })),
                         name_of);

using ServerRandomly = RandomCommandsTest<ServerBackend>;

TEST_P(ServerRandomly, RepliesEqualRedis) { play(commands_wanted(5'000)); }

INSTANTIATE_TEST_SUITE_P(Families, ServerRandomly, ::testing::ValuesIn(families()), name_of);

}  // namespace
}  // namespace rushgate::testing
