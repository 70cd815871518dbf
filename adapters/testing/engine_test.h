// A GoogleTest fixture with an engine: TEST_F(EngineTest, …) { call("SET", "k", "v"); … }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/testing/reply_matchers.h"
#include "adapters/testing/test_engine.h"

namespace rushgate::testing {

/// Gives each test its own engine. It is in memory unless a derived fixture passes other options.
class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(TestEngineOptions options = {}) : engine_(std::move(options)) {}

  template <class... Args>
  Reply call(const Args&... args) {
    return engine_.call(args...);
  }
  Reply eval(std::string_view script, const std::vector<std::string>& keys = {},
             const std::vector<std::string>& arguments = {}) {
    return engine_.eval(script, keys, arguments);
  }
  void advance_ms(std::int64_t duration_ms) { engine_.advance_ms(duration_ms); }
  void restart() { engine_.restart(); }

  TestEngine engine_;
};

}  // namespace rushgate::testing
