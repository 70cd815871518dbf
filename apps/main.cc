// The rushgate command.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/log.h"
#include "apps/say.h"
#include "apps/signals.h"
#include <rushgate/engine.h>

namespace rushgate {
namespace {

/// Opens closed standard descriptors. Otherwise a file opened later would take the place of stdout
/// or stderr, and output would go into it.
void hold_standard_places() {
  int place = 0;
  do {
    place = ::open("/dev/null", O_RDWR);
  } while (place >= 0 && place <= STDERR_FILENO);
  if (place >= 0) ::close(place);
}

int run(int argc, char** argv) {
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

/// Returns a failure if stdout could not be written, for example to a full disk.
int finish_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  say("rushgate: stdout: {}\n", std::strerror(errno));
  return exit_code == kExitOk ? kExitFailure : exit_code;
}

}  // namespace
}  // namespace rushgate

int main(int argc, char** argv) {
  rushgate::hold_standard_places();
  rushgate::ignore_file_size_limit();  // also outside the library's own files
  try {
    return rushgate::finish_output(rushgate::run(argc, argv));
  } catch (const std::exception& error) {
    rushgate::say("rushgate: {}\n", error.what());
    return rushgate::kExitFailure;
  }
}
