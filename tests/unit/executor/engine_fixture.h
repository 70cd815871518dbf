// Engines over a store in memory, for the tests of the executor.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {

inline std::unique_ptr<Engine> open_engine(
    EngineOptions options = {}, std::vector<NamedScript> scripts = {},
    std::unique_ptr<Store> store = std::make_unique<MemoryStore>()) {
  auto engine = Engine::open(std::move(store), std::move(options), std::move(scripts));
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

/// An engine in manual mode with one client.
class ManualEngineTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ = open_engine({.manual_clock = &clock_});
  std::unique_ptr<Client> client_ = engine_->open_client();
};

}  // namespace rushgate
