#include "engine/commands/dispatch.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/command_table.h"
#include "engine/commands/errors.h"
#include "engine/commands/transactions.h"
#include "engine/script/script_errors.h"

namespace rushgate {
namespace {

/// There is no row for the request.
Reply refuse_unknown(const CommandContext& context) {
  if (context.in_script()) return errors::unknown_in_script();
  const CommandSpec* const container = find_command(context[0]);
  if (container == nullptr) return errors::unknown_command(context.request());
  return errors::unknown_subcommand(absl::AsciiStrToUpper(std::string(container->name)),
                                    context[1]);
}

/// May the command, whose row is `spec`, not run here? Then `why` says why.
bool is_refused(const CommandContext& context, const CommandSpec* spec, Reply& why) {
  const auto refuse = [&why](Reply refusal) {
    why = std::move(refusal);
    return true;
  };
  if (spec == nullptr) return refuse(refuse_unknown(context));
  if (!arity_fits(*spec, context.size())) {
    return refuse(context.in_script() ? errors::arity_in_script()
                                      : errors::wrong_arity(spec->name));
  }
  const Session& session = context.session();
  if (!session.is_authenticated && (spec->flags & kNoAuth) == 0)
    return refuse(errors::not_authenticated());
  if (session.protocol == 2 && !session.subscriptions.empty() &&
      (spec->flags & kWhileSubscribed) == 0) {
    return refuse(errors::only_subscriptions(spec->name));
  }
  if (context.in_script()) {
    if ((spec->flags & kNoScript) != 0) return refuse(errors::not_from_script());
  } else if (context.services().running_script != nullptr && (spec->flags & kAllowBusy) == 0) {
    return refuse(script_errors::busy());
  }
  if ((spec->flags & kWrite) != 0) {
    if (context.read_only()) return refuse(errors::write_in_read_only_script());
    if (!context.services().write_refusal.empty())
      return refuse(Reply::error(context.services().write_refusal));
  }
  return false;
}

/// For CLIENT LIST.
void note_command(Session& session, const CommandSpec* spec, const CommandContext& context) {
  session.last_ms = context.now_ms();
  session.last_command = spec;
}

}  // namespace

Reply run_command(CommandContext& context) {
  const CommandSpec* const spec = find_command(context.request());
  Reply why;
  return is_refused(context, spec, why) ? why : spec->function(context);
}

Reply run_client_command(CommandContext& context) {
  Session& session = context.session();
  const CommandSpec* const spec = find_command(context.request());
  Reply why;
  const bool refused = is_refused(context, spec, why);
  note_command(session, spec, context);
  if (refused && spec != nullptr && spec->function == exec_command) {
    end_transaction(context);  // if there is none: what is watched
    return errors::transaction_aborted(why);
  }
  if (!session.transaction) return refused ? why : spec->function(context);
  if (refused) {
    session.transaction->is_broken = true;
    return why;
  }
  if ((spec->flags & kNotQueued) != 0) return spec->function(context);
  session.transaction->requests.emplace_back(context.request());
  return Reply::status("QUEUED");
}

}  // namespace rushgate
