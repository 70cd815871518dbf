#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "adapters/testing/keyspace_contents.h"
#include "adapters/testing/refuse_if.h"
#include "engine/core/base/concat.h"
#include "engine/sale/scripts/word_template.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/test_engine.h>
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

constexpr VoucherId kVoucher = 7;
constexpr std::size_t kFaultsMax = 20;
/// An id that a Lua number cannot hold.
constexpr std::int64_t kLargeUser = 9'007'199'254'740'993;

std::string shown(const Reply& reply) {
  return reply.is_integer() ? concat(reply.integer()) : to_debug_string(reply);
}

std::string message(const absl::Status& status) { return std::string(status.message()); }

/// An engine, an order database, and a voucher on sale.
class Shop {
 public:
  Shop(const CustomAdmission& admission, const AdmissionCheckOptions& options, const Limits& limits,
       std::uint64_t seed)
      : admission_(admission), options_(options), engine_({.engine = {.seed = seed}}) {
    if (options.prepare) options.prepare(engine_.client());
    status_ = open();
    if (!status_.ok()) return;
    status_ = sale_->publish({.id = kVoucher,
                              .title = "checked",
                              .stock = options.stock,
                              .end_ms = engine_.now_ms() + 86'400'000,
                              .limits = limits});
  }

  [[nodiscard]] const absl::Status& status() const { return status_; }
  [[nodiscard]] TestEngine& engine() { return engine_; }
  [[nodiscard]] Client& client() { return engine_.client(); }
  [[nodiscard]] Sale& sale() { return *sale_; }
  /// Closes the sale before the engine restarts.
  void close_sale() { sale_.reset(); }

  /// Makes the worker store the queued orders.
  void store_orders() {
    OrderWorker worker(engine_.engine(), orders_, options_.keys);
    while (worker.step().kind == OrderWorker::Step::Kind::kWorked) continue;
  }

  /// Runs the script without the sale's part.
  Reply run_alone(std::int64_t user, OrderId order) {
    const ScriptArguments made = arguments(user, order);
    return engine_.eval(admission_.text, made.keys, made.arguments);
  }
  [[nodiscard]] ScriptArguments arguments(std::int64_t user, OrderId order) const {
    return {.keys = expand(admission_.keys, user, order),
            .arguments = expand(admission_.arguments, user, order)};
  }

 private:
  absl::Status open() {
    auto sale =
        Sale::open(engine_.engine(), orders_, {.keys = options_.keys, .admission = admission_});
    if (!sale.ok()) return sale.status();
    sale_ = *std::move(sale);
    return absl::OkStatus();
  }

  [[nodiscard]] std::vector<std::string> expand(const std::vector<std::string>& words,
                                                std::int64_t user, OrderId order) const {
    std::vector<std::string> expanded;
    for (const std::string& word : words) {
      expanded.push_back(WordTemplate::parse(word)->expand(options_.keys, kVoucher, user, order));
    }
    return expanded;
  }

  const CustomAdmission& admission_;
  const AdmissionCheckOptions& options_;
  TestEngine engine_;
  MemoryOrderStore orders_{"checked"};  // shared by all shops
  std::unique_ptr<Sale> sale_;
  absl::Status status_;
};

/// The check under one limit per user.
class Check {
 public:
  Check(const CustomAdmission& admission, const AdmissionCheckOptions& options,
        const Limits& limits, AdmissionReport& report)
      : admission_(admission), options_(options), limits_(limits), report_(report) {}

  void run() {
    check_calls();
    check_repetition();
    check_crowd();
    check_sale();
  }

 private:
  [[nodiscard]] Shop make_shop(std::uint64_t seed = 1) const {
    return {admission_, options_, limits_, seed};
  }

  void add_fault(const std::string& fault) {
    const std::string text =
        limits_.per_user == 1 ? fault
                              : concat("with a limit of ", limits_.per_user, " per user: ", fault);
    const bool is_known = std::ranges::find(report_.faults, text) != report_.faults.end();
    if (!is_known && report_.faults.size() < kFaultsMax) report_.faults.push_back(text);
  }

