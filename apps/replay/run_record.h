// The record of a replay in the keyspace. An interrupted replay continues from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/replay/report.h"
#include <rushgate/client.h>

namespace rushgate {

struct RunRecord {
  std::string vouchers_hash;  // of the vouchers file at the first start
  std::int64_t starts = 0;
  std::int64_t orders_before = 0;       // of these vouchers, stored before the first start
  std::int64_t completed_up_to_ms = 0;  // in real time: where the clock continues
  std::optional<Report> report;         // set once it is complete
};

/// Loads and saves the record of the replay of one file. Does not own the client.
class RunBook {
 public:
  RunBook(Client& client, const std::string& file_hash)
      : client_(client), key_("rushgate:replay:" + file_hash) {}

  /// Returns nothing if this file has no record.
  absl::StatusOr<std::optional<RunRecord>> load();
  absl::Status save(const RunRecord& record);

 private:
  Client& client_;
  const std::string key_;
};

}  // namespace rushgate
