#include "apps/strategies/queue_strategy.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace rushgate::strategies {

QueueStrategy::QueueStrategy(const Setting& setting, std::string_view push, int shards)
    : KeyspaceStrategy(setting, shards),
      script_pushes_(!push.empty()),
      script_(admission_script(push)),
      ids_(*setting.backend, {.key_prefix = setting.prefix + "id:"}) {}

void QueueStrategy::start() {
  if (!setting().schedule->is_worker_late()) queue_ = open_queue();
  worker_.start([this] { work(); });
}

Decision QueueStrategy::buy(Desk& desk, std::int64_t user) {
  const std::string order = fmt::format("{} {}", ids_.next_id().value(), user);
  const Decision decision = admit(*desk.client, script_, queue_name(), user, order);
  if (decision != Decision::kAccepted || script_pushes_) return decision;
  absl::Status pushed = queue_->push(order);
  while (absl::IsResourceExhausted(pushed)) {  // until the worker frees space
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pushed = queue_->push(order);
  }
  if (!pushed.ok()) throw std::runtime_error(pushed.ToString());
  return decision;
}

void QueueStrategy::work() {
  constexpr std::int64_t kWaitMs = 10;
  constexpr std::int64_t kLastWaitMs = 200;  // the last message may be on its way
  OrderFile orders(setting().dir);
  while (true) {
    if (queue_ == nullptr || setting().schedule->shall_worker_leave()) restart();
    const bool is_last = worker_.is_stopping();
    const auto messages = queue_->take(1, is_last ? kLastWaitMs : kWaitMs).value();
    if (messages.empty() && is_last) return;
    for (const QueueMessage& message : messages) store(orders, message);
  }
}

void QueueStrategy::restart() {
  queue_.reset();
  setting().schedule->stay_away([this] { return worker_.is_stopping(); });
  queue_ = open_queue();
  setting().schedule->come_back();
}

void QueueStrategy::store(OrderFile& orders, const QueueMessage& message) {
  std::size_t id_size = 0;
  const OrderId id = std::stoll(message.body, &id_size);
  const std::int64_t user = std::stoll(message.body.substr(id_size));
  setting().schedule->half_done(user);
  orders.insert_order(id, user);
  setting().schedule->half_stored();
  const QueueMessage messages[] = {message};
  static_cast<void>(queue_->done(messages).value());
}

}  // namespace rushgate::strategies
