#include "adapters/http/entrance.h"

#include <cstddef>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"

namespace rushgate::http {
namespace {

WaitingRoomOptions room_options(const SaleKeys& keys, const HttpServerOptions& options) {
  WaitingRoomOptions room;
  room.key_prefix = keys.prefix + "waiting-room:";
  room.per_second = options.entrance_per_second;
  room.burst = options.entrance_per_second;
  room.size_max = options.entrance_waiting_max;
  return room;
}

PurchaseTokensOptions token_options(const SaleKeys& keys) {
  PurchaseTokensOptions tokens;
  tokens.key_prefix = keys.purchase_tokens();
  return tokens;
}

}  // namespace

Entrance::Entrance(FlashSale& sale, const HttpServerOptions& options) : sale_(sale) {
  for (const SaleLane& lane : sale.sale().lanes()) {
    rooms_.push_back(WaitingRoom::create(sale.backend(), room_options(lane.keys, options)));
    tokens_.push_back(PurchaseTokens::create(sale.backend(), token_options(lane.keys)));
  }
}

absl::Status Entrance::status() const {
  for (const auto& of_lane : tokens_) RETURN_IF_ERROR(of_lane.status());
  for (const auto& of_lane : rooms_) RETURN_IF_ERROR(of_lane.status());
  return absl::OkStatus();
}

absl::StatusOr<Entrance::Visit> Entrance::visit(VoucherId voucher, const UserId& user) {
  // A voucher on several lanes has one room, and the token is where the user buys.
  ASSIGN_OR_RETURN(const SaleLane lane_of_room, sale_.sale().lane_of(voucher));
  ASSIGN_OR_RETURN(const SaleLane lane, sale_.sale().lane_of(voucher, user));
  RETURN_IF_ERROR(check(lane.keys, voucher));
  Visit visit;
  const auto& room = *rooms_[static_cast<std::size_t>(lane_of_room.number)];
  ASSIGN_OR_RETURN(visit.place, room->visit(std::to_string(voucher), user.text()));
  if (!visit.place.has_entered) return visit;
  const auto& tokens = *tokens_[static_cast<std::size_t>(lane.number)];
  ASSIGN_OR_RETURN(visit.token, tokens->issue(user.text(), voucher));
  return visit;
}

/// Reads the voucher's terms in the keyspace. One that is lost has none until it is rebuilt.
absl::Status Entrance::check(const SaleKeys& keys, VoucherId voucher) {
  const Reply terms = sale_.client()("HMGET", keys.voucher(voucher), "version", "token");
  if (!terms.is_aggregate()) return to_status(terms, "reading a voucher");
  if (terms.elements()[0].is_nil()) {
    return absl::NotFoundError(concat("voucher ", voucher, " is not on sale"));
  }
  if (terms.elements()[1] == Reply::bulk("1")) return absl::OkStatus();
  return absl::FailedPreconditionError(concat("voucher ", voucher, " needs no purchase token"));
}

}  // namespace rushgate::http
