// Strategies that decide by an atomic script and pass the order on through a queue.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apps/strategies/background.h"
#include "apps/strategies/keyspace_admission.h"
#include <rushgate/ids.h>
#include <rushgate/queues.h>
#include <rushgate/script.h>

namespace rushgate::strategies {

/// A worker takes one order after the other from the queue, stores it, and acknowledges it.
class QueueStrategy : public KeyspaceStrategy {
 public:
  /// `push` is the script's command that appends ARGV[2] to the queue KEYS[3]. If it is empty, the
  /// thread that ran the script pushes the order.
  QueueStrategy(const Setting& setting, std::string_view push, int shards = 1);

  void start() override;
  Decision buy(Desk& desk, std::int64_t user) override;
  void finish() override { worker_.stop(); }

 protected:
  [[nodiscard]] std::string queue_name() const { return setting().prefix + "orders"; }

 private:
  /// Opens the worker's end of the queue queue_name().
  virtual std::unique_ptr<Queue> open_queue() = 0;

  void work();
  void restart();
  void store(OrderFile& orders, const QueueMessage& message);

  const bool script_pushes_;
  const Script script_;
  IdGenerator ids_;
  std::unique_ptr<Queue> queue_;
  Background worker_;
};

}  // namespace rushgate::strategies
