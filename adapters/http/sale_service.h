// The sale behind the routes: takes requests, and replies to them on other threads where that would
// block.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adapters/flash_sale/order_counter.h"
#include "adapters/flash_sale/purchase_desk.h"
#include "adapters/flash_sale/work_pool.h"
#include "adapters/http/access.h"
#include "adapters/http/backup_desk.h"
#include "adapters/http/batcher.h"
#include "adapters/http/entrance.h"
#include "adapters/http/event_feed.h"
#include "adapters/http/exchange.h"
#include "adapters/http/http_counters.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_board.h"
#include "adapters/metrics/http_figures.h"
#include <rushgate/clock.h>
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>

namespace rushgate::http {

/// Audits of the sale, one at a time, on a thread of its own. Thread-safe.
class AuditDesk {
 public:
  explicit AuditDesk(FlashSale& sale) : sale_(sale), thread_(1, 1) {}

  /// Begins an audit, unless one is running.
  void begin(bool repairs);
  /// Returns the state of the last audit; null if there was none.
  Json state();

 private:
  void run(bool repairs);
  void note_progress(const AuditProgress& progress);

  FlashSale& sale_;
  std::mutex mutex_;  // guards the next two members
  bool is_running_ = false;
  Json state_;
  WorkPool thread_;  // ends first
};

/// What the server tells its pages about itself: GET /v1/server.
struct ShownFacts {
  explicit ShownFacts(const HttpServerOptions& options);

  bool has_test_provider = false;
  std::string payment_url;  // empty: none
  std::string currency;     // empty: unknown
  bool demands_user_token = false;
  bool demands_operator_token = false;
};
/// Returns the fault of the options that are shown.
absl::Status check_facts(const HttpServerOptions& options);

/// Thread-safe. Does not own the sale, which must outlive it.
class SaleService {
 public:
  /// `count_connections` sets the figures of the connections.
  SaleService(FlashSale& sale, const HttpServerOptions& options,
              std::function<void(HttpFigures& figures)> count_connections);

  /// Replies to a request, at once or later.
  void handle(HttpCall call, HttpDone done);

  [[nodiscard]] FlashSale& sale() const { return sale_; }
  [[nodiscard]] VoucherBoard& board() { return board_; }
  [[nodiscard]] OrderCounter& order_counter() { return order_counter_; }
  [[nodiscard]] AuditDesk& audits() { return audits_; }
  [[nodiscard]] Entrance& entrance() { return entrance_; }
  [[nodiscard]] OrderFeed& order_feed() { return order_feed_; }
  [[nodiscard]] VoucherFeed& voucher_feed() { return voucher_feed_; }
  [[nodiscard]] StreamPlaces& places() { return places_; }
  [[nodiscard]] const ShownFacts& facts() const { return facts_; }
  [[nodiscard]] HttpFigures figures();
  [[nodiscard]] BackupDesk& backups() { return backups_; }

 private:
  /// A request on its way to its reply.
  struct Pending {
    RouteCall call;
    const Route* route = nullptr;
    HttpDone done;
    std::string id;
    std::int64_t began_ns = 0;  // monotonic
  };

  [[nodiscard]] std::optional<HttpAnswer> check(Pending& pending) const;
  [[nodiscard]] static std::optional<HttpAnswer> find(Pending& pending);
  void dispatch(std::unique_ptr<Pending> pending);
  void run_on(WorkPool& pool, std::unique_ptr<Pending> pending);
  void buy(std::unique_ptr<Pending> pending);
  void reply_to_purchase(Pending& pending, const BuyRequest& request, const BuyResult& result);
  void pay(std::unique_ptr<Pending> pending);
  void run_handler(Pending& pending);
  void reply(Pending& pending, HttpAnswer answer);

  FlashSale& sale_;
  const std::shared_ptr<spdlog::logger> logger_;  // may be null
  const Guard guard_;
  const ShownFacts facts_;
  const std::string ids_;  // the ids of requests begin with it
  std::atomic<std::int64_t> requests_{0};
  const std::function<void(HttpFigures& figures)> count_connections_;
  HttpCounters counters_;
  VoucherBoard board_;
  const SystemClock counting_clock_;
  OrderCounter order_counter_;
  AuditDesk audits_;
  Entrance entrance_;
  BackupDesk backups_;
  StreamPlaces places_;
  OrderFeed order_feed_;
  VoucherFeed voucher_feed_;
  // Their threads end first.
  Batcher<PayRequest, ChangeResult> payments_;
  WorkPool changes_;
  WorkPool reads_;
  PurchaseDesk desk_;
  WorkPool visits_;  // of the entrance
  Batcher<BuyRequest, BuyResult> purchases_;
};

}  // namespace rushgate::http
