#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "adapters/resp/resp_server.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "engine/base/memory_size.h"
#include "engine/executor/engine.h"
#include "engine/sale/admission/admission.h"
#include "storage/memory/memory_store.h"
#include "storage/rocksdb/rocksdb_store.h"

namespace rushgate {
namespace {

struct ServeArguments {
  RespServerOptions server;
  std::filesystem::path dir;  // empty: in memory
  Durability durability = Durability::kOs;
  std::uint64_t memory_bytes_max = 0;
  bool manual_clock = false;
};

/// SIGINT and SIGTERM, for all threads that begin while it is there: they wait to be asked for.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int wait() {
    int signal = 0;
    ::sigwait(&signals_, &signal);
    return signal;
  }

 private:
  ::sigset_t signals_{};
  ::sigset_t before_{};
};

/// What a client's SHUTDOWN says, for the thread that waits for signals.
struct Shutdown {
  std::atomic<bool> is_asked_for{false};
  std::atomic<bool> saves{false};
};

absl::StatusOr<std::unique_ptr<Store>> open_store(const ServeArguments& arguments) {
  if (arguments.dir.empty()) return std::make_unique<MemoryStore>();
  if (arguments.durability == Durability::kMemory) {
    return absl::InvalidArgumentError("--durability memory keeps nothing: it takes no --dir");
  }
  const absl::Status made = make_directory(arguments.dir);
  if (!made.ok()) return made;
  return RocksDbStore::open(keyspace_in(arguments.dir), {.durability = arguments.durability,
                                                         .logger = arguments.server.logger});
}

std::string shown_addresses(const RespServerOptions& options, const RespServer& server) {
  std::string shown;
  if (server.port() != 0) shown = fmt::format("{} port {}", options.bind_address, server.port());
  if (options.unix_socket.empty()) return shown;
  return shown + (shown.empty() ? "" : " and ") + options.unix_socket;
}

int run_serve(ServeArguments arguments) {
  HeldSignals signals;
  Shutdown shutdown;
  arguments.server.on_shutdown = [&shutdown](bool saves) {
    shutdown.saves = saves;
    shutdown.is_asked_for = true;
    ::kill(::getpid(), SIGTERM);  // to the process: it ends as if told from outside
  };
  auto store = open_store(arguments);
  if (!store.ok()) return fail(store.status());
  ManualClock clock;
  auto engine = Engine::open(*std::move(store),
                             {.manual_clock = arguments.manual_clock ? &clock : nullptr,
                              .memory_bytes_max = arguments.memory_bytes_max,
                              .settings = {.port = arguments.server.port,
                                           .clients_max = arguments.server.clients_max,
                                           .latency_tracking = true},
                              .logger = arguments.server.logger},
                             native_sale_scripts());
  if (!engine.ok()) return fail(engine.status());
  auto server = RespServer::start(**engine, arguments.server);
  if (!server.ok()) return fail(server.status());
  fmt::print(stderr, "serving on {}\n", shown_addresses(arguments.server, **server));
  const int signal = signals.wait();
  (*server)->stop();
  if (shutdown.saves) {
    const Reply synced = (*engine)->open_client()->sync();
    if (synced.is_error()) return fail(absl::UnavailableError(synced.text()));
  }
  (*engine)->close();
  return shutdown.is_asked_for ? kExitOk : kExitSignal + signal;
}

void add_options(CLI::App& command, ServeArguments& arguments) {
  RespServerOptions& server = arguments.server;
  command.add_option("--port", server.port, "TCP port; 0: a free one, which is printed")
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--bind", server.bind_address,
                  "IP address to listen on; beyond loopback it takes --requirepass")
      ->capture_default_str()
      ->type_name("A");
  command.add_option("--unixsocket", server.unix_socket, "A unix socket, as well")->type_name("P");
  command.add_option("--dir", arguments.dir, "Keeps the data here; without it, in memory only")
      ->type_name("D");
  add_durability_option(command, arguments.durability);
  command.add_option("--requirepass", server.password, "What clients must give to AUTH")
      ->type_name("W");
  command.add_option("--maxclients", server.clients_max, "Clients at the same time")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--maxmemory",
          [&arguments](const std::string& text) {
            const auto bytes = parse_memory_size(text);
            if (!bytes) throw CLI::ValidationError("--maxmemory", "'" + text + "' is no size");
            arguments.memory_bytes_max = *bytes;
          },
          "Refuses what takes memory once so much is used: 100mb, 1gb, …; 0: no bound")
      ->type_name("SIZE");
  command.add_flag("--manual-clock", arguments.manual_clock,
                   "For tests: time stands still but for RUSHGATE.ADVANCE milliseconds");
}

}  // namespace

void add_serve(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "serve",
      "Let Redis clients use the engine over a socket, until SIGINT, SIGTERM or SHUTDOWN.");
  const auto arguments = std::make_shared<ServeArguments>();
  add_options(*command, *arguments);
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->server.logger = logger;
      return run_serve(*arguments);
    };
  });
}

}  // namespace rushgate
