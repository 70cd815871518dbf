#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/functional/function_ref.h"
#include "adapters/flash_sale/decide_safely.h"
#include "adapters/flash_sale/json_text.h"
#include "adapters/flash_sale/purchase_desk.h"
#include "adapters/flash_sale/request_lane.h"
#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/sale_replies.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/letter_case.h"
#include "engine/core/base/thread_name.h"
#include <rushgate/maybe_integer.h>
#include <rushgate/sale_commands.h>

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

// ---- Arguments --------------------------------------------------------------------------------

/// Reads the arguments of a request, after its name. Keeps the first fault.
class SaleArgumentReader {
 public:
  explicit SaleArgumentReader(const Request& request) : request_(request) {}

  std::string_view text() { return is_at_end() ? std::string_view() : request_[at_++]; }
  std::int64_t integer(std::string_view name) {
    const auto number = parse_int64(text());
    if (!number) fail(concat(name, " must be an integer"));
    return number.value_or(0);
  }
  UserId user() {
    UserId user(text());
    if (const std::string fault = user.find_fault(); !fault.empty()) fail("user: " + fault);
    return user;
  }
  /// Returns true if the next argument is this word, in any case. Its value must follow.
  bool accept(std::string_view word) {
    if (is_at_end() || !equal_in_any_case(request_[at_], word)) return false;
    ++at_;
    if (is_at_end()) fail(concat(word, " needs a value"));
    return true;
  }
  /// The same for a word without a value.
  bool accept_flag(std::string_view word) {
    if (is_at_end() || !equal_in_any_case(request_[at_], word)) return false;
    ++at_;
    return true;
  }
  void bound(std::string_view name, std::size_t bytes, std::size_t bytes_max) {
    if (bytes > bytes_max) fail(concat(name, " must have at most ", bytes_max, " bytes"));
  }
  void fail(const std::string& fault) {
    if (fault_.empty()) fault_ = fault;
  }
  [[nodiscard]] bool has_more() const { return !is_at_end() && fault_.empty(); }
  /// Returns the error if there was a fault.
  [[nodiscard]] std::optional<Reply> error() const {
    if (fault_.empty()) return std::nullopt;
    return Reply::error("ERR " + fault_);
  }

 private:
  [[nodiscard]] bool is_at_end() const { return at_ >= request_.size(); }

  const Request& request_;
  std::size_t at_ = 1;
  std::string fault_;
};

/// Reads `voucher user [QUANTITY pieces] [KEY key] [REFERENCE reference] [TOKEN token]`.
std::optional<Reply> read_request(const Request& from, BuyRequest& request) {
  SaleArgumentReader arguments(from);
  request.voucher = arguments.integer("voucher");
  request.user = arguments.user();
  while (arguments.has_more()) {
    if (arguments.accept("QUANTITY")) {
      request.quantity = arguments.integer("QUANTITY");
    } else if (arguments.accept("KEY")) {
      request.idempotency_key = arguments.text();
    } else if (arguments.accept("REFERENCE")) {
      request.reference = arguments.text();
    } else if (arguments.accept("TOKEN")) {
      request.purchase_token = arguments.text();
    } else {
      arguments.fail("syntax error");
    }
  }
  if (request.quantity < 1 || request.quantity > BuyRequest::kQuantityMax) {
    arguments.fail(concat("QUANTITY must be from 1 to ", BuyRequest::kQuantityMax));
  }
  arguments.bound("KEY", request.idempotency_key.size(), Order::kIdempotencyKeyBytesMax);
  arguments.bound("TOKEN", request.purchase_token.size(), BuyRequest::kPurchaseTokenBytesMax);
  arguments.bound("REFERENCE", request.reference.size(), Order::kReferenceBytesMax);
  return arguments.error();
}

/// Reads `order payment amount_cents`.
std::optional<Reply> read_request(const Request& from, PayRequest& request) {
  SaleArgumentReader arguments(from);
  request.order = arguments.integer("order");
  request.payment = arguments.text();
  request.amount_cents = arguments.integer("amount_cents");
  return arguments.error();
}

// ---- Commands that are decided together -------------------------------------------------------

