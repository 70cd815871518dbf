#include "adapters/metrics/metric_families.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "adapters/flash_sale/statistics_json.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/process_info.h"
#include <rushgate/engine.h>

namespace rushgate {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr double kMsPerSecond = 1e3;
constexpr double kUsPerSecond = 1e6;
constexpr double kNsPerSecond = 1e9;

// ---- Adding -----------------------------------------------------------------------------------

/// A family under construction. Its values are its samples.
class Family {
 public:
  Family(MetricFamilies& families, MetricType type, std::string name, std::string help)
      : families_(families) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }
  /// Adds it, unless it has no sample.
  ~Family() {
    if (!family_.metric.empty()) families_.push_back(std::move(family_));
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  template <class Number>
  Family& add(Number value, Labels labels = {}) {
    ClientMetric& metric = next(std::move(labels));
    metric.counter.value = metric.gauge.value = static_cast<double>(value);
    return *this;
  }
  template <class Number>
  Family& add(const std::optional<Number>& value, Labels labels = {}) {
    return value ? add(*value, std::move(labels)) : *this;
  }
  Family& add(const LatencyFigures& latency, Labels labels = {}) {
    ClientMetric::Histogram& histogram = next(std::move(labels)).histogram;
    histogram.sample_count = latency.count;
    histogram.sample_sum = latency.sum_s;
    for (std::size_t i = 0; i < latency.within.size(); ++i) {
      const auto bound_ns = static_cast<double>(LatencyFigures::kBoundsNs[i]);
      histogram.bucket.push_back({latency.within[i], bound_ns / kNsPerSecond});
    }
    return *this;
  }

 private:
  ClientMetric& next(Labels labels) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  MetricFamilies& families_;
  MetricFamily family_;
};

Family counter(MetricFamilies& families, std::string name, std::string help) {
  return {families, MetricType::Counter, std::move(name), std::move(help)};
}
Family gauge(MetricFamilies& families, std::string name, std::string help) {
  return {families, MetricType::Gauge, std::move(name), std::move(help)};
}
Family histogram(MetricFamilies& families, std::string name, std::string help) {
  return {families, MetricType::Histogram, std::move(name), std::move(help)};
}

// ---- The sale ---------------------------------------------------------------------------------

void add_purchases(const PurchaseStatistics& purchases, MetricFamilies& families) {
  Family family = counter(families, "rushgate_purchases_total",
                          "Requests to buy, by voucher and outcome. The vouchers beyond the first "
                          "100 share the label other.");
  const auto add = [&family](const std::string& voucher, const PurchaseCounts& counts) {
    for (const Outcome outcome : kPurchaseOutcomes) {
      const std::uint64_t count = counts.of(outcome);
      if (count == 0 && outcome != Outcome::kAccepted) continue;
      family.add(count, {{"voucher", voucher}, {"outcome", outcome_label(outcome)}});
    }
    if (counts.repeated > 0) {
      family.add(counts.repeated, {{"voucher", voucher}, {"outcome", "repeated"}});
    }
  };
  for (const auto& [voucher, counts] : purchases.vouchers) add(std::to_string(voucher), counts);
  add("other", purchases.others);
}

void add_vouchers(const SaleStatistics& statistics, MetricFamilies& families) {
  if (statistics.vouchers_published) {
    const std::size_t on_sale = statistics.vouchers_on_sale.value_or(0);
    gauge(families, "rushgate_vouchers", "Published vouchers that are not archived.")
        .add(on_sale, {{"state", "on_sale"}})
        .add(*statistics.vouchers_published - on_sale, {{"state", "off_sale"}});
  }
  Family free = gauge(families, "rushgate_voucher_free_pieces", "Pieces that can be bought.");
  Family stock =
      gauge(families, "rushgate_voucher_published_pieces", "Pieces that were published.");
  Family on_sale = gauge(families, "rushgate_voucher_on_sale",
                         "1 between the beginning and the end of the sale.");
  for (const VoucherSummary& summary : statistics.vouchers) {
    const Voucher& voucher = summary.voucher;
    const Labels labels = {{"voucher", std::to_string(voucher.id)}};
    free.add(summary.free, labels);
    stock.add(voucher.stock, labels);
    on_sale.add(voucher.begin_ms <= statistics.at_ms && statistics.at_ms < voucher.end_ms ? 1 : 0,
                labels);
  }
}

void add_orders(const SaleStatistics& statistics, MetricFamilies& families) {
  if (const auto& queue = statistics.queue) {
    gauge(families, "rushgate_queue_entries",
          "Accepted orders, payments and cancellations that are not stored yet: waiting for a "
          "worker, or pending with one.")
        .add(queue->waiting, {{"state", "waiting"}})
        .add(queue->pending, {{"state", "pending"}});
    gauge(families, "rushgate_queue_oldest_age_seconds",
          "Time since the oldest of them was accepted.")
        .add(static_cast<double>(queue->oldest_age_ms) / kMsPerSecond);
  }
  gauge(families, "rushgate_dead_letters", "Orders that could not be stored.")
      .add(statistics.dead_letters);
  if (const auto& orders = statistics.orders) {
    Family by_state = gauge(families, "rushgate_orders", "Stored orders that are not archived.");
    for (std::size_t i = 0; i < kOrderStatuses.size(); ++i) {
      by_state.add(orders->by_status[i],
                   {{"state", std::string(order_status_name(kOrderStatuses[i]))}});
    }
    gauge(families, "rushgate_orders_age_seconds",
          "Time since rushgate_orders was counted. Counting may take a hundredth of the time.")
        .add(static_cast<double>(orders->age_ms) / kMsPerSecond);
  }
}

void add_workers(const WorkerStatistics& workers, MetricFamilies& families) {
  gauge(families, "rushgate_workers", "Threads that store orders.").add(workers.running);
  gauge(families, "rushgate_workers_paused", "Workers that make no progress.")
      .add(workers.pause_reasons.size());
  Family reasons = gauge(families, "rushgate_worker_pause_info", "Why workers make no progress.");
  std::vector<std::string> met;
  for (const std::string& reason : workers.pause_reasons) {
    if (std::ranges::find(met, reason) != met.end()) continue;
    met.push_back(reason);
    reasons.add(1, {{"reason", label_text(reason)}});
  }
  const WorkerCounts& counts = workers.counts;
  counter(families, "rushgate_worker_batches_total", "Batches in which something was done.")
      .add(counts.batches);
  counter(families, "rushgate_worker_pauses_total", "Batches that ended in a pause.")
      .add(counts.pauses);
  counter(families, "rushgate_worker_results_total",
          "What became of entries of the order stream. The result changed counts payments and "
          "cancellations, faulted those that are tried again, restored those that the keyspace had "
          "lost, lost those that were deleted from the stream.")
      .add(counts.stored, {{"result", "stored"}})
      .add(counts.changed, {{"result", "changed"}})
      .add(counts.expired, {{"result", "expired"}})
      .add(counts.buried, {{"result", "dead_letter"}})
      .add(counts.restored, {{"result", "restored"}})
      .add(counts.faulted, {{"result", "faulted"}})
      .add(counts.lost, {{"result", "lost"}});
}

void add_keyspace(const KeyspaceStatistics& keyspace, MetricFamilies& families) {
  gauge(families, "rushgate_keyspace_info", "The kind of the keyspace.")
      .add(1, {{"kind", keyspace.is_embedded ? "embedded" : "redis"},
               {"redis_version", keyspace.version},
               {"durability", keyspace.durability}});
  gauge(families, "rushgate_keyspace_memory_bytes", "Memory of the keyspace.")
      .add(keyspace.memory_bytes);
  gauge(families, "rushgate_keyspace_memory_limit_bytes", "Its bound; 0 for none.")
      .add(keyspace.memory_bytes_max);
  gauge(families, "rushgate_keyspace_stream_cache_bytes", "Memory of cached parts of streams.")
      .add(keyspace.stream_cache_bytes);
  gauge(families, "rushgate_keyspace_sessions", "Open sessions, or connections of a server.")
      .add(keyspace.clients);
  counter(families, "rushgate_keyspace_commands_total", "Commands executed.")
      .add(keyspace.commands);
  counter(families, "rushgate_keyspace_commits_total",
          "Batches of requests that changed something.")
      .add(keyspace.commits);
  counter(families, "rushgate_keyspace_fsyncs_total", "Fsyncs of the keyspace's log.")
      .add(keyspace.syncs);
  counter(families, "rushgate_rocksdb_flushes_total", "Memory tables written to files.")
      .add(keyspace.flushes);
  counter(families, "rushgate_rocksdb_compactions_total", "Files merged into fewer.")
      .add(keyspace.compactions);
  counter(families, "rushgate_rocksdb_stalls_total",
          "Times that commits began to wait for flushes or compactions.")
      .add(keyspace.stalls);
  counter(families, "rushgate_redis_evicted_keys_total",
          "Keys that the server removed for want of memory. Each may break the sale.")
      .add(keyspace.evicted_keys);
  counter(families, "rushgate_redis_delayed_fsyncs_total",
          "Writes of the server's append-only file that waited for its disk.")
      .add(keyspace.delayed_syncs);
  gauge(families, "rushgate_redis_replicas", "Connected replicas of the server.")
      .add(keyspace.replicas);
  gauge(families, "rushgate_redis_last_write_ok",
        "0 if the server's last write of its append-only file or snapshot failed.")
      .add(keyspace.last_write_ok);
}

}  // namespace

