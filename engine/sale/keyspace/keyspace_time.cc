#include "engine/sale/keyspace/keyspace_time.h"

#include "engine/core/base/numbers.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

absl::StatusOr<std::int64_t> keyspace_time_ms(Client& client) {
  const Reply time = client("TIME");
  const bool is_time = time.is_aggregate() && time.elements().size() == 2 &&
                       time.elements()[0].is_text() && time.elements()[1].is_text();
  const auto seconds = is_time ? parse_int64(time.elements()[0].text()) : std::nullopt;
  const auto microseconds = is_time ? parse_int64(time.elements()[1].text()) : std::nullopt;
  if (!seconds || !microseconds) return to_status(time, "asking for the time");
  return *seconds * 1'000 + *microseconds / 1'000;
}

}  // namespace rushgate
