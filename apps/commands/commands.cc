#include "apps/commands/commands.h"

#include <string>

#include <CLI/CLI.hpp>

#include "apps/exit_code.h"
#include "apps/log.h"
#include <rushgate/engine.h>

namespace rushgate {

int run_command_line(int argc, char** argv) {
  CLI::App app("Rushgate: a durable flash sale in one process", "rushgate");
  Invocation invocation;
  app.footer(kExitCodesHelp);
  app.set_version_flag("--version", "rushgate " + std::string(Engine::version()));
  app.require_subcommand(1);
  app.add_flag("--verbose", invocation.verbose, "Log everything to stderr");
  add_replay(app, invocation);
  add_demo(app, invocation);
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
  add_dead_letters(app, invocation);
  add_serve(app, invocation);
  add_strategies(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;  // --help and --version give 0
  }
  return invocation.run(make_logger(invocation.verbose));
}

}  // namespace rushgate
