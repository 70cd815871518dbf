#include "engine/recipes/queues/list_push.h"

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/time_units.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/queue_checks.h"
#include <rushgate/script.h>

namespace rushgate {
namespace {

// KEYS list  ARGV  1 size_max  2 body. Returns 1, or 0 if the list is full.
const Script& list_push_script() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('LPUSH', KEYS[1], ARGV[2])
return 1
)lua");
  return *kScript;
}

}  // namespace

absl::Status push_to_list(Client& client, std::string_view list, std::int64_t size_max,
                          std::string_view body) {
  if (const absl::Status checked = check_push(body); !checked.ok()) return checked;
  const std::string_view keys[] = {list};
  const DecimalText maximum(size_max);
  const std::string_view arguments[] = {maximum, body};
  const Reply pushed = client.run(list_push_script(), keys, arguments);
  if (!pushed.is_integer()) return to_status(pushed, "pushing a message");
  return pushed.integer() == 1 ? absl::OkStatus() : queue_is_full(list, size_max);
}

std::string list_timeout(std::int64_t block_ms) {
  const std::string decimals = concat(kMsPerSecond + block_ms % kMsPerSecond).substr(1);
  return concat(block_ms / kMsPerSecond, ".", decimals);
}

}  // namespace rushgate