void add_families(const SaleStatistics& statistics, MetricFamilies& families) {
  gauge(families, "rushgate_build_info", "The version of Rushgate.")
      .add(1, {{"version", std::string(Engine::version())}});
  gauge(families, "rushgate_opened_timestamp_seconds", "When this process opened the sale.")
      .add(static_cast<double>(statistics.opened_at_ms) / kMsPerSecond);
  gauge(families, "rushgate_keyspace_up", "0 while the keyspace refuses writes or is away.")
      .add(statistics.fault.empty() ? 1 : 0);
  add_purchases(statistics.purchases, families);
  histogram(families, "rushgate_purchase_duration_seconds",
            "How long one request in 64 took in the process, from the call to its return.")
      .add(statistics.purchases.latency);
  add_vouchers(statistics, families);
  add_orders(statistics, families);
  add_workers(statistics.workers, families);
  if (statistics.keyspace) add_keyspace(*statistics.keyspace, families);
}

// ---- The HTTP server --------------------------------------------------------------------------

void add_families(const HttpFigures& figures, MetricFamilies& families) {
  gauge(families, "rushgate_http_connections", "Open connections of the HTTP server.")
      .add(figures.connections);
  gauge(families, "rushgate_http_event_streams", "Clients that receive events.")
      .add(figures.event_streams);
  counter(families, "rushgate_http_refused_connections_total",
          "Connections that were refused for their number.")
      .add(figures.refused_connections);
  Family requests = counter(families, "rushgate_http_requests_total",
                            "Replies by route and by the class of their status.");
  for (const HttpFigures::Route& route : figures.routes) {
    for (std::size_t digit = 0; digit < route.replies.size(); ++digit) {
      if (route.replies[digit] == 0) continue;
      requests.add(route.replies[digit], {{"method", std::string(route.method)},
                                          {"route", std::string(route.path)},
                                          {"status", concat(digit, "xx")}});
    }
  }
  Family waiting =
      gauge(families, "rushgate_http_waiting_requests", "Requests that wait for a thread.");
  Family latency = histogram(families, "rushgate_http_request_duration_seconds",
                             "Time from the end of a request to the beginning of its reply.");
  for (const HttpFigures::Lane& lane : figures.lanes) {
    const Labels labels = {{"lane", std::string(lane.name)}};
    waiting.add(lane.waiting, labels);
    latency.add(lane.latency, labels);
  }
}

void add_process_families(MetricFamilies& families) {
  const CpuTimes cpu = cpu_of_process();
  counter(families, "process_cpu_seconds_total", "Processor time of the process.")
      .add(static_cast<double>(cpu.system_us + cpu.user_us) / kUsPerSecond);
  gauge(families, "process_resident_memory_bytes", "Resident memory of the process.")
      .add(resident_bytes());
}

std::string format_families(const MetricFamilies& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace rushgate
