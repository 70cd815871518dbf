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

LanePieces read_pieces(const Reply& hash, const Reply& stock) {
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
  pieces.is_whole = free && pieces.fields.contains("version") && !pieces.fields.contains("closed");
  return pieces;
}

}  // namespace

absl::StatusOr<std::vector<LanePieces>> read_lane_pieces(Client& client,
                                                         std::span<const SaleLane> lanes,
                                                         VoucherId voucher) {
  std::vector<Request> requests;
  for (const SaleLane& lane : lanes) {
    requests.push_back(Request::of("HGETALL", lane.keys.voucher(voucher)));
    requests.push_back(Request::of("GET", lane.keys.stock(voucher)));
  }
  const std::vector<Reply> replies = client.pipeline(requests);
  std::vector<LanePieces> all;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Reply& hash = replies[2 * i];
    const Reply& stock = replies[2 * i + 1];
    const Reply& first = hash.is_aggregate() ? stock : hash;
    if (first.is_error() || !hash.is_aggregate()) {
      return to_status(first,
                       concat("reading voucher ", voucher, " on the lane ", lanes[i].number));
    }
    all.push_back(read_pieces(hash, stock));
  }
  return all;
}

std::int64_t pieces_of(const std::map<int, std::int64_t>& pieces, int lane) {
  const auto found = pieces.find(lane);
  return found == pieces.end() ? 0 : found->second;
}

}  // namespace rushgate
