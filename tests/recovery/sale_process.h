// A sale in a process of its own, which kills itself when it is told to.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Where a process is killed.
enum class CrashPoint : std::uint8_t {
  kNone,
  kBeforeCommit,  // by the keyspace's store; on a Redis, before a request is sent
  kAfterCommit,   // … after the reply has come, before anything is done with it
  kBeforeSync,    // by the keyspace's store; never on a Redis
  kAfterSync,
  kBeforeWrite,  // of orders to the database
  kAfterWrite,
  kInRebuild,  // of a voucher: with this, kAfterCommit and kMoment stock is lost time and again
  kMoment,     // chosen by the process that watches it
};
inline constexpr int kCrashPoints = 9;
std::string crash_point_name(CrashPoint point);

/// What is on sale and who wants it: the same for the same seed, in every process.
struct SalePlan {
  struct Row {
    VoucherId voucher;
    UserId user;
  };

  static SalePlan make(std::uint64_t seed);

  /// How many orders there must be of a voucher in the end.
  [[nodiscard]] std::int64_t orders_expected(const Voucher& voucher) const;

  std::vector<Voucher> vouchers;
  std::vector<Row> rows;
};

/// What the process says of a row that was accepted, as soon as it has the answer.
struct AcceptedRow {
  std::int64_t row;
  OrderId order;
};

/// One life of the process.
struct SaleProcess {
  enum class Role : std::uint8_t {
    kSellsAndStores,
    kSells,   // without workers
    kStores,  // until it is told to end: workers alone
  };

  std::filesystem::path dir;   // of the order database, and of the keyspace unless that is a Redis
  std::uint64_t seed = 0;      // of the plan
  std::string redis_url = {};  // empty: the keyspace is embedded
  Role role = Role::kSellsAndStores;
  CrashPoint point = CrashPoint::kNone;
  int nth = 0;        // time the point is reached, 1 being the first
  int moment_us = 0;  // of kMoment: from its start

  enum class End : std::uint8_t { kFinished, kKilled, kFailed };

  /// Starts it and waits for its end; `accepted` gets what it said.
  [[nodiscard]] End run(std::vector<AcceptedRow>& accepted) const;

  /// What main() does if it was started by run(); else nothing.
  static void be_one_if_told(int argc, char** argv);
};

/// A process that runs beside others.
class RunningProcess {
 public:
  /// Starts it.
  explicit RunningProcess(const SaleProcess& process);
  /// Kills it.
  ~RunningProcess();
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;

  /// Waits, at most for a minute, until it has said so many rows or has ended. Returns false if it
  /// has done neither.
  bool wait_for_rows(std::size_t count);
  [[nodiscard]] std::size_t rows();
  [[nodiscard]] bool has_ended();

  /// Lets one that stores end when it has stored everything. Does not wait.
  void finish();
  void kill();
  /// Kills it after so much time, unless it ends before.
  void kill_after(std::chrono::microseconds moment);
  /// Waits for its end, at most for a minute; then it is killed and has failed. Appends what it said.
  SaleProcess::End wait(std::vector<AcceptedRow>& accepted);

 private:
  void listen();

  pid_t child_ = -1;
  int said_ = -1;      // the end of the pipe that it writes to
  int to_child_ = -1;  // closed: it shall end
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AcceptedRow> rows_;  // guarded by mutex_
  bool has_ended_ = false;         // guarded by mutex_: it says nothing more
  std::thread listener_;
};

}  // namespace rushgate
