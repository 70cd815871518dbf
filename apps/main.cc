// The rushgate command.
#include <exception>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "apps/commands/commands.h"
#include "apps/exit_code.h"

namespace rushgate {
namespace {

std::shared_ptr<spdlog::logger> make_logger(bool verbose) {
  auto logger = spdlog::stderr_color_mt("rushgate");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  return logger;
}

int run(int argc, char** argv) {
  CLI::App app("Rushgate: a durable flash sale in one process", "rushgate");
  Invocation invocation;
  app.footer(kExitCodesHelp);
  app.require_subcommand(1);
  app.add_flag("--verbose", invocation.verbose, "Say on stderr what is going on");
  add_replay(app, invocation);
  add_demo(app, invocation);
  add_audit(app, invocation);
  add_orders(app, invocation);
  add_status(app, invocation);
  add_dead_letters(app, invocation);
  add_serve(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;  // 0: --help
  }
  return invocation.run(make_logger(invocation.verbose));
}

}  // namespace
}  // namespace rushgate

int main(int argc, char** argv) {
  try {
    return rushgate::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rushgate: {}\n", error.what());
    return rushgate::kExitFailure;
  }
}
