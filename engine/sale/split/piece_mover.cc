#include "engine/sale/split/piece_mover.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/vouchers/voucher_replies.h"

namespace rushgate {
namespace {

constexpr int kLooksMax = 32;  // each but the last finds that something has changed
constexpr int kTriesMax = 10;  // an epoch ends only with a rebuild or a new connection

absl::Status try_again(VoucherId voucher, std::string_view why) {
  return absl::UnavailableError(concat(voucher_name(voucher), ": ", why, ": try again"));
}

/// Returns how many of `most` pieces the richest lane gives. With few left in all, they come together
/// on the lane that asks. Otherwise a lane keeps half, so that the number of moves grows with the logarithm of
/// the stock.
std::int64_t share_to_give(std::int64_t most, std::int64_t free_in_all, int lanes) {
  constexpr std::int64_t kFewPerLane = 4;
  return free_in_all <= kFewPerLane * lanes ? most : (most + 1) / 2;
}

/// Returns true if no user may have so many pieces.
bool exceeds_limit(const LanePieces& voucher, std::int64_t wanted) {
  const auto field = voucher.fields.find("per_user");
  const std::int64_t limit =
      field == voucher.fields.end() ? 0 : parse_int64(field->second).value_or(0);
  return limit != 0 && wanted > limit;
}

}  // namespace

PieceMover::State& PieceMover::state_of(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<State>& state = states_[voucher];
  if (!state) state = std::make_unique<State>(wait_);
  return *state;
}

bool PieceMover::is_sold_out(VoucherId voucher) {
  return clock_.monotonic_ms() - state_of(voucher).sold_out_ms.load() < kSoldOutMs;
}

void PieceMover::forget(VoucherId voucher) { state_of(voucher).sold_out_ms = kNever; }

absl::StatusOr<bool> PieceMover::fetch(VoucherId voucher, int lanes, int to, std::int64_t wanted) {
  constexpr std::chrono::milliseconds kPatience{kSoldOutMs};
  if (is_sold_out(voucher)) return false;
  State& state = state_of(voucher);
  VoucherChange change(state.turn);
  if (!change.wait(kPatience)) {
    return try_again(voucher, "its pieces are being moved between its lanes");
  }
  if (is_sold_out(voucher)) return false;
  return fetch_locked(state, voucher, lanes, to, wanted);
}

absl::StatusOr<bool> PieceMover::fetch_locked(State& state, VoucherId voucher, int lanes, int to,
                                              std::int64_t wanted) {
  std::vector<LanePieces> before;
  for (int i = 0; i < kLooksMax; ++i) {
    ASSIGN_OR_RETURN(auto pieces, look(voucher, lanes));
    const LanePieces& target = pieces[static_cast<std::size_t>(to)];
    if (target.free >= wanted) return true;
    if (exceeds_limit(target, wanted)) return false;
    ASSIGN_OR_RETURN(const bool has_finished, finish_moves(voucher, pieces));
    if (has_finished) continue;
    std::int64_t free = 0;
    for (const LanePieces& lane : pieces) free += std::max<std::int64_t>(lane.free, 0);
    if (free > 0 && free < wanted) return false;
    int richest = -1;
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t most = richest < 0 ? 0 : pieces[static_cast<std::size_t>(richest)].free;
      if (lane != to && pieces[static_cast<std::size_t>(lane)].free > most) richest = lane;
    }
    if (richest >= 0) {
      const std::int64_t most = pieces[static_cast<std::size_t>(richest)].free;
      RETURN_IF_ERROR(run(voucher_scripts::take_pieces(), voucher, richest, to,
                          share_to_give(most, free, lanes))
                          .status());
      ASSIGN_OR_RETURN(const std::int64_t arrived, finish_move(voucher, richest, to));
      if (target.free + arrived >= wanted) return true;  // without another look at all lanes
      continue;
    }
    // Nothing was there in two looks, and nothing came or went between them that is left now: a piece that came
    // back and was sold again may leave no trace (Voucher::restore_allowance).
    if (pieces == before) {
      state.sold_out_ms = clock_.monotonic_ms();
      return false;
    }
    before = std::move(pieces);
  }
  return try_again(voucher, "its pieces move between its lanes");
}

