// Fixture of the Lua host's tests: a host whose scripts call commands of the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/script/lua_host.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

class LuaTest : public ::testing::Test, protected CommandCaller, protected BusyMonitor {
 protected:
  explicit LuaTest(const LuaLimits& limits = {}) : limits_(limits) {}

  using Texts = std::vector<std::string_view>;

  /// Returns the script's reply.
  Reply eval(std::string_view script, const Texts& keys = {}, const Texts& arguments = {}) {
    Reply error;
    const LuaScript* const compiled = host().load(script, error);
    return compiled == nullptr ? error : run(*compiled, keys, arguments).reply;
  }

  LuaResult run(const LuaScript& script, const Texts& keys = {}, const Texts& arguments = {}) {
    return host().run(script, {keys, arguments, 0, *this});
  }

  /// Returns the reply as to_debug_string() formats it, with the SHA-1 replaced.
  std::string text(std::string_view script) { return without_name(eval(script)); }

  static std::string without_name(const Reply& reply) {
    std::string all = to_debug_string(reply);
    constexpr std::string_view kBefore = " script: ";
    constexpr std::size_t kSha1Size = 40;
    if (const std::size_t at = all.find(kBefore); at != std::string::npos) {
      all.replace(at + kBefore.size(), kSha1Size, "<sha1>");
    }
    return all;
  }

  LuaHost& host() {
    if (host_ == nullptr) {
      BusyMonitor& monitor = *this;
      host_ = std::make_unique<LuaHost>(limits_, monitor, logger_);
    }
    return *host_;
  }

  /// Runs the next script on a new host, with the current limits_.
  void restart() { host_.reset(); }

  LuaLimits limits_;
  std::shared_ptr<spdlog::logger> logger_;

  /// Returns the reply to redis.call.
  std::function<Reply()> on_call_ = [] { return Reply::ok(); };
  std::vector<Request> calls_;  // commands called, while keep_calls_
  bool keep_calls_ = true;
  int protocol_ = 2;
  int protocol_changes_ = 0;
  std::function<bool()> on_poll_ = [] { return false; };

 private:
  Reply call(RequestView request) override {
    if (keep_calls_) calls_.emplace_back(request);
    return on_call_();
  }
  [[nodiscard]] bool knows(RequestView request) const override { return request[0] != "nosuch"; }
  void set_protocol(int protocol) override {
    protocol_ = protocol;
    ++protocol_changes_;
  }
  bool poll() override { return on_poll_(); }

  std::unique_ptr<LuaHost> host_;
};

}  // namespace rushgate
