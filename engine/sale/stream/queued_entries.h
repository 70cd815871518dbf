// What QueuedOrders keeps of the entries of the order stream, and how it reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>
#include <rushgate/script.h>
#include <rushgate/stream_id.h>

namespace rushgate {

struct QueuedEntry {
  StreamId id;
  OrderId order = 0;       // 0: it admits none
  std::uint64_t user = 0;  // hash_of() that of the order
};

/// Returns a hash of 32 bits that is not 0, the same within a process.
std::uint32_t hash_of(const UserId& user);

/// Reads the entries in a reply to XRANGE, without copying their fields: a backlog is read this way.
absl::StatusOr<std::vector<QueuedEntry>> read_queued_entries(const Reply& range);

/// The script of an embedded engine that reads the same. It costs the turn a tenth of XRANGE, which
/// makes a reply of all fields: while ids are made up, each purchase is read once.
NativeScript native_queued_entries();
inline constexpr std::string_view kNativeQueuedEntries = "rushgate.queued_entries";

/// Makes the request for up to `count_max` entries of a stream after `after`.
Request make_queued_entries_request(std::string_view stream, StreamId after, std::size_t count_max);
/// Reads its reply: the number of entries, and their bytes as in the memory of this process.
absl::StatusOr<std::vector<QueuedEntry>> read_native_queued_entries(const Reply& reply);

}  // namespace rushgate
