// One way to sell a voucher: the interface of all strategies compared.
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
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/reply.h>
#include <rushgate/voucher.h>

namespace rushgate::strategies {

/// The voucher that every strategy sells. The limit is one per user.
inline constexpr VoucherId kVoucher = 1;

enum class Decision : std::uint8_t {
  kAccepted,
  kSoldOut,
  kHasOne,      // the user has an order already
  kTurnedAway,  // another request was in the way; the user may retry
};

/// The environment of a strategy. Everything in it outlives the strategy.
struct Setting {
  std::filesystem::path dir;   // the order file is here
  Backend* backend = nullptr;  // null: the strategy uses no keyspace
  std::string prefix = {};     // of all its keys
  std::int64_t stock = 0;      // of the voucher
  int threads = 1;             // calling buy()
  Schedule* schedule = nullptr;

  [[nodiscard]] std::string stock_key() const { return prefix + "stock"; }
  [[nodiscard]] std::string buyers_key() const { return prefix + "buyers"; }
};

/// The resources of one selling thread.
struct Desk {
  int number;  // from 0
  OrderFile& orders;
  Client* client;  // null: there is no keyspace
  Schedule& schedule;
};

/// All calls except buy() come from one thread. Errors are exceptions.
class Strategy {
 public:
  explicit Strategy(const Setting& setting) : setting_(setting) {}
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  /// Puts the voucher on sale, once.
  virtual void publish() { OrderFile(setting_.dir).create(setting_.stock); }
  /// Starts the background work. It also recovers the orders of a killed process.
  virtual void start() {}
  /// Sells one to the user, or returns the reason for a refusal. Thread-safe: each thread has its
  /// own desk.
  virtual Decision buy(Desk& desk, std::int64_t user) = 0;
  /// Ends the background work. Returns when every order that it can find is in the order file.
  virtual void finish() {}
  /// Returns the free stock.
  virtual std::int64_t stock_left() { return OrderFile(setting_.dir).stock(); }

 protected:
  const Setting& setting() const { return setting_; }

 private:
  const Setting& setting_;
};

/// The faults that a comparison detects.
enum class Fault : std::uint8_t {
  kOversold,    // more orders than stock
  kDoubled,     // a user has more than one order
  kTurnedAway,  // a user was refused although there was stock
  kLost,        // a user was reported "accepted" but has no order
  kLeftBehind,  // stock is missing without an order
  kUnsold,      // stock is left at the end, and a user was refused for lack of it
};

/// A schedule that is forced on a strategy, and whether it exposes the fault.
struct Forced {
  ScheduleKind schedule;
  bool is_fault;
};

/// One row of the comparison.
struct StrategyKind {
  std::string_view letter;
  std::string_view name;
  bool has_keyspace = false;
  bool redelivers = false;  // it also calls Schedule::half_stored()
  /// Each is a separate rush, after one with kFree. kTwoProcesses is skipped where processes cannot
  /// share the keyspace.
  std::vector<Forced> forced;
  /// The faults that appear every time, in the forced schedules or by the kill. Empty: the strategy
  /// is safe.
  std::vector<Fault> faults;
  std::unique_ptr<Strategy> (*make)(const Setting&);
};

/// An implementation of `make`.
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