  /// Returns the code that equals `reply`, or null.
  [[nodiscard]] const CustomAdmission::Code* find_code(const Reply& reply) const {
    const auto found =
        std::ranges::find(admission_.codes, reply.integer(), &CustomAdmission::Code::code);
    return reply.is_integer() && found != admission_.codes.end() ? &*found : nullptr;
  }
  [[nodiscard]] RushResult read(const Reply& reply) const {
    const CustomAdmission::Code* const code = find_code(reply);
    if (code == nullptr) return RushResult::kFailed;
    return code->outcome == Outcome::kAccepted ? RushResult::kAccepted : RushResult::kRefused;
  }

  // ---- Call by call ----

  /// Returns the users in the order of their requests. Each asks twice, and they exceed the stock.
  [[nodiscard]] std::vector<std::int64_t> users() const {
    std::vector<std::int64_t> users = {kLargeUser, kLargeUser};
    for (std::int64_t user = 1; user <= options_.stock + 1; ++user)
      users.insert(users.end(), {user, user});
    return users;
  }

  void check_calls() {
    Shop shop = make_shop();
    OrderId order = 0;
    for (const std::int64_t user : users()) check_call(shop, user, ++order);
    for (const int stock : {0, -1}) {
      shop.client()("SET", options_.keys.stock(kVoucher), stock);
      const Reply reply = check_call(shop, 1'000'000 + stock, ++order);
      if (read(reply) == RushResult::kAccepted) add_fault(concat("accepts at a stock of ", stock));
    }
  }

  Reply check_call(Shop& shop, std::int64_t user, OrderId order) {
    const KeyspaceContents before = read_contents(shop.client());
    const Reply reply = shop.run_alone(user, order);
    const KeyspaceContents after = read_contents(shop.client());
    if (reply.is_error()) {
      add_fault("fails: " + reply.text());
    } else if (find_code(reply) == nullptr) {
      add_fault("returned " + shown(reply) + ", which is none of its codes");
    }
    const ScriptArguments made = shop.arguments(user, order);
    std::set<std::string> declared(made.keys.begin(), made.keys.end());
    declared.insert({options_.keys.stock(kVoucher), options_.keys.buyers(kVoucher),
                     options_.keys.order_stream});
    const std::string terms = options_.keys.voucher(kVoucher);
    declared.erase(terms);
    for (const std::string& key : changed_keys(before, after)) {
      if (key == terms) {
        add_fault("writes the terms of the voucher, " + key);
      } else if (!declared.contains(key)) {
        add_fault("writes " + key + ", which is not among its keys");
      } else if (reply.is_error()) {
        add_fault("fails after it has written " + key + ": " + reply.text());
      }
    }
    return reply;
  }

  static std::vector<std::string> changed_keys(const KeyspaceContents& before,
                                               const KeyspaceContents& after) {
    std::vector<std::string> changed;
    for (const auto& [key, value] : before) {
      const auto found = after.find(key);
      if (found == after.end() || found->second != value) changed.push_back(key);
    }
    for (const auto& [key, value] : after) {
      if (!before.contains(key)) changed.push_back(key);
    }
    return changed;
  }

  // ---- Repetition ----

  void check_repetition() {
    Shop one = make_shop(1);
    Shop other = make_shop(2);
    other.engine().eval("math.random() return math.random()");
    OrderId order = 0;
    for (const std::int64_t user : users()) {
      const Reply first = one.run_alone(user, ++order);
      const Reply second = other.run_alone(user, order);
      if (first == second) continue;
      return add_fault("is not deterministic: returned " + shown(first) + " and " + shown(second) +
                       " for the same request");
    }
    const auto changed = changed_keys(read_contents(one.client()), read_contents(other.client()));
    if (!changed.empty()) {
      add_fault("is not deterministic: the same requests make different values of " +
                changed.front());
    }
  }

  // ---- A crowd ----

