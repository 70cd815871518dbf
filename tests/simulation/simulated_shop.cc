#include "tests/simulation/simulated_shop.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/client/command_keys.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "tests/simulation/shop_process.h"
#include <rushgate/limits.h>
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

/// Returns the offset of the days of a sale's limits.
std::int32_t choose_utc_offset_minutes(Random& random) { return random.chance(30) ? 480 : 0; }

/// Returns when a sale begins: about half of the sales begin shortly before midnight.
std::int64_t choose_begin_ms(Random& random, std::int32_t utc_offset_minutes) {
  constexpr std::int64_t kMinuteMs = 60'000;
  constexpr std::int64_t kDayMs = 1'440 * kMinuteMs;
  const std::int64_t offset_ms = utc_offset_minutes * kMinuteMs;
  const std::int64_t day = (ManualClock::kStartMs + offset_ms) / kDayMs;
  const std::int64_t midnight_ms = (day + 1) * kDayMs - offset_ms;
  return random.chance(50) ? ManualClock::kStartMs : midnight_ms - random.between(1, 1'500);
}

/// Returns a voucher with a random stock, limit per user and number of lanes.
Voucher choose_voucher(Random& random, VoucherId id, int lanes) {
  Voucher voucher{.id = id,
                  .title = "v",
                  .stock = random.between(1, 12),
                  .price_cents = 100,
                  .limits = {.per_user = random.between(1, 3)},
                  .payment_ms = random.chance(30) ? 5'000 : 0};
  if (random.chance(50)) voucher.lanes = static_cast<std::int32_t>(random.between(2, lanes));
  return voucher;
}

/// Adds some of the terms that a voucher may have besides.
void add_terms(Random& random, Voucher& voucher) {
  Limits& limits = voucher.limits;
  if (random.chance(30)) limits.total = random.between(1, voucher.stock);
  if (random.chance(30)) limits.per_user_day = random.between(1, limits.per_user);
  if (limits.per_user_day > 0 && random.chance(30)) limits.per_user = 0;
  if (random.chance(30)) voucher.payment_ms = 300;
  if (random.chance(60)) voucher.waiting_max = random.between(voucher.lanes, voucher.lanes + 4);
  voucher.restock = !random.chance(10);
  voucher.restore_allowance = !random.chance(10);
  voucher.needs_token = random.chance(15);
}

}  // namespace

SimulatedShop::SimulatedShop(std::uint64_t seed, const ShopOptions& options)
    : options_(options),
      random_(seed),
      has_terms_(random_.chance(50)),
      utc_offset_minutes_(choose_utc_offset_minutes(random_)),
      cluster_(options.masters, choose_begin_ms(random_, utc_offset_minutes_)),
      network_(cluster_.connect()),
      observer_(network_->open_client()),
      database_(testing::with_bug(orders_, options.bug)),
      down_since_ms_(static_cast<std::size_t>(options.masters)),
      promises_(options.lanes, orders_, [this](const std::string& fault) { blame(fault); }),
      waiting_users_(promises_, orders_, [this](const std::string& fault) { blame(fault); }) {
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
    Voucher voucher = choose_voucher(random_, id, options_.lanes);
    if (has_terms_) add_terms(random_, voucher);
    voucher.limits.utc_offset_minutes = utc_offset_minutes_;
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
      change_order();
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

std::vector<int> SimulatedShop::lanes_of_master(int master) const {
  std::vector<int> lanes;
  for (int lane = 0; lane < options_.lanes; ++lane) {
    if (master_of_lane(lane) == master) lanes.push_back(lane);
  }
  return lanes;
}

std::vector<int> SimulatedShop::lanes_of(VoucherId voucher) const {
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
  if (choice < 1 && has_terms_) {
    end_sale();
  } else if (choice < 6 && has_terms_) {
    visit_waiting_list();
  } else if (choice < 50) {
    buy();
  } else if (choice < 60) {
    change_order();
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

/// Lets somebody act who wants a voucher, or changes it.
template <class Act>
auto SimulatedShop::seek(VoucherId voucher, Act act) {
  const std::optional<VoucherId> sought_before = std::exchange(sought_, voucher);
  const std::optional<int> at_work_before = std::exchange(lane_at_work_, std::nullopt);
  auto result = act();
  lane_at_work_ = at_work_before;
  sought_ = sought_before;
  return result;
}

void SimulatedShop::buy() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  if (random_.chance(10)) {
    if (const auto before = promises_.choose_repeatable(random_)) return buy(process, *before);
  }
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
  request.purchase_token = issue_token(process, request);
  buy(process, request);
}

void SimulatedShop::buy(Process& process, const BuyRequest& request) {
  const Promises::Losses losses = promises_.losses();
  const std::int64_t began_ms = cluster_.now_ms();
  const BuyResult result = seek(request.voucher, [&] { return process.sale->buy(request); });
  say(concat("process ", process.number, " sells ", request.voucher, " to ", request.user.text(),
             ": ", outcome_name(result.outcome), " ", result.order, " ", result.detail));
  note_result(request, result, losses);
  if (result.outcome != Outcome::kSoldOut) return;
  check_sold_out(request, began_ms);
  if (has_list(request.voucher) && random_.chance(70)) wait(process, request.voucher, request.user);
}

/// `losses` are what they were when the purchase began.
void SimulatedShop::note_result(const BuyRequest& request, const BuyResult& result,
                                const Promises::Losses& losses) {
  promises_.note_result(request, result, losses);
  const bool is_accepted = result.outcome == Outcome::kAccepted;
  if (is_accepted || result.outcome == Outcome::kOutcomeUnknown) left_.erase(request.voucher);
  const bool lacks_token =
      vouchers_.at(request.voucher).needs_token && request.purchase_token.empty();
  if (is_accepted && !result.is_repeated && lacks_token) {
    blame(concat("order ", result.order, " was bought without a token"));
  }
}

/// Returns the purchase token of a user, perhaps a spent one; empty if none is needed, or can be had.
std::string SimulatedShop::issue_token(Process& process, const BuyRequest& request) {
  if (!vouchers_.at(request.voucher).needs_token) return "";
  const auto lane = process.sale->lane_of(request.voucher, request.user);
  if (!lane.ok()) return "";
  const auto tokens =
      PurchaseTokens::create(process.backend, {.key_prefix = lane->keys.purchase_tokens()});
  return (*tokens)->issue(request.user.text(), request.voucher).value_or("");
}

void SimulatedShop::wait(Process& process, VoucherId voucher, const UserId& user) {
  const WaitResult result =
      seek(voucher, [&] { return waiting_users_.wait(*process.sale, voucher, user); });
  say(concat("process ", process.number, " lets ", user.text(), " wait for ", voucher, ": ",
             wait_outcome_name(result.outcome), " ", result.order, " ", result.detail));
}

/// Lets a user wait, leave, or look whether there is an order by now.
void SimulatedShop::visit_waiting_list() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const std::size_t choice = random_.below(100);
  if (choice < 40) {
    const VoucherId voucher = random_.between(1, options_.vouchers);
    if (has_list(voucher)) wait(process, voucher, random_.between(1, 12));
  } else if (choice < 55) {
    const auto place = waiting_users_.leave(*process.sale, random_);
    if (place) say(concat(place->user.text(), " waits no longer for ", place->voucher));
  } else if (const auto place = waiting_users_.look(*process.sale, random_)) {
    say(concat(place->first.user.text(), place->second ? " has order " : " still waits for order ",
               place->first.order));
  }
}

/// Pays an order, ends it, or uses it.
void SimulatedShop::change_order() {
  Process& process = choose_process();
  if (process.sale == nullptr || promises_.accepted().empty()) return;
  const OrderId order = promises_.choose_order(random_);
  const std::size_t choice = random_.below(100);
  if (choice < 35) return pay(process, order);
  std::string_view name = "cancel";
  ChangeResult result;
  if (choice < 65) {
    result = process.sale->cancel(order, "changed mind", "user");
  } else if (choice < 90) {
    name = "refund";
    result = process.sale->refund(order, "changed mind", "user");
  } else {
    name = "use";
    result = process.sale->use(order, "user");
  }
  say(concat(name, " ", order, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::pay(Process& process, OrderId order) {
  const std::int64_t quantity = promises_.accepted().at(order).request.quantity;
  const ChangeResult result = process.sale->pay(
      {.order = order, .payment = concat("p", order), .amount_cents = 100 * quantity});
  say(concat("pay ", order, ": ", change_outcome_name(result.outcome), " ", result.detail));
}

void SimulatedShop::add_stock() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const VoucherId voucher = random_.between(1, options_.vouchers);
  const std::int64_t more = random_.between(-3, 3);
  const absl::Status added = seek(voucher, [&] { return process.sale->add_stock(voucher, more); });
  say(concat("process ", process.number, " adds ", more, " to ", voucher, ": ", added.message()));
}

/// Ends the sale of a voucher, and archives it if everything is settled.
void SimulatedShop::end_sale() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  const VoucherId voucher = random_.between(1, options_.vouchers);
  if (!is_over(voucher)) {
    const absl::Status closed = process.sale->close(voucher);
    say(concat("process ", process.number, " closes ", voucher, ": ", closed.message()));
    if (closed.ok()) advance_ms(1);
  }
  if (random_.chance(50)) {
    for (const int lane : lanes_of(voucher)) work(process, lane);
  }
  const absl::Status archived = process.sale->archive(voucher);
  say(concat("process ", process.number, " archives ", voucher, ": ", archived.message()));
  if (archived.ok()) promises_.check_recorded(voucher);
}

void SimulatedShop::work() {
  Process& process = choose_process();
  if (process.sale == nullptr) return;
  work(process, static_cast<int>(random_.below(process.workers.size())));
}

void SimulatedShop::work(Process& process, int lane) {
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
  for (const int lane : lanes_of_master(master)) promises_.note_start(lane, comeback);
  if (comeback != Comeback::kWithAll) left_.clear();
  cluster_.start(master, comeback);
  advance_ms(1);  // a stream made anew gives the ids of this millisecond once more
}

void SimulatedShop::replicate(int master) {
  if (!cluster_.is_up(master)) return;
  cluster_.replicate(master);
  for (const int lane : lanes_of_master(master)) promises_.note_replicated(lane);
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
  if (cluster_.master_of(key) != from) promises_.note_moved(lane);
}

/// Delivers a request whose process does not wait for it any more.
void SimulatedShop::deliver_late() {
  if (late_.empty()) return;
  const std::size_t which = random_.below(late_.size());
  const LateRequest late = late_[which];
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  if (cluster_.master_of(*first_key(late.request)) != late.master) return;  // MOVED
  say(concat("delivered:", words_of(late.request)));
  note_late_call(late.request);
  observer_->call(late.request);
  left_.clear();  // it may be a purchase
}

/// Tells the waiting lists of a request that may let a user join or leave.
void SimulatedShop::note_late_call(const Request& request) {
  for (const auto& [voucher, terms] : vouchers_) {
    for (const int lane : lanes_of(voucher)) {
      if (!has_part(request, SaleKeys{}.of_lane(lane).waiting(voucher))) continue;
      for (const std::string_view word : request.views()) {
        waiting_users_.note_leave_call({voucher, std::string(word)});
      }
    }
  }
}

void SimulatedShop::advance() { advance_ms(random_.between(1, 800)); }

/// Runs due timers. A master whose timers run cannot end, so nobody acts meanwhile.
void SimulatedShop::advance_ms(std::int64_t duration_ms) {
  is_advancing_ = true;
  cluster_.advance_ms(duration_ms);
  is_advancing_ = false;
}

void SimulatedShop::say(const std::string& event) {
  story_ += concat(cluster_.now_ms() % 1'000'000, " ", event, "\n");
}
void SimulatedShop::blame(const std::string& fault) {
  faults_ += fault + "\n";
  say(concat("FAULT: ", fault));
}

}  // namespace rushgate::testing
