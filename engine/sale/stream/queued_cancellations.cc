#include "engine/sale/stream/queued_cancellations.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

/// Returns the cancellation in an entry; empty if it has none.
std::optional<OrderEvent> cancellation_in(const OrderEntry& entry) {
  if (!is_event(entry)) return std::nullopt;
  auto event = read_event(entry);
  if (!event.ok() || event->kind != OrderEvent::Kind::kCancelled) return std::nullopt;
  return *std::move(event);
}

}  // namespace

void QueuedCancellations::clear() {
  read_to_ = {};
  known_.clear();
}

absl::StatusOr<StreamId> QueuedCancellations::read_on() {
  RETURN_IF_ERROR(find_ends());
  const absl::Status read =
      for_each_entry(client_, stream_, read_to_, StreamId::max(), [&](const OrderEntry& entry) {
        const auto id = StreamId::parse(entry.id);  // for_each_entry() has read it already
        if (!id) return true;
        read_to_ = *id;
        const auto event = cancellation_in(entry);
        if (event) known_.push_back({*id, event->order.id, event->order.voucher});
        return true;
      });
  if (!read.ok()) return read;
  return read_to_;
}

/// Forgets the cancellations before the stream's first entry, and all of them if the stream began anew.
absl::Status QueuedCancellations::find_ends() {
  const Request requests[] = {Request::of("XRANGE", stream_, "-", "+", "COUNT", 1),
                              Request::of("XREVRANGE", stream_, "+", "-", "COUNT", 1)};
  StreamId ends[2] = {StreamId::max(), StreamId::min()};
  const std::vector<Reply> replies = client_.pipeline(requests);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const std::string doing = concat("reading an end of ", stream_);
    if (!replies[i].is_aggregate()) return to_status(replies[i], doing);
    if (replies[i].elements().empty()) continue;
    const auto entry = read_entry(replies[i].elements().front());
    const auto id = entry ? StreamId::parse(entry->id) : std::nullopt;
    if (!id) return to_status(replies[i], doing);
    ends[i] = *id;
  }
  const auto [first, last] = ends;
  if (last < read_to_) clear();
  while (!known_.empty() && known_.front().entry < first) known_.pop_front();
  return absl::OkStatus();
}

absl::Status QueuedCancellations::for_each_of(const absl::flat_hash_set<OrderId>& orders,
                                              const absl::flat_hash_set<VoucherId>& vouchers,
                                              absl::FunctionRef<void(OrderEvent event)> visit) {
  constexpr std::size_t kPortion = 256;
  std::vector<StreamId> wanted;
  for (const Cancellation& one : known_) {
    if (orders.contains(one.order) || vouchers.contains(one.voucher)) wanted.push_back(one.entry);
  }
  for (std::size_t i = 0; i < wanted.size(); i += kPortion) {
    const std::size_t count = std::min(kPortion, wanted.size() - i);
    RETURN_IF_ERROR(fetch(std::span(wanted).subspan(i, count), visit));
  }
  return absl::OkStatus();
}

absl::Status QueuedCancellations::fetch(std::span<const StreamId> entries,
                                        absl::FunctionRef<void(OrderEvent event)> visit) {
  std::vector<Request> requests;
  for (const StreamId id : entries) {
    const std::string text = id.to_string();
    requests.push_back(Request::of("XRANGE", stream_, text, text));
  }
  for (const Reply& reply : client_.pipeline(requests)) {
    if (!reply.is_aggregate()) return to_status(reply, concat("reading ", stream_));
    if (reply.elements().empty()) continue;  // it was deleted
    const auto entry = read_entry(reply.elements().front());
    auto event = entry ? cancellation_in(*entry) : std::nullopt;
    if (event) visit(*std::move(event));
  }
  return absl::OkStatus();
}

}  // namespace rushgate
