#include "tests/simulation/simulated_shop.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"

namespace rushgate::testing {

using Fault = faults::FaultyBackend::Fault;

namespace {

/// Returns the beginning of a request.
std::string words_of(const Request& request) {
  constexpr std::size_t kWordsMax = 8;
  constexpr std::size_t kBytesMax = 24;
  std::string words;
  for (const std::string_view word : request.views()) {
    if (words.size() > kWordsMax * kBytesMax) break;
    words += concat(" ", word.substr(0, kBytesMax));
  }
  return words;
}

/// Returns true if a request sells. No client sends that again unless its caller says so.
bool is_purchase(const Request& request) {
  const Request::Views words = request.views();
  return words[0] == "EVALSHA" && std::ranges::any_of(words, [](std::string_view word) {
           return word.find(":stock:") != std::string_view::npos;
         });
}

}  // namespace

struct SimulatedShop::Process {
  Process(SimulatedShop& shop, int its_number)
      : number(its_number),
        connections(shop.cluster_.connect()),
        backend(*connections,
                [&shop](const Request& request) { return shop.choose_fault(request); }),
        orders(shop.orders_) {
    orders.at_every_point([&shop, its_number](faults::FaultyOrderStore::Point /*point*/) {
      if (shop.is_disturbed_ && shop.random_.chance(20)) shop.interrupt(its_number);
    });
  }

