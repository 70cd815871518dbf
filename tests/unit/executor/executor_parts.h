// The parts of an executor without threads, for tests of single parts.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/executor/busy_replies.h"
#include "engine/redis/executor/commit_batch.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"
#include "tests/support/null_store.h"

namespace rushgate {

/// An operation of a client of its own. It waits for its replies as a thread does.
struct OwnOperation : Operation {
  explicit OwnOperation(std::vector<Request> own = {}) : own_requests(std::move(own)) {
    session = &own_session;
    requests = own_requests;
    reserve_replies();
  }

  Session own_session;
  std::vector<Request> own_requests;
};

/// Fails the next commit or sync on demand.
class TestStore final : public NullStore {
 public:
  explicit TestStore(Durability durability = Durability::kMemory) : durability_(durability) {}
  absl::Status commit(const StoreBatch& batch) override {
    if (!batch.empty()) ++commits;
    return failure;
  }
  absl::Status sync() override {
    ++syncs;
    return failure;
  }
  [[nodiscard]] Durability durability() const override { return durability_; }

  int commits = 0;
  int syncs = 0;
  absl::Status failure;

 private:
  const Durability durability_;
};

/// The test is the thread that holds the turn.
class ExecutorPartsTest : public ::testing::Test {
 protected:
  ExecutorPartsTest() { keyspace_.set_listener(&unblocker_); }

  /// Runs one batch with an unlimited share.
  void run_batch(Operation* own = nullptr) {
    TurnShare share = TurnShare::of_everything();
    batch_.run(own, share);
  }

  ManualClock clock_;
  EngineOptions options_{.batch_requests_max = 4};
  std::unique_ptr<TestStore> own_store_ = std::make_unique<TestStore>();
  TestStore& test_store_ = *own_store_;
  StoreGuard store_{std::move(own_store_), clock_, true};
  Keyspace keyspace_{store_.store(), 1};
  NativeHost natives_;
  LuaHost lua_{{}, busy_replies_, nullptr};
  Sessions sessions_;
  Channels channels_;
  TrackingTable tracking_{services_};
  CommandServices services_{.keyspace = keyspace_,
                            .lua = lua_,
                            .natives = natives_,
                            .sessions = sessions_,
                            .channels = channels_,
                            .tracking = tracking_,
                            .blocked = unblocker_,
                            .sync = [this] { return store_.sync(); }};
  ServiceThread service_{clock_, [] { return ServiceThread::kNever; }, nullptr};  // not started
  ReplySender sender_{service_};
  OperationQueue queue_{16, clock_, sender_};
  BatchOperations batch_operations_;
  Unblocker unblocker_{services_, batch_operations_, queue_};
  BusyReplies busy_replies_{services_, queue_, sender_};
  DueWork due_work_{services_, unblocker_, clock_, service_, true};
  CommitBatch batch_{{.options = options_,
                      .clock = clock_,
                      .store = store_,
                      .services = services_,
                      .queue = queue_,
                      .operations = batch_operations_,
                      .unblocker = unblocker_,
                      .due_work = due_work_,
                      .sender = sender_}};
};

}  // namespace rushgate
