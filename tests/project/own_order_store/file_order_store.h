// An order database of a user's own: the five methods of OrderStore over a std::map and a log file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace rushgate {

/// Keeps orders in memory and in a log of lines. A line `commit` ends each transaction.
/// Thread-safe. One process at a time may open the file.
class FileOrderStore final : public OrderStore {
 public:
  /// Opens the file, or creates it. Removes a transaction whose `commit` is missing.
  static absl::StatusOr<std::unique_ptr<FileOrderStore>> open(const std::filesystem::path& file);
  ~FileOrderStore() override;

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<DatabaseState> state() override;
  absl::StatusOr<DatabaseState> fence() override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

 private:
  explicit FileOrderStore(int file) : file_(file) {}

  absl::Status load();
  void apply(const std::string& line);
  absl::Status commit(const std::string& lines);
  [[nodiscard]] OrderRivals rivals_of(const Order& order, const BatchFence& fence) const;

  const int file_;
  std::mutex mutex_;  // guards the members below
  bool has_failed_ = false;
  DatabaseState state_;
  std::map<OrderId, Order> orders_;
  std::map<std::int64_t, std::int64_t> reserved_ids_;  // by day
};

}  // namespace rushgate
