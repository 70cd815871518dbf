// Parts that the cache tests share.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/cache.h>

namespace rushgate {

/// The result of get_or_load_async().
class PendingValue {
 public:
  PendingValue() : state_(std::make_shared<State>()) {}

  [[nodiscard]] Cache::Callback callback() {
    return [state = state_](absl::StatusOr<Cache::Value> value) {
      state->promise.set_value(std::move(value));
    };
  }
  [[nodiscard]] bool is_done() const {
    return state_->future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// On a Redis, blocks until the result arrives.
  [[nodiscard]] absl::StatusOr<Cache::Value> result() const { return state_->future.get(); }

 private:
  struct State {
    std::promise<absl::StatusOr<Cache::Value>> promise;
    std::shared_future<absl::StatusOr<Cache::Value>> future{promise.get_future()};
  };
  std::shared_ptr<State> state_;
};

inline PendingValue begin(Cache& cache, std::string_view key, Cache::Loader loader) {
  PendingValue pending;
  cache.get_or_load_async(key, std::move(loader), pending.callback());
  return pending;
}

/// A database with one row, and a counter of its reads.
struct Database {
  Cache::Value row = "row 1";
  int reads = 0;

  Cache::Value read() {
    ++reads;
    return row;
  }
  [[nodiscard]] Cache::Loader reader() {
    return [this] { return absl::StatusOr<Cache::Value>(read()); };
  }
};

/// Background loads that wait until the test runs them.
class Tasks {
 public:
  [[nodiscard]] std::function<void(absl::AnyInvocable<void()>)> collector() {
    return [this](absl::AnyInvocable<void()> task) {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    };
  }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  void run_all() {
    std::vector<absl::AnyInvocable<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (auto& task : tasks) task();
  }

 private:
  std::mutex mutex_;
  std::vector<absl::AnyInvocable<void()>> tasks_;  // guarded by mutex_
};

class CacheTest : public RecipeTest {
 protected:
  static CacheOptions options() {
    return {.run_in_background = [](absl::AnyInvocable<void()> load) { load(); }};
  }
  std::unique_ptr<Cache> open_cache(CacheOptions options = CacheTest::options()) {
    return value(Cache::create(*backend_, std::move(options)));
  }
  std::string get(Cache& cache, Cache::Loader loader) {
    const auto got = cache.get_or_load("shop", std::move(loader));
    if (!got.ok()) return got.status().ToString();
    return got->value_or("none");
  }
  std::string get() { return get(*cache_, database_.reader()); }

  Reply send(const auto&... words) { return (*client_)(words...); }
  bool exists(std::string_view key) { return send("EXISTS", key).integer() == 1; }
  /// Returns when a waiter for "shop" has subscribed.
  void await_subscription() {
    while (send("PUBSUB", "NUMSUB", "cache:shop:load-ended").elements()[1].integer() == 0) {
    }
  }

  std::unique_ptr<Cache> cache_ = open_cache();
  Database database_;
};

}  // namespace rushgate
