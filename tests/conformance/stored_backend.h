// A Backend over an engine in this process with its data in RocksDB.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/conformance/embedded_backend.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate::testing {

/// Uses manual mode. Can be reopened.
class StoredBackend final : public Backend {
 public:
  explicit StoredBackend(RespVersion protocol)
      : engine_(protocol, [this](bool is_empty) { return open_store(is_empty); }) {}

  [[nodiscard]] std::string name() const override { return "stored"; }
  void reset() override { engine_.reset(); }
  void reopen() override { engine_.reopen(); }
  void send(int session, const Request& request) override { engine_.send(session, request); }
  std::string receive(int session) override { return engine_.receive(session); }
  bool has_answer(int session) override { return engine_.has_answer(session); }
  void elapse(std::chrono::milliseconds duration) override { engine_.elapse(duration); }

 private:
  std::unique_ptr<Store> open_store(bool is_empty) {
    const std::filesystem::path path = directory_.path() / "keyspace";
    if (is_empty) std::filesystem::remove_all(path);
    auto store = RocksDbStore::open(path);
    if (!store.ok()) throw std::runtime_error(store.status().ToString());
    return *std::move(store);
  }

  const TemporaryDirectory directory_;
  EmbeddedBackend engine_;
};

}  // namespace rushgate::testing
