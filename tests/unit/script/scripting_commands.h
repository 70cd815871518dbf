// Fixture of the tests of commands that run scripts and functions.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/dispatch.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"
#include "tests/unit/commands/lone_services.h"
#include <rushgate/memory_store.h>

namespace rushgate {

class ScriptingCommandsTest : public ::testing::Test, private BusyMonitor {
 protected:
  explicit ScriptingCommandsTest(const LuaLimits& limits = {.busy_after_ms = 1})
      : lua_(limits, *this, nullptr) {}

  template <class... Args>
  Reply run(Args... args) {
    const Request request = Request::of(args...);
    CommandContext context(services_, session_, request, CommandContext::Origin::kClient, false);
    return run_command(context);
  }

  /// Runs a command and returns its reply as to_debug_string() formats it.
  template <class... Args>
  std::string text(Args... args) {
    return to_debug_string(run(args...));
  }

  MemoryStore store_;
  Keyspace keyspace_{store_, 7};
  LuaHost lua_;
  NativeHost natives_;
  Session session_;
  LoneServices lone_services_{keyspace_, lua_, natives_};
  CommandServices& services_ = lone_services_.get();
  std::function<void()> while_busy_ = [] {};

 private:
  bool poll() override {
    while_busy_();
    return services_.running_script->kill;
  }
};

}  // namespace rushgate
