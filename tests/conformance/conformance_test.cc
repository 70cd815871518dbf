// Runs every case of every transcript as a separate test. RUSHGATE_CONFORMANCE_LOG=1 shows the
// server's replies.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/runner.h"
#include "tests/conformance/server_backend.h"

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

struct NamedCase {
  std::string name;  // "strings_INCR_of_a_list"
  Case parsed;
  std::string error;  // the error of a transcript that cannot be parsed
};

void PrintTo(const NamedCase& named, std::ostream* out) { *out << named.name; }

std::string test_name(const std::string& family, const std::string& title) {
  std::string name = family + "_" + title;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::vector<NamedCase> all_cases() {
  std::vector<NamedCase> cases;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(RUSHGATE_TRANSCRIPTS)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string family = file.stem().string();
    const std::string shown = "tests/conformance/transcripts/" + file.filename().string();
    try {
      for (Case& parsed : parse_transcript(shown, text)) {
        const std::string name = test_name(family, parsed.title);
        cases.push_back({name, std::move(parsed), ""});
      }
    } catch (const std::exception& error) {
      cases.push_back({test_name(family, "is_a_transcript"), {}, error.what()});
    }
  }
  return cases;
}

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

std::string name_of(const ::testing::TestParamInfo<NamedCase>& info) { return info.param.name; }

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

INSTANTIATE_TEST_SUITE_P(Transcripts, RedisAgainstRedis, ::testing::ValuesIn(all_cases()), name_of);

// ---- Redis and the embedded engine --------------------------------------------------------------

using EmbeddedAgainstRedis = AgainstRedis<EmbeddedBackend, RespVersion::k2>;

TEST_P(EmbeddedAgainstRedis, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, EmbeddedAgainstRedis, ::testing::ValuesIn(all_cases()),
                         name_of);

using EmbeddedAgainstRedisInResp3 = AgainstRedis<EmbeddedBackend, RespVersion::k3>;

TEST_P(EmbeddedAgainstRedisInResp3, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, EmbeddedAgainstRedisInResp3, ::testing::ValuesIn(all_cases()),
                         name_of);

// ---- Redis and the server -----------------------------------------------------------------------

using ServerAgainstRedis = AgainstRedis<ServerBackend, RespVersion::k2>;

TEST_P(ServerAgainstRedis, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, ServerAgainstRedis, ::testing::ValuesIn(all_cases()),
                         name_of);

using ServerAgainstRedisInResp3 = AgainstRedis<ServerBackend, RespVersion::k3>;

TEST_P(ServerAgainstRedisInResp3, RepliesAreTheSame) { play(*oracle_, *subject_); }

INSTANTIATE_TEST_SUITE_P(Transcripts, ServerAgainstRedisInResp3, ::testing::ValuesIn(all_cases()),
                         name_of);

}  // namespace
}  // namespace rushgate::testing
