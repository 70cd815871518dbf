// An engine for fuzzers, whose store is inspected before and after.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include <rushgate/engine.h>
#include <rushgate/testing_stores.h>

namespace rushgate::fuzz {

/// An engine on the store, in manual mode, and a client.
class OpenedEngine {
 public:
  explicit OpenedEngine(Store& store, EngineOptions options = {},
                        std::vector<NamedScript> scripts = {}) {
    options.manual_clock = &clock_;
    auto engine = Engine::open(std::make_unique<faults::FaultyStore>(store), std::move(options),
                               std::move(scripts));
    if (!engine.ok()) return;
    engine_ = *std::move(engine);
    client_ = engine_->open_client();
  }
  [[nodiscard]] bool is_open() const { return engine_ != nullptr; }
  [[nodiscard]] Engine& engine() { return *engine_; }

  template <class... Args>
  Reply call(Args... args) {
    return run(Request::of(args...));
  }
  Reply run(const Request& request) { return client_->call(request); }
  std::vector<std::string> keys() { return keys(*engine_->open_client()); }
  /// Returns everything that a new client sees.
  std::string contents() {
    const auto client = engine_->open_client();
    std::string text;
    for (const std::string& key : keys(*client)) {
      text += to_debug_string(Reply::bulk(key)) + " " +
              to_debug_string((*client)("PEXPIRETIME", key)) + " " + content_of(key, *client) +
              "\n";
    }
    return text;
  }

 private:
  static std::vector<std::string> keys(Client& client) {
    std::vector<std::string> keys;
    const Reply all = client("KEYS", "*");
    for (const Reply& key : all.elements()) keys.push_back(key.text());
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  static std::string content_of(const std::string& key, Client& client) {
    const auto call = [&client](const auto&... args) { return client(args...); };
    const std::string type = call("TYPE", key).text();
    if (type == "string") return to_debug_string(call("GET", key));
    if (type == "list") return to_debug_string(call("LRANGE", key, 0, -1));
    if (type == "zset") return to_debug_string(call("ZRANGE", key, 0, -1, "WITHSCORES"));
    if (type == "stream") {
      return to_debug_string(call("XRANGE", key, "-", "+")) + " " +
             to_debug_string(call("XREVRANGE", key, "+", "-", "COUNT", 3)) + " " +
             to_debug_string(call("XINFO", "STREAM", key, "FULL"));
    }
    return sorted(type == "hash" ? call("HGETALL", key) : call("SMEMBERS", key),
                  type == "hash" ? 2 : 1);
  }
  static std::string sorted(const Reply& reply, std::size_t width) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < reply.elements().size(); i += width) {
      std::string& part = parts.emplace_back();
      for (std::size_t j = i; j < i + width; ++j) {
        part += to_debug_string(reply.elements()[j]) + " ";
      }
    }
    std::sort(parts.begin(), parts.end());
    std::string text;
    for (const std::string& part : parts) text += part + ", ";
    return text;
  }

  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

/// Expects that another engine finds the same contents in the store and can delete them.
inline void expect_kept(Store& store, const std::string& kept) {
  OpenedEngine again(store);
  expect(again.is_open(), "what was kept can be opened");
  const std::string found = again.contents();
  if (found != kept) std::fprintf(stderr, "kept:\n%s\nfound:\n%s\n", kept.c_str(), found.c_str());
  expect(found == kept, "what was kept is found");
  again.call("FLUSHALL");
  expect(again.contents().empty(), "nothing remains");
}

}  // namespace rushgate::fuzz
