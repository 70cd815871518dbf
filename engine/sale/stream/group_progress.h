// The progress of the workers' group in the order stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>

namespace rushgate {

struct GroupProgress {
  StreamId last_delivered = {};          // no entry above it was delivered to a worker
  std::int64_t pending = 0;              // entries delivered and not acknowledged
  std::optional<std::int64_t> lag = {};  // entries not delivered; empty: the server cannot say
};

/// Returns zeros where there is no stream or no such group.
absl::StatusOr<GroupProgress> read_group_progress(Client& client, const SaleKeys& keys);

struct StreamProgress {
  StreamId last = {};             // the stream's greatest entry; 0-0 where there is none
  StreamId acknowledged_to = {};  // the group has acknowledged every entry up to this one
};
absl::StatusOr<StreamProgress> read_stream_progress(Client& client, const SaleKeys& keys);

/// The field of SaleKeys::stream_owner() that changes whenever a database that lost orders is caught up: then
/// the group begins again at an earlier entry.
inline constexpr std::string_view kCaughtUpField = "caught_up";
/// Returns its value; empty if that has never happened.
absl::StatusOr<std::string> read_caught_up(Client& client, const SaleKeys& keys);

/// Returns the ids of the group's pending entries, ascending, read in bounded portions. Contains
/// each entry that is pending during the whole call. Empty where there is no such group.
absl::StatusOr<std::vector<StreamId>> read_pending_ids(Client& client, const SaleKeys& keys);

/// Returns true if a worker of the group has acknowledged this entry of the order stream. Costs the
/// same however many entries are pending.
absl::StatusOr<bool> is_acknowledged(Client& client, const SaleKeys& keys, StreamId entry);

/// Entries of the order stream that a worker of the group has acknowledged.
class AcknowledgedEntries {
 public:
  static absl::StatusOr<AcknowledgedEntries> read(Client& client, const SaleKeys& keys);

  [[nodiscard]] bool contains(StreamId entry) const;

 private:
  AcknowledgedEntries(StreamId last_delivered, std::vector<StreamId> pending);

  StreamId last_delivered_;
  std::vector<StreamId> pending_;  // ascending
};

}  // namespace rushgate