/// The replies to the requests that a client sent in a row.
struct ClientReplies {
  std::vector<Reply> replies;  // nil: not decided yet
  ProgramCommands::Completion completion;

  /// Sends all of them. `next` returns those that are missing, in order.
  void send(absl::FunctionRef<Reply()> next) {
    for (Reply& reply : replies) {
      if (!reply.is_error()) reply = next();
    }
    completion(std::move(replies));
  }
};

/// Decides on the requests of all batches by one call of `decide`. Calls `finish` for each batch, with
/// its requests that could be read, and their results.
template <class Wanted, class Decide, class Finish>
void decide_together(std::vector<ClientBatch> batches, const Decide& decide, const Finish& finish) {
  std::vector<Wanted> wanted;
  std::vector<std::size_t> begins;
  std::vector<ClientReplies> clients;
  for (ClientBatch& batch : batches) {
    begins.push_back(wanted.size());
    std::vector<Reply> replies(batch.requests.size());
    for (std::size_t i = 0; i < replies.size(); ++i) {
      Wanted request;
      if (auto error = read_request(batch.requests[i], request)) {
        replies[i] = *std::move(error);
      } else {
        wanted.push_back(std::move(request));
      }
    }
    clients.push_back({std::move(replies), std::move(batch.completion)});
  }
  begins.push_back(wanted.size());
  const std::span<const Wanted> all = wanted;
  const auto results = decide(all);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const std::size_t count = begins[i + 1] - begins[i];
    finish(std::move(clients[i]), all.subspan(begins[i], count),
           std::span(results).subspan(begins[i], count));
  }
}

void send_results(ClientReplies& client, std::span<const BuyResult> results, const Clock& clock) {
  auto result = results.begin();
  client.send([&] { return reply_of(*result++, clock.now_ms()); });
}

/// A client whose results the order database completes waits for it, and no other client.
void buy_together(const Clock& clock, PurchaseDesk& desk, std::vector<ClientBatch> batches) {
  decide_together<BuyRequest>(
      std::move(batches), [&](std::span<const BuyRequest> all) { return desk.decide(all); },
      [&](ClientReplies client, std::span<const BuyRequest> requests,
          std::span<const BuyResult> results) {
        if (!std::ranges::any_of(results, &BuyResult::is_partial)) {
          return send_results(client, results, clock);
        }
        desk.complete(
            {requests.begin(), requests.end()}, {results.begin(), results.end()},
            [&clock, client = std::move(client)](const std::vector<BuyResult>& completed) mutable {
              send_results(client, completed, clock);
            });
      });
}

void pay_together(FlashSale& sale, std::vector<ClientBatch> batches) {
  const ChangeResult unknown{.outcome = ChangeOutcome::kOutcomeUnknown};
  decide_together<PayRequest>(
      std::move(batches),
      [&](std::span<const PayRequest> all) {
        return decide_safely(all, unknown, [&](auto same) { return sale.pay_all(same); });
      },
      [](ClientReplies client, std::span<const PayRequest> requests,
         std::span<const ChangeResult> results) {
        std::size_t next = 0;
        client.send([&] {
          const std::size_t at = next++;
          return reply_of(results[at], requests[at].order);
        });
      });
}

// ---- Commands that are decided one by one -----------------------------------------------------

/// `order [REASON reason]`
Reply run_cancel(FlashSale& sale, const Request& request) {
  SaleArgumentReader arguments(request);
  const OrderId order = arguments.integer("order");
  std::string reason = "cancelled";
  while (arguments.has_more()) {
    if (arguments.accept("REASON")) {
      reason = arguments.text();
    } else {
      arguments.fail("syntax error");
    }
  }
  if (auto error = arguments.error()) return *std::move(error);
  return reply_of(sale.cancel(order, reason), order);
}

