#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "adapters/flash_sale/sale_directory.h"
#include "adapters/resp/file_reservation.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/commands/http_address.h"
#include "apps/exit_code.h"
#include "apps/input/file_text.h"
#include "apps/say.h"
#include "apps/served/joined_commands.h"
#include "apps/served/migrate_command.h"
#include "apps/service/served_directory.h"
#include "apps/signals.h"
#include "apps/systemd_notice.h"
#include "engine/core/base/memory_size.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/process_info.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thread_name.h"
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>
#include <rushgate/limits.h>
#include <rushgate/open_backend.h>
#include <rushgate/resp_server.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sale_commands.h>

namespace rushgate {
namespace {

constexpr std::uint64_t kSecondsMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kSlowlogLogSlowerThanUs = 10'000;  // Redis's default
constexpr const char* kPasswordVariable = "RUSHGATE_REQUIREPASS";
constexpr const char* kMemoryUrl = "memory:";

struct ServeArguments {
  RespServerOptions server;
  std::filesystem::path password_file;  // empty: none
  std::filesystem::path dir;            // empty: see keyspace_url
  std::string keyspace_url = kMemoryUrl;
  std::string orders_url;  // empty: in `dir`
  Durability durability = Durability::kOs;
  std::uint64_t memory_bytes_max = 0;
  bool debug_commands = false;
  bool manual_clock = false;
  std::optional<HttpServerOptions> http;  // of --http
  std::filesystem::path tls_certificate;  // empty: no TLS
  std::filesystem::path tls_key;
  std::filesystem::path token_file;  // empty: none
  std::filesystem::path user_key_file;
  std::string payment_url;  // empty: none
  std::string currency;     // empty: unknown
  std::filesystem::path vouchers_file;
  std::filesystem::path backups_dir;  // empty: operators may make none
  int workers = 1;
  int lanes = 0;  // as SaleOptions::lanes
  std::vector<int> work_lanes;
  std::int64_t entrance_rate = HttpServerOptions{}.entrance_per_second;
};

/// During its lifetime, reports when a script delays the end of the program.
class ScriptNotice {
 public:
  explicit ScriptNotice(const Engine& engine)
      : thread_([this, &engine](const std::stop_token& ends) { watch(engine, ends); }) {}

