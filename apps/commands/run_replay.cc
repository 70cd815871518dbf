#include "apps/commands/run_replay.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/commands/command_line.h"
#include "apps/exit_code.h"
#include "apps/input/file_text.h"
#include "apps/input/requests_file.h"
#include "apps/order_json.h"
#include "apps/replay/last_stored.h"
#include "apps/replay/order_check.h"
#include "apps/replay/progress.h"
#include "apps/replay/replay.h"
#include "apps/replay/report.h"
#include "apps/replay/run_record.h"
#include "apps/say.h"
#include "apps/signals.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/time_units.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds(SteadyClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// ---- Input ------------------------------------------------------------------------------------

struct Input {
  std::string file_hash;
  std::string vouchers_hash;
  ParsedRequests requests;
  std::vector<Voucher> vouchers;
};

/// Returns `file:line: reason` for each recorded line, and how many more there are.
std::string describe_bad_lines(const std::string& file, const ParsedRequests& requests) {
  std::string text;
  for (const BadLine& bad : requests.bad) {
    text += fmt::format("{}:{}: {}\n", file, bad.line, bad.reason);
  }
  if (requests.bad_count > requests.bad.size()) {
    text += fmt::format("and {} more malformed lines\n", requests.bad_count - requests.bad.size());
  }
  return text;
}

/// In real time, refuses rows that would be sent after days: their times have another unit or origin.
absl::Status check_times(const ReplayArguments& arguments, const ParsedRequests& requests) {
  constexpr std::int64_t kLongestMs = 7 * kDayMs;
  if (!arguments.real_time || requests.rows.empty()) return absl::OkStatus();
  const RequestRow& last = requests.rows.back();
  if (last.at_ms <= kLongestMs) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}:{}: at_ms {} is {} days, and --real-time allows {}. at_ms counts milliseconds "
      "from the start of the replay, not from 1970",
      arguments.requests.string(), last.line, last.at_ms, last.at_ms / kDayMs,
      kLongestMs / kDayMs));
}

absl::StatusOr<Input> read_input(const ReplayArguments& arguments) {
  ASSIGN_OR_RETURN(const auto requests, read_file(arguments.requests));
  ASSIGN_OR_RETURN(const auto vouchers, read_file(arguments.vouchers));
  Input input;
  input.file_hash = content_hash(requests);
  input.vouchers_hash = content_hash(vouchers);
  ASSIGN_OR_RETURN(input.vouchers, parse_vouchers(vouchers, arguments.vouchers.string()));
  input.requests = parse_requests(requests);
  RETURN_IF_ERROR(check_times(arguments, input.requests));
  if (input.requests.bad_count == 0) return input;
  const std::string bad = describe_bad_lines(arguments.requests.string(), input.requests);
  say("{}", bad);
  if (arguments.skip_bad) return input;
  return absl::InvalidArgumentError("malformed lines (--skip-bad skips them): nothing was sold");
}

// ---- The run ----------------------------------------------------------------------------------

class Run {
 public:
  Run(const ReplayArguments& arguments, const Input& input, FlashSale& sale)
      : arguments_(arguments), input_(input), sale_(sale), book_(sale.client(), input.file_hash) {}

  ReplayEnd run() {
    const absl::Status begun = begin();
    if (!begun.ok()) return {.exit_code = fail(begun)};
    if (record_.report) {
      say("this replay is already complete; nothing was bought\n");
      return {.exit_code = kExitOk, .report = record_.report};
    }
    const absl::Status prepared = prepare();
    if (!prepared.ok()) return {.exit_code = fail(prepared)};
    sell();
    store();
    Report report = make_report();
    const absl::Status kept = finish(report);
    progress_.clear();
    const int exit_code = verdict(report, kept);
    return {.exit_code = exit_code, .report = std::move(report)};
  }

 private:
  /// Loads the record of this replay, if there is one.
  absl::Status begin() {
    auto known = patiently(patience_, [this] { return book_.load(); });
    if (!known.ok()) return known.status();
    if (known->has_value()) record_ = **std::move(known);
    const bool is_new = record_.starts == 0;
    if (!is_new && record_.vouchers_hash != input_.vouchers_hash) {
      return absl::InvalidArgumentError(
          fmt::format("{} was started here with other vouchers than {}; use another directory",
                      arguments_.requests.string(), arguments_.vouchers.string()));
    }
    if (!is_new && !record_.report) {
      say("continuing an interrupted replay\n");
    }
    record_.vouchers_hash = input_.vouchers_hash;
    return absl::OkStatus();
  }