/// `order`
Reply run_status(FlashSale& sale, const Request& request) {
  SaleArgumentReader arguments(request);
  const OrderId order = arguments.integer("order");
  if (auto error = arguments.error()) return *std::move(error);
  const auto found = sale.status(order);
  if (!found.ok()) return error_reply(found.status());
  if (found->location == OrderLocation::kUnknown) {
    return Reply::error(concat("UNKNOWNORDER there is no order ", order));
  }
  Json json = found->order ? to_json(*found->order)
                           : Json{{"order", std::to_string(order)}, {"state", state_name(*found)}};
  if (found->location == OrderLocation::kDeadLetter) json["reason"] = found->reason;
  return reply_of(json);
}

/// Reads the terms of a voucher.
Voucher read_voucher_terms(std::string_view text, SaleArgumentReader& arguments) {
  constexpr std::size_t kBytesMax = std::size_t{64} * 1'024;
  arguments.bound("the voucher", text.size(), kBytesMax);
  if (arguments.error()) return {};
  const auto json = parse_json(text);
  if (!json.ok()) {
    arguments.fail(concat("the voucher: ", json.status().message()));
    return {};
  }
  std::string fault;
  Voucher voucher = read_voucher(*json, "", fault);
  if (!fault.empty()) arguments.fail(fault);
  return voucher;
}

/// Returns [result, version].
Reply publication_reply(FlashSale& sale, VoucherId voucher, const char* result) {
  const auto now = sale.sale().voucher(voucher);
  if (!now.ok()) return error_reply(now.status());
  return Reply::array(
      {Reply::bulk(result), now->has_value() ? Reply::integer((*now)->version) : Reply::nil()});
}

/// `voucher [IFNEW | VERSION version]`
Reply run_publish(FlashSale& sale, const Request& request) {
  SaleArgumentReader arguments(request);
  const Voucher voucher = read_voucher_terms(arguments.text(), arguments);
  std::optional<std::int64_t> expected;
  bool only_new = false;
  if (arguments.accept_flag("IFNEW")) {
    only_new = true;
  } else if (arguments.accept("VERSION")) {
    expected = arguments.integer("VERSION");
  }
  if (arguments.has_more()) arguments.fail("syntax error");
  if (auto error = arguments.error()) return *std::move(error);
  if (only_new) {
    const auto is_new = sale.publish_if_new(voucher);
    if (!is_new.ok()) return error_reply(is_new.status());
    return publication_reply(sale, voucher.id, *is_new ? "published" : "left");
  }
  const auto before = sale.sale().voucher(voucher.id);
  if (!before.ok()) return error_reply(before.status());
  const absl::Status published = sale.publish(voucher, expected);
  if (!published.ok()) return error_reply(published);
  if (!before->has_value()) return publication_reply(sale, voucher.id, "published");
  return publication_reply(sale, voucher.id, (*before)->voucher == voucher ? "left" : "changed");
}

Reply run_vouchers(FlashSale& sale, const Request& /*request*/) {
  const auto summaries = sale.vouchers();
  if (!summaries.ok()) return error_reply(summaries.status());
  std::vector<Reply> replies;
  for (const VoucherSummary& summary : *summaries) replies.push_back(reply_of(to_json(summary)));
  return Reply::array(std::move(replies));
}

/// `voucher`
Reply run_voucher(FlashSale& sale, const Request& request) {
  SaleArgumentReader arguments(request);
  const VoucherId id = arguments.integer("voucher");
  if (auto error = arguments.error()) return *std::move(error);
  const auto summary = sale.voucher(id);
  if (!summary.ok()) return error_reply(summary.status());
  if (!summary->has_value()) {
    return Reply::error(concat("UNKNOWNVOUCHER there is no voucher ", id, " on sale"));
  }
  return reply_of(to_json(**summary));
}

// ---- The commands -----------------------------------------------------------------------------

enum class LaneOf { kPurchases, kPayments, kOthers };

struct SaleCommand {
  const char* name;
  int arity;
  bool is_read_only;
  LaneOf lane;
  Reply (*run)(FlashSale& sale, const Request& request);  // in LaneOf::kOthers
  const char* syntax;
  const char* summary;
};