 private:
  void watch(const Engine& engine, const std::stop_token& ends) {
    name_this_thread("rg-watch");
    constexpr std::chrono::milliseconds kEvery{200};
    bool is_said = false;
    std::unique_lock lock(mutex_);
    while (!is_said &&
           !looks_.wait_for(lock, ends, kEvery, [&] { return ends.stop_requested(); })) {
      is_said = engine.is_running_script();
      if (is_said) {
        say("rushgate: a script still runs; a second SIGINT or SIGTERM ends the program at once\n");
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any looks_;
  std::jthread thread_;  // ends first
};

absl::StatusOr<std::unique_ptr<Store>> open_its_store(const ServeArguments& arguments) {
  if (arguments.dir.empty()) {
    ASSIGN_OR_RETURN(const auto url, BackendUrl::parse(arguments.keyspace_url));
    return open_store(url, {.logger = arguments.server.logger});
  }
  if (arguments.durability == Durability::kMemory) {
    return absl::InvalidArgumentError("--durability memory stores nothing: remove --dir");
  }
  RETURN_IF_ERROR(create_sale_directory(arguments.dir));
  return RocksDbStore::open(keyspace_in(arguments.dir), {.durability = arguments.durability,
                                                         .logger = arguments.server.logger});
}

std::string shown_addresses(const RespServerOptions& options, const RespServer& server) {
  std::string shown;
  if (server.port() != 0) shown = fmt::format("{} port {}", options.bind_address, server.port());
  if (options.unix_socket.empty()) return shown;
  return shown + (shown.empty() ? "" : " and ") + options.unix_socket;
}

/// Returns the contents of the file, which must be one line: `what`.
absl::StatusOr<std::string> read_line(const std::filesystem::path& file, std::string_view what) {
  auto text = read_file(file);
  if (!text.ok()) return text;
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (!text->empty() && text->find('\n') == std::string::npos) return text;
  return absl::InvalidArgumentError(fmt::format("{} must hold one line, {}", file.string(), what));
}

/// Returns the password of --requirepass, --requirepass-file or the environment, in this order.
/// Empty if none is set.
absl::StatusOr<std::string> password_of(const ServeArguments& arguments) {
  if (!arguments.server.password.empty()) return arguments.server.password;
  if (!arguments.password_file.empty()) return read_line(arguments.password_file, "the password");
  const char* const variable = std::getenv(kPasswordVariable);
  if (variable == nullptr) return "";
  if (*variable == '\0')
    return absl::InvalidArgumentError(fmt::format("{} is empty", kPasswordVariable));
  return variable;
}

EngineOptions engine_options(const ServeArguments& arguments, ManualClock& clock) {
  EngineOptions options;
  options.manual_clock = arguments.manual_clock ? &clock : nullptr;
  options.memory_bytes_max = arguments.memory_bytes_max;
  options.latency_tracking = true;
  options.slowlog_log_slower_than_us = kSlowlogLogSlowerThanUs;
  options.debug_commands = arguments.debug_commands;
  options.logger = arguments.server.logger;
  return options;
}

/// Ends the wait for a signal when a client sends SHUTDOWN, and notes whether it wants everything
/// saved.
void end_on_shutdown(RespServerOptions& server, std::atomic<bool>& saves) {
  server.on_shutdown = [&saves](bool wants_saved) {
    if (wants_saved) saves = true;
    HeldInterrupts::end_wait();
  };
}

/// Returns the exit code of a clean stop. SIGTERM is how a service is stopped.
int exit_code_after(int signal) { return signal == SIGINT ? kExitSignal + SIGINT : kExitOk; }

absl::Status save(Engine& engine) {
  const Reply synced = engine.open_client()->sync();
  return synced.is_error() ? absl::UnavailableError(synced.text()) : absl::OkStatus();
}

/// Returns true if the engine executes a request, or has begun a script that delays it.
bool replies(Engine& engine) {
  return engine.is_running_script() || !engine.open_client()->call(Request::of("PING")).is_error();
}

/// Serves a keyspace alone.
int serve_keyspace(const ServeArguments& arguments, HeldInterrupts& interrupts,
                   const std::atomic<bool>& saves) {
  auto store = open_its_store(arguments);
  if (!store.ok()) return fail(store.status());
  ManualClock clock;
  auto engine = Engine::open(*std::move(store), engine_options(arguments, clock));
  if (!engine.ok()) return fail(engine.status());
  RespServerOptions server_options = arguments.server;
  if (!arguments.manual_clock) server_options.commands = make_migrate_command(**engine);
  auto server = RespServer::start(**engine, std::move(server_options));
  if (!server.ok()) return fail(server.status());
  say("serving on {}\n", shown_addresses(arguments.server, **server));
  std::optional<SystemdNotice> systemd(std::in_place, [&engine] { return replies(**engine); });
  const int signal = interrupts.wait();
  systemd.reset();
  const ScriptNotice notice(**engine);
  (*server)->stop();
  if (saves) {
    if (const absl::Status saved = save(**engine); !saved.ok()) return fail(saved);
  }
  (*engine)->close();
  return exit_code_after(signal);
}

absl::StatusOr<std::unique_ptr<FlashSale>> open_served_sale(const ServeArguments& arguments) {
  ManualClock unused;
  FlashSaleOptions options;
  options.workers = arguments.workers;
  options.sale.lanes = arguments.lanes;
  options.work_lanes = arguments.work_lanes;
  options.names_order_at_limit = true;
  options.engine = engine_options(arguments, unused);
  options.logger = arguments.server.logger;
  options.orders = arguments.orders_url;
  BackendUrl place;
  if (arguments.keyspace_url != kMemoryUrl) {
    if (arguments.orders_url.empty()) options.orders_dir = arguments.dir;
    return FlashSale::open(arguments.keyspace_url, options);
  }
  if (!arguments.dir.empty()) {
    place.kind = BackendUrl::Kind::kDirectory;
    place.dir = arguments.orders_url.empty() ? arguments.dir : keyspace_in(arguments.dir);
    place.durability = arguments.durability;
    RETURN_IF_ERROR(create_sale_directory(arguments.dir));
  }
  return FlashSale::open(place, options);
}

/// Publishes the vouchers of the file that are new.
absl::Status publish_new(FlashSale& sale, const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const auto vouchers, read_vouchers(file));
  for (const Voucher& voucher : vouchers) {
    RETURN_IF_ERROR(sale.publish_if_new(voucher).status());
  }
  return absl::OkStatus();
}

absl::Status read_secrets(const ServeArguments& arguments, HttpServerOptions& options) {
  for (const auto& [file, what, secret] :
       {std::tuple(&arguments.token_file, "the token", &options.operator_token),
        std::tuple(&arguments.user_key_file, "the key", &options.user_key)}) {
    if (file->empty()) continue;
    ASSIGN_OR_RETURN(auto line, read_line(*file, what));
    *secret = std::move(line);
  }
  return absl::OkStatus();
}

/// Lowers the bounds of both ports if the limit of open files does not fit them.
absl::Status divide_files(RespServerOptions& resp, HttpServerOptions& http) {
  const auto before = std::pair(resp.clients_max, http.connections_max);
  ASSIGN_OR_RETURN(const auto limit,
                   FileReservation::divide(resp.clients_max, http.connections_max));
  if (before == std::pair(resp.clients_max, http.connections_max)) return absl::OkStatus();
  say("{} open files are allowed (ulimit -n): at most {} Redis clients and {} HTTP connections\n",
      limit, resp.clients_max, http.connections_max);
  return absl::OkStatus();
}

/// Leaves the address in the sale's directory. Not with TLS: the certificate is hardly for this address.
std::optional<ServedDirectory> leave_address(const ServeArguments& arguments, std::uint16_t port) {
  if (arguments.dir.empty() || !arguments.tls_certificate.empty()) return std::nullopt;
  std::string host = arguments.http->bind_address;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = fmt::format("[{}]", host);
  return std::optional<ServedDirectory>(
      std::in_place, arguments.dir, fmt::format("http://{}:{}", host, port), arguments.token_file);
}

/// Says where an error comes from: not from the port of --http.
absl::Status of_redis_port(const absl::Status& error) {
  return {error.code(), fmt::format("for Redis clients (--port, 0 for a free one): {}",
                                    std::string(error.message()))};
}

/// Serves a sale by HTTP, and its keyspace beside that if it is in this process.
int serve_sale(const ServeArguments& arguments, HeldInterrupts& interrupts,
               const std::atomic<bool>& saves) {
  HttpServerOptions http_options = *arguments.http;
  http_options.logger = arguments.server.logger;
  if (const absl::Status read = read_secrets(arguments, http_options); !read.ok())
    return fail(read);
  const auto sale = open_served_sale(arguments);
  if (!sale.ok()) return fail(sale.status());
  if (!arguments.vouchers_file.empty()) {
    const absl::Status published = publish_new(**sale, arguments.vouchers_file);
    if (!published.ok()) return fail(published);
  }
  auto* const engine = dynamic_cast<Engine*>(&(*sale)->backend());
  std::unique_ptr<RespServer> resp;
  if (engine != nullptr) {
    RespServerOptions resp_options = arguments.server;
    const absl::Status divided = divide_files(resp_options, http_options);
    if (!divided.ok()) return fail(divided);
    resp_options.commands = std::make_shared<JoinedCommands>(
        std::vector{make_sale_commands(**sale), make_migrate_command(*engine)});
    auto server = RespServer::start(*engine, std::move(resp_options));
    if (!server.ok()) return fail(of_redis_port(server.status()));
    resp = *std::move(server);
    say("serving on {}\n", shown_addresses(arguments.server, *resp));
  }
  const auto http = HttpServer::start(**sale, http_options);
  if (!http.ok()) return fail(http.status());
  if (http_options.operator_token.empty()) {
    say("without --token-file, operators' routes are served to this machine alone\n");
  }
  const std::optional<ServedDirectory> address = leave_address(arguments, (*http)->port());
  say("serving HTTP on {} port {}\n", http_options.bind_address, (*http)->port());
  // A server that is away comes back by itself: then a restart of this program helps nobody.
  std::optional<SystemdNotice> systemd(std::in_place,
                                       [engine] { return engine == nullptr || replies(*engine); });
  const int signal = interrupts.wait([&] {
    const absl::Status read = (*http)->reload_certificate();
    if (!read.ok()) say("rushgate: {}\n", std::string(read.message()));
  });
  systemd.reset();
  std::optional<ScriptNotice> notice;
  if (engine != nullptr) notice.emplace(*engine);
  (*http)->stop();
  if (resp != nullptr) resp->stop();
  (*sale)->stop_workers();
  if (saves && engine != nullptr) {
    if (const absl::Status saved = save(*engine); !saved.ok()) return fail(saved);
  }
  return exit_code_after(signal);
}

int run_serve(ServeArguments arguments) {
  ignore_closed_pipes();  // a closed log pipe must not end the server
  bound_free_memory();
  if (arguments.http) {
    arguments.http->tls_certificate = arguments.tls_certificate;
    arguments.http->tls_key = arguments.tls_key;
    arguments.http->payment_url = arguments.payment_url;
    arguments.http->currency = arguments.currency;
    arguments.http->entrance_per_second = arguments.entrance_rate;
    arguments.http->backups_dir = arguments.backups_dir;
  }
  auto password = password_of(arguments);
  if (!password.ok()) return fail(password.status());
  arguments.server.password = *std::move(password);
  HeldInterrupts interrupts(arguments.http && !arguments.http->tls_certificate.empty());
  std::atomic<bool> saves{false};
  end_on_shutdown(arguments.server, saves);
  return arguments.http ? serve_sale(arguments, interrupts, saves)
                        : serve_keyspace(arguments, interrupts, saves);
}

/// Adds an option whose value is a size: 100mb, 1gb, …
template <class Bytes>
void add_size_option(CLI::App& command, const char* name, Bytes& bytes, const char* description) {
  command
      .add_option_function<std::string>(
          name,
          [name, &bytes](const std::string& text) {
            const auto size = parse_memory_size_strictly(text);
            if (!size) throw CLI::ValidationError(name, "'" + text + "' is not a size");
            bytes = *size;
          },
          description)
      ->type_name("SIZE");
}

constexpr const char* kOutputLimit = "--client-output-buffer-limit";

/// Sets the hard bound, the soft bound and its seconds for one class of clients, like Redis's
/// client-output-buffer-limit.
void set_output_limit(const std::string& clients, const std::array<std::string, 3>& bounds,
                      RespServerOptions& server) {
  const auto refuse = [](const std::string& why) { throw CLI::ValidationError(kOutputLimit, why); };
  const auto hard = parse_memory_size_strictly(bounds[0]);
  const auto soft = parse_memory_size_strictly(bounds[1]);
  const auto seconds = parse_uint64(bounds[2]);
  if (!hard || !soft) refuse("'" + bounds[hard ? 1 : 0] + "' is not a size");
  if (!seconds || *seconds > kSecondsMax) refuse("'" + bounds[2] + "' is not a number of seconds");
  if (clients == "pubsub") {
    server.subscriber_bytes_max = *hard;
    server.subscriber_soft_bytes_max = *soft;
    server.subscriber_soft_s = static_cast<std::int64_t>(*seconds);
  } else if (clients == "normal") {
    if (*soft != 0 || *seconds != 0) refuse("normal takes no soft bound");
    server.output_bytes_max = *hard != 0 ? *hard : std::numeric_limits<std::size_t>::max();
  } else {
    refuse("'" + clients + "' is not one of normal|pubsub");
  }
}

void add_options(CLI::App& command, ServeArguments& arguments) {
  RespServerOptions& server = arguments.server;
  command.add_option("--port", server.port, "TCP port; 0: a free one, which is printed")
      ->check(number_from(0, std::numeric_limits<std::uint16_t>::max()))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--bind", server.bind_address,
                  "IP address to listen on; other than loopback requires --requirepass. Empty: no "
                  "TCP, only --unixsocket")
      ->capture_default_str()
      ->type_name("A");
  command.add_option("--unixsocket", server.unix_socket, "Also listen on this unix socket")
      ->check(not_empty())
      ->type_name("P");
  command
      .add_option_function<std::string>(
          "--unixsocketperm",
          [&server](const std::string& text) {
            const bool is_octal = text.find_first_not_of("01234567") == std::string::npos;
            if (text.empty() || text.size() > 4 || !is_octal ||
                std::stoul(text, nullptr, 8) > 0777) {
              throw CLI::ValidationError("--unixsocketperm",
                                         "'" + text + "' is not a mode like 700");
            }
            server.unix_socket_mode = static_cast<std::uint32_t>(std::stoul(text, nullptr, 8));
          },
          "Permissions of the unix socket: 700, …; 0: set by the umask")
      ->type_name("MODE");
  command
      .add_option("--dir", arguments.dir,
                  "Directory of the data; without it, the data is only in memory")
      ->check(not_empty())
      ->type_name("D");
  command
      .add_option("--keyspace", arguments.keyspace_url,
                  "The data: a directory (path?durability=sync) or memory: (with --http also a\n"
                  "Redis: redis://host:port/db, redis-sentinel://host,host/master,\n"
                  "redis-cluster://host,host)")
      ->check(not_empty())
      ->type_name("URL");
  command
      .add_option("--orders", arguments.orders_url,
                  "With --http, the order database, if it is not in D: postgresql://user@host/db,\n"
                  "sqlite:path")
      ->check(not_empty())
      ->type_name("URL");
  add_durability_option(command, arguments.durability);
  CLI::Option* const password =
      command.add_option("--requirepass", server.password, "Password for AUTH")
          ->check(not_empty())
          ->type_name("W");
  command
      .add_option("--requirepass-file", arguments.password_file,
                  fmt::format("File with the password; without both options, ${} holds it",
                              kPasswordVariable))
      ->check(not_empty())
      ->excludes(password)
      ->type_name("F");
  command.add_option("--maxclients", server.clients_max, "Maximum of connected clients")
      ->check(number_from(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  add_size_option(command, "--client-query-buffer-limit", server.query_bytes_max,
                  "Bytes that a client may send before a reply, also after MULTI");
  command
      .add_option_function<std::vector<std::string>>(
          kOutputLimit,
          [&server](const std::vector<std::string>& words) {
            if (words.size() % 4 != 0) {
              throw CLI::ValidationError(kOutputLimit, "each class takes 4 words");
            }
            for (std::size_t i = 0; i < words.size(); i += 4) {
              set_output_limit(words[i], {words[i + 1], words[i + 2], words[i + 3]}, server);
            }
          },
          "Bytes that a client of the class normal or pubsub may leave unread: CLASS HARD\n"
          "SOFT SECONDS, once or twice; normal takes no SOFT, so 0 0")
      ->expected(4, 8)
      ->type_name("…");
  add_size_option(command, "--maxmemory-clients", server.clients_bytes_max,
                  "Bytes of requests and replies of all clients; 0: no bound");
  command
      .add_option("--timeout", server.idle_timeout_s,
                  "Seconds after which an idle client is closed; 0: never")
      ->check(number_from(0, kSecondsMax))
      ->capture_default_str()
      ->type_name("S");
  command
      .add_option("--tcp-keepalive", server.tcp_keepalive_s,
                  "Seconds of silence after which a client's machine is probed; 0: never")
      ->check(number_from(0, 32'767))
      ->capture_default_str()
      ->type_name("S");
  add_size_option(command, "--maxmemory", arguments.memory_bytes_max,
                  "Refuse commands that use memory beyond this bound: 100mb, 1gb, …; 0: no bound");
  command.add_flag("--enable-debug-command", arguments.debug_commands,
                   "For tests: allow the command DEBUG, with which any client can stop all others");
  command.add_flag("--manual-clock", arguments.manual_clock,
                   "For tests: only RUSHGATE.ADVANCE milliseconds moves the clock");
}

void add_http_options(CLI::App& command, ServeArguments& arguments) {
  CLI::Option* const http =
      command
          .add_option_function<std::string>(
              "--http",
              [&arguments](const std::string& text) { arguments.http = parse_http_address(text); },
              "Open the sale, and serve it by HTTP on this address: 127.0.0.1:8080")
          ->type_name("A:PORT");
  command
      .add_option("--vouchers", arguments.vouchers_file,
                  "Publish the vouchers of this file that are new")
      ->check(not_empty())
      ->needs(http)
      ->type_name("F");
  command.add_option("--workers", arguments.workers, "Threads that store orders")
      ->check(number_from(1, 64))
      ->capture_default_str()
      ->needs(http)
      ->type_name("N");
  add_lane_options(command, arguments.lanes, arguments.work_lanes);
  for (const char* const name : {"--lanes", "--work-lanes"}) command.get_option(name)->needs(http);
  command
      .add_option("--backups", arguments.backups_dir,
                  "Let operators make backups in this directory: POST /v1/backup")
      ->check(not_empty())
      ->needs(http)
      ->type_name("DIR");
  command
      .add_option("--token-file", arguments.token_file,
                  "File with the token of operators' routes; without it, they are served to this\n"
                  "machine alone")
      ->check(not_empty())
      ->needs(http)
      ->type_name("F");
  command
      .add_option("--user-key", arguments.user_key_file,
                  "File with the key of users' tokens: each request of a buyer must carry one")
      ->check(not_empty())
      ->needs(http)
      ->type_name("F");
  command
      .add_option("--payment-url", arguments.payment_url,
                  "Where the buyer's page sends a buyer to pay, with {order}, {voucher},\n"
                  "{amount_cents}, {user} and {return} in it; test: a page that takes no money")
      ->check(not_empty())
      ->needs(http)
      ->type_name("URL");
  command
      .add_option("--currency", arguments.currency, "The currency of prices on the pages: EUR, …")
      ->check(not_empty())
      ->needs(http)
      ->type_name("C");
  command
      .add_option("--entrance-rate", arguments.entrance_rate,
                  "Users in a second that get a purchase token of a voucher which needs one")
      ->check(number_from(1, WaitingRoom::kPerSecondMax))
      ->capture_default_str()
      ->needs(http)
      ->type_name("N");
}

void add_tls_options(CLI::App& command, ServeArguments& arguments) {
  CLI::Option* const certificate =
      command
          .add_option("--tls-cert", arguments.tls_certificate,
                      "File with the certificate chain (PEM) for --http; SIGHUP reads it again")
          ->check(not_empty())
          ->needs(command.get_option("--http"))
          ->type_name("F");
  CLI::Option* const key =
      command.add_option("--tls-key", arguments.tls_key, "File with its key (PEM)")
          ->check(not_empty())
          ->needs(certificate)
          ->type_name("F");
  certificate->needs(key);
}

/// Refuses options that contradict each other.
void check_serve_options(const CLI::App& command, const ServeArguments& arguments) {
  const bool is_elsewhere = command.count("--keyspace") > 0;
  if (arguments.http && arguments.manual_clock) {
    throw CLI::ValidationError("--manual-clock", "it excludes --http");
  }
  if (!arguments.http && is_elsewhere && !arguments.dir.empty()) {
    throw CLI::ValidationError("--keyspace", "it excludes --dir");
  }
  if (!arguments.http && !arguments.orders_url.empty()) {
    throw CLI::ValidationError("--orders", "it requires --http");
  }
  if (arguments.http && arguments.keyspace_url != kMemoryUrl &&
      arguments.dir.empty() == arguments.orders_url.empty()) {
    throw CLI::ValidationError("--keyspace",
                               "with --http it needs --dir or --orders, for the orders");
  }
  const bool has_durability =
      command.count("--durability") > 0 && arguments.durability != Durability::kMemory;
  if (has_durability && (arguments.dir.empty() || is_elsewhere)) {
    throw CLI::ValidationError("--durability", "it requires --dir (--keyspace has ?durability=)");
  }
}

}  // namespace

void add_serve(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "serve",
      "Serve Redis clients over a socket, and a sale by HTTP, until SIGINT, SIGTERM or SHUTDOWN.");
  const auto arguments = std::make_shared<ServeArguments>();
  add_options(*command, *arguments);
  add_http_options(*command, *arguments);
  add_tls_options(*command, *arguments);
  command->callback([&invocation, command, arguments] {
    check_serve_options(*command, *arguments);
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->server.logger = logger;
      return run_serve(*arguments);
    };
  });
}

}  // namespace rushgate
