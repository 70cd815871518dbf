// A game in a child process that sells, grants items by on_state, and is killed at a chosen point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <rushgate/voucher.h>

namespace rushgate {

inline constexpr std::size_t kGrantingRows = 60;

/// The fate of each order of the game.
enum class GrantingFate : std::uint8_t { kPays, kCancels, kStaysUnpaid };
/// Returns the fate of a row's order. Equal seeds give equal fates in every process.
GrantingFate granting_fate(std::uint64_t seed, std::size_t row);

struct GrantingProcess {
  enum class Point : std::uint8_t {
    kNone,
    kAfterPurchase,
    kAfterPayment,
    kBeforeGrant,  // on_state is called
    kAfterGrant,   // the grant is committed, and on_state has not returned
    kMoment,       // at a time chosen by the watching process
  };
  enum class End : std::uint8_t { kFinished, kKilled, kFailed };

  /// Starts the process and waits for its end, at most a minute.
  [[nodiscard]] End run() const;

  /// Runs the child's part of main() if run() started this process. Otherwise does nothing.
  static void be_one_if_told(int argc, char** argv);

  [[nodiscard]] std::string describe() const;

  std::filesystem::path dir;  // of the sale, and of the file items.db
  std::uint64_t seed = 0;     // of the orders' fates
  Point point = Point::kNone;
  int nth = 0;        // the occurrence of the point, from 1
  int moment_ms = 0;  // of kMoment: since the start
};

}  // namespace rushgate
