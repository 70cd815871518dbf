#include "apps/commands/command_line.h"

#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/exit_code.h"
#include "apps/say.h"
#include "apps/service/sale_at_service.h"
#include "apps/service/served_directory.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/backlog.h"
#include <rushgate/rocksdb_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/store.h>

namespace rushgate {
namespace {

constexpr std::uint64_t kPatienceSecondsMax = 86'400;

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description) {
  CLI::App* const command = app.add_subcommand(name, description);
  command->footer(kExitCodesHelp);
  command->fallthrough();  // --verbose may also follow the subcommand
  return command;
}

void check_place(const SaleArguments& options) {
  const bool is_elsewhere = !options.keyspace_url.empty() && !options.orders_url.empty();
  if (is_elsewhere && !options.dir.empty()) {
    throw CLI::ValidationError("--dir", "nothing is in it with both --keyspace and --orders");
  }
  const bool has_place = is_elsewhere || !options.dir.empty() || !options.server.empty();
  if (!has_place) throw CLI::RequiredError("--dir");
}

void add_sale_options(CLI::App& command, SaleArguments& options) {
  command.add_option("--dir", options.dir, "The sale's directory")
      ->check(not_empty())
      ->type_name("DIR");
  command
      .add_option("--keyspace,--redis", options.keyspace_url,
                  "The keyspace, if it is not in DIR: redis://host:port/db, rediss://…,\n"
                  "redis-sentinel://host,host/master, redis-cluster://host,host, unix:path,\n"
                  "a directory (path?durability=sync) or memory:")
      ->check(not_empty())
      ->type_name("URL");
  command
      .add_option("--orders", options.orders_url,
                  "The order database, if it is not in DIR: postgresql://user@host/database,\n"
                  "mysql://user@host/database, sqlite:path or memory:. With --keyspace too, no\n"
                  "DIR is needed")
      ->check(not_empty())
      ->type_name("URL");
  // A subcommand of it names its own places.
  command.parse_complete_callback([&command, &options] {
    if (command.get_subcommands().empty()) check_place(options);
  });
  command
      .add_option_function<std::int64_t>(
          "--patience",
          [&options](std::int64_t seconds) { options.patience = Patience::of_seconds(seconds); },
          "How long to wait for a server that is away")
      ->check(number_from(0, kPatienceSecondsMax))
      ->default_str(std::to_string(Patience::kSeconds))
      ->type_name("SECONDS");
}

namespace {

/// Lets a service that has the directory open run the command: it has the keyspace.
void use_service_of_directory(SaleArguments& options) {
  const bool is_elsewhere = !options.keyspace_url.empty() || !options.orders_url.empty();
  if (!options.server.empty() || options.dir.empty() || is_elsewhere) return;
  const auto service = find_service(options.dir);
  if (!service) return;
  options.server = service->url;
  options.server_token = service->token;
}

}  // namespace

void add_server_option(CLI::App& command, SaleArguments& options) {
  CLI::Option* const server =
      command
          .add_option(
              "--server", options.server,
              "Instead of DIR: the address of a running `rushgate serve --http`. The variable\n"
              "RUSHGATE_TOKEN has the operators' token")
          ->check(not_empty())
          ->type_name("URL");
  for (const char* const place : {"--dir", "--keyspace", "--orders"}) server->excludes(place);
  command
      .add_option("--tls-ca", options.tls_ca,
                  "Trust the authorities in this file (PEM) with an https:// server, instead of\n"
                  "those of the system")
      ->check(not_empty())
      ->type_name("FILE")
      ->needs(server);
  command.parse_complete_callback([&command, &options] {
    if (!command.get_subcommands().empty()) return;
    check_place(options);
    use_service_of_directory(options);
  });
}

void add_durability_option(CLI::App& command, Durability& durability) {
  static constexpr char kNames[] = "memory|os|everysec|sync";
  command
      .add_option_function<std::string>(
          "--durability",
          [&durability](const std::string& text) {
            const auto found = parse_durability(text);
            if (!found) {
              throw CLI::ValidationError("--durability",
                                         fmt::format("'{}' is not one of {}", text, kNames));
            }
            durability = *found;
          },
          "Failures that acknowledged data survives: memory (none), os (the end of the process;\n"
          "the default), everysec (a power cut, except for its last second), sync (a power cut)")
      ->type_name(kNames);
}

CLI::Validator number_from(std::uint64_t low, std::uint64_t high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    const auto number = parse_uint64(text);
    const bool is_decimal = number && DecimalText::of_unsigned(*number).view() == text;
    if (is_decimal && *number >= low && *number <= high) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, low, high);
  };
  return {check, fmt::format("from {} to {}", low, high)};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) -> std::string {
    return text.empty() ? "it is empty" : "";
  };
  return {check, ""};
}