  void check_crowd() {
    Shop shop = make_shop();
    shop.close_sale();  // the engine restarts
    const SaleUnderTest sale = {
        .buy = by_script(
            admission_.text,
            [&shop](const RushRequest& request) {
              return shop.arguments(request.user, static_cast<OrderId>(request.number) + 1);
            },
            [this](const Reply& reply) { return read(reply); }),
        .orders = orders_in_stream(options_.keys.order_stream, "userId", "voucherId"),
        .restock = [this](Client& client, std::int64_t voucher, std::int64_t pieces) {
          client("HINCRBY", options_.keys.voucher(voucher), "published", pieces);
          client("INCRBY", options_.keys.stock(voucher), pieces);
        }};
    const std::int64_t buyers = 2 * options_.stock;  // few enough that many return in time
    const RushOptions rush = {
        .seed = options_.seed,
        .buyers = buyers,
        .requests = static_cast<std::size_t>(5 * buyers) + 100,  // includes the robots'
        .vouchers = {{.id = kVoucher, .stock = options_.stock, .per_user = limits_.per_user}}};
    const RushReport crowd = run_rush(shop.engine(), sale, rush,
                                      {.crashes = 2, .find_withheld = options_.find_withheld});
    if (!crowd.passed()) add_fault("in a crowd: " + crowd.text());
  }

  // ---- A whole sale ----

  void check_sale() {
    Shop shop = make_shop();
    std::int64_t accepted = 0;
    const auto buy_all = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t user = begin; user < end; ++user)
        accepted += buy(shop, user) + buy(shop, user);
    };
    const std::int64_t half = options_.stock / 2;
    buy_all(1, 1 + half / 2);
    shop.store_orders();
    buy_all(1 + half / 2, 1 + half);  // their orders are queued when the voucher is lost
    shop.client()("DEL", options_.keys.voucher(kVoucher), options_.keys.stock(kVoucher));
    accepted += buy(shop, kLargeUser);
    buy_all(1, 2 + options_.stock);
    shop.store_orders();
    if (options_.find_withheld && accepted < options_.stock) {
      add_fault(concat("sold ", accepted, " of ", options_.stock, " to more users than that"));
    }
    const auto audit = shop.sale().audit();
    if (!audit.ok()) return add_fault("audit: " + message(audit.status()));
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < std::min(kShown, audit->problems.size()); ++i) {
      add_fault("audit: " + audit->problems[i]);
    }
  }

  /// Returns 1 if the user was accepted. Later faults may be consequences of the first.
  int buy(Shop& shop, std::int64_t user) {
    const BuyResult result = shop.sale().buy(kVoucher, user);
    const bool is_fault =
        result.outcome == Outcome::kOutcomeUnknown || result.outcome == Outcome::kFailed;
    if (is_fault && !std::exchange(has_sale_failed_, true))
      add_fault("in a sale: " + without_position(result.detail));
    return result.outcome == Outcome::kAccepted ? 1 : 0;
  }

  /// Removes the position from an error of the guard. It says nothing about the script.
  static std::string without_position(const std::string& error) {
    constexpr std::string_view kGuards = "ADMISSION the script ";
    if (!error.starts_with(kGuards)) return error;
    return error.substr(kGuards.size(), error.find(" script: ") - kGuards.size());
  }

  const CustomAdmission& admission_;
  const AdmissionCheckOptions& options_;
  const Limits limits_;
  AdmissionReport& report_;
  bool has_sale_failed_ = false;
};

}  // namespace

AdmissionReport check_admission(const CustomAdmission& admission,
                                const AdmissionCheckOptions& options) {
  constexpr std::int64_t kStockMax = 1'000;  // the check reads the keyspace around each call
  refuse_if(options.stock < 1 || options.stock > kStockMax,
            "AdmissionCheckOptions::stock must be 1 to 1,000");
  AdmissionReport report;
  std::vector<Limits> limits = {{.per_user = 1}};
  if (admission.counts_buyers) limits.insert(limits.end(), {{.per_user = 2}, {.per_user = 0}});
  for (const Limits& limit : limits) {
    const absl::Status opened = Shop(admission, options, limit, 1).status();
    if (!opened.ok()) {
      report.faults.push_back(message(opened));
      return report;
    }
    Check(admission, options, limit, report).run();
  }
  return report;
}

std::ostream& operator<<(std::ostream& out, const AdmissionReport& report) {
  out << "the admission script " << (report.passed() ? "passed" : "failed") << '\n';
  for (const std::string& fault : report.faults) out << "  " << fault << '\n';
  return out;
}

}  // namespace rushgate::testing
