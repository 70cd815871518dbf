// Our side of a comparison: an engine with one voucher on sale, embedded as in a user's program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <rushgate/engine.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sale.h>

namespace rushgate::bench {

/// A directory next to other temporary files, removed on destruction.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Opens a store for "memory", "os", "everysec" or "sync", the last three in `dir`.
std::unique_ptr<Store> open_store(Durability durability, const std::filesystem::path& dir);

inline constexpr VoucherId kVoucher = 1;
inline constexpr std::int64_t kUnlimited = 1'000'000'000'000;

/// Aborts with the reason on any failure, because the figures of a failing benchmark are useless.
class Shop {
 public:
  explicit Shop(Durability durability, std::int64_t stock = kUnlimited, EngineOptions options = {});
  /// Stores its orders in the result of `open_orders` for the shop's directory.
  Shop(Durability durability,
       const std::function<std::unique_ptr<OrderStore>(const std::filesystem::path& dir)>&
           open_orders);
  /// Uses a directory that is not removed.
  Shop(Durability durability, std::filesystem::path dir);

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Sale& sale() { return *sale_; }
  [[nodiscard]] OrderStore& orders() { return *orders_; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  /// Returns the store on disk. Not for durability memory.
  [[nodiscard]] const RocksDbStore& disk() const { return *disk_; }

  /// Returns admissions per second: `count` new users, in batches of `batch`.
  double rate_in_batches(std::int64_t count, int batch);
  /// Returns admissions per second of single requests by `count` new users.
  double rate_one_by_one(std::int64_t count);

  /// Reserves `count` users without a request so far. Returns the number of the first.
  std::int64_t take_users(std::int64_t count);

 private:
  void open(Durability durability, std::int64_t stock, EngineOptions options);

  std::optional<ScratchDirectory> scratch_;
  std::filesystem::path dir_;
  std::unique_ptr<OrderStore> orders_ = std::make_unique<MemoryOrderStore>("bench");
  const RocksDbStore* disk_ = nullptr;  // owned by the engine
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::int64_t next_user_ = 1;
};

[[noreturn]] void fail(const std::string& what);
void expect(Outcome outcome, const BuyResult& result);

}  // namespace rushgate::bench
