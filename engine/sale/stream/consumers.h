// The consumers of the workers' group: this sale's and others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Returns the consumer name of a worker: "<worker>@<identity of its database>". So a restarted
/// worker reads its own pending entries, and no other system's consumer has the name.
std::string consumer_name(std::string_view worker, std::string_view identity);

struct GroupConsumer {
  std::string name;
  std::int64_t pending = 0;  // entries delivered to it and not acknowledged
  std::int64_t idle_ms = 0;  // since it last read

  /// Returns a sentence about one that is no worker of the sale, for logs and reports.
  [[nodiscard]] std::string description(const SaleKeys& keys) const;
};

/// Returns the group's consumers that are workers of the database with this identity. They may be
/// in this process or another, running or gone.
absl::StatusOr<std::vector<GroupConsumer>> find_own_consumers(Client& client, const SaleKeys& keys,
                                                              std::string_view identity);

/// Returns the group's consumers that are not workers of the database with this identity. The
/// orders that they acknowledge never reach the database.
absl::StatusOr<std::vector<GroupConsumer>> find_foreign_consumers(Client& client,
                                                                  const SaleKeys& keys,
                                                                  std::string_view identity);

}  // namespace rushgate