constexpr std::array kSaleCommands = {
    SaleCommand{"sale.buy", -3, false, LaneOf::kPurchases, nullptr,
                "voucher user [QUANTITY pieces] [KEY key] [REFERENCE reference] [TOKEN token]",
                "Buys pieces of a voucher for a user."},
    SaleCommand{"sale.pay", 4, false, LaneOf::kPayments, nullptr, "order payment amount",
                "Pays an order."},
    SaleCommand{"sale.cancel", -2, false, LaneOf::kOthers, run_cancel, "order [REASON reason]",
                "Cancels an order that is not paid."},
    SaleCommand{"sale.status", 2, true, LaneOf::kOthers, run_status, "order",
                "Returns an order, or the state of one that is not stored."},
    SaleCommand{"sale.publish", -2, false, LaneOf::kOthers, run_publish,
                "json [<IFNEW | VERSION version>]",
                "Puts a voucher on sale, or changes its terms."},
    SaleCommand{"sale.vouchers", 1, true, LaneOf::kOthers, run_vouchers, "",
                "Returns all vouchers with their free stock."},
    SaleCommand{"sale.voucher", 2, true, LaneOf::kOthers, run_voucher, "voucher",
                "Returns a voucher with its free stock."},
};

class SaleCommands final : public ProgramCommands {
 public:
  SaleCommands(FlashSale& sale, const SaleCommandsOptions& options)
      : sale_(sale),
        desk_(sale.sale(), kDeskThreads, options.waiting_max),
        purchases_(1, options.waiting_max, kTogetherMax, name_lane,
                   [this](std::vector<ClientBatch> batches) {
                     buy_together(sale_.clock(), desk_, std::move(batches));
                   }),
        payments_(
            1, options.waiting_max, kTogetherMax, name_lane,
            [&sale](std::vector<ClientBatch> batches) { pay_together(sale, std::move(batches)); }),
        others_(kOtherThreads, options.waiting_max, 1, name_lane,
                [this](std::vector<ClientBatch> batches) {
                  for (ClientBatch& batch : batches) run_one_by_one(batch);
                }) {}

  [[nodiscard]] std::vector<ProgramCommand> commands() const override {
    std::vector<ProgramCommand> commands;
    for (const SaleCommand& command : kSaleCommands) {
      commands.push_back({.name = command.name,
                          .arity = command.arity,
                          .is_read_only = command.is_read_only,
                          .syntax = command.syntax,
                          .summary = command.summary});
    }
    return commands;
  }

  void begin(std::size_t command, int database, std::span<const Request> requests,
             Completion completion) override {
    lane_of(command).submit({.command = command,
                             .database = database,
                             .requests = requests,
                             .completion = std::move(completion)},
                            "such requests");
  }

 private:
  static constexpr std::size_t kTogetherMax = 1'024;
  static constexpr int kOtherThreads = 2;  // one may wait for the database
  static constexpr int kDeskThreads = 2;

  static void name_lane() { name_this_thread("rg-sale-cmds"); }

  RequestLane& lane_of(std::size_t command) {
    switch (kSaleCommands[command].lane) {
      case LaneOf::kPurchases:
        return purchases_;
      case LaneOf::kPayments:
        return payments_;
      case LaneOf::kOthers:
        break;
    }
    return others_;
  }

  void run_one_by_one(ClientBatch& batch) {
    const SaleCommand& command = kSaleCommands[batch.command];
    std::vector<Reply> replies;
    for (const Request& request : batch.requests) replies.push_back(run_safely(command, request));
    batch.completion(std::move(replies));
  }

  Reply run_safely(const SaleCommand& command, const Request& request) {
    std::string reason = kThrewNoException;
    try {
      return command.run(sale_, request);
    } catch (const std::exception& error) {  // of a user's order store, or for want of memory
      reason = error.what();
    } catch (...) {  // as `reason` says
    }
    return Reply::error(concat(error_code::kOutcomeUnknown, " ", reason));
  }

  FlashSale& sale_;
  PurchaseDesk desk_;  // ends after the purchases
  RequestLane purchases_;
  RequestLane payments_;
  RequestLane others_;
};

}  // namespace

std::shared_ptr<ProgramCommands> make_sale_commands(FlashSale& sale, SaleCommandsOptions options) {
  return std::make_shared<SaleCommands>(sale, options);
}

}  // namespace rushgate
