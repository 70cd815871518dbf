#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/utc_time.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/service/sale_at_service.h"
#include "apps/signals.h"
#include "apps/text_table.h"
#include "apps/watch/sale_watch.h"
#include <rushgate/clock.h>

namespace rushgate {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct WatchArguments {
  SaleArguments sale;
  std::optional<VoucherId> voucher;
  std::int64_t every_seconds = 1;
  std::optional<std::int64_t> count;  // of lines; empty: until a signal
  bool json = false;
};

/// Computes the orders stored per second between the last two counts.
class Rate {
 public:
  double next(const SaleCounts& counts) {
    const SteadyClock::time_point when =
        SteadyClock::now() - std::chrono::milliseconds(counts.age_ms);
    const double seconds = std::chrono::duration<double>(when - when_).count();
    constexpr double kSameCount = 0.01;  // a service gives it with another age
    if (stored_ && seconds < kSameCount) return rate_;
    if (stored_) rate_ = static_cast<double>(counts.stored - *stored_) / seconds;
    stored_ = counts.stored;
    when_ = when;
    return rate_;
  }

 private:
  std::optional<std::int64_t> stored_;
  SteadyClock::time_point when_;
  double rate_ = 0;
};

void print_header() {
  fmt::print("{:<24}  {:>10}  {:>10}  {:>10}  {:>10}  {:>8}\n", "time", "stock", "holds", "paid",
             "stored", "rate/s");
}

void print_line(const SaleCounts& counts, double rate, bool json) {
  const std::string time = format_utc(SystemClock().now_ms());
  if (json) {
    const nlohmann::ordered_json line = {
        {"time", time},        {"stock", counts.stock},   {"holds", counts.holds},
        {"paid", counts.paid}, {"stored", counts.stored}, {"rate", rate}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{:<24}  {:>10}  {:>10}  {:>10}  {:>10}  {:>8.0f}\n", time, grouped(counts.stock),
               grouped(counts.holds), grouped(counts.paid), grouped(counts.stored), rate);
  }
}

/// Waits until this time, or until a signal arrives.
void wait_until(SteadyClock::time_point time) {
  constexpr std::chrono::milliseconds kLook{20};
  while (interrupt_signal() == 0 && SteadyClock::now() < time) {
    std::this_thread::sleep_until(std::min(time, SteadyClock::now() + kLook));
  }
}

using ReadCounts = std::function<absl::StatusOr<SaleCounts>()>;

/// Returns how to read the counts, in a directory or at a service.
absl::StatusOr<ReadCounts> open_counts(const WatchArguments& arguments) {
  if (!arguments.sale.server.empty()) {
    const auto service = service_of(arguments.sale);
    if (!service.ok()) return service.status();
    return
        [service = *service, voucher = arguments.voucher] { return counts_at(service, voucher); };
  }
  auto watch = patiently(opening_patience(arguments.sale),
                         [&] { return SaleWatch::open(arguments.sale, arguments.voucher); });
  if (!watch.ok()) return watch.status();
  return [watch = std::shared_ptr<SaleWatch>(*std::move(watch))] { return watch->read(); };
}

int run_watch(const WatchArguments& arguments) {
  const auto read = open_counts(arguments);
  if (!read.ok()) return fail(read.status());
  note_interrupts();
  Rate rate;
  SteadyClock::time_point next = SteadyClock::now();
  if (!arguments.json) print_header();
  for (std::int64_t line = 0; !arguments.count || line < *arguments.count; ++line) {
    wait_until(next);
    if (const int signal = interrupt_signal(); signal != 0) return kExitSignal + signal;
    next += std::chrono::seconds(arguments.every_seconds);
    const auto counts = patiently(arguments.sale.patience, *read);
    if (const int signal = interrupt_signal(); signal != 0) return kExitSignal + signal;
    if (!counts.ok()) return fail(counts.status());
    print_line(*counts, rate.next(*counts), arguments.json);
    if (std::fflush(stdout) != 0) return kExitFailure;  // main() gives the reason
  }
  return kExitOk;
}

}  // namespace

void add_watch(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "watch",
      "Print a line each second: free stock, unpaid orders, paid orders, stored orders, and\n"
      "orders stored per second. Changes nothing, and lets other processes sell.");
  const auto arguments = std::make_shared<WatchArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("--voucher", arguments->voucher, "Only this voucher")->type_name("ID");
  command->add_option("--every", arguments->every_seconds, "The time between two lines")
      ->check(number_from(1, 86'400))
      ->capture_default_str()
      ->type_name("SECONDS");
  command->add_option("--count", arguments->count, "Ends after so many lines")
      ->check(number_from(1, 1'000'000'000))
      ->type_name("N");
  command->add_flag("--json", arguments->json, "Each line as a JSON object");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_watch(*arguments);
    };
  });
}

}  // namespace rushgate
