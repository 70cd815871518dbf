// Moves the free pieces of a voucher that is on several lanes to the lane that has buyers for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/split/lane_pieces.h"
#include "engine/sale/vouchers/change_turn.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// A voucher on n lanes begins with an n-th of its stock on each. What lane A gave to lane B is one number,
/// which never decreases. It is in three places: `to:B` of the voucher in A's keyspace, the order
/// database (MovedPieces), and `from:A` in B's keyspace. They are written in this order, and each
/// takes over the greater number. So every step may be repeated, by anybody and at any time, and an interrupted
/// move is finished by whoever meets it (docs/how-a-sale-works.md).
///
/// Thread-safe. Does not own its arguments, which must outlive it.
class PieceMover {
 public:
  struct Lane {
    Client& client;
    KeyspaceOwner& owner;
    std::function<absl::Status(VoucherId)> rebuild;  // of a voucher that the lane has lost
  };

  /// `lanes` and `views` are those of the sale, in the order of their numbers.
  PieceMover(std::vector<Lane> lanes, std::span<const SaleLane> views, LaneStore& store,
             const Clock& clock, const WaitMethod* wait)
      : lanes_(std::move(lanes)), views_(views), store_(store), clock_(clock), wait_(wait) {}

  /// For how long a voucher that was sold out counts as such, unless the caller's own lane has pieces.
  static constexpr std::int64_t kSoldOutMs = 200;
  /// For how long a buyer waits for others that move pieces.
  static constexpr std::chrono::milliseconds kPatience{kSoldOutMs};

  /// Returns true if the voucher was found without a free piece on any lane, at most kSoldOutMs ago. Asks
  /// nobody.
  [[nodiscard]] bool is_sold_out(VoucherId voucher);
  /// Forgets that.
  void forget(VoucherId voucher);

  /// Brings pieces to the lane `to` of the voucher's `lanes` until it has `wanted` free ones. Returns false if
  /// two equal looks found no free piece on any lane, and none on its way. Of several pieces, also if one look at
  /// all lanes found fewer, or no user may have so many: then nothing is moved.
  /// kUnavailable: try again: others move pieces, or the lanes that can be reached have no free piece.
  absl::StatusOr<bool> fetch(VoucherId voucher, int lanes, int to, std::int64_t wanted);
  /// Moves free pieces to lanes whose users wait for them, from lanes where nobody does. Rebuilds none. If another
  /// caller looks meanwhile, and began after this call did, leaves it to that one. kUnavailable: also if others
  /// move pieces for longer than `patience`. kNotFound: each lane can be reached, and none has the voucher.
  absl::Status serve_waiting(VoucherId voucher, int lanes, std::chrono::milliseconds patience);
  /// Returns false if the voucher had no waiting list when its lanes were looked at last.
  [[nodiscard]] bool may_have_waiting(VoucherId voucher) { return state_of(voucher).has_list; }
  /// Notes that a user waits, so it has one.
  void note_waiting(VoucherId voucher) { state_of(voucher).has_list = true; }

  /// Brings pieces to the lane `to` until it has `wanted` free ones, and as many of `spare` more as there are, since
  /// others buy meanwhile; returns 0. If two equal looks, or many different ones, found fewer than `wanted` on all
  /// lanes, moves nothing, and returns how many are missing. Errors: as fetch().
  absl::StatusOr<std::int64_t> gather(VoucherId voucher, int lanes, int to, std::int64_t wanted,
                                      std::int64_t spare);

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;
  struct State {
    explicit State(const WaitMethod* wait) : turn(wait) {}
    ChangeTurn turn;                                 // to move pieces of the voucher
    std::atomic<std::int64_t> sold_out_ms = kNever;  // when it was found sold out; monotonic
    std::atomic<bool> has_list = true;               // as may_have_waiting()
    std::atomic<std::int64_t> calls_to_serve = 0;
    std::int64_t served_calls = 0;  // of these, whose look has begun; guarded by `turn`
  };

  /// All lanes of a voucher, read one after the other.
  struct Look {
    std::vector<LanePieces> pieces = {};
    absl::Status unread = {};  // why one of them is not whole; OK: all are
  };

  State& state_of(VoucherId voucher);
  absl::StatusOr<bool> fetch_locked(State& state, VoucherId voucher, int lanes, int to,
                                    std::int64_t wanted);
  absl::StatusOr<std::int64_t> move(VoucherId voucher, int from, int to, std::int64_t pieces);
  absl::StatusOr<Look> look(State& state, VoucherId voucher, int lanes, bool may_rebuild = true);
  absl::StatusOr<bool> move_to_waiting(VoucherId voucher, std::span<const LanePieces> pieces);
  absl::StatusOr<bool> finish_moves(VoucherId voucher, std::span<const LanePieces> pieces);
  absl::StatusOr<std::int64_t> finish_move(VoucherId voucher, int from, int to);
  absl::StatusOr<std::int64_t> record(VoucherId voucher, int from, int to);
  absl::StatusOr<std::int64_t> run(const Script& script, VoucherId voucher, int lane, int other,
                                   std::int64_t pieces);

  const std::vector<Lane> lanes_;
  const std::span<const SaleLane> views_;
  LaneStore& store_;
  const Clock& clock_;
  const WaitMethod* const wait_;  // null: callers sleep
  std::mutex mutex_;
  absl::flat_hash_map<VoucherId, std::unique_ptr<State>> states_;  // guarded by mutex_
};

}  // namespace rushgate
