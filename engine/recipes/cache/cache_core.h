// The state that a cache, its waits and its background loads share. Private to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/base/background_thread.h"
#include "engine/core/base/random.h"
#include "engine/recipes/cache/first_level.h"
#include "engine/recipes/locks/lock_channels.h"
#include <rushgate/backend.h>
#include <rushgate/cache.h>
#include <rushgate/client.h>

namespace rushgate {

class CacheWait;

/// Thread-safe. Completions, timers and tasks keep it alive, and begin nothing after close().
class CacheCore : public std::enable_shared_from_this<CacheCore> {
 public:
  using Value = Cache::Value;

  /// The names of one cached value, and of the load that a caller may begin.
  struct Names {
    std::string value;
    std::string lock;
    std::string channel;
    std::string load;
    [[nodiscard]] std::string_view key() const { return std::string_view(value).substr(key_begin); }
    std::size_t key_begin = 0;
    std::uint64_t epoch = 0;  // of the first level
  };
  struct Attempt {
    /// kLoad, kOld: the caller has the lock.
    enum class Kind : std::uint8_t { kValue, kLoad, kWait, kOld };
    Kind kind = Kind::kWait;
    Value value = {};  // kValue, kOld
    bool is_old = false;
    std::int64_t lease_left_ms = -1;  // kWait; negative: the lock has no lease
  };
  using Attempted = absl::AnyInvocable<void(absl::StatusOr<Attempt>)>;

  CacheCore(Backend& backend, CacheOptions options);
  /// Subscribes to invalidations if there is a first level. To be called once, before anything
  /// else.
  absl::Status open(Backend& backend);
  /// Ends waits and background loads.
  void close();

  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] LockChannels& channels() { return *channels_; }
  [[nodiscard]] const CacheOptions& options() const { return options_; }
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  absl::StatusOr<Value> get_or_load(std::string_view key, Cache::Loader loader);
  void get_or_load_async(std::string_view key, Cache::Loader loader, Cache::Callback done);
  absl::Status invalidate(std::string_view key);

  // ---- For CacheWait ----

  void attempt_async(const Names& names, Attempted done);
  /// Releases the lock of a load that failed, without waiting for the reply.
  void abandon(const Names& names);
  void remove(const std::shared_ptr<CacheWait>& wait);

 private:
  /// The treatment of the lock of a load that failed.
  enum class OnFailure : std::uint8_t { kRelease, kHoldOff };

  [[nodiscard]] Names names_of(std::string_view key);
  [[nodiscard]] const Script& fetch_script() const;
  absl::StatusOr<Attempt> attempt(const Names& names);
  static absl::StatusOr<Attempt> read(const Reply& reply);
  void wait(const Names& names, Attempted done);
  /// Runs the loader and writes its value. The caller has the lock.
  absl::StatusOr<Value> load(const Names& names, Cache::Loader& loader, OnFailure on_failure);
  absl::StatusOr<Value> run(const Names& names, Cache::Loader& loader);
  void load_in_background(const Names& names, Cache::Loader loader, OnFailure on_failure,
                          Cache::Callback done);
  void refresh(const Names& names, Cache::Loader loader);
  [[nodiscard]] std::int64_t ttl_ms_of(const Value& value);
  void keep(const Names& names, const Value& value);
  void receive(const Reply& message);

  // A reference to the backend could dangle when completions run: it may be a wrapper of another
  // one.
  const Clock& clock_;
  Scheduler& scheduler_;
  const CacheOptions options_;
  const std::string client_id_;
  const std::shared_ptr<Client> client_;
  const std::shared_ptr<LockChannels> channels_;
  const std::string invalidations_;                // the channel
  const std::unique_ptr<FirstLevel> first_level_;  // null: none
  std::unique_ptr<Client> subscriber_;             // to invalidations_

  std::atomic<bool> is_closed_{false};
  std::atomic<std::uint64_t> loads_{0};
  std::atomic<std::int64_t> background_loads_{0};

  std::mutex mutex_;
  // Guarded by mutex_:
  std::set<std::shared_ptr<CacheWait>> waits_;
  Random jitter_;
  bool is_disconnected_ = false;  // subscriber_
  std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace rushgate
