#include "engine/recipes/queues/stream_trim.h"

#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/stream_trim.lua.h"
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& trim_script() {
  static const Script* const kScript = new Script(lua::kStreamTrim);
  return *kScript;
}

}  // namespace

absl::Status trim_done_entries(Client& client, std::string_view stream) {
  const std::string_view keys[] = {stream};
  const Reply trimmed = client.run(trim_script(), keys, {});
  return trimmed.is_integer() ? absl::OkStatus() : to_status(trimmed, "trimming a stream");
}

}  // namespace rushgate
