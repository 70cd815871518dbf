#include "engine/redis/executor/busy_replies.h"

#include <optional>
#include <utility>

#include "engine/redis/commands/dispatch.h"
#include "engine/redis/executor/executor_errors.h"
#include "engine/redis/executor/guarded_part.h"

namespace rushgate {

bool BusyReplies::poll() {
  while (Operation* const operation = queue_.pop()) {
    queue_.report_freed_capacity();
    if (operation->kind == Operation::Kind::kRequests) {
      reply(*operation);
    } else {
      queue_.resume(*operation);  // after the script
    }
  }
  if (WhileBusy::of_this_thread_ != nullptr) (*WhileBusy::of_this_thread_)();
  return services_.running_script != nullptr && services_.running_script->kill;
}

void BusyReplies::reply(Operation& operation) {
  if (operation.session->is_ended) operation.fail_rest(executor_errors::kKilledText);
  while (!operation.finished()) {
    const Request& request = operation.requests[operation.replies.size()];
    Reply reply;
    std::optional<Reply> error = run_guarded(services_.keyspace, [&] {
      CommandContext context(services_, *operation.session, request,
                             CommandContext::Origin::kClient, false);
      reply = request.empty() ? executor_errors::reply(executor_errors::kEmptyRequestText)
                              : run_client_command(context);
    });
    operation.add_reply(error ? *std::move(error) : std::move(reply));
    operation.protocol = operation.session->protocol;
  }
  sender_.send(operation);
}

}  // namespace rushgate
