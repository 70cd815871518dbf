// A sale in a process of its own, which kills itself when it is told to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Where a process is killed.
enum class CrashPoint : std::uint8_t {
  kNone,
  kBeforeCommit,
  kAfterCommit,
  kBeforeSync,
  kAfterSync,
  kBeforeWrite,  // of orders to the database
  kAfterWrite,
  kInRebuild,  // of a voucher: with this, kAfterCommit and kMoment stock is lost time and again
  kMoment,     // chosen by whoever watches it
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
  std::filesystem::path dir;
  std::uint64_t seed = 0;  // of the plan
  CrashPoint point = CrashPoint::kNone;
  int nth = 0;        // time the point is reached, 1 being the first
  int moment_us = 0;  // of kMoment: from its start

  enum class End : std::uint8_t { kFinished, kKilled, kFailed };

  /// Starts it and waits for its end; `accepted` gets what it said.
  [[nodiscard]] End run(std::vector<AcceptedRow>& accepted) const;

  /// What main() does if it was started by run(); else nothing.
  static void be_one_if_told(int argc, char** argv);
};

}  // namespace rushgate