  absl::Status prepare() {
    for (const Voucher& voucher : input_.vouchers) {
      // Another process may be rebuilding it. An abandoned rebuild is taken over after a while.
      absl::Status published = patiently(patience_, [&] { return sale_.publish(voucher); });
      if (absl::IsFailedPrecondition(published)) {  // it would cut the stock below the orders
        return absl::InvalidArgumentError(published.message());
      }
      if (!published.ok()) return published;
    }
    RETURN_IF_ERROR(find_prices());
    std::int64_t stored = 0;
    for (const Voucher& voucher : input_.vouchers) {
      ASSIGN_OR_RETURN(const auto live, sale_.orders().count_live(voucher.id));
      stored += live;
    }
    if (record_.starts == 0) record_.orders_before = stored;
    // Below zero once more pieces were given back than sold.
    stored_by_earlier_starts_ = std::max<std::int64_t>(0, stored - record_.orders_before);
    ++record_.starts;
    const absl::Status kept = save_record();
    return kept.ok() ? patiently(patience_, [this] { return sale_.start_workers(); }) : kept;
  }

  /// Finds the prices that rows without an amount pay.
  absl::Status find_prices() {
    for (const RequestRow& row : input_.requests.rows) {
      if (row.event != RowEvent::kPay || prices_.contains(row.voucher)) continue;
      ASSIGN_OR_RETURN(const auto version, sale_.sale().voucher(row.voucher));
      prices_[row.voucher] = version.has_value() ? version->voucher.price_cents : 0;
    }
    return absl::OkStatus();
  }

  absl::Status save_record() {
    return patiently(patience_, [this] { return book_.save(record_); });
  }

  void sell() {
    ReplayOptions options;
    options.threads = arguments_.threads;
    options.queue = {.batch_max = arguments_.batch,
                     .real_time = arguments_.real_time,
                     .from_at_ms = record_.completed_up_to_ms};
    options.file_hash = input_.file_hash;
    options.price_cents = prices_;
    options.patience = patience_;
    if (arguments_.real_time && !input_.requests.rows.empty()) {
      say("in real time: the last request is due after {:.1f} s\n",
          static_cast<double>(input_.requests.rows.back().at_ms - record_.completed_up_to_ms) /
              1e3);
    }
    started_ = SteadyClock::now();
    last_stored_.emplace(sale_);
    Sale& sale = sale_.sale();
    Replay replay(
        input_.requests.rows, options,
        {.buy_all = [&](std::span<const BuyRequest> requests) { return sale.buy_all(requests); },
         .pay_all = [&](std::span<const PayRequest> requests) { return sale.pay_all(requests); },
         .cancel = [&](OrderId order) { return sale.cancel(order, "a row of the file"); }});
    while (!replay.ended()) {
      constexpr std::chrono::milliseconds kLook{5};
      std::this_thread::sleep_for(kLook);
      last_stored_->look();
      const absl::Status health = sale_.health();
      report_outage(health);
      show(replay, std::string(health.message()));
      keep_time(replay);
      if (interrupt_signal() != 0 || !(health.ok() || may_pass(health))) replay.stop();
    }
    result_ = replay.join();
    ended_ = SteadyClock::now();
    keep_time(replay, true);
  }

  /// Prints why the rows wait, once per outage.
  void report_outage(const absl::Status& health) {
    const bool was_away = std::exchange(is_away_, !health.ok());
    if (is_away_ && !was_away) say("waiting: {}\n", std::string(health.message()));
  }

  void show(const Replay& replay, const std::string& note) {
    shown_.completed = replay.completed();
    shown_.accepted = replay.accepted();
    shown_.rows = input_.requests.rows.size();
    show_stored(note);
  }

  void show_stored(const std::string& note) {
    shown_.stored = static_cast<std::size_t>(stored_by_earlier_starts_) + sale_.stored();
    shown_.note = note;
    progress_.show(shown_);
  }

  /// In real time, saves the position at which an interrupted replay continues. A row never counts
  /// twice, even if this is lost.
  void keep_time(const Replay& replay, bool now = false) {
    constexpr std::chrono::seconds kEvery{1};
    if (!arguments_.real_time || (!now && SteadyClock::now() < time_kept_ + kEvery)) return;
    time_kept_ = SteadyClock::now();
    record_.completed_up_to_ms = std::max(record_.completed_up_to_ms, replay.completed_up_to_ms());
    static_cast<void>(book_.save(record_));
  }

  /// Waits until every accepted order is stored. A keyspace that is still away after the patience of
  /// the selling is not awaited again.
  void store() {
    const absl::Status health = sale_.health();
    if (!health.ok() && !(may_pass(health) && result_.trouble.empty())) {
      note_trouble(std::string(health.message()));
    } else {
      const absl::Status drained = sale_.drain([this](const std::string& note) {
        last_stored_->look();
        show_stored(note);
      });
      if (!drained.ok()) note_trouble(std::string(drained.message()));
    }
    last_stored_->look();
    sale_.stop_workers();
  }

  void note_trouble(const std::string& trouble) {
    if (result_.trouble.empty()) result_.trouble = trouble;
    unstored_ = true;
  }

