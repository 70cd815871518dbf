// What several subcommands share: options, and how they speak.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/sale_at.h"
#include "engine/sale/orders/order_store.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Validator;
}  // namespace CLI

namespace rushgate {

/// A subcommand, with what every --help ends with.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description);

/// `--dir` and `--keyspace`, for commands that look at a sale that is there.
void add_sale_options(CLI::App& command, SaleArguments& options);

/// `--durability`.
void add_durability_option(CLI::App& command, Durability& durability);

/// Checks of an option's value. A decimal number, as people write it (not 0x10, 010 or nothing).
CLI::Validator number_from(std::uint64_t low, std::uint64_t high);
/// Something: an empty variable of a shell would else ask for what nobody wants.
CLI::Validator not_empty();

/// `--no-trim`, for commands that run workers.
void add_worker_options(CLI::App& command, SaleArguments& options);

/// `--durability`, `--workers`, `--no-trim` and `--adopt`, for commands that sell.
void add_selling_options(CLI::App& command, SaleArguments& options);

/// Refuses `--durability` together with `--keyspace`.
void check_durability(const SaleArguments& options, const CLI::App& command);

/// Says on stderr what went wrong, and gives the exit code.
int fail(const absl::Status& status);

/// The orders of a sale: all of them or, while another process holds the sale, those that it has
/// stored.
struct OrderSource {
  std::unique_ptr<FlashSale> sale;     // null while another process holds it
  std::unique_ptr<OrderStore> stored;  // then

  OrderStore& orders() const { return sale ? sale->orders() : *stored; }
};
/// Says on stderr if it is only those that are stored.
absl::StatusOr<OrderSource> open_order_source(const SaleArguments& options);

}  // namespace rushgate
