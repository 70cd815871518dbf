// `rushgate serve --http` as a child process.
#pragma once

#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/http_client.h"
#include "tests/support/patterns.h"
#include "tests/support/program.h"

namespace rushgate::testing {

/// A server with free ports.
class HttpProgram {
 public:
  /// Starts it with `more` options. Returns when it listens, unless `waits` is false.
  explicit HttpProgram(const std::vector<std::string>& more, bool waits = true)
      : program_(arguments(more)) {
    if (waits) wait_until_it_listens();
  }

  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] std::string error_text() const { return program_.error_text(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] HttpReply call(const std::string& method, const std::string& target,
                               const std::string& body = {}) const {
    return HttpConnection(port_).call(method, target, body);
  }
  void kill() {
    program_.send(SIGKILL);
    program_.wait();
  }
  void stop(int signal = SIGTERM) {
    program_.send(signal);
    const ProgramResult result = program_.wait();
    EXPECT_EQ(result.exit_code, signal == SIGTERM ? kExitOk : kExitSignal + signal) << result.err;
  }

 private:
  static std::vector<std::string> arguments(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"serve", "--port", "0", "--http", "127.0.0.1:0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void wait_until_it_listens() {
    program_.wait_for_error_text("serving HTTP on 127.0.0.1 port ");
    const std::string text = error_text();
    const std::vector<std::string> ports = find_all(text, "HTTP on [0-9.]+ port ([0-9]+)\n");
    if (ports.empty()) throw std::runtime_error("no HTTP: " + text);
    port_ = static_cast<std::uint16_t>(std::stoi(ports.front()));
  }

  Program program_;
  std::uint16_t port_ = 0;
};

}  // namespace rushgate::testing
