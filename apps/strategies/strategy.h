// One way to sell a voucher: the interface of all that are compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "apps/strategies/order_file.h"
#include "apps/strategies/schedule.h"
#include "engine/client/backend.h"
#include "engine/client/client.h"
#include "engine/client/reply.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate::strategies {

/// The voucher that all of them sell, at most one to a user.
inline constexpr VoucherId kVoucher = 1;

enum class Answer : std::uint8_t {
  kAccepted,
  kSoldOut,
  kHasOne,      // the user has an order already
  kTurnedAway,  // another request was in the way: the user may try again
};

/// What a strategy is built on. Everything in it outlives the strategy.
struct Setting {
  std::filesystem::path dir;   // the order file is here
  Backend* backend = nullptr;  // null: the strategy needs no keyspace
  std::string prefix = {};     // of all its keys
  std::int64_t stock = 0;      // of the voucher
  int threads = 1;             // that call buy()
  Schedule* schedule = nullptr;

  [[nodiscard]] std::string stock_key() const { return prefix + "stock"; }
  [[nodiscard]] std::string buyers_key() const { return prefix + "buyers"; }
};

/// What one thread of the shop works with.
struct Desk {
  int number;  // from 0
  OrderFile& orders;
  Client* client;  // null: there is no keyspace
  Schedule& schedule;
};

/// All calls but buy() are made by one thread. Errors are exceptions.
class Strategy {
 public:
  explicit Strategy(const Setting& setting) : setting_(setting) {}
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  /// Puts the voucher on sale, once.
  virtual void publish();
  /// Starts what works in the background. It takes up what a killed process left.
  virtual void start() {}
  /// Sells one to the user, or says why not. Thread-safe: each thread has a desk of its own.
  virtual Answer buy(Desk& desk, UserId user) = 0;
  /// Returns when every order that the background work can find is in the order file, and ends it.
  virtual void finish() {}
  /// Returns the stock that is free.
  virtual std::int64_t stock_left();

 protected:
  const Setting& setting() const { return setting_; }

 private:
  const Setting& setting_;
};

/// What the comparison finds out.
enum class Fault : std::uint8_t {
  kOversold,    // more orders than stock
  kDoubled,     // a user has more than one order
  kTurnedAway,  // a user was refused though there was stock
  kLost,        // a user was told "accepted", and there is no order
  kLeftBehind,  // stock is gone for which there is no order
};

/// A schedule that is forced on a strategy, and whether its fault comes out.
struct Forced {
  ScheduleKind schedule;
  bool is_fault;
};

/// One row of the comparison.
struct StrategyKind {
  std::string_view letter;
  std::string_view name;
  bool has_keyspace = false;
  bool redelivers = false;  // it calls Schedule::half_stored(), too
  /// Each is a rush of its own, after one with kFree. kTwoProcesses is left out where they cannot share
  /// the keyspace.
  std::vector<Forced> forced;
  /// Come out in the forced schedules or by the kill, every time. Empty: the strategy is safe.
  std::vector<Fault> faults;
  std::unique_ptr<Strategy> (*make)(const Setting&);
};

/// For `make`.
template <class S>
std::unique_ptr<Strategy> make_strategy(const Setting& setting) {
  return std::make_unique<S>(setting);
}

/// Returns `reply`. Throws std::runtime_error if it is an error.
inline Reply must(Reply reply) {
  if (reply.is_error()) throw std::runtime_error(reply.text());
  return reply;
}

}  // namespace rushgate::strategies
