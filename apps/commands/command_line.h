// Options and error reports that several subcommands share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adapters/flash_sale/sale_reader.h"
#include "apps/sale_at.h"
#include "apps/service/service_client.h"
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>
#include <rushgate/user_id.h>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Option;
class Validator;
}  // namespace CLI

namespace rushgate {

/// Adds a subcommand. Its --help ends with the exit codes.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description);

/// Refuses a sale without a place for its keyspace or its orders: throws CLI::ParseError.
void check_place(const SaleArguments& options);

/// Adds `--dir`, `--keyspace` and `--orders`, for commands that read an existing sale. Calls
/// check_place().
void add_sale_options(CLI::App& command, SaleArguments& options);

/// Adds `--server` in place of `--dir`, for commands that a service can run. Call it after
/// add_sale_options().
void add_server_option(CLI::App& command, SaleArguments& options);

/// Adds `--durability`.
void add_durability_option(CLI::App& command, Durability& durability);

/// Checks that the value of an option is a number in plain decimal notation (not 0x10, 010 or
/// empty).
CLI::Validator number_from(std::uint64_t low, std::uint64_t high);
/// Checks that the value is not empty, as an unset shell variable would make it.
CLI::Validator not_empty();

/// Adds `--no-trim` and `--retain`, for commands that run workers.
void add_worker_options(CLI::App& command, SaleArguments& options);

/// Adds `--adopt`, for commands that publish.
void add_adopt_option(CLI::App& command, SaleArguments& options);

/// Adds an option or argument whose value is the id of a user.
CLI::Option* add_user_option(CLI::App& command, const std::string& name,
                             const std::string& description,
                             const std::function<void(const UserId&)>& take);

/// Adds `--lanes` and `--work-lanes`, for commands with workers.
void add_lane_options(CLI::App& command, int& lanes, std::vector<int>& work_lanes);

/// Adds `--durability`, `--workers`, `--lanes`, `--work-lanes`, `--no-trim`, `--retain` and `--adopt`, for
/// commands that sell.
void add_selling_options(CLI::App& command, SaleArguments& options);

/// Refuses `--durability` together with `--keyspace`.
void check_durability(const SaleArguments& options, const CLI::App& command);

/// Prints the error to stderr and returns the exit code.
int fail(const absl::Status& status);

/// Stores what a command has queued. That is durable without it, so a failure is only printed to
/// stderr.
void store_change(FlashSale& sale, const Patience& patience);

/// Prints to stderr that the voucher is archived or was never on sale. Returns the exit code.
int refuse_unknown_voucher(FlashSale& sale, VoucherId voucher);

/// Reports that a change of a voucher at a service failed: as refuse_unknown_voucher(), if it is not on
/// sale there. Returns the exit code.
int refuse_voucher_at(const ServiceClient& service, VoucherId voucher, const absl::Status& failure);

/// A sale to read from. Only the stored orders while its keyspace is away.
struct OrderSource {
  // One of these:
  std::unique_ptr<FlashSale> sale;
  std::unique_ptr<SaleReader> reader;  // while another process holds the sale
  std::unique_ptr<OrderStore> stored;  // without the keyspace

  [[nodiscard]] OrderStore& orders() const;
  // With the keyspace only:
  [[nodiscard]] bool has_keyspace() const { return !stored; }
  [[nodiscard]] Client& client() const { return sale ? sale->client() : reader->client(); }
  [[nodiscard]] std::span<const SaleLane> lanes() const {
    return sale ? sale->sale().lanes() : reader->lanes();
  }
  [[nodiscard]] absl::StatusOr<OrderState> status(OrderId order) const {
    return sale ? sale->status(order) : reader->status(order);
  }
  [[nodiscard]] absl::StatusOr<std::vector<VoucherSummary>> vouchers() const {
    return sale ? sale->vouchers() : reader->vouchers();
  }
};
/// Prints to stderr that only stored orders are visible, with the reason.
void say_only_stored(const absl::Status& reason);
/// Opens the orders. Prints a notice to stderr if only stored orders can be read.
absl::StatusOr<OrderSource> open_order_source(const SaleArguments& options);
/// Opens the stored orders, and does not hold the sale. Prints a notice to stderr if others are
/// queued, or may be.
absl::StatusOr<std::unique_ptr<OrderStore>> open_stored_orders(const SaleArguments& options);

}  // namespace rushgate