  Report make_report() {
    Report report;
    report.file = arguments_.requests.string();
    report.rows = input_.requests.rows.size();
    report.skipped_lines = input_.requests.bad_count;
    report.outcomes = result_.rows;
    report.pays = result_.pays;
    report.cancels = result_.cancels;
    report.starts = record_.starts;
    report.seconds = seconds(ended_ - started_);
    report.p50_ns = result_.latency.percentile(50);
    report.p99_ns = result_.latency.percentile(99);
    report.p999_ns = result_.latency.percentile(99.9);
    if (const auto when = last_stored_->when())
      report.last_stored_seconds = seconds(*when - started_);
    const absl::Status proven = unstored_ ? absl::OkStatus() : prove(report);
    if (!proven.ok()) note_trouble(std::string(proven.message()));
    if (!report.created) count_created(report);
    return report;
  }

  /// Counts orders in the database, for a report without an audit. The keyspace, and so the dead
  /// letters, may be unreachable.
  void count_created(Report& report) {
    const auto check = check_orders(result_.accepted, sale_.orders(), {});
    if (check.ok()) report.created = check->created;
  }

  absl::Status prove(Report& report) {
    auto audit = patiently(patience_, [this] { return sale_.audit(); });
    if (!audit.ok()) return audit.status();
    auto dead = patiently(patience_, [this] { return sale_.sale().dead_letters(); });
    if (!dead.ok()) return dead.status();
    const auto discarded =
        patiently(patience_, [this] { return sale_.sale().discarded_letters(); });
    if (!discarded.ok()) return discarded.status();
    for (const DiscardedLetter& one : *discarded) dead->push_back(one.letter);
    ASSIGN_OR_RETURN(auto check, check_orders(result_.accepted, sale_.orders(), *dead));
    report.created = check.created;
    report.dead = check.dead;
    for (std::string& problem : check.problems) {
      audit->problems.push_back(fmt::format("{}: {}", report.file, problem));
    }
    report.audit = *std::move(audit);
    return absl::OkStatus();
  }

  /// Saves the table of a completed replay for good.
  absl::Status finish(const Report& report) {
    if (!report.is_complete()) return absl::OkStatus();
    record_.report = report;
    RETURN_IF_ERROR(save_record());
    return patiently(patience_, [this] {
      const Reply synced = sale_.client().sync();
      return synced.is_error() ? absl::UnavailableError(synced.text()) : absl::OkStatus();
    });
  }

  int verdict(const Report& report, const absl::Status& kept) {
    const int signal = interrupt_signal();
    const std::string unfinished =
        fmt::format("{} of {} requests are done{}; run the same command to continue",
                    grouped(static_cast<std::int64_t>(report.completed())),
                    grouped(static_cast<std::int64_t>(report.rows)),
                    unstored_ ? "" : ", and all accepted orders are stored");
    if (report.audit && !report.audit->passed()) return kExitNegative;
    if (!result_.trouble.empty()) {
      say("rushgate: {}\n{}\n", result_.trouble, unfinished);
      return kExitFailure;
    }
    if (signal != 0 && report.completed() < report.rows) {
      say("interrupted: {}\n", unfinished);
      return kExitSignal + signal;
    }
    if (!kept.ok()) return fail(kept);
    if (signal != 0) {
      say("interrupted after the last request: everything is done\n");
    }
    return kExitOk;
  }

  const ReplayArguments& arguments_;
  const Input& input_;
  const Patience patience_ = arguments_.sale.patience;
  FlashSale& sale_;
  RunBook book_;
  RunRecord record_;
  Progress progress_;
  ProgressState shown_;
  std::map<VoucherId, std::int64_t> prices_;
  std::int64_t stored_by_earlier_starts_ = 0;
  SteadyClock::time_point started_;
  SteadyClock::time_point ended_;
  SteadyClock::time_point time_kept_;
  std::optional<LastStored> last_stored_;
  ReplayResult result_;
  bool is_away_ = false;   // the keyspace, at the last look
  bool unstored_ = false;  // orders may still be queued, or it is unknown
};

}  // namespace

ReplayEnd run_replay(const ReplayArguments& arguments) {
  const auto input = read_input(arguments);
  if (!input.ok()) return {.exit_code = fail(input.status())};
  SaleArguments options = arguments.sale;
  options.create = true;
  const auto sale = open_sale(options);
  if (!sale.ok()) return {.exit_code = fail(sale.status())};
  note_interrupts();
  absl::StatusOr<std::shared_ptr<const void>> companion;
  if (arguments.accompany) companion = arguments.accompany(**sale);
  if (arguments.accompany && !companion.ok()) return {.exit_code = fail(companion.status())};
  return Run(arguments, *input, **sale).run();
}

void print_report(const Report& report, bool json) {
  fmt::print("{}", json ? dump(to_json(report)) : format_report(report));
}

}  // namespace rushgate
