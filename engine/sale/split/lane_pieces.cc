#include "engine/sale/split/lane_pieces.h"

#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {
namespace {

/// Reads a field such as "from:3" into `pieces`. Any other one is left alone.
void read_moved(std::string_view name, std::string_view value, std::string_view prefix,
                std::map<int, std::int64_t>& pieces) {
  if (!name.starts_with(prefix)) return;
  const auto lane = parse_int64(name.substr(prefix.size()));
  const auto count = parse_int64(value);
  if (lane && count) pieces[static_cast<int>(*lane)] = *count;
}

LanePieces read_pieces(const Reply& hash, const Reply& stock, const Reply& waiting) {
  LanePieces pieces;
  const std::vector<Reply>& parts = hash.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const std::string_view name = parts[i].text();
    const std::string_view value = parts[i + 1].text();
    read_moved(name, value, "from:", pieces.from);
    read_moved(name, value, "to:", pieces.to);
    pieces.fields.emplace(name, value);
  }
  const auto free = stock.is_text() ? parse_int64(stock.text()) : std::nullopt;
  pieces.free = free.value_or(0);
  const auto places = pieces.fields.find("waiting");
  pieces.has_list = places != pieces.fields.end() && places->second != "0";
  if (pieces.has_list && waiting.is_integer()) pieces.waiting = waiting.integer();
  pieces.is_whole = free && pieces.fields.contains("version") && !pieces.fields.contains("closed");
  return pieces;
}

}  // namespace

absl::StatusOr<std::vector<LanePieces>> read_lane_pieces(Client& client,
                                                         std::span<const SaleLane> lanes,
                                                         VoucherId voucher, bool with_waiting) {
  std::vector<Request> requests;
  for (const SaleLane& lane : lanes) {
    requests.push_back(Request::of("HGETALL", lane.keys.voucher(voucher)));
    requests.push_back(Request::of("GET", lane.keys.stock(voucher)));
    if (with_waiting) requests.push_back(Request::of("ZCARD", lane.keys.waiting(voucher)));
  }
  const std::vector<Reply> replies = client.pipeline(requests);
  const Reply no_count = Reply::integer(0);
  const std::size_t per_lane = with_waiting ? 3 : 2;
  std::vector<LanePieces> all;
  std::size_t away = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Reply& hash = replies[per_lane * i];
    const Reply& stock = replies[per_lane * i + 1];
    const Reply& first = hash.is_aggregate() ? stock : hash;
    if (!first.is_error() && hash.is_aggregate()) {
      all.push_back(read_pieces(hash, stock, with_waiting ? replies[per_lane * i + 2] : no_count));
      continue;
    }
    absl::Status why =
        to_status(first, concat("reading voucher ", voucher, " on the lane ", lanes[i].number));
    if (!absl::IsUnavailable(why) || ++away == lanes.size()) return why;
    all.push_back({.away = std::move(why)});
  }
  return all;
}

std::int64_t pieces_of(const std::map<int, std::int64_t>& pieces, int lane) {
  const auto found = pieces.find(lane);
  return found == pieces.end() ? 0 : found->second;
}

}  // namespace rushgate
