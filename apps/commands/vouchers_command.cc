#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/utc_time.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/service/sale_at_service.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

struct VouchersArguments {
  SaleArguments sale;
  bool json = false;
};

/// Reads the terms alone, from the database.
absl::StatusOr<std::vector<VoucherSummary>> read_terms(OrderStore& stored) {
  ASSIGN_OR_RETURN(auto versions, stored.vouchers()->all_applied());
  std::vector<VoucherSummary> summaries;
  for (VoucherVersion& version : versions) {
    summaries.push_back({.voucher = std::move(version.voucher), .version = version.version});
  }
  return summaries;
}

absl::StatusOr<std::vector<VoucherSummary>> read_summaries(const OrderSource& source,
                                                           const Patience& patience) {
  if (!source.has_keyspace()) return read_terms(source.orders());
  return patiently(patience, [&] { return source.vouchers(); });
}

std::string end_text(const Voucher& voucher) {
  return voucher.end_ms == kNeverEndsMs ? "" : format_utc(voucher.end_ms);
}

std::string count_or_nothing(const std::optional<std::int64_t>& count) {
  return count ? grouped(*count) : "";
}

std::string summary_table(const std::vector<VoucherSummary>& summaries) {
  TextTable table("rlrrrrllrr");
  table.add({"voucher", "title", "stock", "free", "admitted", "price", "begins at", "ends at",
             "lanes", "version"});
  for (const VoucherSummary& summary : summaries) {
    const Voucher& voucher = summary.voucher;
    table.add({std::to_string(voucher.id), voucher.title, grouped(voucher.stock),
               count_or_nothing(summary.free), count_or_nothing(summary.admitted),
               grouped(voucher.price_cents), format_utc(voucher.begin_ms), end_text(voucher),
               std::to_string(voucher.lanes), std::to_string(summary.version)});
  }
  return table.text();
}

absl::StatusOr<std::vector<VoucherSummary>> read_summaries(const SaleArguments& sale) {
  if (!sale.server.empty()) {
    ASSIGN_OR_RETURN(const auto service, service_of(sale));
    return patiently(sale.patience, [&] { return vouchers_at(service); });
  }
  ASSIGN_OR_RETURN(const auto source, open_order_source(sale));
  return read_summaries(source, sale.patience);
}

int run_vouchers(const VouchersArguments& arguments) {
  const auto summaries = read_summaries(arguments.sale);
  if (!summaries.ok()) return fail(summaries.status());
  if (arguments.json) {
    auto array = nlohmann::ordered_json::array();
    for (const VoucherSummary& summary : *summaries) array.push_back(to_json(summary));
    fmt::print("{}", dump(array));
  } else {
    fmt::print("{}", summary_table(*summaries));
  }
  return kExitOk;
}

}  // namespace

void add_vouchers(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "vouchers", "List the vouchers: their terms, the free stock and the orders admitted.");
  const auto arguments = std::make_shared<VouchersArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_flag("--json", arguments->json, "As a JSON array");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_vouchers(*arguments);
    };
  });
}

}  // namespace rushgate
