// A sale in a child process that kills itself at a chosen point.
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

#include <rushgate/voucher.h>

namespace rushgate {

/// The points at which a process can be killed.
enum class CrashPoint : std::uint8_t {
  kNone,
  kBeforeCommit,  // of the keyspace's store; on a Redis, before a request is sent
  kAfterCommit,   // … after its reply arrived, before its use
  kBeforeSync,    // of the keyspace's store; never on a Redis
  kAfterSync,
  kBeforeWrite,  // of orders to the database
  kAfterWrite,
  kInRebuild,  // of a voucher: here, at kAfterCommit and kMoment stock is lost repeatedly
  kMoment,     // at a time chosen by the watching process
};
inline constexpr int kCrashPoints = 9;
std::string crash_point_name(CrashPoint point);

/// The vouchers and requests of a sale. Equal seeds give equal plans in every process.
struct SalePlan {
  struct Row {
    VoucherId voucher;
    std::int64_t user;
  };

  /// With `takes_payments`, the vouchers demand payment. The first gives enough time. The orders of
  /// the second may time out.
  static SalePlan make(std::uint64_t seed, bool takes_payments = false);

  /// Returns the number of orders that a voucher must have at the end.
  [[nodiscard]] std::int64_t orders_expected(const Voucher& voucher) const;

  std::vector<Voucher> vouchers;
  std::vector<Row> rows;
};

/// The report of a process about a row, as soon as it has the reply.
enum class RowReport : std::int64_t {
  kAccepted,
  kPaid,       // by its first payment
  kPaidLate,   // its first payment is due back
  kPaidTwice,  // its second payment is due back
  kCancelled,
  kRefunded,
};

/// Reported by the process for each accepted row, and for each change of its order.
struct AcceptedRow {
  std::int64_t row;
  OrderId order;
  RowReport report = RowReport::kAccepted;
};

/// Returns the first or the second payment of a row's order.
std::string payment_of_row(std::int64_t row, int which);

/// One run of the child process.
struct SaleProcess {
  enum class Role : std::uint8_t {
    kSellsAndStores,
    kSells,   // without workers
    kStores,  // runs only workers, until finish()
  };

  std::filesystem::path dir;    // of the order database, and of the keyspace unless that is a Redis
  std::uint64_t seed = 0;       // of the plan
  std::string redis_url = {};   // empty: the keyspace is embedded
  bool has_own_orders = false;  // SaleFiles::has_own_orders
  bool takes_payments = false;  // pays, cancels and refunds its orders
  Role role = Role::kSellsAndStores;
  CrashPoint point = CrashPoint::kNone;
  int nth = 0;        // the occurrence of the point, from 1
  int moment_us = 0;  // of kMoment: since the start

  enum class End : std::uint8_t { kFinished, kKilled, kFailed };

  /// Starts the process and waits for its end. Appends its reports to `accepted`.
  [[nodiscard]] End run(std::vector<AcceptedRow>& accepted) const;

  /// Runs the child's part of main() if run() started this process. Otherwise does nothing.
  static void be_one_if_told(int argc, char** argv);
};

/// A process that runs in parallel to others.
class RunningProcess {
 public:
  /// Starts the process.
  explicit RunningProcess(const SaleProcess& process);
  /// Kills the process.
  ~RunningProcess();
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;

  /// Waits until the process has reported `count` rows or has ended. Returns false after a minute.
  bool wait_for_rows(std::size_t count);
  [[nodiscard]] std::size_t rows();
  [[nodiscard]] bool has_ended();

  /// Lets a storing process end when it has stored everything. Does not block.
  void finish();
  void kill();
  /// Kills the process after this time, unless it ends before.
  void kill_after(std::chrono::microseconds moment);
  /// Waits for the end. After a minute the process is killed and has failed. Appends its reports.
  SaleProcess::End wait(std::vector<AcceptedRow>& accepted);

 private:
  void listen();

  pid_t child_ = -1;
  int said_ = -1;      // read end of its report pipe
  int to_child_ = -1;  // closing it asks the process to end
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AcceptedRow> rows_;  // guarded by mutex_
  bool has_ended_ = false;         // guarded by mutex_: no reports follow
  std::thread listener_;
};

}  // namespace rushgate
