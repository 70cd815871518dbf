// The command line of rushgate. Each function add_… adds a subcommand.
#pragma once

#include <functional>
#include <memory>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}
namespace spdlog {
class logger;
}

namespace rushgate {

/// The parsed command line.
struct Invocation {
  using Run = std::function<int(const std::shared_ptr<spdlog::logger>&)>;

  bool verbose = false;
  Run run;  // runs the subcommand and returns the exit code
};

/// Parses the command line and runs its subcommand. Returns the exit code.
int run_command_line(int argc, char** argv);

void add_replay(CLI::App& app, Invocation& invocation);
void add_demo(CLI::App& app, Invocation& invocation);
void add_publish(CLI::App& app, Invocation& invocation);
void add_vouchers(CLI::App& app, Invocation& invocation);
void add_buy(CLI::App& app, Invocation& invocation);
void add_work(CLI::App& app, Invocation& invocation);
void add_audit(CLI::App& app, Invocation& invocation);
void add_orders(CLI::App& app, Invocation& invocation);
void add_copy_of_orders(CLI::App& orders, Invocation& invocation);
void add_status(CLI::App& app, Invocation& invocation);
void add_export(CLI::App& app, Invocation& invocation);
void add_watch(CLI::App& app, Invocation& invocation);
void add_pay(CLI::App& app, Invocation& invocation);
void add_cancel(CLI::App& app, Invocation& invocation);
void add_use(CLI::App& app, Invocation& invocation);
void add_refund(CLI::App& app, Invocation& invocation);
void add_payments(CLI::App& app, Invocation& invocation);
void add_close(CLI::App& app, Invocation& invocation);
void add_move(CLI::App& app, Invocation& invocation);
void add_archive(CLI::App& app, Invocation& invocation);
void add_backup(CLI::App& app, Invocation& invocation);
void add_restore(CLI::App& app, Invocation& invocation);
void add_dead_letters(CLI::App& app, Invocation& invocation);
void add_serve(CLI::App& app, Invocation& invocation);
void add_strategies(CLI::App& app, Invocation& invocation);

}  // namespace rushgate