void add_worker_options(CLI::App& command, SaleArguments& options) {
  command.add_flag_callback(
      "--no-trim", [&options] { options.trim = false; },
      "Keep stored orders in the order stream, for another system that reads it");
  command
      .add_option(
          "--retain", options.retain_s,
          "Keep stored orders in the order stream for S seconds: a database that loses them\n"
          "(a restored backup, a replica that takes over) is then caught up")
      ->check(number_from(0, 7 * 86'400))
      ->capture_default_str()
      ->type_name("S");
}

namespace {

/// Parses numbers and ranges of lanes, as in 0-3,7.
std::vector<int> parse_lanes(const std::string& text) {
  std::vector<int> lanes;
  std::string_view rest = text;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == rest.npos;
    const std::string_view part = rest.substr(0, comma);
    if (!is_last) rest.remove_prefix(comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = parse_int64(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_int64(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kLanesMax) {
      throw CLI::ValidationError("--work-lanes",
                                 fmt::format("'{}' is not a list of lanes, such as 0-3,7", text));
    }
    for (std::int64_t lane = *first; lane <= *last; ++lane) lanes.push_back(static_cast<int>(lane));
  }
  return lanes;
}

}  // namespace

void add_lane_options(CLI::App& command, int& lanes, std::vector<int>& work_lanes) {
  command
      .add_option("--lanes", lanes,
                  "Divide the sale into at least N lanes, with keys and workers of their own.\n"
                  "Later commands cannot have fewer. Default: 1, on a Redis Cluster 16")
      ->check(number_from(1, kLanesMax))
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--work-lanes",
          [&work_lanes](const std::string& text) { work_lanes = parse_lanes(text); },
          "Store the orders of these lanes alone: 0-3,7. Other processes store the others'")
      ->type_name("LANES");
}

void add_selling_options(CLI::App& command, SaleArguments& options) {
  add_durability_option(command, options.durability);
  command.add_option("--workers", options.workers, "Threads that store orders")
      ->check(number_from(1, 64))
      ->capture_default_str()
      ->type_name("N");
  add_lane_options(command, options.lanes, options.work_lanes);
  add_worker_options(command, options);
  add_adopt_option(command, options);
}

void add_adopt_option(CLI::App& command, SaleArguments& options) {
  command.add_flag("--adopt", options.adopt,
                   "Take over the order stream, the stock and the buyers that another system\n"
                   "created under the same keys");
}

CLI::Option* add_user_option(CLI::App& command, const std::string& name,
                             const std::string& description,
                             const std::function<void(const UserId&)>& take) {
  return command.add_option_function<std::string>(
      name,
      [name, take](const std::string& text) {
        const UserId user(text);
        if (std::string fault = user.find_fault(); !fault.empty()) {
          throw CLI::ValidationError(name, fault);
        }
        take(user);
      },
      description);
}

void check_durability(const SaleArguments& options, const CLI::App& command) {
  if (!options.keyspace_url.empty() && command.count("--durability") > 0) {
    throw CLI::ValidationError("--durability",
                               "with --keyspace, the URL or the server's settings decide");
  }
}

int fail(const absl::Status& status) {
  say("rushgate: {}\n", std::string(status.message()));
  return exit_code_of(status);
}

void store_change(FlashSale& sale, const Patience& patience) {
  const absl::Status stored = patiently(patience, [&] { return sale.drain(); });
  if (!stored.ok()) say("rushgate: not stored yet: {}\n", std::string(stored.message()));
}

int refuse_unknown_voucher(FlashSale& sale, VoucherId voucher) {
  const auto archived = is_archived(SaleStores(sale.orders()), voucher);
  if (!archived.ok()) return fail(archived.status());
  say("rushgate: voucher {} {}\n", voucher, *archived ? "was archived" : "was never on sale");
  return kExitNegative;
}

int refuse_voucher_at(const ServiceClient& service, VoucherId voucher,
                      const absl::Status& failure) {
  if (!absl::IsNotFound(failure) && !absl::IsFailedPrecondition(failure)) return fail(failure);
  const auto why = why_not_on_sale_at(service, voucher);
  if (!why.ok()) return fail(why.status());
  if (why->empty()) return fail(failure);
  say("rushgate: {}\n", *why);
  return kExitNegative;
}

void say_only_stored(const absl::Status& reason) {
  say("rushgate: {}: only stored orders are visible\n", std::string(reason.message()));
}

OrderStore& OrderSource::orders() const {
  if (sale) return sale->orders();
  return reader ? reader->orders() : *stored;
}

absl::StatusOr<OrderSource> open_order_source(const SaleArguments& options) {
  OrderSource source;
  auto sale = open_sale_if_free(options);
  if (sale.ok()) {
    source.sale = *std::move(sale);
    return source;
  }
  const bool is_away = may_pass(sale) || absl::IsNotFound(sale.status());
  const bool is_held = is_held_by_another(sale.status());
  if (!is_away && !is_held) return sale.status();
  if (is_held) {
    auto reader = open_reader(options);
    if (reader.ok()) {
      source.reader = *std::move(reader);
      return source;
    }
    if (!absl::IsNotFound(reader.status())) return reader.status();
  }
  auto stored = open_orders_to_read(options);
  if (absl::IsNotFound(stored.status())) return sale.status();
  if (!stored.ok()) return stored.status();
  say_only_stored(sale.status());
  source.stored = *std::move(stored);
  return source;
}

absl::StatusOr<std::unique_ptr<OrderStore>> open_stored_orders(const SaleArguments& options) {
  ASSIGN_OR_RETURN(auto source, open_order_source(options));
  if (source.stored) return std::move(source.stored);
  const auto unstored =
      patiently(options.patience, [&] { return has_unstored(source.client(), source.lanes()); });
  if (!unstored.ok() && !may_pass(unstored)) return unstored.status();
  if (!unstored.ok()) {
    say_only_stored(unstored.status());
  } else if (*unstored) {
    say("rushgate: some orders are queued: only stored ones are visible\n");
  }
  source.sale.reset();
  return open_orders_to_read(options);
}

}  // namespace rushgate
