#include "engine/recipes/queues/list_push.h"

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/time_units.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/list_push.lua.h"
#include "engine/recipes/queues/queue_checks.h"
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& list_push_script() {
  static const Script* const kScript = new Script(lua::kListPush);
  return *kScript;
}

}  // namespace

absl::Status push_to_list(Client& client, std::string_view list, std::int64_t size_max,
                          std::string_view body) {
  RETURN_IF_ERROR(check_push(body));
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
