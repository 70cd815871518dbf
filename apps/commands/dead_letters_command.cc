#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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
#include "apps/service/sale_at_service.h"
#include "apps/text_table.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stream/dead_letters.h"

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

/// The outcome of retried letters.
struct Retried {
  std::size_t stored = 0;
  std::size_t buried = 0;  // dead letters again
};

/// The dead letters of a sale, to read. The functions are as those of Sale.
class LetterList {
 public:
  virtual ~LetterList() = default;

  virtual absl::StatusOr<std::vector<DeadLetter>> list() = 0;
  virtual absl::StatusOr<std::vector<DiscardedLetter>> list_discarded() = 0;
};

/// The dead letters in a directory that another process has open.
class LettersBeside final : public LetterList {
 public:
  explicit LettersBeside(std::unique_ptr<SaleReader> reader) : reader_(std::move(reader)) {}

  absl::StatusOr<std::vector<DeadLetter>> list() override {
    return list_dead_letters(reader_->client(), reader_->lanes());
  }
  absl::StatusOr<std::vector<DiscardedLetter>> list_discarded() override {
    return list_discarded_letters(reader_->client(), reader_->lanes());
  }

 private:
  const std::unique_ptr<SaleReader> reader_;
};

/// The dead letters of a sale, in a directory or at a service.
class LetterBox : public LetterList {
 public:
  // As those of Sale:
  virtual absl::StatusOr<bool> retry(const std::string& id) = 0;
  virtual absl::StatusOr<bool> discard(const std::string& id, const std::string& why) = 0;
  /// Waits until each of the retried letters is stored or dead again.
  virtual absl::StatusOr<Retried> settle(const std::vector<DeadLetter>& retried,
                                         const Patience& patience) = 0;
};

class DirectoryLetters final : public LetterBox {
 public:
  explicit DirectoryLetters(std::unique_ptr<FlashSale> sale) : sale_(std::move(sale)) {}

  absl::StatusOr<std::vector<DeadLetter>> list() override { return sale_->sale().dead_letters(); }
  absl::StatusOr<std::vector<DiscardedLetter>> list_discarded() override {
    return sale_->sale().discarded_letters();
  }
  absl::StatusOr<bool> retry(const std::string& id) override {
    return sale_->sale().retry_dead_letter(id);
  }
  absl::StatusOr<bool> discard(const std::string& id, const std::string& why) override {
    return sale_->sale().discard_dead_letter(id, why);
  }
  /// Runs a worker until it has tried each again.
  absl::StatusOr<Retried> settle(const std::vector<DeadLetter>& /*retried*/,
                                 const Patience& patience) override {
    absl::Status done = patiently(patience, [&] { return sale_->start_workers(); });
    if (done.ok()) done = sale_->drain();
    sale_->stop_workers();
    if (!done.ok()) return done;
    return Retried{.stored = sale_->stored(), .buried = sale_->buried()};
  }

 private:
  const std::unique_ptr<FlashSale> sale_;
};

class ServiceLetters final : public LetterBox {
 public:
  explicit ServiceLetters(ServiceClient service) : service_(std::move(service)) {}

  absl::StatusOr<std::vector<DeadLetter>> list() override { return dead_letters_at(service_); }
  absl::StatusOr<std::vector<DiscardedLetter>> list_discarded() override {
    return discarded_letters_at(service_);
  }
  absl::StatusOr<bool> retry(const std::string& id) override {
    return retry_dead_letter_at(service_, id);
  }
  absl::StatusOr<bool> discard(const std::string& id, const std::string& why) override {
    return discard_dead_letter_at(service_, id, why);
  }
  absl::StatusOr<Retried> settle(const std::vector<DeadLetter>& retried,
                                 const Patience& patience) override {
    Retried settled;
    for (const DeadLetter& letter : retried) {
      const auto is_stored = patiently(patience, [&] { return is_stored_again(letter); });
      if (!is_stored.ok()) return is_stored.status();
      ++(*is_stored ? settled.stored : settled.buried);
    }
    return settled;
  }

 private:
  /// kUnavailable: the service has not tried it yet.
  absl::StatusOr<bool> is_stored_again(const DeadLetter& letter) {
    const absl::Status later = absl::UnavailableError("the service tries the letters again");
    const auto order = parse_int64(letter.order.field("id").value_or(""));
    if (order) {
      ASSIGN_OR_RETURN(const auto state, order_at(service_, *order));
      if (!state.has_value() || (*state)["state"] == "queued") return later;
      return (*state)["state"] != "failed";
    }
    // One that cannot be read is a dead letter again, under another id.
    ASSIGN_OR_RETURN(const auto letters, list());
    const bool is_dead = std::ranges::any_of(letters, [&](const DeadLetter& other) {
      return other.order.fields == letter.order.fields;
    });
    return is_dead ? absl::StatusOr<bool>(false) : later;
  }

