#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/service/sale_at_service.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

struct BackupArguments {
  SaleArguments sale;
  std::filesystem::path backups;
  std::size_t keep = BackupOptions{}.keep;
  std::int64_t within_s =
      std::chrono::duration_cast<std::chrono::seconds>(BackupOptions{}.within).count();
  bool json = false;
};

struct RestoreArguments {
  std::filesystem::path backup;
  std::filesystem::path dir;
};

absl::StatusOr<BackupReport> back_up(const BackupArguments& arguments) {
  const SaleArguments& place = arguments.sale;
  const BackupOptions options{.keep = arguments.keep,
                              .within = std::chrono::seconds(arguments.within_s)};
  if (!place.server.empty()) {
    ASSIGN_OR_RETURN(const auto service, service_of(place));
    return patiently(place.patience,
                     [&] { return back_up_at(service, arguments.backups, options); });
  }
  if (arguments.backups.empty()) return absl::InvalidArgumentError("BACKUPS is required");
  ASSIGN_OR_RETURN(const auto sale, open_sale(place));
  return patiently(place.patience, [&] { return sale->backup(arguments.backups, options); });
}

int run_backup(const BackupArguments& arguments) {
  const auto report = back_up(arguments);
  if (!report.ok()) return fail(report.status());
  if (arguments.json) {
    const nlohmann::ordered_json object = {{"backup", report->path.string()},
                                           {"has_keyspace", report->has_keyspace},
                                           {"bytes", report->bytes},
                                           {"took_ms", report->took_ms}};
    fmt::print("{}", dump(object));
    return kExitOk;
  }
  fmt::print("{}: {} bytes in {} ms\n", report->path.string(), report->bytes, report->took_ms);
  if (!report->has_keyspace) {
    fmt::print("it has the order database alone: the keyspace is on a server\n");
  }
  return kExitOk;
}

int run_restore(const RestoreArguments& arguments) {
  const auto restored = restore_backup(arguments.backup, arguments.dir);
  if (!restored.ok()) return fail(restored.status());
  fmt::print("{} is restored to {}; check it: rushgate audit --dir {}\n", restored->string(),
             arguments.dir.string(), arguments.dir.string());
  return kExitOk;
}

}  // namespace

void add_backup(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "backup", "Copy a sale to a new directory in BACKUPS, and remove the oldest ones");
  const auto arguments = std::make_shared<BackupArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command
      ->add_option("backups", arguments->backups,
                   "The directory of all backups. A service has its own: serve --backups")
      ->excludes(command->get_option("--server"))
      ->type_name("BACKUPS");
  command->add_option("--keep", arguments->keep, "How many backups stay; 0: all")
      ->capture_default_str();
  constexpr std::int64_t kDayS = 86'400;
  command
      ->add_option("--within", arguments->within_s,
                   "How long it may take, to cost less of a sale that sells; 0: no waiting")
      ->check(CLI::Range(std::int64_t{0}, kDayS))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "As a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_backup(*arguments);
    };
  });
}

void add_restore(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "restore", "Copy a backup, or the newest one in BACKUP, to a new directory");
  const auto arguments = std::make_shared<RestoreArguments>();
  command->add_option("backup", arguments->backup, "One backup, or the directory of all")
      ->required()
      ->type_name("BACKUP");
  command->add_option("--dir", arguments->dir, "The sale's new directory: missing or empty")
      ->required()
      ->type_name("DIR");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& /*logger*/) {
      return run_restore(*arguments);
    };
  });
}

}  // namespace rushgate
