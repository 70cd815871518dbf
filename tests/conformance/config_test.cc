// Compares the parameters of CONFIG with those of Redis.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/commands/config_parameters.h"
#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"

namespace rushgate::testing {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    redis_.reset();
    ours_.reset();
  }

  std::vector<std::string> names(Backend& backend) {
    const Reply all = backend.ask(0, Request::of("CONFIG", "GET", "*"));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < all.elements().size(); i += 2)
      names.emplace_back(all.elements()[i].text());
    std::ranges::sort(names);
    return names;
  }
  static std::string value(Backend& backend, std::string_view name) {
    return std::string(backend.ask(0, Request::of("CONFIG", "GET", name)).elements().at(1).text());
  }
  static Reply set(Backend& backend, std::string_view name, std::string_view value) {
    return backend.ask(0, Request::of("CONFIG", "SET", name, value));
  }

  RedisBackend redis_{RespVersion::k2};
  EmbeddedBackend ours_{RespVersion::k2};
};

TEST_F(ConfigTest, ParametersAreThoseOfRedis) { EXPECT_EQ(names(ours_), names(redis_)); }

TEST_F(ConfigTest, PresentValueIsNeverError) {
  for (const std::string& name : names(ours_))
    EXPECT_EQ(set(ours_, name, value(ours_, name)), Reply::ok()) << name;
}

TEST_F(ConfigTest, InitialValuesAreThoseOfRedis) {
  for (const ConfigParameter& parameter : config_parameters()) {
    if (parameter.use == ConfigParameter::Use::kFixed) continue;
    const std::set<std::string_view> others = {"latency-tracking", "save",
                                               "repl-diskless-sync-delay"};
    if (others.contains(parameter.name)) continue;
    EXPECT_EQ(value(ours_, parameter.name), value(redis_, parameter.name)) << parameter.name;
  }
}

TEST_F(ConfigTest, ValuesAreParsedAsByRedis) {
  // The greatest value of the first two is another one. Redis replaces values of hz.
  const std::set<std::string_view> others = {"tcp-keepalive", "proto-max-bulk-len", "hz",
                                             "latency-tracking", "repl-diskless-sync-delay"};
  for (const ConfigParameter& parameter : config_parameters()) {
    if (parameter.use == ConfigParameter::Use::kFixed || others.contains(parameter.name)) continue;
    for (const std::string_view text : {"",
                                        "x",
                                        "0",
                                        "1",
                                        "-1",
                                        "05",
                                        " 5",
                                        "1.5",
                                        "100",
                                        "1kb",
                                        "1MB",
                                        "70000",
                                        "3000000000",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "yes",
                                        "NO",
                                        "K",
                                        "900 1",
                                        "900 1 60",
                                        "99.99999 50.123456789 0.00001 1e-7",
                                        "0 1",
                                        "notice",
                                        "DEBUG"}) {
      const std::string initial = value(redis_, parameter.name);
      SCOPED_TRACE(std::string(parameter.name) + " " + std::string(text));
      EXPECT_EQ(to_debug_string(set(ours_, parameter.name, text)),
                to_debug_string(set(redis_, parameter.name, text)));
      EXPECT_EQ(value(ours_, parameter.name), value(redis_, parameter.name));
      for (Backend* const backend : {static_cast<Backend*>(&redis_), static_cast<Backend*>(&ours_)})
        set(*backend, parameter.name, initial);
    }
  }
}

TEST_F(ConfigTest, OneInvalidValueChangesNothing) {
  for (Backend* const backend : {static_cast<Backend*>(&redis_), static_cast<Backend*>(&ours_)}) {
    const Reply reply = backend->ask(
        0, Request::of("CONFIG", "SET", "hz", "20", "timeout", "5", "lfu-log-factor", "x"));
    EXPECT_TRUE(reply.is_error());
    EXPECT_EQ(value(*backend, "hz"), "10");
    EXPECT_EQ(value(*backend, "timeout"), "0");
  }
}

}  // namespace
}  // namespace rushgate::testing
