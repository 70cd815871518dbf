// The names of fields of INFO: those of Redis, and some of our own.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"

namespace rushgate::testing {
namespace {

std::set<std::string> fields_of(Backend& backend) {
  backend.reset();
  backend.ask(0, Request::of("SET", "k", "v"));
  backend.ask(0, Request::of("NOSUCH"));
  const Reply info = backend.ask(0, Request::of("INFO", "everything"));
  std::set<std::string> names;
  for (const absl::string_view line : absl::StrSplit(info.text(), "\r\n")) {
    names.emplace(line.substr(0, line.find(':')));
  }
  return names;
}

TEST(InfoFieldsTest, FieldsAreThoseOfRedisAndOurs) {
  RedisBackend redis(RespVersion::k2);
  EmbeddedBackend embedded(RespVersion::k2);
  const std::set<std::string> known = fields_of(redis);
  const std::set<std::string> ours = fields_of(embedded);
  for (const std::string& name : ours) {
    const bool is_fine = name.starts_with("rushgate_") || known.contains(name);
    EXPECT_TRUE(is_fine) << name;
  }
  for (const std::string& name : known) {
    const bool is_of_command = name.starts_with("cmdstat_") || name.starts_with("latency_");
    EXPECT_TRUE(is_of_command || ours.contains(name)) << name;
  }
  EXPECT_THAT(ours, ::testing::IsSupersetOf({"rushgate_version", "errorstat_ERR", "db0"}));
}

}  // namespace
}  // namespace rushgate::testing
