// Orders that could not be stored, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/scripts/letter_retry.lua.h"
#include <rushgate/client.h>
#include <rushgate/dead_letter.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// The cancellations that the database knew when it refused an order of the voucher: those up to an
/// entry of the order stream.
struct SeenEnds {
  VoucherId voucher = 0;
  StreamId to;
};

/// Moves `entry` from the group's pending entries to the dead letters. Returns false if it is not
/// pending: a worker acknowledged it, or the keyspace lost it. With `seen`, also if an order of the
/// voucher was cancelled since, or a thousand entries came since: then the refusal may be outdated.
/// `is_removed`: the stream retains what was acknowledged, and does not keep this entry.
absl::StatusOr<bool> bury(Client& client, const SaleKeys& keys, const OrderEntry& entry,
                          const std::string& reason, const std::optional<SeenEnds>& seen,
                          bool is_removed);

/// Adds an order of a voucher that the keyspace lost to the dead letters, without stock. Returns false if the rebuild
/// with this token, which found that, has lost its claim.
absl::StatusOr<bool> bury_without_stock(Client& client, const SaleKeys& keys, VoucherId voucher,
                                        const std::string& token, const OrderEntry& entry,
                                        const std::string& reason);

/// Returns the dead letters with ids above `after`, oldest first, at most `count_max`.
absl::StatusOr<std::vector<DeadLetter>> list_dead_letters(
    Client& client, const SaleKeys& keys, StreamId after = StreamId::min(),
    std::size_t count_max = std::numeric_limits<std::size_t>::max());

/// As list_dead_letters(), of the discarded ones.
absl::StatusOr<std::vector<DiscardedLetter>> list_discarded_letters(
    Client& client, const SaleKeys& keys, StreamId after = StreamId::min(),
    std::size_t count_max = std::numeric_limits<std::size_t>::max());

/// As list_dead_letters(), of all lanes. Their ids have the number of their lane behind them, unless it is
/// 0. Returns more than `count_max` if several letters have the last id.
absl::StatusOr<std::vector<DeadLetter>> list_dead_letters(
    Client& client, std::span<const SaleLane> lanes, StreamId after = StreamId::min(),
    std::size_t count_max = std::numeric_limits<std::size_t>::max());
/// The same of the discarded ones.
absl::StatusOr<std::vector<DiscardedLetter>> list_discarded_letters(
    Client& client, std::span<const SaleLane> lanes, StreamId after = StreamId::min(),
    std::size_t count_max = std::numeric_limits<std::size_t>::max());

/// The id of a letter among those of all lanes: `<id>@<lane>`, or `<id>` on the lane 0.
struct LaneLetter {
  std::string id = {};  // in its lane
  int lane = 0;         // -1: the number is none
};
LaneLetter parse_letter_id(const std::string& id);

/// Returns the dead letter of an order, discarded or not, if there is one. Finds it by
/// SaleKeys::dead_letter_orders(). Reads no other letter, unless some are not indexed yet.
absl::StatusOr<std::optional<DeadLetter>> find_dead_letter(Client& client, const SaleKeys& keys,
                                                           OrderId order);

/// Adds the missing letters to SaleKeys::dead_letter_orders(): an earlier version kept no such
/// index. Reads only the missing ones, in portions.
absl::Status index_dead_letters(Client& client, const SaleKeys& keys);

/// The state of the stream of dead letters. While it is the same, no order died, and no letter was
/// retried or discarded.
struct DeadLettersPosition {
  std::int64_t length = 0;
  std::string last_id = {};  // the last id given; empty if there never was a dead letter

  friend bool operator==(const DeadLettersPosition&, const DeadLettersPosition&) = default;
};
absl::StatusOr<DeadLettersPosition> dead_letters_position(Client& client, const SaleKeys& keys);

enum class Retry : std::uint8_t {
  /// No letter has this id (any more), or it has none of its order's fields.
  kNone = lua::letter_retry::kGone,
  /// It is back in the order stream.
  kDone = lua::letter_retry::kDone,
  /// It has no stock: VoucherBook::restore() may give it some.
  kNeedsRestore = lua::letter_retry::kNoStock,
};
/// Returns "none", "done" or "needs restore".
std::string_view retry_name(Retry retry);
/// Returns a dead letter to the order stream. kUnavailable: the sale is being moved away, or was moved.
absl::StatusOr<Retry> retry_dead_letter(Client& client, const SaleKeys& keys,
                                        const std::string& id);

/// Returns the dead letter of this id, if there is one.
absl::StatusOr<std::optional<DeadLetter>> read_dead_letter(Client& client, const SaleKeys& keys,
                                                           const std::string& id);

/// Moves a dead letter to the discarded ones, with the time and the reason. Returns false if no
/// letter has this id. Errors: as retry_dead_letter().
absl::StatusOr<bool> discard_dead_letter(Client& client, const SaleKeys& keys,
                                         const std::string& id, const std::string& why);

/// Returns the ids of the dead letters of a voucher, of orders and of their events.
absl::StatusOr<std::vector<std::string>> find_dead_letters_of(Client& client, const SaleKeys& keys,
                                                              VoucherId voucher);
/// Moves them to the discarded ones.
absl::Status discard_dead_letters_of(Client& client, const SaleKeys& keys, VoucherId voucher,
                                     const std::string& why);

/// Deletes the discarded letters of a voucher's orders for good.
absl::Status delete_discarded_letters(Client& client, const SaleKeys& keys, VoucherId voucher);

}  // namespace rushgate