  int number;
  std::unique_ptr<Backend> connections;
  faults::FaultyBackend backend;
  faults::FaultyOrderStore orders;
  std::unique_ptr<Sale> sale = {};
  std::map<int, std::unique_ptr<OrderWorker>> workers = {};  // by lane
};

SimulatedShop::SimulatedShop(std::uint64_t seed, const ShopOptions& options)
    : options_(options), random_(seed), cluster_(options.masters) {
  publish_all();
  is_disturbed_ = true;
}
SimulatedShop::~SimulatedShop() = default;

void SimulatedShop::publish_all() {
  for (int i = 0; i < 2; ++i) {
    processes_[static_cast<std::size_t>(i)] = std::make_unique<Process>(*this, i);
    if (!open(*processes_[static_cast<std::size_t>(i)])) blame("the sale cannot be opened");
  }
  if (processes_[0]->sale == nullptr) return;
  for (VoucherId id = 1; id <= options_.vouchers; ++id) {
    const Voucher voucher{.id = id,
                          .title = "v",
                          .stock = random_.between(1, 12),
                          .price_cents = 100,
                          .limits = {.per_user = random_.between(1, 3)},
                          .payment_ms = random_.chance(30) ? 5'000 : 0};
    vouchers_.emplace(id, voucher);
    const auto published = processes_[0]->sale->publish(voucher);
    if (!published.ok()) blame(concat("publishing: ", published.message()));
  }
}

bool SimulatedShop::open(Process& process) {
  auto sale = Sale::open(process.backend, process.orders,
                         {.keys = SaleKeys{}.of_lane(0), .lanes = options_.lanes});
  if (!sale.ok()) {
    say(concat("process ", process.number, " cannot open: ", sale.status().message()));
    return false;
  }
  process.sale = *std::move(sale);
  for (const SaleLane& lane : process.sale->lanes()) {
    WorkerOptions options;
    options.consumer = concat("c", process.number);
    options.claim_idle_ms = 500;
    options.retry_after_ms = 10;
    options.pause_ms_max = 10;
    process.workers[lane.number] =
        std::make_unique<OrderWorker>(process.backend, lane.stores, lane.keys, options);
  }
  return true;
}

Fault SimulatedShop::choose_fault(const Request& request) {
  if (!is_disturbed_ || !random_.chance(2)) return Fault::kNone;
  constexpr std::array kFaults = {Fault::kRequestLost, Fault::kReplyLost, Fault::kSentTwice};
  const Fault fault = random_.pick(kFaults);
  if (fault == Fault::kSentTwice && is_purchase(request)) return Fault::kNone;
  say(concat(faults::fault_name(fault), ":", words_of(request)));
  return fault;
}

/// Lets others act while a process waits for its database.
void SimulatedShop::interrupt(int waiting) {
  if (waiting_) return;
  waiting_ = waiting;
  say(concat("process ", waiting, " waits"));
  for (std::int64_t left = random_.between(1, 5); left > 0; --left) {
    const std::size_t choice = random_.below(100);
    if (choice < 45) {
      buy();
    } else if (choice < 60) {
      work();
    } else if (choice < 85) {
      disturb_master();
    } else if (choice < 92) {
      pay_or_cancel();
    } else {
      advance();
    }
  }
  say(concat("process ", waiting, " goes on"));
  waiting_.reset();
}

/// Returns one that does not wait.
SimulatedShop::Process& SimulatedShop::choose_process() {
  const std::size_t chosen = random_.below(processes_.size());
  const bool waits = waiting_ && static_cast<std::size_t>(*waiting_) == chosen;
  return *processes_.at(waits ? 1 - chosen : chosen);
}

// ---- Steps ------------------------------------------------------------------------------------

void SimulatedShop::step() {
  const std::size_t choice = random_.below(100);
  if (choice < 50) return buy();
  if (choice < 60) return pay_or_cancel();
  if (choice < 80) return work();
  if (choice < 86) return advance();
  if (choice < 90) return replicate();
  if (choice < 93) return disturb_master();
  if (choice < 95) return move_lane();
  if (choice < 97) return fail_database();
  return end_process();
}

void SimulatedShop::buy() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  BuyRequest request{.voucher = random_.between(1, options_.vouchers),
                     .user = random_.between(1, 12),
                     .quantity = random_.between(1, 2)};
  if (random_.chance(50)) {
    request.idempotency_key = concat("k", request.voucher, "-", request.user.text(), "-",
                                     request.quantity, "-", random_.below(2));
  }
  const BuyResult result = process.sale->buy(request);
  say(concat("process ", process.number, " sells ", request.voucher, " to ", request.user.text(),
             ": ", outcome_name(result.outcome), " ", result.order, " ", result.detail));
  if (result.outcome == Outcome::kAccepted) accepted_.emplace(result.order, request);
}

void SimulatedShop::pay_or_cancel() {
  Process& process = choose_process();
  if (process.sale == nullptr || accepted_.empty()) return;
  auto at = accepted_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(accepted_.size())));
  const auto& [order, request] = *at;
  if (random_.chance(60)) return pay(process, order, request);
  const ChangeResult result = process.sale->cancel(order, "changed mind", "user");
  say(concat("cancel ", order, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::pay(Process& process, OrderId order, const BuyRequest& request) {
  const ChangeResult result = process.sale->pay(
      {.order = order, .payment = concat("p", order), .amount_cents = 100 * request.quantity});
  say(concat("pay ", order, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::work() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const int lane = static_cast<int>(random_.below(process.workers.size()));
  const OrderWorker::Step step = process.workers.at(lane)->step();
  if (step.stored > 0 || !step.reason.empty()) {
    say(concat("worker ", process.number, " of lane ", lane, " stores ", step.stored, " ",
               step.reason));
  }
}

/// Ends a process without a word, or starts it again.
void SimulatedShop::end_process() {
  std::unique_ptr<Process>& process = processes_.at(random_.below(processes_.size()));
  if (process->sale != nullptr) {
    say(concat("process ", process->number, " ends"));
    const int number = process->number;
    process.reset();
    process = std::make_unique<Process>(*this, number);
  } else {
    say(concat("process ", process->number, " starts"));
    open(*process);
  }
}

void SimulatedShop::fail_database() {
  Process& process = choose_process();
  using Kept = faults::FaultyOrderStore::Kept;
  const Kept kept = random_.chance(50) ? Kept::kYes : Kept::kNo;
  say(concat("the database of process ", process.number, " fails, ",
             kept == Kept::kYes ? "stored" : "not stored"));
  process.orders.fail_write(1, kept);
}

void SimulatedShop::disturb_master() {
  const int master = static_cast<int>(random_.below(static_cast<std::size_t>(options_.masters)));
  if (cluster_.is_up(master) && random_.chance(50)) {
    say(concat("master ", master, " ends"));
    return cluster_.kill(master);
  }
  Comeback comeback = Comeback::kWithAll;
  if (options_.masters_lose) {
    constexpr std::array kComebacks = {Comeback::kWithAll, Comeback::kAsReplicated,
                                       Comeback::kEmpty};
    comeback = random_.pick(kComebacks);
  }
  has_lost_ = has_lost_ || comeback != Comeback::kWithAll;
  say(concat("master ", master, " starts, comeback ", static_cast<int>(comeback)));
  cluster_.start(master, comeback);
  cluster_.advance_ms(1);  // a stream made anew gives the ids of this millisecond once more
}

void SimulatedShop::replicate() {
  cluster_.replicate(static_cast<int>(random_.below(static_cast<std::size_t>(options_.masters))));
}

void SimulatedShop::move_lane() {
  const int lane = static_cast<int>(random_.below(static_cast<std::size_t>(options_.lanes)));
  const int to = static_cast<int>(random_.below(static_cast<std::size_t>(options_.masters)));
  const std::string key = SaleKeys{}.of_lane(lane).vouchers();
  // A loss is noticed by the next connection to the master, not after its slots were moved away.
  for (const auto& process : processes_)
    process->connections->open_client()->call(Request::of("EXISTS", key));
  say(concat("lane ", lane, " moves to master ", to));
  cluster_.move_slot_of(key, to);
}

void SimulatedShop::advance() { cluster_.advance_ms(random_.between(1, 800)); }

// ---- The end ----------------------------------------------------------------------------------

void SimulatedShop::mend() {
  is_disturbed_ = false;
  for (int master = 0; master < options_.masters; ++master) {
    if (!cluster_.is_up(master)) cluster_.start(master, Comeback::kWithAll);
  }
  for (std::unique_ptr<Process>& process : processes_) {
    const int number = process->number;
    process.reset();
    process = std::make_unique<Process>(*this, number);
  }
}

void SimulatedShop::store_all(Process& process) {
  constexpr int kIdleSteps = 3;
  constexpr int kStepsMax = 100;
  for (auto& [lane, worker] : process.workers) {
    int idle = 0;
    for (int steps = 0; idle < kIdleSteps; ++steps) {
      if (steps > kStepsMax) return blame(concat("lane ", lane, " is never idle"));
      const OrderWorker::Step step = worker->step();
      if (step.kind != OrderWorker::Step::Kind::kIdle) {
        say(concat("lane ", lane, ": stored ", step.stored, ", changed ", step.changed,
                   ", expired ", step.expired, ", buried ", step.buried, ", restored ",
                   step.restored, ", faulted ", step.faulted, ", lost ", step.lost, " ",
                   step.reason));
      }
      idle = step.kind == OrderWorker::Step::Kind::kIdle ? idle + 1 : 0;
      cluster_.advance_ms(500);  // takes over what the other process has read
    }
  }
}

void SimulatedShop::sell_out(Process& process, VoucherId voucher) {
  constexpr int kTriesMax = 100;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const BuyRequest request{.voucher = voucher, .user = next_user_++};
    const BuyResult result = process.sale->buy(request);
    say(concat("the last of ", voucher, ": ", outcome_name(result.outcome), " ", result.order, " ",
               result.detail));
    if (result.outcome == Outcome::kSoldOut) return;
    if (result.outcome == Outcome::kAccepted) {
      accepted_.emplace(result.order, request);
      if (vouchers_.at(voucher).payment_ms > 0) pay(process, result.order, request);
    }
    if (result.outcome == Outcome::kOverloaded) cluster_.advance_ms(1'000);
  }
  blame(concat("voucher ", voucher, " is never sold out"));
}

void SimulatedShop::check_orders(Process& process) {
  for (const auto& [id, request] : accepted_) {
    const auto status = process.sale->status(id);
    if (!status.ok()) {
      blame(concat("order ", id, ": ", status.status().message()));
    } else if (status->location != OrderLocation::kStored && !has_lost_) {
      blame(concat("order ", id, " was accepted, and is ", order_location_name(status->location)));
    }
  }
}

void SimulatedShop::check_voucher(Process& process, VoucherId voucher) {
  const std::int64_t stock = vouchers_.at(voucher).stock;
  const auto summary = process.sale->summary(voucher);
  if (!summary.ok() || !summary->has_value()) {
    return blame(concat("voucher ", voucher, " has no summary"));
  }
  const std::int64_t live = orders_.count_live(voucher).value();
  if (live != stock) {
    blame(concat("voucher ", voucher, ": ", live, " of ", stock, " pieces are sold, and ",
                 (*summary)->free.value_or(-1), " are free"));
  }
}

std::string SimulatedShop::end() {
  say("---- the end ----");
  mend();
  Process& process = *processes_[0];
  if (!open(process)) {
    blame("the sale cannot be opened again");
    return faults_;
  }
  store_all(process);
  cluster_.advance_ms(60'000);  // unpaid orders are cancelled
  store_all(process);
  for (const auto& [voucher, terms] : vouchers_) sell_out(process, voucher);
  store_all(process);
  check_orders(process);
  for (const auto& [voucher, terms] : vouchers_) check_voucher(process, voucher);
  const auto letters = process.sale->dead_letters();
  if (!letters.ok()) blame(concat("dead letters: ", letters.status().message()));
  if (letters.ok()) {
    for (const DeadLetter& letter : *letters) {
      // A buyer whose order a master lost is told so, if its pieces are gone.
      const bool is_loss = has_lost_ && letter.reason.starts_with("the keyspace lost it");
      if (!is_loss) blame(concat("dead letter: ", letter.reason));
    }
  }
  const auto report = process.sale->audit();
  if (!report.ok()) blame(concat("the audit fails: ", report.status().message()));
  if (report.ok()) {
    for (const std::string& problem : report->problems) blame(concat("audit: ", problem));
  }
  return faults_;
}

void SimulatedShop::say(const std::string& event) {
  story_ += concat(cluster_.now_ms() % 1'000'000, " ", event, "\n");
}
void SimulatedShop::blame(const std::string& fault) {
  faults_ += fault + "\n";
  say(concat("FAULT: ", fault));
}

}  // namespace rushgate::testing
