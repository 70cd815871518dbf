#include "apps/commands/commands.h"

#include <cstddef>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/exit_code.h"
#include "apps/say.h"
#include "apps/stderr_log.h"
#include <rushgate/engine.h>

namespace rushgate {

namespace {

/// Returns the first argument that is no option if it names no command; empty otherwise. CLI11 would
/// print the help that a later --help asks for.
std::string find_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  for (const std::string name : arguments.subspan(1)) {
    if (name.starts_with('-')) continue;
    const bool is_known =
        !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; })
             .empty();
    return is_known ? "" : name;
  }
  return {};
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("Rushgate: a durable flash sale in one process", "rushgate");
  Invocation invocation;
  app.footer(kExitCodesHelp);
  app.set_version_flag("--version", "rushgate " + std::string(Engine::version()));
  app.require_subcommand(1);
  app.add_flag("--verbose", invocation.verbose, "Log everything to stderr");
  add_replay(app, invocation);
  add_demo(app, invocation);
  add_publish(app, invocation);
  add_vouchers(app, invocation);
  add_buy(app, invocation);
  add_work(app, invocation);
  add_audit(app, invocation);
  add_orders(app, invocation);
  add_status(app, invocation);
  add_export(app, invocation);
  add_watch(app, invocation);
  add_pay(app, invocation);
  add_cancel(app, invocation);
  add_use(app, invocation);
  add_refund(app, invocation);
  add_payments(app, invocation);
  add_close(app, invocation);
  add_archive(app, invocation);
  add_move(app, invocation);
  add_backup(app, invocation);
  add_restore(app, invocation);
  add_dead_letters(app, invocation);
  add_serve(app, invocation);
  add_strategies(app, invocation);
  if (const std::string unknown = find_unknown_command(app, argc, argv); !unknown.empty()) {
    say("rushgate: there is no command '{}': `rushgate --help` lists them\n", unknown);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;  // --help and --version give 0
  }
  return invocation.run(make_logger(invocation.verbose));
}

}  // namespace rushgate
