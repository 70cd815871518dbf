#include "tests/simulation/simulated_shop.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/command_keys.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/split/piece_mover.h"
#include <rushgate/order_rules.h>

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

bool has_part(const Request& request, std::string_view part) {
  return std::ranges::any_of(request.views(), [part](std::string_view word) {
    return word.find(part) != std::string_view::npos;
  });
}

bool runs(const Request& request, const Script& script) {
  return request.size() > 1 && (request[1] == script.sha1() || request[1] == script.text());
}

/// Returns true if a request moves pieces, which names the keys of a purchase, too.
bool moves_pieces(const Request& request) {
  return runs(request, voucher_scripts::take_pieces()) ||
         runs(request, voucher_scripts::put_pieces());
}

/// Returns true if a request sells. No client sends that again unless its caller says so.
bool is_purchase(const Request& request) {
  return request[0].starts_with("EVAL") && has_part(request, ":stock:") &&
         has_part(request, "stream.orders") && !moves_pieces(request);
}

/// Returns true if a request is submitted, and not called: its reply comes while the engine is at work.
bool is_submitted(const Request& request) {
  return is_purchase(request) || has_part(request, SaleKeys{}.id_prefix);
}

/// Returns the key of a script's or a command's slot.
std::optional<std::string_view> first_key(const Request& request) {
  const Request::Views words = request.views();
  const auto keys = find_keys(command_keys(request), words);
  if (keys.empty()) return std::nullopt;
  return words[keys.front().position];
}

absl::Status database_is_away() { return absl::UnavailableError("the database is away"); }

}  // namespace

struct SimulatedShop::Process {
  Process(SimulatedShop& shop, int its_number)
      : number(its_number),
        connections(shop.cluster_.connect()),
        with_bug(testing::with_bug(*connections, shop.options_.bug)),
        backend(
            *with_bug,
            [this, &shop](const Request& request) { return shop.choose_fault(*this, request); },
            [this, &shop](const Request& /*request*/) { shop.pass_point(*this); }),
        orders(*shop.database_) {
    orders.at_every_point(
        [this, &shop](faults::FaultyOrderStore::Point /*point*/) { shop.pass_point(*this); });
  }

  void set_database(const absl::Status& status) {
    orders.fail_writes(status);
    orders.fail_reads(status);
    orders.fail_voucher_writes(status);
  }

  int number;
  std::unique_ptr<Backend> connections;
  std::unique_ptr<Backend> with_bug;
  faults::FaultyBackend backend;
  faults::FaultyOrderStore orders;
  std::unique_ptr<Sale> sale = {};
  std::map<int, std::unique_ptr<OrderWorker>> workers = {};  // by lane
  bool is_dying = false;  // it does nothing more, and ends after the step
  bool is_in_transaction = false;
};

