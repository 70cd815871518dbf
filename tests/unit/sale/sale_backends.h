// The backends of the sale's tests: one list for every suite. A suite runs on all of them, or its
// INSTANTIATE_TEST_SUITE_P says why not. A new backend is a new line of kSaleBackends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/functional/function_ref.h"
#include <rushgate/backend.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// The time that a keyspace and its sale use.
enum class TestTime : std::uint8_t {
  kManual,    // moved by the test, which has one thread
  kMachines,  // for threads, fibers and callbacks
};

/// A keyspace for one test. It keeps its data while it is closed.
class TestKeyspace {
 public:
  virtual ~TestKeyspace() = default;

  /// Opens the keyspace. Everything opened before must be closed.
  [[nodiscard]] virtual std::unique_ptr<Backend> open() = 0;
  /// Opens the keyspace for one more process while it is open. If processes cannot share it,
  /// returns a backend that forwards to `opened`.
  [[nodiscard]] virtual std::unique_ptr<Backend> open_another(Backend& opened) = 0;

  /// Saves the current data, for roll_back(). Only a server may be open during both.
  virtual void save() = 0;
  /// Restores the saved data. A server is killed for it and restarted.
  virtual void roll_back() = 0;

  /// Advances manual time. `opened` is the result of open().
  virtual void advance_ms(Backend& opened, std::int64_t duration_ms) = 0;
  /// Sets only the time of day, if it is manual.
  virtual void set_now_ms(std::int64_t now_ms) = 0;
};

/// A line of the list: a keyspace, an order database, and their properties.
struct SaleBackendKind {
  const char* name;
  /// Creates a keyspace below `dir`. A null `clock` selects the machine's time.
  std::unique_ptr<TestKeyspace> (*make_keyspace)(const std::filesystem::path& dir,
                                                 ManualClock* clock);
  /// Opens the order database in `file`, which may not exist yet.
  std::unique_ptr<OrderStore> (*open_orders)(const std::filesystem::path& file);
  bool keeps_orders_in_file;    // SQLite's file, which a test may lock, delete or damage
  bool is_server;               // several processes share the keyspace, and it outlives them
  bool can_roll_back;           // has save() and roll_back()
  bool has_manual_time = true;  // false: only TestTime::kMachines
  bool has_lanes = false;       // the database has several lanes from the start
  bool is_cluster = false;      // the names of the first lane's keys have a tag, too
};

/// The parameter of ::testing::TestWithParam.
using SaleBackendParam = const SaleBackendKind*;

/// Returns the lines of the list that support `time` and that satisfy `is_wanted`. A cluster is only in the
/// suites of lanes: the others name keys without a tag.
std::vector<SaleBackendParam> sale_backends(
    TestTime time, absl::FunctionRef<bool(const SaleBackendKind&)> is_wanted);

/// Returns a cluster of three masters.
SaleBackendParam cluster_backend();

/// Returns each backend with this time, for INSTANTIATE_TEST_SUITE_P.
inline auto each_backend(TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(sale_backends(time, [](const auto&) { return true; }));
}
/// Returns each backend with this property.
inline auto each_backend_that(bool SaleBackendKind::*property, TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(
      sale_backends(time, [&](const SaleBackendKind& kind) { return kind.*property; }));
}
/// Returns each backend whose database begins with one lane.
inline auto each_backend_without_lanes(TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(
      sale_backends(time, [](const SaleBackendKind& kind) { return !kind.has_lanes; }));
}
/// Returns the same, and a cluster.
inline auto each_backend_of_lanes() {
  auto kinds = sale_backends(TestTime::kManual, [](const auto& kind) { return !kind.has_lanes; });
  kinds.push_back(cluster_backend());
  return ::testing::ValuesIn(kinds);
}
/// Returns each embedded engine: its keyspace belongs to one process.
inline auto each_embedded_backend(TestTime time = TestTime::kManual) {
  return ::testing::ValuesIn(
      sale_backends(time, [](const SaleBackendKind& kind) { return !kind.is_server; }));
}

inline std::string backend_name(const ::testing::TestParamInfo<SaleBackendParam>& kind) {
  return kind.param->name;
}

/// Prints the name for GoogleTest.
void PrintTo(const SaleBackendKind* kind, std::ostream* out);

}  // namespace rushgate
