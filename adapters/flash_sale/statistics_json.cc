#include "adapters/flash_sale/statistics_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "adapters/flash_sale/json_text.h"
#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/utc_time.h"

namespace rushgate {
namespace {

template <class Value>
nlohmann::ordered_json optional_json(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json counts_json(const PurchaseCounts& counts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Outcome outcome : kPurchaseOutcomes) json[outcome_label(outcome)] = counts.of(outcome);
  json["repeated"] = counts.repeated;
  return json;
}

void add_counts(const PurchaseCounts& more, PurchaseCounts& to) {
  for (std::size_t i = 0; i < to.outcomes.size(); ++i) to.outcomes[i] += more.outcomes[i];
  to.repeated += more.repeated;
}

nlohmann::ordered_json purchases_json(const PurchaseStatistics& purchases) {
  PurchaseCounts all = purchases.others;
  nlohmann::ordered_json vouchers = nlohmann::ordered_json::array();
  for (const auto& [voucher, counts] : purchases.vouchers) {
    add_counts(counts, all);
    nlohmann::ordered_json json = counts_json(counts);
    json["voucher"] = number_json(voucher);
    vouchers.push_back(std::move(json));
  }
  return {{"all", counts_json(all)},
          {"vouchers", std::move(vouchers)},
          {"others", counts_json(purchases.others)},
          {"latency", to_json(purchases.latency)}};
}

nlohmann::ordered_json vouchers_json(const SaleStatistics& statistics) {
  nlohmann::ordered_json shown = nlohmann::ordered_json::array();
  for (const VoucherSummary& summary : statistics.vouchers) shown.push_back(to_json(summary));
  return {{"published", optional_json(statistics.vouchers_published)},
          {"on_sale", optional_json(statistics.vouchers_on_sale)},
          {"shown", std::move(shown)}};
}

nlohmann::ordered_json queue_json(const std::optional<QueueStatistics>& queue) {
  if (!queue) return nullptr;
  return {{"waiting", optional_json(queue->waiting)},
          {"pending", queue->pending},
          {"oldest_age_ms", queue->oldest_age_ms}};
}

nlohmann::ordered_json orders_json(const std::optional<OrderStatistics>& orders) {
  if (!orders) return nullptr;
  nlohmann::ordered_json json = {{"age_ms", orders->age_ms}};
  for (std::size_t i = 0; i < kOrderStatuses.size(); ++i) {
    json[std::string(order_status_name(kOrderStatuses[i]))] = orders->by_status[i];
  }
  return json;
}

nlohmann::ordered_json workers_json(const WorkerStatistics& workers) {
  nlohmann::ordered_json reasons = nlohmann::ordered_json::array();
  for (const std::string& reason : workers.pause_reasons) reasons.push_back(label_text(reason));
  const WorkerCounts& counts = workers.counts;
  return {{"running", workers.running},  {"pause_reasons", std::move(reasons)},
          {"batches", counts.batches},   {"pauses", counts.pauses},
          {"stored", counts.stored},     {"changed", counts.changed},
          {"expired", counts.expired},   {"dead_letters", counts.buried},
          {"restored", counts.restored}, {"faulted", counts.faulted},
          {"lost", counts.lost}};
}

nlohmann::ordered_json keyspace_json(const std::optional<KeyspaceStatistics>& keyspace) {
  if (!keyspace) return nullptr;
  return {{"kind", keyspace->is_embedded ? "embedded" : "redis"},
          {"redis_version", keyspace->version},
          {"durability", keyspace->durability},
          {"memory_bytes", optional_json(keyspace->memory_bytes)},
          {"memory_bytes_max", optional_json(keyspace->memory_bytes_max)},
          {"stream_cache_bytes", optional_json(keyspace->stream_cache_bytes)},
          {"sessions", optional_json(keyspace->clients)},
          {"commands", optional_json(keyspace->commands)},
          {"commits", optional_json(keyspace->commits)},
          {"fsyncs", optional_json(keyspace->syncs)},
          {"flushes", optional_json(keyspace->flushes)},
          {"compactions", optional_json(keyspace->compactions)},
          {"stalls", optional_json(keyspace->stalls)},
          {"evicted_keys", optional_json(keyspace->evicted_keys)},
          {"delayed_fsyncs", optional_json(keyspace->delayed_syncs)},
          {"replicas", optional_json(keyspace->replicas)},
          {"last_write_ok", optional_json(keyspace->last_write_ok)}};
}

}  // namespace

std::string outcome_label(Outcome outcome) {
  std::string label(outcome_name(outcome));
  std::ranges::replace(label, ' ', '_');
  return label;
}

std::string label_text(std::string_view text) {
  constexpr std::size_t kBytesMax = 200;
  // dump() replaces bytes that are no UTF-8.
  const std::string quoted =
      nlohmann::ordered_json(text.substr(0, kBytesMax))
          .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::ignore);
  return parse_trusted_json(quoted).get<std::string>();
}

nlohmann::ordered_json to_json(const LatencyFigures& latency) {
  nlohmann::ordered_json within = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < latency.within.size(); ++i) {
    within.push_back({{"ns", LatencyFigures::kBoundsNs[i]}, {"count", latency.within[i]}});
  }
  const LatencyFigures::Recent& recent = latency.recent;
  return {{"count", latency.count},
          {"sum_s", latency.sum_s},
          {"within", std::move(within)},
          {"recent",
           {{"count", recent.count},
            {"p50_ns", recent.p50_ns},
            {"p90_ns", recent.p90_ns},
            {"p99_ns", recent.p99_ns},
            {"p999_ns", recent.p999_ns}}}};
}

nlohmann::ordered_json to_json(const SaleStatistics& statistics) {
  return {
      {"at", format_utc(statistics.at_ms)},
      {"opened_at", format_utc(statistics.opened_at_ms)},
      {"fault", statistics.fault.empty() ? nlohmann::ordered_json(nullptr)
                                         : nlohmann::ordered_json(label_text(statistics.fault))},
      {"purchases", purchases_json(statistics.purchases)},
      {"vouchers", vouchers_json(statistics)},
      {"queue", queue_json(statistics.queue)},
      {"dead_letters", optional_json(statistics.dead_letters)},
      {"orders", orders_json(statistics.orders)},
      {"workers", workers_json(statistics.workers)},
      {"keyspace", keyspace_json(statistics.keyspace)}};
}

}  // namespace rushgate
