// The runner with real servers, and with one that changes replies.
#include "tests/conformance/runner.h"

#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/redis_backend.h"

namespace rushgate::testing {
namespace {

/// Forwards everything, but applies `change` to the replies.
class AlteringBackend final : public Backend {
 public:
  using Change = std::function<std::string(const std::string&)>;

  AlteringBackend(Backend& honest, Change change) : honest_(honest), change_(std::move(change)) {}

  [[nodiscard]] std::string name() const override { return "altered"; }
  void reset() override { honest_.reset(); }
  void send(int session, const Request& request) override { honest_.send(session, request); }
  std::string receive(int session) override { return change_(honest_.receive(session)); }
  bool has_answer(int session) override { return honest_.has_answer(session); }
  void elapse(std::chrono::milliseconds duration) override { honest_.elapse(duration); }

 private:
  Backend& honest_;
  const Change change_;
};

class RunnerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    oracle_ = std::make_unique<RedisBackend>();
    subject_ = std::make_unique<RedisBackend>();
  }
  static void TearDownTestSuite() {
    oracle_.reset();
    subject_.reset();
  }

  static std::vector<std::string> run(const std::string& lines, Backend& subject = *subject_) {
    return run_case(parse_transcript("f.txt", "== case\n" + lines)[0], *oracle_, subject);
  }

  static inline std::unique_ptr<RedisBackend> oracle_;
  static inline std::unique_ptr<RedisBackend> subject_;
};

const std::vector<std::string> kNoFailures;

TEST_F(RunnerTest, EqualBackendsAgree) {
  EXPECT_EQ(run("SET k \"a\\x00b\"\nGET k\nGET none\nINCR k\nSET k"), kNoFailures);
}

TEST_F(RunnerTest, ChangedReplyIsReportedWithPlace) {
  AlteringBackend liar(
      *subject_, [](const std::string& answer) { return answer == ":2\r\n" ? ":3\r\n" : answer; });
  EXPECT_EQ(run("INCR n\n\nINCR n\nINCR n\n", liar),
            std::vector<std::string>{"f.txt:4: INCR n\n  the bytes differ\n"
                                     "  redis: :2\\r\\n\n  altered: :3\\r\\n"});
}

TEST_F(RunnerTest, ChangedByteInErrorIsReported) {
  AlteringBackend liar(*subject_, [](const std::string& answer) {
    return answer.starts_with('-') ? "-ERR wrong\r\n" : answer;
  });
  EXPECT_EQ(run("SET k a\nINCR k", liar).size(), 1u);
}

TEST_F(RunnerTest, SlackHidesOnlyNamedDifferences) {
  AlteringBackend liar(*subject_, [](const std::string& answer) {
    return answer.starts_with("*2") ? "*2\r\n$1\r\nb\r\n$1\r\nc\r\n" : answer;
  });
  EXPECT_EQ(run("SADD s a b\n@unordered SMEMBERS s", liar).size(), 1u);
}

TEST_F(RunnerTest, RunStopsAfterTooManyFailures) {
  AlteringBackend liar(*subject_, [](const std::string&) { return "+no\r\n"; });
  EXPECT_EQ(run("@times 100 PING", liar).size(), kFailuresMax);
}

TEST_F(RunnerTest, EachCaseBeginsWithoutData) {
  EXPECT_EQ(run("SET k v\nEVAL \"return 1\" 0\n1: SELECT 3"), kNoFailures);
  AlteringBackend expecting_nothing(*subject_, [](const std::string& answer) {
    EXPECT_EQ(answer, "$-1\r\n");
    return answer;
  });
  EXPECT_EQ(run("GET k", expecting_nothing), kNoFailures);
}

TEST_F(RunnerTest, VariablesAreSeparateForEachBackend) {
  EXPECT_EQ(run("@any @set id XADD s * f v\nXRANGE s $id $id\nXADD s $id f v"), kNoFailures);
}

TEST_F(RunnerTest, BlockedSessionsWaitUntilServed) {
  EXPECT_EQ(run("1> XREAD BLOCK 0 STREAMS s $\n1?\nXADD s 1-1 f v\n1<"), kNoFailures);
  EXPECT_EQ(run("1> XREAD BLOCK 10 STREAMS s $\n@elapse 20\n1<"), kNoFailures);
}

TEST_F(RunnerTest, EarlyReplyIsReported) {
  const std::vector<std::string> failures = run("1> GET k\n1?\n1<");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0], "f.txt:3: 1?\n  redis has already replied: $-1\\r\\n");
}

TEST_F(RunnerTest, SurplusReplyIsReported) {
  const std::vector<std::string> failures = run("1: SUBSCRIBE c\nPUBLISH c m");
  ASSERT_EQ(failures.size(), 2u) << "one for each backend";
  EXPECT_EQ(failures[0],
            "f.txt:1: case\n  redis has a surplus reply in session 1: "
            "*3\\r\\n$7\\r\\nmessage\\r\\n$1\\r\\nc\\r\\n$1\\r\\nm\\r\\n");
  EXPECT_EQ(run("1: SUBSCRIBE c\nPUBLISH c m\n1!"), kNoFailures);
}

TEST_F(RunnerTest, SessionsAreSeparate) {
  EXPECT_EQ(run("1: SELECT 1\n1: SET k v\n2: GET k\nGET k\n1: GET k"), kNoFailures);
}

TEST_F(RunnerTest, LogShowsRepliesOfOracle) {
  std::ostringstream log;
  run_case(parse_transcript("f.txt", "== case\nPING")[0], *oracle_, *subject_, &log);
  EXPECT_EQ(log.str(), "PING\n    +PONG\\r\\n\n");
}

}  // namespace
}  // namespace rushgate::testing
