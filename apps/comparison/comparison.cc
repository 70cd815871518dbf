#include "apps/comparison/comparison.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "apps/comparison/shared_memory.h"
#include "apps/signals.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/open_backend.h>

namespace rushgate::comparison {
namespace {

namespace fs = std::filesystem;
using strategies::Fault;
using strategies::Forced;
using strategies::ScheduleKind;
using strategies::StrategyKind;

/// Returns the schedules of the rushes, without the one that is killed. Two processes cannot share
/// an embedded keyspace.
std::vector<Forced> schedules_of(const StrategyKind& kind, const ComparisonOptions& options) {
  const bool is_in_process = kind.has_keyspace && options.redis_url.empty();
  std::vector<Forced> schedules = {{.schedule = ScheduleKind::kFree, .is_fault = false}};
  for (const Forced& forced : kind.forced) {
    const bool is_possible = !is_in_process || strategies::processes_of(forced.schedule) == 1;
    if (is_possible) schedules.push_back(forced);
  }
  return schedules;
}

/// Counts the faults. `promised` holds the replies to the users, to compare with the order file.
std::map<Fault, std::int64_t> find_faults(const std::map<std::int64_t, std::int64_t>& promised,
                                          const strategies::OrderCounts& counts,
                                          const JobResult& result, std::int64_t stock) {
  std::map<Fault, std::int64_t> faults = {{Fault::kDoubled, 0}, {Fault::kLost, 0}};
  faults[Fault::kOversold] = std::max<std::int64_t>(0, counts.orders - stock);
  // A lost update can leave stock whose orders exist. What is left at the end without an order was there at
  // each click that was refused for lack of stock.
  const std::int64_t unordered = std::min(result.stock_left, stock - counts.orders);
  faults[Fault::kUnsold] = result.sold_out > 0 ? std::max<std::int64_t>(0, unordered) : 0;
  faults[Fault::kTurnedAway] =
      result.turned_away + (faults[Fault::kUnsold] > 0 ? result.sold_out : 0);
  for (const auto& [user, orders] : counts.by_user) faults[Fault::kDoubled] += orders - 1;
  for (const auto& [user, promises] : promised) {
    const auto found = counts.by_user.find(user);
    const std::int64_t orders = found == counts.by_user.end() ? 0 : found->second;
    faults[Fault::kLost] += std::max<std::int64_t>(0, promises - orders);
  }
  const std::int64_t taken = stock - result.stock_left;
  faults[Fault::kLeftBehind] = std::max<std::int64_t>(0, taken - counts.orders);
  return faults;
}

std::string describe_end(const std::string& fault) {
  return "the selling process ended with " + (fault.empty() ? "exit code 0" : fault);
}

/// Returns the rest of `line` if it begins with `word`.
std::optional<std::string> after(std::string_view word, const std::string& line) {
  if (!line.starts_with(word)) return std::nullopt;
  return line.substr(word.size());
}

/// A directory for one rush, removed with this object.
class RushDirectory {
 public:
  static absl::StatusOr<RushDirectory> make(const fs::path& path) {
    RETURN_IF_ERROR(make_directory(path));
    return RushDirectory(path);
  }
  RushDirectory(RushDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  RushDirectory& operator=(RushDirectory&&) = delete;
  ~RushDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

 private:
  explicit RushDirectory(fs::path path) : path_(std::move(path)) {}

  fs::path path_;
};

}  // namespace

// ---- Results ----------------------------------------------------------------------------------

std::int64_t StrategyResult::worst(Fault fault) const {
  std::int64_t worst = 0;
  for (const RushResult& rush : rushes) {
    const auto found = rush.faults.find(fault);
    if (found != rush.faults.end()) worst = std::max(worst, found->second);
  }
  return worst;
}

std::vector<ScheduleKind> StrategyResult::forced() const {
  std::vector<ScheduleKind> forced;
  for (const RushResult& rush : rushes) {
    if (rush.schedule != ScheduleKind::kFree) forced.push_back(rush.schedule);
  }
  return forced;
}

double StrategyResult::rate() const {
  const RushResult& unforced = rushes.front();
  return unforced.seconds > 0 ? static_cast<double>(unforced.served) / unforced.seconds : 0;
}

bool is_unsafe(Fault fault) { return fault != Fault::kTurnedAway; }

bool is_safe(const StrategyKind& kind) {
  return std::none_of(kind.faults.begin(), kind.faults.end(), is_unsafe);
}

// ---- Runs -------------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Comparison>> Comparison::open(
    const ComparisonOptions& options, std::vector<const StrategyKind*> kinds) {
  std::unique_ptr<Comparison> comparison(new Comparison(options, std::move(kinds)));
  if (!options.redis_url.empty()) {
    auto redis = open_backend(options.redis_url, {.client_name = "rushgate-strategies"});
    if (!redis.ok()) return redis.status();
    comparison->redis_ = *std::move(redis);
  }
  return comparison;
}

absl::StatusOr<std::vector<StrategyResult>> Comparison::run(ShowProgress show) {
  for (const StrategyKind* const kind : kinds_) {
    const std::size_t rushes = schedules_of(*kind, options_).size() + 1;
    progress_.clicks += rushes * static_cast<std::size_t>(2 * options_.users);
  }
  std::vector<StrategyResult> results;
  for (const StrategyKind* const kind : kinds_) {
    StrategyResult result{.kind = kind};
    for (const Forced& forced : schedules_of(*kind, options_)) {
      const bool is_free = forced.schedule == ScheduleKind::kFree;
      ASSIGN_OR_RETURN(auto rushed,
                       rush(*kind, forced, false, is_free ? "as it comes" : "forced", show));
      result.rushes.push_back(std::move(rushed));
    }
    auto killed = rush(*kind, {.schedule = ScheduleKind::kFree, .is_fault = false}, true,
                       "killed half-way", show);
    if (!killed.ok()) return killed.status();
    result.rushes.push_back(*std::move(killed));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<RushResult> Comparison::rush(const StrategyKind& kind, Forced forced, bool kill,
                                            const std::string& doing, ShowProgress show) {
  // It is unique. It has a hash tag, which the keys that recipes derive from it contain.
  prefix_ = fmt::format("{{rushgate:strategies:{}}}:", random_name());
  const std::size_t served_before = progress_.served;
  progress_.doing = fmt::format("{}: {}, {}", kind.letter, kind.name, doing);
  show(progress_);
  Job job{.strategy = std::string(kind.letter),
          .dir = options_.dir / fmt::format("{}-{}", kind.letter, random_name()),
          .keyspace_url = options_.redis_url,
          .prefix = prefix_,
          .users = options_.users,
          .stock = options_.stock,
          .threads = options_.threads,
          .seed = options_.seed,
          .schedule = forced.schedule,
          .will_happen = forced.is_fault,
          .publish = true};
  if (kill) job.kill_after = std::min(options_.stock, options_.users) / 2;
  ASSIGN_OR_RETURN([[maybe_unused]] const auto directory, RushDirectory::make(job.dir));

  auto sold = sell(job, show);
  absl::Status failed = sold.status();
  if (sold.ok() && sold->reached_half) {
    Job restart = job;
    restart.users = 0;
    restart.publish = false;
    restart.kill_after = 0;
    const auto finished = sell(restart, show);
    failed = finished.status();
    if (finished.ok()) sold->result.stock_left = finished->result.stock_left;
  }
  const absl::Status removed = remove_keys();
  if (!failed.ok()) return failed;
  if (!removed.ok()) return removed;
  if (kill && !sold->reached_half) {
    return absl::InternalError(
        fmt::format("strategy {}: the rush ended before the kill", kind.letter));
  }

  const strategies::OrderCounts counts = strategies::count_orders(job.dir);
  RushResult result{.schedule = forced.schedule,
                    .was_killed = sold->reached_half,
                    .served = sold->result.served,
                    .seconds = sold->result.seconds,
                    .p50_ns = sold->result.p50_ns,
                    .p99_ns = sold->result.p99_ns,
                    .orders = counts.orders,
                    .faults = find_faults(sold->promised, counts, sold->result, options_.stock)};
  for (const auto& [user, promises] : sold->promised) result.accepted += promises;
  progress_.served = served_before + static_cast<std::size_t>(2 * options_.users);
  show(progress_);
  return result;
}

absl::StatusOr<Comparison::Sold> Comparison::sell(const Job& first, ShowProgress show) {
  const int processes = strategies::processes_of(first.schedule);
  std::optional<SharedMemory> memory;
  Job job = first;
  job.parts = processes;
  if (first.schedule != ScheduleKind::kFree) {
    memory.emplace(strategies::SharedCounts::size(first.users));
    job.shared_fd = memory->fd();
  }
  Sold sold;
  const auto failure = [&] {
    return absl::InternalError(fmt::format("strategy {}: {}", first.strategy, sold.error));
  };
  std::vector<std::unique_ptr<Child>> children;
  for (; job.part < processes; ++job.part) {
    children.push_back(std::make_unique<Child>(job));
    // Later processes find the voucher published.
    bool is_ready = false;
    while (!is_ready) {
      const bool goes_on = children.back()->read([&](const std::string& line) {
        is_ready = is_ready || line == kReadyLine;
        if (const auto error = after(kErrorWord, line)) sold.note_error(*error);
      });
      if (!goes_on) break;
    }
    if (!is_ready) {
      if (sold.error.empty()) sold.note_error(describe_end(children.back()->wait()));
      return failure();
    }
    job.publish = false;
  }
  for (const auto& child : children) child->begin();
  RETURN_IF_ERROR(listen(children, sold, show));
  if (!sold.error.empty()) return failure();
  for (const auto& child : children) {
    const std::string fault = child->wait();
    if (fault.empty() || sold.reached_half) continue;
    sold.note_error(describe_end(fault));
    return failure();
  }
  return sold;
}

absl::Status Comparison::listen(std::vector<std::unique_ptr<Child>>& children, Sold& sold,
                                ShowProgress show) {
  constexpr int kLookMs = 100;
  const std::size_t served_before = progress_.served;
  std::vector<std::size_t> served(children.size(), 0);
  std::vector<pollfd> outputs;
  for (const auto& child : children) outputs.push_back({child->output(), POLLIN, 0});
  const auto take = [&](std::size_t number, const std::string& line) {
    if (const auto user = after(kAcceptedWord, line)) {
      ++sold.promised[std::stoll(*user)];
    } else if (const auto count = after(kServedWord, line)) {
      served[number] = std::max(served[number], static_cast<std::size_t>(std::stoull(*count)));
    } else if (const auto end = after(kEndWord, line)) {
      const JobResult result = JobResult::from_line(*end);
      sold.result.served += result.served;
      sold.result.turned_away += result.turned_away;
      sold.result.sold_out += result.sold_out;
      sold.result.seconds = std::max(sold.result.seconds, result.seconds);
      sold.result.p50_ns = std::max(sold.result.p50_ns, result.p50_ns);
      sold.result.p99_ns = std::max(sold.result.p99_ns, result.p99_ns);
      sold.result.stock_left = result.stock_left;
    } else if (const auto error = after(kErrorWord, line)) {
      sold.note_error(*error);
    } else if (line == kHalfLine && !sold.reached_half) {
      sold.reached_half = true;
      children[number]->kill();
    }
  };
  for (std::size_t open = children.size(); open > 0;) {
    ::poll(outputs.data(), outputs.size(), kLookMs);
    if (interrupt_signal() != 0) return absl::CancelledError("interrupted");
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (outputs[i].fd < 0 || outputs[i].revents == 0) continue;
      if (children[i]->read([&](const std::string& line) { take(i, line); })) continue;
      outputs[i].fd = -1;  // poll() skips it
      --open;
    }
    progress_.served = served_before;
    for (const std::size_t count : served) progress_.served += count;
    show(progress_);
  }
  return absl::OkStatus();
}

absl::Status Comparison::remove_keys() {
  if (redis_ == nullptr) return absl::OkStatus();
  const auto client = redis_->open_client();
  std::string cursor = "0";
  do {
    const Reply page = (*client)("SCAN", cursor, "MATCH", "*" + prefix_ + "*", "COUNT", 1'000);
    if (page.is_error()) return absl::UnavailableError(page.text());
    cursor = page.elements()[0].text();
    for (const Reply& key : page.elements()[1].elements()) {
      const Reply removed = (*client)("UNLINK", key.text());
      if (removed.is_error()) return absl::UnavailableError(removed.text());
    }
  } while (cursor != "0");
  return absl::OkStatus();
}

}  // namespace rushgate::comparison
