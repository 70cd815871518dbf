// The consumers of the workers' group: those of this sale, and others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/sale_keys.h"

namespace rushgate {

/// Notes that `name` is a consumer of this sale, before it reads. Does nothing where the keyspace
/// takes no more memory: workers free memory, so they go on.
absl::Status register_consumer(Client& client, const SaleKeys& keys, std::string_view name);

struct ForeignConsumer {
  std::string name;
  std::int64_t pending = 0;  // entries that it was given and has not acknowledged
  std::int64_t idle_ms = 0;  // since it last read

  /// A sentence for logs and reports.
  [[nodiscard]] std::string description(const SaleKeys& keys) const;
};

/// Returns the consumers of the group that no worker of this sale registered. The orders that they
/// acknowledge never come into this sale's database. One that has the name of a worker is not found.
absl::StatusOr<std::vector<ForeignConsumer>> find_foreign_consumers(Client& client,
                                                                    const SaleKeys& keys);

}  // namespace rushgate
