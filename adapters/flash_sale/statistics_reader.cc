#include "adapters/flash_sale/statistics_reader.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/info_value.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/stream/group_progress.h"
#include <rushgate/maybe_integer.h>
#include <rushgate/stream_id.h>

namespace rushgate {
namespace {

std::optional<std::uint64_t> info_number(std::string_view info, std::string_view field) {
  const auto number = parse_int64(info_value(info, field));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

/// Returns true if both of a server's ways to write to the disk worked last. Empty if it says nothing.
std::optional<bool> last_write_ok(std::string_view info) {
  const std::string_view log = info_value(info, "aof_last_write_status");
  const std::string_view snapshot = info_value(info, "rdb_last_bgsave_status");
  if (log.empty() && snapshot.empty()) return std::nullopt;
  return log != "err" && snapshot != "err";
}

/// Reads the reply to INFO.
KeyspaceStatistics read_info(std::string_view info) {
  KeyspaceStatistics keyspace{
      .is_embedded = !info_value(info, "rushgate_durability").empty(),
      .version = std::string(info_value(info, "redis_version")),
      .durability = std::string(info_value(info, "rushgate_durability")),
      .memory_bytes = info_number(info, "used_memory"),
      .memory_bytes_max = info_number(info, "maxmemory"),
      .clients = info_number(info, "connected_clients"),
      .commands = info_number(info, "total_commands_processed"),
      .stream_cache_bytes = info_number(info, "rushgate_stream_cache_bytes"),
      .commits = info_number(info, "rushgate_commits"),
      .syncs = info_number(info, "rushgate_syncs"),
      .flushes = info_number(info, "rushgate_store_flushes"),
      .compactions = info_number(info, "rushgate_store_compactions"),
      .stalls = info_number(info, "rushgate_store_stalls"),
  };
  if (keyspace.is_embedded) return keyspace;
  keyspace.evicted_keys = info_number(info, "evicted_keys");
  keyspace.delayed_syncs = info_number(info, "aof_delayed_fsync");
  keyspace.replicas = info_number(info, "connected_slaves");
  keyspace.last_write_ok = last_write_ok(info);
  return keyspace;
}

/// Adds the queue of a lane to those of others.
void add(const QueueStatistics& lane, std::optional<QueueStatistics>& sum) {
  if (!sum) {
    sum = lane;
    return;
  }
  sum->pending += lane.pending;
  const bool is_known = sum->waiting && lane.waiting;
  sum->waiting = is_known ? std::optional(*sum->waiting + *lane.waiting) : std::nullopt;
  sum->oldest_age_ms = std::max(sum->oldest_age_ms, lane.oldest_age_ms);
}

}  // namespace

StatisticsReader::StatisticsReader(Sale& sale, Backend& backend, Client& client,
                                   const SaleStores& stores, const SaleWorkers& workers)
    : sale_(sale),
      backend_(backend),
      client_(client),
      stores_(stores),
      workers_(workers),
      opened_at_ms_(backend.clock().now_ms()),
      counter_(stores.orders, counting_clock_, {.share = 100, .quick_ms = 0}) {}

SaleStatistics StatisticsReader::read() {
  SaleStatistics statistics{.at_ms = backend_.clock().now_ms(), .opened_at_ms = opened_at_ms_};
  statistics.purchases = sale_.purchases();
  statistics.workers = workers_.statistics();
  const absl::Status health = backend_.health();
  statistics.fault = std::string(health.message());
  // An engine that refuses writes can still be read, and some masters of a cluster. Requests to a server
  // that is away would wait.
  const Capabilities capabilities = backend_.capabilities();
  if (health.ok() || capabilities.runs_native_scripts || capabilities.has_slots) {
    read_keyspace(statistics);
  }
  statistics.orders = read_orders();
  return statistics;
}

void StatisticsReader::read_keyspace(SaleStatistics& statistics) {
  const Reply info = client_("INFO");
  if (info.is_text()) statistics.keyspace = read_info(info.text());
  for (const SaleLane& lane : sale_.lanes()) {
    if (const auto queue = read_queue(lane.keys, statistics.at_ms); queue.ok()) {
      add(*queue, statistics.queue);
    }
    const Reply letters = client_("XLEN", lane.keys.dead_letters());
    if (letters.is_integer()) {
      statistics.dead_letters = statistics.dead_letters.value_or(0) + letters.integer();
    }
  }
  read_vouchers(statistics);
}

absl::StatusOr<QueueStatistics> StatisticsReader::read_queue(const SaleKeys& keys,
                                                             std::int64_t now_ms) {
  constexpr std::string_view kDoing = "looking at the order stream";
  ASSIGN_OR_RETURN(const auto progress, read_stream_progress(client_, keys));
  ASSIGN_OR_RETURN(const auto group, read_group_progress(client_, keys));
  QueueStatistics queue{.pending = group.pending, .waiting = group.lag};
  if (group.last_delivered == StreamId{}) {  // no worker has ever read
    const Reply entries = client_("XLEN", keys.order_stream);
    if (entries.is_integer()) queue.waiting = entries.integer();
  }
  const Reply oldest = client_("XRANGE", keys.order_stream,
                               '(' + progress.acknowledged_to.to_string(), "+", "COUNT", 1);
  if (!oldest.is_aggregate()) return to_status(oldest, kDoing);
  if (oldest.elements().empty()) {
    queue.waiting = 0;
    return queue;
  }
  const std::vector<Reply>& entry = oldest.elements()[0].elements();
  const auto id = entry.empty() ? std::nullopt : StreamId::parse(entry[0].text());
  if (!id) return to_status(oldest, kDoing);
  queue.oldest_age_ms = std::max<std::int64_t>(0, now_ms - static_cast<std::int64_t>(id->ms));
  return queue;
}

void StatisticsReader::read_vouchers(SaleStatistics& statistics) {
  const auto versions = stores_.vouchers.all_applied();
  if (!versions.ok()) return;
  const auto& counted = statistics.purchases.vouchers;
  const auto is_on_sale = [&](const VoucherVersion& version) {
    return version.voucher.begin_ms <= statistics.at_ms &&
           statistics.at_ms < version.voucher.end_ms;
  };
  std::vector<const VoucherVersion*> shown;
  for (const VoucherVersion& version : *versions) {
    if (counted.contains(version.voucher.id)) shown.push_back(&version);
  }
  std::size_t on_sale = 0;
  for (const VoucherVersion& version : *versions) {
    if (!is_on_sale(version)) continue;
    ++on_sale;
    const bool has_room = shown.size() < PurchaseStatistics::kVouchersMax;
    if (has_room && !counted.contains(version.voucher.id)) shown.push_back(&version);
  }
  std::ranges::sort(shown, {}, [](const VoucherVersion* version) { return version->voucher.id; });
  LanesAway away;
  for (const VoucherVersion* const version : shown) {
    if (auto summary = read_voucher(*version, away)) {
      statistics.vouchers.push_back(*std::move(summary));
    }
  }
  statistics.vouchers_published = versions->size();
  statistics.vouchers_on_sale = on_sale;
}

/// Returns a voucher without its stock if the server of its lanes is away; nothing if it has just been
/// removed.
std::optional<VoucherSummary> StatisticsReader::read_voucher(const VoucherVersion& version,
                                                             LanesAway& away) {
  const Voucher& voucher = version.voucher;
  const auto lane = sale_.lane_of(voucher.id);
  const std::pair lanes(lane.ok() ? lane->number : 0, voucher.lanes);
  if (!away.contains(lanes)) {
    auto summary = sale_.summary(voucher.id);
    if (summary.ok()) return *std::move(summary);
    if (absl::IsUnavailable(summary.status())) away.insert(lanes);
  }
  return VoucherSummary{.voucher = voucher, .version = version.version};
}

std::optional<OrderStatistics> StatisticsReader::read_orders() {
  const auto counted = counter_.count(std::nullopt);
  if (!counted.ok()) return std::nullopt;
  return OrderStatistics{.by_status = counted->by_status, .age_ms = counted->age_ms};
}

}  // namespace rushgate