SimulatedShop::SimulatedShop(std::uint64_t seed, const ShopOptions& options)
    : options_(options),
      random_(seed),
      cluster_(options.masters),
      network_(cluster_.connect()),
      observer_(network_->open_client()),
      database_(testing::with_bug(orders_, options.bug)),
      down_since_ms_(static_cast<std::size_t>(options.masters)),
      losses_(static_cast<std::size_t>(options.lanes)) {
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
    Voucher voucher{.id = id,
                    .title = "v",
                    .stock = random_.between(1, 12),
                    .price_cents = 100,
                    .limits = {.per_user = random_.between(1, 3)},
                    .payment_ms = random_.chance(30) ? 5'000 : 0};
    if (random_.chance(50)) {
      voucher.lanes = static_cast<std::int32_t>(random_.between(2, options_.lanes));
    }
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

void SimulatedShop::replace(std::unique_ptr<Process>& process) {
  const int number = process->number;
  process->is_dying = true;  // its destructors change nothing
  process.reset();
  process = std::make_unique<Process>(*this, number);
  if (!is_database_up_) process->set_database(database_is_away());
}

// ---- Faults -----------------------------------------------------------------------------------

Fault SimulatedShop::choose_fault(Process& process, const Request& request) {
  if (process.is_dying) return Fault::kRequestLost;
  if (runs(request, voucher_scripts::take_pieces())) note_lane_that_gives(request);
  // A transaction is lost or executed as a whole: it is one message.
  if (request[0] == "MULTI") process.is_in_transaction = true;
  if (process.is_in_transaction) {
    process.is_in_transaction = request[0] != "EXEC" && request[0] != "DISCARD";
    return Fault::kNone;
  }
  if (!is_disturbed_ || !random_.chance(2)) return Fault::kNone;
  constexpr std::array kFaults = {Fault::kRequestLost, Fault::kRequestLate, Fault::kReplyLost,
                                  Fault::kReplyLate, Fault::kSentTwice};
  const Fault fault = random_.pick(kFaults);
  if (fault == Fault::kSentTwice && is_purchase(request)) return Fault::kNone;
  if (fault == Fault::kReplyLate && is_submitted(request)) return Fault::kNone;
  say(concat(faults::fault_name(fault), ":", words_of(request)));
  if (fault == Fault::kRequestLate) {
    if (const auto key = first_key(request)) late_.push_back({request, cluster_.master_of(*key)});
  }
  return fault;
}

void SimulatedShop::note_lane_that_gives(const Request& request) {
  if (!sought_) return;
  for (const int lane : lanes_of(*sought_)) {
    if (first_key(request) == SaleKeys{}.of_lane(lane).voucher(*sought_)) lane_at_work_ = lane;
  }
}

/// Where a process waits for somebody else.
void SimulatedShop::pass_point(Process& process) {
  if (!is_disturbed_ || waiting_ != nullptr || process.is_dying || is_advancing_) return;
  const std::size_t choice = random_.below(100);
  if (choice < (is_moving() ? 50U : 20U)) {
    interrupt(process);
  } else if (choice < 22) {
    say(concat("process ", process.number, " dies"));
    process.is_dying = true;
    process.set_database(absl::UnavailableError("the process is dying"));
  } else if (choice < 23) {
    set_database(false);
  }
}

/// Lets others act while a process waits.
void SimulatedShop::interrupt(const Process& waiting) {
  waiting_ = &waiting;
  say(concat("process ", waiting.number, " waits"));
  if (options_.masters_lose && random_.chance(is_moving() ? 80 : 40)) lose_lane_at_work();
  for (std::int64_t left = random_.between(1, 5); left > 0; --left) {
    const std::size_t choice = random_.below(100);
    if (choice < 45) {
      buy();
    } else if (choice < 60) {
      work();
    } else if (choice < 80) {
      disturb_master(random_master());
    } else if (choice < 85) {
      deliver_late();
    } else if (choice < 92) {
      pay_or_cancel();
    } else {
      advance();
    }
  }
  say(concat("process ", waiting.number, " goes on"));
  waiting_ = nullptr;
}

/// Lets a master lose the lane that the waiting process is about, and others sell from it.
void SimulatedShop::lose_lane_at_work() {
  constexpr int kPurchases = 4;
  if (!lane_at_work_ && !sought_) return;
  const std::vector<int> lanes = lane_at_work_ ? std::vector{*lane_at_work_} : lanes_of(*sought_);
  const int lane = random_.pick(lanes);
  start_master(master_of_lane(lane),
               random_.chance(50) ? Comeback::kEmpty : Comeback::kAsReplicated);
  for (int i = 0; i < kPurchases; ++i) {
    Process& process = choose_process();
    VoucherId voucher = random_.between(1, options_.vouchers);
    const bool is_there = std::ranges::count(lanes_of(voucher), lane) > 0;
    if (sought_ && (!is_there || random_.chance(50))) voucher = *sought_;
    if (process.sale != nullptr) buy(process, voucher);
  }
}

/// Returns one that does not wait.
SimulatedShop::Process& SimulatedShop::choose_process() {
  const std::size_t chosen = random_.below(processes_.size());
  const bool waits = waiting_ == processes_.at(chosen).get();
  return *processes_.at(waits ? 1 - chosen : chosen);
}

/// Returns a master; often one of a voucher that is being bought.
int SimulatedShop::random_master() {
  if (sought_ && random_.chance(50)) {
    const std::vector<int> lanes = lanes_of(*sought_);
    return master_of_lane(random_.pick(lanes));
  }
  return static_cast<int>(random_.below(static_cast<std::size_t>(options_.masters)));
}

int SimulatedShop::master_of_lane(int lane) const {
  return cluster_.master_of(SaleKeys{}.of_lane(lane).order_stream);
}

std::vector<int> SimulatedShop::lanes_of(VoucherId voucher) {
  const int count = vouchers_.at(voucher).lanes;
  if (count == 1) return {first_lane(voucher, options_.lanes)};
  std::vector<int> lanes;
  for (int lane = 0; lane < count; ++lane) lanes.push_back(lane);
  return lanes;
}

// ---- Steps ------------------------------------------------------------------------------------

void SimulatedShop::step() {
  repair_some();
  const std::size_t choice = random_.below(100);
  if (choice < 50) {
    buy();
  } else if (choice < 60) {
    pay_or_cancel();
  } else if (choice < 78) {
    work();
  } else if (choice < 84) {
    advance();
  } else if (choice < 88) {
    replicate(random_master());
  } else if (choice < 91) {
    disturb_master(random_master());
  } else if (choice < 93) {
    move_lane();
  } else if (choice < 95) {
    fail_database();
  } else if (choice < 96) {
    add_stock();
  } else if (choice < 97) {
    deliver_late();
  } else {
    end_process();
  }
  end_dying();
}

void SimulatedShop::buy() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const bool is_sought = sought_ && random_.chance(50);
  buy(process, is_sought ? *sought_ : random_.between(1, options_.vouchers));
}

void SimulatedShop::buy(Process& process, VoucherId voucher) {
  BuyRequest request{
      .voucher = voucher, .user = random_.between(1, 12), .quantity = random_.between(1, 2)};
  if (random_.chance(50)) {
    request.idempotency_key = concat("k", request.voucher, "-", request.user.text(), "-",
                                     request.quantity, "-", random_.below(2));
  }
  const std::vector<int> losses = losses_;
  const std::int64_t began_ms = cluster_.now_ms();
  const std::optional<VoucherId> sought_before = std::exchange(sought_, voucher);
  const std::optional<int> at_work_before = std::exchange(lane_at_work_, std::nullopt);
  const BuyResult result = process.sale->buy(request);
  lane_at_work_ = at_work_before;
  sought_ = sought_before;
  say(concat("process ", process.number, " sells ", request.voucher, " to ", request.user.text(),
             ": ", outcome_name(result.outcome), " ", result.order, " ", result.detail));
  switch (result.outcome) {
    case Outcome::kAccepted:
      note_accepted(result.order, request, losses);
      [[fallthrough]];
    case Outcome::kOutcomeUnknown:
      left_.erase(voucher);
      break;
    case Outcome::kSoldOut:
      check_sold_out(request, began_ms);
      break;
    default:
      break;
  }
}

/// `losses` is what losses_ was when the purchase began.
void SimulatedShop::note_accepted(OrderId order, const BuyRequest& request,
                                  const std::vector<int>& losses) {
  const auto lane = static_cast<std::size_t>(lane_of_order(order));
  accepted_[order] = {.request = request, .may_be_lost = losses_[lane] != losses[lane]};
}

void SimulatedShop::pay_or_cancel() {
  Process& process = choose_process();
  if (process.sale == nullptr || accepted_.empty()) return;
  auto at = accepted_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(accepted_.size())));
  const auto [order, accepted] = *at;  // others may buy meanwhile
  if (random_.chance(60)) return pay(process, order, accepted.request);
  const ChangeResult result = process.sale->cancel(order, "changed mind", "user");
  say(concat("cancel ", order, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::pay(Process& process, OrderId order, const BuyRequest& request) {
  const ChangeResult result = process.sale->pay(
      {.order = order, .payment = concat("p", order), .amount_cents = 100 * request.quantity});
  say(concat("pay ", order, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::add_stock() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const VoucherId voucher = random_.between(1, options_.vouchers);
  const std::int64_t more = random_.between(-3, 3);
  const std::optional<VoucherId> sought_before = std::exchange(sought_, voucher);
  const absl::Status added = process.sale->add_stock(voucher, more);
  sought_ = sought_before;
  say(concat("process ", process.number, " adds ", more, " to ", voucher, ": ", added.message()));
}

void SimulatedShop::work() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const int lane = static_cast<int>(random_.below(process.workers.size()));
  const std::optional<int> at_work_before = std::exchange(lane_at_work_, lane);
  const OrderWorker::Step step = process.workers.at(lane)->step();
  lane_at_work_ = at_work_before;
  if (step.stored > 0 || !step.reason.empty()) {
    say(concat("worker ", process.number, " of lane ", lane, " stores ", step.stored, " ",
               step.reason));
  }
}

/// Ends a process without a word.
void SimulatedShop::end_process() {
  std::unique_ptr<Process>& process = processes_.at(random_.below(processes_.size()));
  say(concat("process ", process->number, " ends"));
  replace(process);
}

/// Starts some of what has ended.
void SimulatedShop::repair_some() {
  constexpr std::size_t kPercent = 15;
  if (!is_database_up_ && random_.chance(kPercent)) set_database(true);
  for (int master = 0; master < options_.masters; ++master) {
    if (!cluster_.is_up(master) && random_.chance(kPercent)) disturb_master(master);
  }
  for (std::unique_ptr<Process>& process : processes_) {
    if (process->sale != nullptr || !random_.chance(kPercent)) continue;
    say(concat("process ", process->number, " starts"));
    open(*process);
  }
}

void SimulatedShop::end_dying() {
  for (std::unique_ptr<Process>& process : processes_) {
    if (process->is_dying) replace(process);
  }
}

/// Fails a write of a process, or ends the database.
void SimulatedShop::fail_database() {
  if (random_.chance(20)) return set_database(false);
  Process& process = choose_process();
  using Kept = faults::FaultyOrderStore::Kept;
  const Kept kept = random_.chance(50) ? Kept::kYes : Kept::kNo;
  say(concat("the database of process ", process.number, " fails, ",
             kept == Kept::kYes ? "stored" : "not stored"));
  process.orders.fail_write(1, kept);
}

void SimulatedShop::set_database(bool is_up) {
  say(is_up ? "the database starts" : "the database ends");
  is_database_up_ = is_up;
  for (const std::unique_ptr<Process>& process : processes_) {
    if (!process->is_dying) process->set_database(is_up ? absl::OkStatus() : database_is_away());
  }
}

void SimulatedShop::disturb_master(int master) {
  if (cluster_.is_up(master) && random_.chance(50)) {
    say(concat("master ", master, " ends"));
    down_since_ms_[static_cast<std::size_t>(master)] = cluster_.now_ms();
    return cluster_.kill(master);
  }
  Comeback comeback = Comeback::kWithAll;
  if (options_.masters_lose) {
    constexpr std::array kComebacks = {Comeback::kWithAll, Comeback::kAsReplicated,
                                       Comeback::kEmpty};
    comeback = random_.pick(kComebacks);
  }
  start_master(master, comeback);
}

void SimulatedShop::start_master(int master, Comeback comeback) {
  // The network has no request of an earlier run.
  std::erase_if(late_, [master](const LateRequest& late) { return late.master == master; });
  say(concat("master ", master, " starts, comeback ", static_cast<int>(comeback)));
  lose(master, comeback);
  cluster_.start(master, comeback);
  advance_ms(1);  // a stream made anew gives the ids of this millisecond once more
}

/// Notes what a master loses that starts now.
void SimulatedShop::lose(int master, Comeback comeback) {
  for (auto& [id, order] : accepted_) {
    if (master_of_lane(lane_of_order(id)) != master) continue;
    if (comeback == Comeback::kWithAll) order.is_replicated = true;
    if (comeback == Comeback::kEmpty) order.is_replicated = false;
    const bool is_lost = !order.is_replicated && !orders_.find(id).value().has_value();
    order.may_be_lost = order.may_be_lost || is_lost;
  }
  if (comeback == Comeback::kWithAll) return;
  left_.clear();
  for (int lane = 0; lane < options_.lanes; ++lane) {
    if (master_of_lane(lane) == master) ++losses_[static_cast<std::size_t>(lane)];
  }
}

void SimulatedShop::replicate(int master) {
  if (!cluster_.is_up(master)) return;
  cluster_.replicate(master);
  for (auto& [id, order] : accepted_) {
    if (master_of_lane(lane_of_order(id)) == master) order.is_replicated = true;
  }
}

void SimulatedShop::move_lane() {
  const int lane = static_cast<int>(random_.below(static_cast<std::size_t>(options_.lanes)));
  const int to = static_cast<int>(random_.below(static_cast<std::size_t>(options_.masters)));
  const std::string key = SaleKeys{}.of_lane(lane).vouchers();
  // A loss is noticed by the next connection to the master, if the database is there to compare with, and not after
  // its slots were moved away: nobody moves them before (docs/cluster.md).
  for (const auto& process : processes_) {
    const Reply noticed = process->connections->open_client()->call(Request::of("EXISTS", key));
    if (noticed.is_error()) return;
  }
  say(concat("lane ", lane, " moves to master ", to));
  const int from = cluster_.master_of(key);
  cluster_.move_slot_of(key, to);
  if (cluster_.master_of(key) == from) return;
  for (auto& [id, order] : accepted_) {
    if (lane_of_order(id) == lane) order.is_replicated = false;
  }
}

/// Delivers a request whose process does not wait for it any more.
void SimulatedShop::deliver_late() {
  if (late_.empty()) return;
  const std::size_t which = random_.below(late_.size());
  const LateRequest late = late_[which];
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  if (cluster_.master_of(*first_key(late.request)) != late.master) return;  // MOVED
  say(concat("delivered:", words_of(late.request)));
  observer_->call(late.request);
  left_.clear();  // it may be a purchase
}

void SimulatedShop::advance() { advance_ms(random_.between(1, 800)); }

/// Runs due timers. A master whose timers run cannot end, so nobody acts meanwhile.
void SimulatedShop::advance_ms(std::int64_t duration_ms) {
  is_advancing_ = true;
  cluster_.advance_ms(duration_ms);
  is_advancing_ = false;
}

// ---- Checks -----------------------------------------------------------------------------------

/// Returns the number in a reply; 0 if there is none.
std::int64_t SimulatedShop::number_at(const Reply& reply) {
  return reply.is_text() ? parse_int64(reply.text()).value_or(0) : 0;
}

/// Returns the free pieces of a voucher, and those on their way between its lanes. Those of a master that is
/// down are not known.
std::int64_t SimulatedShop::count_free(VoucherId voucher) {
  std::int64_t free = 0;
  for (const int lane : lanes_of(voucher)) {
    const SaleKeys keys = SaleKeys{}.of_lane(lane);
    free += number_at((*observer_)("GET", keys.stock(voucher)));
    free -= number_at((*observer_)("HGET", keys.voucher(voucher), "moved"));
  }
  return free;
}

/// A piece that has come back on another lane is sold within 200 ms, and nothing is known of a lane that is away
/// for longer.
void SimulatedShop::check_sold_out(const BuyRequest& request, std::int64_t began_ms) {
  const Voucher& voucher = vouchers_.at(request.voucher);
  if (request.quantity > voucher.limits.per_user) return;  // has no right to so many
  const std::int64_t known_ms = began_ms - (voucher.lanes > 1 ? PieceMover::kSoldOutMs : 0);
  for (const int lane : lanes_of(voucher.id)) {
    const int master = master_of_lane(lane);
    if (cluster_.is_up(master)) continue;
    if (down_since_ms_[static_cast<std::size_t>(master)] < known_ms) {
      blame(concat("voucher ", voucher.id, " is sold out, although its lane ", lane, " is away"));
    }
    return;
  }
  const std::int64_t free = count_free(voucher.id);
  const auto known = left_.find(voucher.id);
  const bool was_left = known != left_.end() && known->second.pieces >= request.quantity;
  if (was_left && free >= request.quantity && known->second.since_ms < known_ms) {
    blame(concat("voucher ", voucher.id, " is sold out, although ", free, " pieces are free since ",
                 cluster_.now_ms() - known->second.since_ms, " ms"));
  }
  if (!was_left || free < known->second.pieces) left_[voucher.id] = {cluster_.now_ms(), free};
}

// ---- The end ----------------------------------------------------------------------------------

void SimulatedShop::mend() {
  is_disturbed_ = false;
  set_database(true);
  for (int master = 0; master < options_.masters; ++master) {
    if (!cluster_.is_up(master)) cluster_.start(master, Comeback::kWithAll);
  }
  for (std::unique_ptr<Process>& process : processes_) replace(process);
}

/// Lets the workers of all lanes store in turn: an order may wait for another lane.
void SimulatedShop::store_all(Process& process) {
  constexpr int kIdleRounds = 3;
  constexpr int kRoundsMax = 100;
  int idle = 0;
  for (int rounds = 0; idle < kIdleRounds; ++rounds) {
    if (rounds > kRoundsMax) return blame("the workers are never idle");
    ++idle;
    for (auto& [lane, worker] : process.workers) {
      const OrderWorker::Step step = worker->step();
      if (step.kind == OrderWorker::Step::Kind::kIdle) continue;
      idle = 0;
      say(concat("lane ", lane, ": stored ", step.stored, ", changed ", step.changed, ", expired ",
                 step.expired, ", buried ", step.buried, ", restored ", step.restored, ", faulted ",
                 step.faulted, ", lost ", step.lost, " ", step.reason));
    }
    advance_ms(500);  // takes over what the other process has read
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
      note_accepted(result.order, request, losses_);
      if (vouchers_.at(voucher).payment_ms > 0) pay(process, result.order, request);
    }
    if (result.outcome == Outcome::kOverloaded) advance_ms(1'000);
  }
  blame(concat("voucher ", voucher, " is never sold out"));
}

void SimulatedShop::check_orders(Process& process) {
  for (const auto& [id, order] : accepted_) {
    const auto status = process.sale->status(id);
    if (!status.ok()) {
      blame(concat("order ", id, ": ", status.status().message()));
    } else if (status->location != OrderLocation::kStored && !order.may_be_lost) {
      blame(concat("order ", id, " was accepted, and is ", order_location_name(status->location)));
    }
  }
}

void SimulatedShop::check_voucher(Process& process, VoucherId voucher) {
  const auto summary = process.sale->summary(voucher);
  if (!summary.ok() || !summary->has_value()) {
    return blame(concat("voucher ", voucher, " has no summary"));
  }
  const std::int64_t stock = (*summary)->voucher.stock;
  const std::int64_t live = orders_.count_live(voucher).value();
  if (live != stock) {
    blame(concat("voucher ", voucher, ": ", live, " of ", stock, " pieces are sold, and ",
                 (*summary)->free.value_or(-1), " are free"));
  }
}

/// Compares the pieces of each lane with its orders, by what the database has recorded.
void SimulatedShop::check_pieces(VoucherId voucher) {
  const VoucherVersion version = orders_.applied(voucher).value().value();
  const std::vector<VoucherVersion> versions = orders_.versions(voucher).value();
  const std::vector<int> lanes = lanes_of(voucher);
  std::map<int, std::int64_t> pieces;
  for (const int lane : lanes) {
    pieces[lane] =
        lanes.size() > 1 ? on_lane(version, lane, versions).voucher.stock : version.voucher.stock;
  }
  const std::vector<MovedPieces> all_moved = orders_.moved_pieces(voucher).value();
  for (const MovedPieces& moved : all_moved) {
    const auto number = [&](int lane, std::string_view direction, int other) {
      const std::string key = SaleKeys{}.of_lane(lane).voucher(voucher);
      return number_at((*observer_)("HGET", key, concat(direction, other)));
    };
    const std::int64_t given = number(moved.from, "to:", moved.to);
    const std::int64_t got = number(moved.to, "from:", moved.from);
    if (given != moved.pieces || got != moved.pieces) {
      blame(concat("voucher ", voucher, ": ", given, ", ", moved.pieces, " and ", got,
                   " pieces went from lane ", moved.from, " to ", moved.to));
    }
    pieces[moved.from] -= moved.pieces;
    pieces[moved.to] += moved.pieces;
  }
  const auto count = [&](const Order& order) {
    pieces[lane_of_order(order.id)] -= pieces_taken(order);
  };
  if (!for_each_order(orders_, {.voucher = voucher}, count).ok()) blame("no orders");
  for (const auto& [lane, left] : pieces) {
    const Reply stock = (*observer_)("GET", SaleKeys{}.of_lane(lane).stock(voucher));
    if (left == number_at(stock)) continue;
    blame(concat("voucher ", voucher, ": the lane ", lane, " should have ", left, " pieces, not ",
                 to_debug_string(stock)));
  }
}

void SimulatedShop::check_letters(Process& process) {
  const auto letters = process.sale->dead_letters();
  if (!letters.ok()) return blame(concat("dead letters: ", letters.status().message()));
  for (const DeadLetter& letter : *letters) {
    // The payment of an order that a master lost is paid back by an operator.
    if (letter.order.field("event") == order_event_name(OrderEvent::Kind::kSurplusPayment)) {
      const auto order = parse_int64(letter.order.field("id").value_or(""));
      const auto found = order ? accepted_.find(*order) : accepted_.end();
      if (found != accepted_.end() && found->second.may_be_lost) {
        const auto discarded = process.sale->discard_dead_letter(letter.id, "paid back");
        if (!discarded.ok() || !*discarded) blame(concat("a dead letter stays: ", letter.reason));
        continue;
      }
    }
    // A buyer whose order a master lost is told so, if its pieces are gone.
    const bool is_loss = options_.masters_lose && letter.reason.starts_with("the keyspace lost it");
    if (!is_loss) blame(concat("dead letter: ", letter.reason));
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
  advance_ms(60'000);  // unpaid orders are cancelled
  store_all(process);
  for (const auto& [voucher, terms] : vouchers_) {
    // Also finishes a version that somebody else began to publish.
    const absl::Status added = process.sale->add_stock(voucher, 1);
    if (!added.ok()) blame(concat("adding stock: ", added.message()));
  }
  for (const auto& [voucher, terms] : vouchers_) sell_out(process, voucher);
  store_all(process);
  check_orders(process);
  for (const auto& [voucher, terms] : vouchers_) {
    check_voucher(process, voucher);
    check_pieces(voucher);
  }
  check_letters(process);
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