  const ServiceClient service_;
};

absl::StatusOr<std::unique_ptr<LetterBox>> open_letters(const SaleArguments& arguments) {
  if (!arguments.server.empty()) {
    ASSIGN_OR_RETURN(auto service, service_of(arguments));
    return std::make_unique<ServiceLetters>(std::move(service));
  }
  ASSIGN_OR_RETURN(auto sale, open_sale(arguments));
  return std::make_unique<DirectoryLetters>(std::move(sale));
}

/// Opens the letters to read them: also while another process has the directory open.
absl::StatusOr<std::unique_ptr<LetterList>> open_list(const SaleArguments& arguments) {
  if (!arguments.server.empty()) return open_letters(arguments);
  auto sale = open_sale_if_free(arguments);
  if (sale.ok()) return std::make_unique<DirectoryLetters>(*std::move(sale));
  if (!is_held_by_another(sale.status())) return sale.status();
  auto reader = open_reader(arguments);
  if (absl::IsNotFound(reader.status())) return sale.status();  // the keyspace is elsewhere
  if (!reader.ok()) return reader.status();
  return std::make_unique<LettersBeside>(*std::move(reader));
}

absl::StatusOr<std::vector<DeadLetter>> read_letters(LetterList& list, const Patience& patience) {
  return patiently(patience, [&] { return list.list(); });
}

/// Requeues all of them, and waits until each was tried again.
absl::Status retry(LetterBox& box, const std::vector<DeadLetter>& letters,
                   const Patience& patience) {
  std::vector<DeadLetter> retried;
  for (const DeadLetter& letter : letters) {
    const auto put_back = patiently(patience, [&] { return box.retry(letter.id); });
    if (!put_back.ok()) return put_back.status();
    if (*put_back) retried.push_back(letter);
  }
  ASSIGN_OR_RETURN(const auto settled, box.settle(retried, patience));
  say("{} retried; {} orders stored, {} dead letters again\n", retried.size(), settled.stored,
      settled.buried);
  return absl::OkStatus();
}

/// Discards the named dead letters. Returns how many ids name no dead letter.
absl::StatusOr<std::size_t> discard(LetterBox& box, const DeadLettersArguments& arguments,
                                    const std::vector<DeadLetter>& letters) {
  std::vector<std::string> ids = arguments.discard;
  if (ids == std::vector<std::string>{std::string(kAll)}) {
    ids.clear();
    for (const DeadLetter& letter : letters) ids.push_back(letter.id);
  }
  std::size_t unknown = 0;
  for (const std::string& id : ids) {
    const auto discarded =
        patiently(arguments.sale.patience, [&] { return box.discard(id, arguments.reason); });
    if (!discarded.ok()) return discarded.status();
    if (*discarded) continue;
    say("{} is not a dead letter\n", id);
    ++unknown;
  }
  say("{} discarded\n", ids.size() - unknown);
  return unknown;
}

int run_discard(LetterBox& box, const DeadLettersArguments& arguments,
                const std::vector<DeadLetter>& letters) {
  const auto unknown = discard(box, arguments, letters);
  if (!unknown.ok()) return fail(unknown.status());
  const auto left = read_letters(box, arguments.sale.patience);
  if (!left.ok()) return fail(left.status());
  print(*left, arguments.json);
  return *unknown == 0 ? kExitOk : kExitNegative;
}

int run_list(const DeadLettersArguments& arguments) {
  const Patience& patience = arguments.sale.patience;
  const auto list = open_list(arguments.sale);
  if (!list.ok()) return fail(list.status());
  if (arguments.discarded) {
    const auto discarded = patiently(patience, [&] { return (*list)->list_discarded(); });
    if (!discarded.ok()) return fail(discarded.status());
    print(*discarded, arguments.json);
    return kExitOk;
  }
  const auto letters = read_letters(**list, patience);
  if (!letters.ok()) return fail(letters.status());
  print(*letters, arguments.json);
  return kExitOk;
}

int run_dead_letters(const DeadLettersArguments& arguments) {
  if (!arguments.retry && arguments.discard.empty()) return run_list(arguments);
  const auto box = open_letters(arguments.sale);
  if (!box.ok()) return fail(box.status());
  auto letters = read_letters(**box, arguments.sale.patience);
  if (!letters.ok()) return fail(letters.status());
  if (!arguments.discard.empty()) return run_discard(**box, arguments, *letters);
  const absl::Status retried = retry(**box, *letters, arguments.sale.patience);
  if (!retried.ok()) return fail(retried);
  letters = read_letters(**box, arguments.sale.patience);
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
  add_server_option(*command, arguments->sale);
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