/// Reads all lanes. A lane that has lost the voucher is rebuilt first.
absl::StatusOr<std::vector<LanePieces>> PieceMover::look(VoucherId voucher, int lanes) {
  const auto views = views_.first(static_cast<std::size_t>(lanes));
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(auto pieces, read_lane_pieces(lanes_.front().client, views, voucher));
    const auto lost = std::ranges::find(pieces, false, &LanePieces::is_whole);
    if (lost == pieces.end()) return pieces;
    for (std::size_t lane = 0; lane < pieces.size(); ++lane) {
      if (!pieces[lane].is_whole) RETURN_IF_ERROR(lanes_[lane].rebuild(voucher));
    }
  }
  return try_again(voucher, "one of its lanes is being rebuilt");
}

/// Finishes the moves that somebody has begun. Returns true if there were any.
absl::StatusOr<bool> PieceMover::finish_moves(VoucherId voucher,
                                              std::span<const LanePieces> pieces) {
  bool has_finished = false;
  for (std::size_t from = 0; from < pieces.size(); ++from) {
    for (const auto& [to, count] : pieces[from].to) {
      const auto target = static_cast<std::size_t>(to);
      if (target >= pieces.size()) continue;
      const int from_lane = static_cast<int>(from);
      if (count <= pieces_of(pieces[target].from, from_lane)) continue;
      RETURN_IF_ERROR(finish_move(voucher, from_lane, to).status());
      has_finished = true;
    }
  }
  return has_finished;
}

/// Records what a lane gave to another, and puts it there. Returns how many pieces arrived.
absl::StatusOr<std::int64_t> PieceMover::finish_move(VoucherId voucher, int from, int to) {
  ASSIGN_OR_RETURN(const std::int64_t given, record(voucher, from, to));
  if (given == 0) return 0;  // a rebuild has undone it
  return run(voucher_scripts::put_pieces(), voucher, to, from, given);
}

/// Records in the database what a lane gave to another. Returns it.
absl::StatusOr<std::int64_t> PieceMover::record(VoucherId voucher, int from, int to) {
  const SaleLane& view = views_[static_cast<std::size_t>(from)];
  const Lane& lane = lanes_[static_cast<std::size_t>(from)];
  for (int i = 1;; ++i) {
    // A rebuild closes the voucher, raises the epoch, and reads what is recorded, in this order. So a number of a
    // voucher that is not closed is refused, or the rebuild has met it.
    ASSIGN_OR_RETURN(const auto state, view.stores.orders.state());
    const Reply given =
        lane.client("HMGET", view.keys.voucher(voucher), concat("to:", to), "closed");
    if (!given.is_aggregate() || given.elements().size() != 2) {
      return to_status(given, concat("reading ", voucher_name(voucher)));
    }
    if (!given.elements()[1].is_nil()) {
      return try_again(voucher, concat("the lane ", from, " is being rebuilt"));
    }
    const Reply& number = given.elements()[0];
    const std::int64_t pieces = number.is_text() ? parse_int64(number.text()).value_or(0) : 0;
    if (pieces <= 0) return 0;
    // A keyspace that loses the number must lose the checkpoint with it, which is noticed.
    ASSIGN_OR_RETURN(BatchFence fence, lane.owner.draw_fence(lane.client));
    fence.lane = from;
    absl::Status recorded =
        fence.epoch == state.epoch
            ? store_.record_moved({.voucher = voucher, .from = from, .to = to, .pieces = pieces},
                                  fence)
            : absl::AbortedError("the lane was fenced");
    if (recorded.ok()) {
      ASSIGN_OR_RETURN(const auto batch, lane.owner.recorded_with(fence));
      RETURN_IF_ERROR(lane.owner.tell_recorded(lane.client, batch));
      return pieces;
    }
    if (!absl::IsAborted(recorded)) return recorded;
    if (i == kTriesMax) return try_again(voucher, "its lanes are being rebuilt");
  }
}

/// Runs a script of a lane about another one. Returns how many pieces it moved.
absl::StatusOr<std::int64_t> PieceMover::run(const Script& script, VoucherId voucher, int lane,
                                             int other, std::int64_t pieces) {
  const SaleKeys& keys = views_[static_cast<std::size_t>(lane)].keys;
  const std::vector<std::string> names = {keys.voucher(voucher), keys.stock(voucher)};
  const std::vector<std::string> arguments = {std::to_string(other), std::to_string(pieces)};
  Client& client = lanes_[static_cast<std::size_t>(lane)].client;
  ASSIGN_OR_RETURN(const auto result,
                   read_voucher_result(client.run(script, as_views(names), as_views(arguments)),
                                       concat("moving pieces of ", voucher_name(voucher))));
  if (result.size() == 2 && result.front() == voucher_scripts::kDone) return result.back();
  return try_again(voucher, concat("the lane ", lane, " is being rebuilt"));
}

}  // namespace rushgate
