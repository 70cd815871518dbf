// Server-sent events: a position for each client, and a thread that looks for what comes after it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "adapters/flash_sale/stock_feed.h"
#include "adapters/http/problem.h"
#include "adapters/http/sale_board.h"
#include <rushgate/flash_sale.h>

namespace rushgate::http {

/// Events in the format of text/event-stream, and the position of the last one. A value type.
struct EventChunk {
  std::shared_ptr<const std::string> text = {};  // null: there are none yet
  std::int64_t position = 0;
};

/// Serves events to clients that ask for the next ones whenever they have taken the ones before. So a
/// client that does not read costs what it has been sent, however much happens. Thread-safe.
class EventFeed {
 public:
  using Ready = absl::AnyInvocable<void(const EventChunk& chunk)>;

  virtual ~EventFeed() = default;
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Calls `ready`, once, on the feed's thread, when there are events after `position`, or with a
  /// comment after kHeartbeatMs. Forgets it as soon as `client` has expired.
  void wait(std::int64_t position, std::weak_ptr<const void> client, Ready ready);
  /// Makes it look soon: there may be new events.
  void wake();

 protected:
  static constexpr std::int64_t kHeartbeatMs = 15'000;

  /// Looks for new events while clients wait: every `period_ms`, and after wake(), but not within
  /// `pause_ms` after it has looked.
  EventFeed(const Clock& clock, std::int64_t period_ms, std::int64_t pause_ms)
      : clock_(clock), period_ms_(period_ms), pause_ms_(pause_ms) {}
  /// A derived class calls both: while its own members live.
  void start();
  void stop();

  /// Looks for new events. Returns the position of the last one.
  virtual std::int64_t look() = 0;
  /// Returns the events after `position`, as many as one chunk has.
  virtual EventChunk read(std::int64_t position) = 0;
  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ms(); }

 private:
  struct Waiting {
    std::int64_t position = 0;
    std::int64_t since_ms = 0;
    std::weak_ptr<const void> client;
    Ready ready;
  };

  void loop();
  [[nodiscard]] std::int64_t ms_until_look() const;
  void look_again();
  void serve(std::vector<Waiting>& waiting);
  [[nodiscard]] EventChunk next_of(const Waiting& waiting);

  const Clock& clock_;
  const std::int64_t period_ms_;
  const std::int64_t pause_ms_;
  std::int64_t looked_at_ms_ = 0;      // of the feed's thread; 0: not yet
  std::atomic<std::int64_t> last_{0};  // the position of the last event
  std::mutex mutex_;                   // guards the next four members
  std::vector<Waiting> waiting_;
  bool has_news_ = false;  // some client waits for events that are there already
  bool is_woken_ = false;  // wake() was called since the last look
  bool is_stopping_ = false;
  std::condition_variable wakes_;
  std::thread thread_;
};

/// The recorded changes of orders. A position is OrderChange::position. Those that a worker of this
/// process stores, or a route, are sent at once, those of other processes after kPeriodMs.
class OrderFeed final : public EventFeed {
 public:
  explicit OrderFeed(FlashSale& sale);
  ~OrderFeed() override {
    notices_.reset();
    stop();
  }

 private:
  static constexpr std::size_t kChangesMax = 256;  // of a chunk
  static constexpr std::int64_t kPeriodMs = 1'000;
  static constexpr std::int64_t kPauseMs = 100;

  std::int64_t look() override;
  EventChunk read(std::int64_t position) override;

  PaymentStore* const store_;  // null: there are no changes
  std::int64_t last_seen_ = 0;
  // The chunks since the last look: most clients ask for the same.
  std::map<std::int64_t, EventChunk> chunks_;
  std::shared_ptr<const void> notices_;  // of workers
};

/// The free stock of all vouchers, and the rates at which they sell. Reads the stock of all by two
/// requests, and the board only after a change of it, or while a rate is not 0. A change of a voucher by
/// another process that leaves the stock as it is, is noticed after kBoardAgeMsMax. A position is the number of a
/// change of any of them; a client that missed one gets all vouchers.
class VoucherFeed final : public EventFeed {
 public:
  explicit VoucherFeed(FlashSale& sale, VoucherBoard& board);
  ~VoucherFeed() override { stop(); }

 private:
  static constexpr std::int64_t kPeriodMs = VoucherBoard::kAgeMsMax;
  static constexpr std::int64_t kBoardAgeMsMax = 5'000;

  std::int64_t look() override;
  EventChunk read(std::int64_t position) override;
  [[nodiscard]] bool may_have_changed();

  VoucherBoard& board_;
  bool is_stock_changed_ = true;
  const StockFeed::Hook on_stock_ = [this](VoucherId, std::int64_t) { is_stock_changed_ = true; };
  StockFeed stock_;
  std::shared_ptr<const VoucherBoard::Summaries> seen_;
  std::int64_t seen_at_ms_ = 0;  // when it was still right
  std::int64_t read_at_ms_ = 0;
  std::int64_t position_ = 0;
  std::shared_ptr<const std::string> all_;
  std::shared_ptr<const std::string> changed_;  // since the position before
  std::set<VoucherId> selling_;                 // since the position before
};

/// Counts the clients of all feeds. Thread-safe.
class StreamPlaces {
 public:
  explicit StreamPlaces(std::size_t most)
      : most_(static_cast<std::int64_t>(most)),
        free_(std::make_shared<std::atomic<std::int64_t>>(most)) {}
  /// Returns a place, which lives as long as it is held; null if there is none.
  [[nodiscard]] std::shared_ptr<const void> take();
  /// Returns how many are taken.
  [[nodiscard]] std::size_t taken() const {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, most_ - free_->load()));
  }

 private:
  const std::int64_t most_;
  std::shared_ptr<std::atomic<std::int64_t>> free_;
};

/// The events of one client.
struct EventStream {
  EventFeed& feed;
  std::int64_t position = 0;
  std::shared_ptr<const void> place;
};

}  // namespace rushgate::http
