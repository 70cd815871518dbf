// Where the versions of vouchers are kept for good: a port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Keeps every version of every voucher. Thread-safe. A call that fails has changed nothing, and a
/// change is on the disk when its call returns.
///
/// An implementation needs the first four methods. The others have defaults that read through
/// versions() and all_versions().
class VoucherStore {
 public:
  virtual ~VoucherStore() = default;

  /// Records `version` as pending, and ignores its state and reason. kFailedPrecondition: its number
  /// is not one above the voucher's highest.
  virtual absl::Status record_pending(const VoucherVersion& version) = 0;
  /// Ends the pending state of a version: it was applied, or refused for `reason`. A repetition with
  /// the same state changes nothing. kNotFound: there is no such version. kFailedPrecondition: it
  /// has the other state. kInvalidArgument: `state` is pending.
  virtual absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                               const std::string& reason) = 0;
  /// Returns every version of a voucher, in ascending order.
  virtual absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) = 0;
  /// Returns every version of every voucher, in order of voucher and version.
  virtual absl::StatusOr<std::vector<VoucherVersion>> all_versions() = 0;

  // ---- With defaults ----

  /// Returns every pending version, in order of voucher and version.
  virtual absl::StatusOr<std::vector<VoucherVersion>> pending();
  /// Returns the version with the highest number.
  virtual absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher);
  /// Returns the version in force: of the applied ones, that with the highest number.
  virtual absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher);
  /// Returns the version in force of every voucher that has one, in order of vouchers.
  virtual absl::StatusOr<std::vector<VoucherVersion>> all_applied();
};

// ---- For implementations ----

/// Returns the error of record_pending() for a version that is not one above `highest`; OK if it is.
absl::Status check_next_version(const VoucherVersion& version, std::int64_t highest);
/// Returns the error of resolve() for a version that is in `state` (none: it does not exist). OK if
/// it is pending, or has the new state already.
absl::Status check_resolution(VoucherId voucher, std::int64_t version,
                              std::optional<VoucherVersion::State> state,
                              VoucherVersion::State new_state);
/// Returns the stock that OrderStore::write() compares with: the greatest of the version in force and
/// of the pending ones. Empty if a voucher with these versions was never published.
std::optional<std::int64_t> stock_of(const std::vector<VoucherVersion>& versions);

}  // namespace rushgate
