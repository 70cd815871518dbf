// Runs every case of every transcript as a separate test. RUSHGATE_CONFORMANCE_LOG=1 shows the
// server's replies.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/named_cases.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/runner.h"
#include "tests/conformance/server_backend.h"
#include "tests/support/sweep.h"

namespace rushgate::testing {
namespace {

std::vector<NamedCase> all_cases() { return named_cases(RUSHGATE_TRANSCRIPTS); }

class TranscriptTest : public ::testing::TestWithParam<NamedCase> {
 protected:
  static void play(Backend& oracle, Backend& subject) {
    const NamedCase& param = GetParam();
    ASSERT_EQ(param.error, "");
    const bool wants_log = std::getenv("RUSHGATE_CONFORMANCE_LOG") != nullptr;
    for (const std::string& failure :
         run_case(param.parsed, oracle, subject, wants_log ? &std::cout : nullptr)) {
      ADD_FAILURE() << failure;
    }
  }
};

// ---- Redis and Redis ----------------------------------------------------------------------------

/// Compares a subject with a real Redis, the oracle.
template <class Subject, RespVersion protocol>
class AgainstRedis : public TranscriptTest {
 protected:
  static void SetUpTestSuite() {
    oracle_ = std::make_unique<RedisBackend>(protocol);
    subject_ = std::make_unique<Subject>(protocol);
  }
  static void TearDownTestSuite() {
    oracle_.reset();
    subject_.reset();
  }

  static inline std::unique_ptr<RedisBackend> oracle_;
  static inline std::unique_ptr<Subject> subject_;
};

/// Two servers must agree. Otherwise the transcript depends on an undefined result.
using RedisAgainstRedis = AgainstRedis<RedisBackend, RespVersion::k2>;

TEST_P(RedisAgainstRedis, RepliesAreTheSame) { play(*oracle_, *subject_); }

/// Returns all cases in a full run, and in an ordinary one each `share`-th, from `first` on.
std::vector<NamedCase> some_cases(std::size_t share, std::size_t first) {
  std::vector<NamedCase> all = all_cases();
  if (is_full_run()) return all;
  std::vector<NamedCase> some;
  for (std::size_t i = first; i < all.size(); i += share) some.push_back(std::move(all[i]));
  return some;
}

// It checks the transcripts; the other suites check our replies.
INSTANTIATE_TEST_SUITE_P(Transcripts, RedisAgainstRedis, ::testing::ValuesIn(some_cases(4, 0)),
                         name_of);

// ---- Redis and the embedded engine --------------------------------------------------------------

using EmbeddedAgainstRedis = AgainstRedis<EmbeddedBackend, RespVersion::k2>;

TEST_P(EmbeddedAgainstRedis, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, EmbeddedAgainstRedis, ::testing::ValuesIn(all_cases()),
                         name_of);

using EmbeddedAgainstRedisInResp3 = AgainstRedis<EmbeddedBackend, RespVersion::k3>;

TEST_P(EmbeddedAgainstRedisInResp3, RepliesAreTheSame) { play(*oracle_, *subject_); }

// An ordinary run plays each case in RESP3 once: here or on the server.
INSTANTIATE_TEST_SUITE_P(Transcripts, EmbeddedAgainstRedisInResp3,
                         ::testing::ValuesIn(some_cases(2, 0)), name_of);

// ---- Redis and the server -----------------------------------------------------------------------

using ServerAgainstRedis = AgainstRedis<ServerBackend, RespVersion::k2>;

TEST_P(ServerAgainstRedis, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, ServerAgainstRedis, ::testing::ValuesIn(all_cases()),
                         name_of);

using ServerAgainstRedisInResp3 = AgainstRedis<ServerBackend, RespVersion::k3>;

TEST_P(ServerAgainstRedisInResp3, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, ServerAgainstRedisInResp3,
                         ::testing::ValuesIn(some_cases(2, 1)), name_of);

}  // namespace
}  // namespace rushgate::testing
