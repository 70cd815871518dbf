// A sale whose scripts run in Lua, and one with native scripts, for tests that compare them.
#pragma once

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/memory_order_store.h>

namespace rushgate {

/// A keyspace and a sale on it, in manual time.
struct Side {
  SaleBackend keyspace;  // without its database
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Client> client;
  MemoryOrderStore orders;
  std::unique_ptr<Sale> sale;

  Side(const SaleBackendKind& kind, bool native) : keyspace(kind) {
    backend = native ? std::make_unique<ForwardingBackend>(keyspace.keyspace())
                     : std::make_unique<LuaOnlyBackend>(keyspace.keyspace());
    client = keyspace.keyspace().open_client();
    sale = *Sale::open(*backend, orders);
  }

  /// Publishes voucher 1, on sale for one second.
  void publish(std::int64_t stock, const Limits& limits = {}) {
    const Voucher voucher{
        .id = 1, .stock = stock, .end_ms = ManualClock::kStartMs + 1'000, .limits = limits};
    EXPECT_EQ(sale->publish(voucher), absl::OkStatus());
  }
};

/// Returns a side that runs the Lua scripts.
inline Side lua_side_on(const SaleBackendKind& kind) { return {kind, /*native=*/false}; }

/// Returns a side that runs the native implementations, which only the embedded engine has. It is in
/// memory.
inline Side native_side() {
  const auto is_embedded = [](const SaleBackendKind& kind) { return !kind.is_server; };
  return {*sale_backends(TestTime::kManual, is_embedded).front(), /*native=*/true};
}

}  // namespace rushgate
