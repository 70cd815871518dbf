#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/replay/drain.h"
#include "apps/say.h"
#include "apps/text_table.h"

namespace rushgate {
namespace {

struct DeadLettersArguments {
  ShopOptions shop;
  bool retry = false;
  bool json = false;
};

std::string field_or_question(const DeadLetter& letter, std::string_view name) {
  return std::string(letter.order.field(name).value_or("?"));
}

nlohmann::ordered_json to_json(const DeadLetter& letter) {
  auto fields = nlohmann::ordered_json::object();
  for (const auto& [name, value] : letter.order.fields) fields[name] = value;
  return {{"id", letter.id}, {"entry", letter.entry}, {"reason", letter.reason}, {"order", fields}};
}

void print(const std::vector<DeadLetter>& letters, bool json) {
  if (json) {
    auto array = nlohmann::ordered_json::array();
    for (const DeadLetter& letter : letters) array.push_back(to_json(letter));
    // What stands in an entry that is no order may be any bytes.
    fmt::print("{}\n", array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  TextTable table("lrrrl");
  table.add({"dead letter", "order", "user", "voucher", "reason"});
  for (const DeadLetter& letter : letters) {
    table.add({letter.id, field_or_question(letter, "id"), field_or_question(letter, "userId"),
               field_or_question(letter, "voucherId"), letter.reason});
  }
  fmt::print("{}", table.text());
}

/// Puts them all back and lets a worker try them again.
absl::Status retry(Shop& shop, const std::vector<DeadLetter>& letters) {
  std::size_t retried = 0;
  for (const DeadLetter& letter : letters) {
    const auto put_back = shop.sale().retry_dead_letter(letter.id);
    if (!put_back.ok()) return put_back.status();
    if (*put_back) ++retried;
  }
  absl::Status done = shop.start_workers();
  if (done.ok()) done = drain(shop, [](const std::string&) {});
  shop.stop_workers();
  say("{} put back; {} orders stored, {} buried again\n", retried, shop.stored(), shop.buried());
  return done;
}

int run_dead_letters(const DeadLettersArguments& arguments) {
  const auto shop = Shop::open(arguments.shop);
  if (!shop.ok()) return fail(shop.status());
  auto letters = (*shop)->sale().dead_letters();
  if (!letters.ok()) return fail(letters.status());
  if (!arguments.retry) {
    print(*letters, arguments.json);
    return kExitOk;
  }
  const absl::Status retried = retry(**shop, *letters);
  if (!retried.ok()) return fail(retried);
  letters = (*shop)->sale().dead_letters();
  if (!letters.ok()) return fail(letters.status());
  print(*letters, arguments.json);
  return letters->empty() ? kExitOk : kExitNegative;
}

}  // namespace

void add_dead_letters(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      add_command(app, "dead-letters", "List orders that could not be stored, and why.");
  const auto arguments = std::make_shared<DeadLettersArguments>();
  add_sale_options(*command, arguments->shop);
  command->add_flag("--retry", arguments->retry,
                    "Try all of them again, then list what is left; exit code 1 if any is");
  command->add_flag("--json", arguments->json, "As a JSON array");
  command->callback([&invocation, arguments] {
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->shop.logger = logger;
      return run_dead_letters(*arguments);
    };
  });
}

}  // namespace rushgate
