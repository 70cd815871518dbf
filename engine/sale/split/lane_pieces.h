// The pieces of a voucher that one of its lanes has, and has exchanged with the others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// What the keyspace of a lane says about a voucher.
struct LanePieces {
  absl::Status away = {};  // why the lane cannot be reached; OK: it can
  bool is_whole = false;   // it has terms and a stock, and no rebuild is at work
  std::int64_t free = 0;
  bool has_list = false;                           // users may wait for pieces
  std::int64_t waiting = 0;                        // users that do
  std::map<int, std::int64_t> from = {};           // pieces that came from other lanes, in all
  std::map<int, std::int64_t> to = {};             // pieces that other lanes were given, in all
  std::map<std::string, std::string> fields = {};  // the voucher's hash

  friend bool operator==(const LanePieces&, const LanePieces&) = default;
};

/// Reads a voucher on each of these lanes, one after the other. Succeeds while some lane can be reached.
/// Counts the waiting users only if `with_waiting`.
absl::StatusOr<std::vector<LanePieces>> read_lane_pieces(Client& client,
                                                         std::span<const SaleLane> lanes,
                                                         VoucherId voucher,
                                                         bool with_waiting = true);

/// Returns the number under `lane`; 0 if there is none.
std::int64_t pieces_of(const std::map<int, std::int64_t>& pieces, int lane);

}  // namespace rushgate
