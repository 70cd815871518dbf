#include "engine/executor/parking_lot.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace rushgate {

void ParkingLot::add(Operation& operation, std::uint8_t db, Park park,
                     std::int64_t now_monotonic_ms) {
  const std::uint64_t ticket = next_ticket_++;
  constexpr std::int64_t kForeverMs = std::int64_t{1}
                                      << 60;  // longer timeouts would overflow the clock
  const std::int64_t deadline_ms =
      park.timeout_ms > 0 ? now_monotonic_ms + std::min(park.timeout_ms, kForeverMs) : 0;
  const Parked& parked =
      parked_.emplace(ticket, Parked{&operation, db, std::move(park), deadline_ms, ticket})
          .first->second;
  absl::Cleanup take_out = [&] { remove(ticket); };
  for (const std::string& key : parked.park.keys) tickets_by_key_[{db, key}].insert(ticket);
  if (deadline_ms != 0) deadlines_.emplace(deadline_ms, ticket);
  tickets_by_session_.emplace(operation.session->id, ticket);
  std::move(take_out).Cancel();
}

bool ParkingLot::anyone_waits_for(std::uint8_t db, std::string_view key) const {
  return !parked_.empty() && tickets_by_key_.contains(KeyView{db, key});
}

std::optional<std::uint64_t> ParkingLot::next_waiting(std::uint8_t db, std::string_view key,
                                                      std::uint64_t ticket) const {
  const auto found = tickets_by_key_.find(KeyView{db, key});
  if (found == tickets_by_key_.end()) return std::nullopt;
  const auto next = found->second.upper_bound(ticket);
  if (next == found->second.end()) return std::nullopt;
  return *next;
}

std::optional<std::uint64_t> ParkingLot::find_session(std::uint64_t session_id) const {
  const auto found = tickets_by_session_.lower_bound({session_id, 0});
  if (found == tickets_by_session_.end() || found->first != session_id) return std::nullopt;
  return found->second;
}

ParkingLot::Parked* ParkingLot::find(std::uint64_t ticket) {
  const auto found = parked_.find(ticket);
  return found == parked_.end() ? nullptr : &found->second;
}

ParkingLot::Parked ParkingLot::remove(std::uint64_t ticket) {
  auto node = parked_.extract(ticket);
  assert(!node.empty());
  Parked parked = std::move(node.mapped());
  for (const std::string& key : parked.park.keys) {
    const auto found = tickets_by_key_.find(KeyView{parked.db, key});
    if (found == tickets_by_key_.end()) continue;
    found->second.erase(ticket);
    if (found->second.empty()) tickets_by_key_.erase(found);
  }
  tickets_by_session_.erase({parked.operation->session->id, ticket});
  if (parked.deadline_ms != 0) deadlines_.erase({parked.deadline_ms, ticket});
  return parked;
}

std::optional<std::int64_t> ParkingLot::next_deadline_ms() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::optional<std::uint64_t> ParkingLot::first_due(std::int64_t now_monotonic_ms) const {
  if (deadlines_.empty() || deadlines_.begin()->first > now_monotonic_ms) return std::nullopt;
  return deadlines_.begin()->second;
}

std::optional<std::uint64_t> ParkingLot::first() const {
  if (parked_.empty()) return std::nullopt;
  return parked_.begin()->first;
}

}  // namespace rushgate
