// The backends that the sale runs on: one list for every suite. A suite runs on all of them, or
// says at its INSTANTIATE_TEST_SUITE_P why not. A new backend is a new line of kSaleBackends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/functional/function_ref.h"
#include "engine/client/backend.h"
#include "engine/sale/orders/order_store.h"
#include "engine/time/manual_clock.h"

namespace rushgate {

/// The time that a keyspace and the sale on it go by.
enum class TestTime : std::uint8_t {
  kManual,    // moved by the test, which has one thread
  kMachines,  // for threads, fibers and callbacks
};

/// A keyspace for the length of a test. It keeps its data while it is closed.
class TestKeyspace {
 public:
  virtual ~TestKeyspace() = default;

  /// Opens it. Everything that was opened before must be closed.
  [[nodiscard]] virtual std::unique_ptr<Backend> open() = 0;
  /// Opens it for one more process while it is open. If processes cannot share it, returns a
  /// backend that passes everything on to `opened`.
  [[nodiscard]] virtual std::unique_ptr<Backend> open_another(Backend& opened) = 0;

  /// Keeps the data as it is now, for roll_back(). Unless it is a server, it must be closed for
  /// both.
  virtual void save() = 0;
  /// Brings back the data that was saved. A server is killed for it and started again.
  virtual void roll_back() = 0;

  /// With manual time, `opened` being what open() returned: moves the time.
  virtual void advance_ms(Backend& opened, std::int64_t duration_ms) = 0;
  /// With manual time: sets the time of day alone.
  virtual void set_now_ms(std::int64_t now_ms) = 0;
};

/// A line of the list: a keyspace, an order database, and what tests must know of them.
struct SaleBackendKind {
  const char* name;
  /// Makes a keyspace below `dir`. `clock` is null if it goes by the machine's time.
  std::unique_ptr<TestKeyspace> (*make_keyspace)(const std::filesystem::path& dir,
                                                 ManualClock* clock);
  /// Opens the order database that is, or will be, in `file`.
  std::unique_ptr<OrderStore> (*open_orders)(const std::filesystem::path& file);
  bool keeps_orders_in_file;    // SQLite's, which a test may lock, delete and damage
  bool is_server;               // several processes use the keyspace at once, and it outlives them
  bool can_roll_back;           // save() and roll_back()
  bool has_manual_time = true;  // else TestTime::kMachines alone
};

/// For ::testing::TestWithParam.
using SaleBackendParam = const SaleBackendKind*;

/// Returns the lines of the list that can go by `time` and that `is_wanted` returns true for.
std::vector<SaleBackendParam> sale_backends(
    TestTime time, absl::FunctionRef<bool(const SaleBackendKind&)> is_wanted);

/// For INSTANTIATE_TEST_SUITE_P: each backend with this time.
inline auto each_backend(TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(sale_backends(time, [](const auto&) { return true; }));
}
/// Each with this property.
inline auto each_backend_that(bool SaleBackendKind::*property, TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(
      sale_backends(time, [&](const SaleBackendKind& kind) { return kind.*property; }));
}
/// Each embedded engine: a keyspace that belongs to one process.
inline auto each_embedded_backend(TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(
      sale_backends(time, [](const SaleBackendKind& kind) { return !kind.is_server; }));
}

inline std::string backend_name(const ::testing::TestParamInfo<SaleBackendParam>& kind) {
  return kind.param->name;
}

/// For GoogleTest.
void PrintTo(const SaleBackendKind* kind, std::ostream* out);

}  // namespace rushgate
