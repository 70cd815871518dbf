#include "engine/recipes/queues/stream_push.h"

#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/queue_checks.h"
#include "engine/recipes/queues/stream_push.lua.h"
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& stream_push_script() {
  static const Script* const kScript = new Script(lua::kStreamPush);
  return *kScript;
}

}  // namespace

absl::Status push_to_stream(Client& client, std::string_view stream, std::string_view field,
                            std::int64_t length_max, std::int64_t size_max, std::string_view body) {
  RETURN_IF_ERROR(check_push(body));
  const std::string_view keys[] = {stream};
  const DecimalText maximum(length_max);
  const std::string_view arguments[] = {maximum, field, body};
  const Reply pushed = client.run(stream_push_script(), keys, arguments);
  if (!pushed.is_integer()) return to_status(pushed, "pushing a message");
  return pushed.integer() == 1 ? absl::OkStatus() : queue_is_full(stream, size_max);
}

std::optional<std::vector<QueueMessage>> read_stream_messages(const Reply& reply,
                                                              std::string_view field) {
  std::vector<QueueMessage> messages;
  if (reply.is_nil()) return messages;
  if (reply.elements().size() != 1 || reply.elements()[0].elements().size() != 2) {
    return std::nullopt;
  }
  for (const Reply& entry : reply.elements()[0].elements()[1].elements()) {
    if (entry.elements().size() != 2) return std::nullopt;
    QueueMessage message{.id = entry.elements()[0].text(), .deliveries = 1};
    const std::vector<Reply>& fields = entry.elements()[1].elements();
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
      if (fields[i].text() == field) message.body = fields[i + 1].text();
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace rushgate
