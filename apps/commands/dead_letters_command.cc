#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/utc_time.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/say.h"
#include "apps/text_table.h"

namespace rushgate {
namespace {

constexpr std::string_view kAll = "all";

struct DeadLettersArguments {
  SaleArguments sale;
  bool retry = false;
  std::vector<std::string> discard;  // ids, or kAll
  std::string reason;
  bool discarded = false;
  bool json = false;
};

std::string field_or_question(const DeadLetter& letter, std::string_view name) {
  return std::string(letter.order.field(name).value_or("?"));
}

template <class Letters>
void print_json(const Letters& letters) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& letter : letters) array.push_back(to_json(letter));
  fmt::print("{}", dump(array));
}

void print(const std::vector<DiscardedLetter>& discarded, bool json) {
  if (json) return print_json(discarded);
  TextTable table("lrrrlll");
  table.add({"dead letter", "order", "user", "voucher", "discarded at", "why", "reason"});
  for (const DiscardedLetter& one : discarded) {
    table.add({one.letter.id, field_or_question(one.letter, "id"),
               field_or_question(one.letter, "userId"), field_or_question(one.letter, "voucherId"),
               format_utc(one.discarded_at_ms), one.why, one.letter.reason});
  }
  fmt::print("{}", table.text());
}

void print(const std::vector<DeadLetter>& letters, bool json) {
  if (json) return print_json(letters);
  TextTable table("lrrrl");
  table.add({"dead letter", "order", "user", "voucher", "reason"});
  for (const DeadLetter& letter : letters) {
    table.add({letter.id, field_or_question(letter, "id"), field_or_question(letter, "userId"),
               field_or_question(letter, "voucherId"), letter.reason});
  }
  fmt::print("{}", table.text());
}

absl::StatusOr<std::vector<DeadLetter>> read_letters(FlashSale& sale, const Patience& patience) {
  return patiently(patience, [&] { return sale.sale().dead_letters(); });
}

/// Requeues all of them and runs a worker until it has tried each again.
absl::Status retry(FlashSale& sale, const std::vector<DeadLetter>& letters,
                   const Patience& patience) {
  std::size_t retried = 0;
  for (const DeadLetter& letter : letters) {
    const auto put_back =
        patiently(patience, [&] { return sale.sale().retry_dead_letter(letter.id); });
    if (!put_back.ok()) return put_back.status();
    if (*put_back) ++retried;
  }
  absl::Status done = patiently(patience, [&] { return sale.start_workers(); });
  if (done.ok()) done = sale.drain();
  sale.stop_workers();
  say("{} retried; {} orders stored, {} dead letters again\n", retried, sale.stored(),
      sale.buried());
  return done;
}

/// Discards the named dead letters. Returns how many ids name no dead letter.
absl::StatusOr<std::size_t> discard(FlashSale& sale, const DeadLettersArguments& arguments,
                                    const std::vector<DeadLetter>& letters) {
  std::vector<std::string> ids = arguments.discard;
  if (ids == std::vector<std::string>{std::string(kAll)}) {
    ids.clear();
    for (const DeadLetter& letter : letters) ids.push_back(letter.id);
  }
  std::size_t unknown = 0;
  for (const std::string& id : ids) {
    const auto discarded = patiently(arguments.sale.patience, [&] {
      return sale.sale().discard_dead_letter(id, arguments.reason);
    });
    if (!discarded.ok()) return discarded.status();
    if (*discarded) continue;
    say("{} is not a dead letter\n", id);
    ++unknown;
  }
  say("{} discarded\n", ids.size() - unknown);
  return unknown;
}

int run_discard(FlashSale& sale, const DeadLettersArguments& arguments,
                const std::vector<DeadLetter>& letters) {
  const auto unknown = discard(sale, arguments, letters);
  if (!unknown.ok()) return fail(unknown.status());
  const auto left = read_letters(sale, arguments.sale.patience);
  if (!left.ok()) return fail(left.status());
  print(*left, arguments.json);
  return *unknown == 0 ? kExitOk : kExitNegative;
}

int run_dead_letters(const DeadLettersArguments& arguments) {
  const auto sale = open_sale(arguments.sale);
  if (!sale.ok()) return fail(sale.status());
  if (arguments.discarded) {
    const auto discarded =
        patiently(arguments.sale.patience, [&] { return (*sale)->sale().discarded_letters(); });
    if (!discarded.ok()) return fail(discarded.status());
    print(*discarded, arguments.json);
    return kExitOk;
  }
  auto letters = read_letters(**sale, arguments.sale.patience);
  if (!letters.ok()) return fail(letters.status());
  if (!arguments.discard.empty()) return run_discard(**sale, arguments, *letters);
  if (!arguments.retry) {
    print(*letters, arguments.json);
    return kExitOk;
  }
  const absl::Status retried = retry(**sale, *letters, arguments.sale.patience);
  if (!retried.ok()) return fail(retried);
  letters = read_letters(**sale, arguments.sale.patience);
  if (!letters.ok()) return fail(letters.status());
  print(*letters, arguments.json);
  return letters->empty() ? kExitOk : kExitNegative;
}

}  // namespace

void add_dead_letters(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "dead-letters", "List orders that could not be stored, and why.");
  const auto arguments = std::make_shared<DeadLettersArguments>();
  add_sale_options(*command, arguments->sale);
  CLI::Option* const retry = command->add_flag(
      "--retry", arguments->retry,
      "Retry all of them, then list the remaining ones; exit code 1 if any remain");
  CLI::Option* const discard =
      command
          ->add_option(
              "--discard", arguments->discard,
              "Discard these dead letters, or `all`, then list the remaining ones; exit code 1\n"
              "if an id names no dead letter. Their orders stay admitted")
          ->type_name("ID...");
  CLI::Option* const reason =
      command->add_option("--reason", arguments->reason, "The reason, which is recorded")
          ->check(not_empty())
          ->type_name("TEXT");
  discard->needs(reason);
  reason->needs(discard);
  CLI::Option* const discarded = command->add_flag("--discarded", arguments->discarded,
                                                   "List the discarded ones, with time and reason");
  retry->excludes(discard)->excludes(discarded);
  discard->excludes(discarded);
  add_worker_options(*command, arguments->sale);
  command->add_flag("--json", arguments->json, "As a JSON array");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_dead_letters(*arguments);
    };
  });
}

}  // namespace rushgate
