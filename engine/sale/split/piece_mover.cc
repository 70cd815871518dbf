#include "engine/sale/split/piece_mover.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/vouchers/voucher_replies.h"

namespace rushgate {
namespace {

constexpr int kLooksMax = 32;  // each but the last finds that something has changed
constexpr int kTriesMax = 10;  // an epoch ends only with a rebuild or a new connection

absl::Status try_again(VoucherId voucher, std::string_view why) {
  return absl::UnavailableError(concat(voucher_name(voucher), ": ", why, ": try again"));
}

absl::Status is_moving(VoucherId voucher) {
  return try_again(voucher, "its pieces are being moved between its lanes");
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

std::int64_t free_in_all(std::span<const LanePieces> lanes) {
  std::int64_t free = 0;
  for (const LanePieces& lane : lanes) {
    if (lane.is_whole) free += std::max<std::int64_t>(lane.free, 0);
  }
  return free;
}

/// The lanes that may give pieces.
enum class Givers : std::uint8_t { kAll, kWithoutWaiting };

/// Returns the one with most free pieces, other than this lane; empty if none has any.
std::optional<int> richest_but(int other, std::span<const LanePieces> lanes, Givers givers) {
  std::optional<int> richest;
  std::int64_t most = 0;
  for (int lane = 0; lane < static_cast<int>(lanes.size()); ++lane) {
    const LanePieces& pieces = lanes[static_cast<std::size_t>(lane)];
    const bool may_give =
        lane != other && pieces.is_whole && (givers == Givers::kAll || pieces.waiting == 0);
    if (!may_give || pieces.free <= most) continue;
    most = pieces.free;
    richest = lane;
  }
  return richest;
}

/// Returns the lane that gives pieces to a buyer on this one; empty if none has any. One whose users wait, which is
/// about to sell them its pieces, comes last.
std::optional<int> giver_to(int to, std::span<const LanePieces> lanes) {
  const auto richest = richest_but(to, lanes, Givers::kWithoutWaiting);
  return richest ? richest : richest_but(to, lanes, Givers::kAll);
}

/// Returns true if each lane can be reached, and none has anything of the voucher.
bool is_nowhere(std::span<const LanePieces> lanes) {
  return std::ranges::all_of(
      lanes, [](const LanePieces& lane) { return lane.away.ok() && lane.fields.empty(); });
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

void PieceMover::forget(VoucherId voucher) {
  State& state = state_of(voucher);
  state.sold_out_ms = kNever;
  state.has_list = true;
}

absl::StatusOr<bool> PieceMover::fetch(VoucherId voucher, int lanes, int to, std::int64_t wanted) {
  if (is_sold_out(voucher)) return false;
  State& state = state_of(voucher);
  VoucherChange change(state.turn);
  if (!change.wait(kPatience)) return is_moving(voucher);
  if (is_sold_out(voucher)) return false;
  return fetch_locked(state, voucher, lanes, to, wanted);
}

absl::StatusOr<bool> PieceMover::fetch_locked(State& state, VoucherId voucher, int lanes, int to,
                                              std::int64_t wanted) {
  std::vector<LanePieces> before;
  for (int i = 0; i < kLooksMax; ++i) {
    const std::int64_t looked_ms = clock_.monotonic_ms();
    ASSIGN_OR_RETURN(Look now, look(state, voucher, lanes));
    const LanePieces& target = now.pieces[static_cast<std::size_t>(to)];
    if (!target.is_whole) return now.unread;
    if (target.free >= wanted) return true;
    if (exceeds_limit(target, wanted)) return false;
    ASSIGN_OR_RETURN(const bool has_finished, finish_moves(voucher, now.pieces));
    if (has_finished) continue;
    ASSIGN_OR_RETURN(const bool has_served, move_to_waiting(voucher, now.pieces));
    if (has_served) continue;
    const std::int64_t free = free_in_all(now.pieces);
    const bool is_too_few = free > 0 && free < wanted;
    if (const auto richest = giver_to(to, now.pieces); richest && !is_too_few) {
      const std::int64_t most = now.pieces[static_cast<std::size_t>(*richest)].free;
      ASSIGN_OR_RETURN(const std::int64_t arrived,
                       move(voucher, *richest, to, share_to_give(most, free, lanes)));
      const bool is_there = target.waiting == 0 && target.free + arrived >= wanted;
      if (is_there) return true;  // without another look at all lanes
      continue;
    }
    if (!now.unread.ok()) return now.unread;
    if (is_too_few) return false;
    // Nothing was there in two looks, and nothing came or went between them that is left now: a piece that came
    // back and was sold again may leave no trace (Voucher::restore_allowance).
    if (now.pieces == before) {
      state.sold_out_ms = looked_ms;
      return false;
    }
    before = std::move(now.pieces);
  }
  return try_again(voucher, "its pieces move between its lanes");
}

absl::Status PieceMover::serve_waiting(VoucherId voucher, int lanes,
                                       std::chrono::milliseconds patience) {
  State& state = state_of(voucher);
  const std::int64_t call = ++state.calls_to_serve;
  VoucherChange change(state.turn);
  if (!change.is_ours() && (patience.count() == 0 || !change.wait(patience))) {
    return is_moving(voucher);
  }
  if (state.served_calls >= call) return absl::OkStatus();
  for (int i = 0; i < kLooksMax + lanes; ++i) {
    state.served_calls = state.calls_to_serve;
    const bool knew_list = state.has_list;
    ASSIGN_OR_RETURN(const Look now, look(state, voucher, lanes, /*may_rebuild=*/false));
    if (is_nowhere(now.pieces))
      return absl::NotFoundError(concat(voucher_name(voucher), " is nowhere"));
    if (!state.has_list) return absl::OkStatus();
    if (!knew_list) continue;
    ASSIGN_OR_RETURN(const bool has_finished, finish_moves(voucher, now.pieces));
    ASSIGN_OR_RETURN(const bool has_served, move_to_waiting(voucher, now.pieces));
    if (!has_finished && !has_served) return absl::OkStatus();
  }
  return try_again(voucher, "its pieces move between its lanes");
}

/// Moves pieces to one lane whose users wait. Returns false if no lane has any for it.
absl::StatusOr<bool> PieceMover::move_to_waiting(VoucherId voucher,
                                                 std::span<const LanePieces> pieces) {
  const auto needs_pieces = [](const LanePieces& lane) {
    return lane.is_whole && lane.waiting > 0 && lane.free <= 0;
  };
  const auto needy = std::ranges::find_if(pieces, needs_pieces);
  if (needy == pieces.end()) return false;
  const int to = static_cast<int>(needy - pieces.begin());
  const auto richest = richest_but(to, pieces, Givers::kWithoutWaiting);
  if (!richest) return false;
  const std::int64_t most = pieces[static_cast<std::size_t>(*richest)].free;
  RETURN_IF_ERROR(move(voucher, *richest, to, std::min(most, needy->waiting)).status());
  return true;
}

absl::StatusOr<std::int64_t> PieceMover::gather(VoucherId voucher, int lanes, int to,
                                                std::int64_t wanted, std::int64_t spare) {
  constexpr std::chrono::seconds kPatienceOfPublishers{10};
  State& state = state_of(voucher);
  VoucherChange change(state.turn);
  if (!change.wait(kPatienceOfPublishers)) return is_moving(voucher);
  std::vector<LanePieces> before;
  std::int64_t missing = 0;
  for (int i = 0; i < kLooksMax + lanes; ++i) {
    ASSIGN_OR_RETURN(Look now, look(state, voucher, lanes));
    if (!now.unread.ok()) return now.unread;
    const std::int64_t here = now.pieces[static_cast<std::size_t>(to)].free;
    const std::int64_t free = free_in_all(now.pieces);
    const std::int64_t more = std::clamp<std::int64_t>(free - wanted, 0, spare);
    if (here >= wanted + more / 2) return 0;  // others may have bought some of those that came
    ASSIGN_OR_RETURN(const bool has_finished, finish_moves(voucher, now.pieces));
    if (has_finished) continue;
    missing = std::max<std::int64_t>(wanted - free, 0);
    if (missing == 0) {
      const int richest = richest_but(to, now.pieces, Givers::kAll).value_or(to);
      const std::int64_t most = now.pieces[static_cast<std::size_t>(richest)].free;
      RETURN_IF_ERROR(move(voucher, richest, to, std::min(most, wanted + more - here)).status());
      continue;
    }
    if (now.pieces == before) return missing;
    before = std::move(now.pieces);
  }
  // Buyers change what is there all the time, so no two looks are equal.
  if (missing > 0) return missing;
  return try_again(voucher, "its pieces move between its lanes");
}

/// Returns how many pieces arrived. They may have been sold to waiting users.
absl::StatusOr<std::int64_t> PieceMover::move(VoucherId voucher, int from, int to,
                                              std::int64_t pieces) {
  RETURN_IF_ERROR(run(voucher_scripts::take_pieces(), voucher, from, to, pieces).status());
  return finish_move(voucher, from, to);
}

/// Reads all lanes. A lane that has lost the voucher is rebuilt first, if that is possible now.
absl::StatusOr<PieceMover::Look> PieceMover::look(State& state, VoucherId voucher, int lanes,
                                                  bool may_rebuild) {
  const auto views = views_.first(static_cast<std::size_t>(lanes));
  Look look;
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(look.pieces,
                     read_lane_pieces(lanes_.front().client, views, voucher, state.has_list));
    look.unread = absl::OkStatus();
    bool is_rebuilt = false;
    for (std::size_t lane = 0; lane < look.pieces.size(); ++lane) {
      const LanePieces& pieces = look.pieces[lane];
      if (pieces.is_whole) continue;
      absl::Status why = pieces.away;
      const bool rebuilds = may_rebuild && why.ok() && i == 0;
      if (rebuilds) why = lanes_[lane].rebuild(voucher);
      is_rebuilt = is_rebuilt || (rebuilds && why.ok());
      look.unread = why.ok() ? try_again(voucher, "one of its lanes is being rebuilt") : why;
    }
    if (!is_rebuilt) break;
  }
  state.has_list = !is_nowhere(look.pieces) &&
                   (!look.unread.ok() || std::ranges::any_of(look.pieces, &LanePieces::has_list));
  return look;
}

/// Finishes the moves that somebody has begun, between lanes that can be used. Returns true if there were any.
absl::StatusOr<bool> PieceMover::finish_moves(VoucherId voucher,
                                              std::span<const LanePieces> pieces) {
  bool has_finished = false;
  for (std::size_t from = 0; from < pieces.size(); ++from) {
    for (const auto& [to, count] : pieces[from].to) {
      const auto target = static_cast<std::size_t>(to);
      if (target >= pieces.size()) continue;
      if (!pieces[from].is_whole || !pieces[target].is_whole) continue;
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
    absl::Status recorded = check_fence(fence, state);
    if (recorded.ok()) {
      recorded = store_.record_moved({.voucher = voucher, .from = from, .to = to, .pieces = pieces},
                                     fence);
    }
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
  const lua::VoucherKeys names = payment_scripts::keys_of(keys, voucher);
  const std::vector<std::string> arguments = {std::to_string(other), std::to_string(pieces),
                                              std::to_string(voucher)};
  Client& client = lanes_[static_cast<std::size_t>(lane)].client;
  ASSIGN_OR_RETURN(const auto result,
                   read_voucher_result(client.run(script, names.in_order(), as_views(arguments)),
                                       concat("moving pieces of ", voucher_name(voucher))));
  if (result.size() == 2 && result.front() == voucher_scripts::kDone) return result.back();
  return try_again(voucher, concat("the lane ", lane, " is being rebuilt"));
}

}  // namespace rushgate
