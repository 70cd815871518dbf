// Cache-aside: values of a database, kept in a keyspace. One caller loads a value, others wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/client/client_options.h"

namespace rushgate {

class CacheCore;

/// A value type.
struct CacheOptions {
  std::string key_prefix = "cache:";
  std::string lock_prefix = "lock:";

  std::int64_t ttl_ms = 30 * 60'000;
  /// Of "does not exist".
  std::int64_t missing_ttl_ms = 2 * 60'000;
  /// Each TTL is longer by a random part of this share of it, so that values that were loaded together
  /// do not expire together.
  std::int64_t ttl_jitter_percent = 20;
  std::uint64_t jitter_seed = 0;  // 0: chosen at random

  /// How long a load may take. If it takes longer, because its process has died or is slow, another
  /// caller loads too.
  std::int64_t load_lease_ms = 10'000;
  /// How long a caller waits for the load of another one.
  std::int64_t wait_ms = 3'000;
  std::size_t value_bytes_max = 1'048'576;

  /// Logical expiry: how long a value is kept beyond its TTL. Meanwhile callers get the old value, and
  /// one load in the background replaces it. 0: a value ends with its TTL, and callers wait.
  std::int64_t stale_ms = 0;
  /// Runs in the background when the load that was to replace an old value has failed. The next one
  /// begins kRefreshPauseMs later, at the earliest.
  std::function<void(std::string_view key, const absl::Status& failure)> on_refresh_failed = {};

  /// Copies of values in the memory of the process. A copy ends with an invalidation by any process,
  /// or after ttl_ms, or when the connection that brings the invalidations is lost.
  struct FirstLevel {
    std::size_t entries_max = 0;  // 0: no first level
    std::size_t bytes_max = 16 * 1'048'576;
    /// Bounds how old a copy can become. The end of the value's own TTL does not end it.
    std::int64_t ttl_ms = 10'000;
  } first_level = {};

  /// Runs the loads that no caller runs on its own thread: those of get_or_load_async(), and those
  /// that replace old values. Empty: a thread of the cache does. At most background_loads_max of them
  /// are queued or running.
  std::function<void(absl::AnyInvocable<void()> load)> run_in_background = {};
  std::int64_t background_loads_max = 1'024;

  /// Of the cache's own clients. `wait` says how callers wait for a load, too.
  ClientOptions client = {};
};

/// Thread-safe. Does not own the backend, which must outlive it.
///
/// **Keys**, the field's. <key_prefix><key> is a string with a TTL: the value, or an empty string for
/// "does not exist". While a caller loads it, <lock_prefix><key> is a string with a lease that names
/// the load; other systems take the same lock by SET NX PX. <key_prefix><key>:load-ended is the
/// channel by which those that wait learn of the end of a load. On a Redis Cluster a key needs a hash
/// tag. With logical expiry a value is "<ms since 1970 UTC>:<value>", where the time is the end of its
/// TTL, by the server's clock. Anything else is replaced. Turn it on together with another key_prefix.
///
/// **Loads.** A value is written only if its load still has its lock, in one script. Therefore a load
/// that took longer than its lease, or during which the key was invalidated, writes nothing; its own
/// caller gets what it loaded. A load that fails releases its lock, and one of those that wait loads
/// next. Nothing of a failure is kept.
///
/// **First level.** An invalidation is a message on <key_prefix>invalidated: the key. A cache with a
/// first level subscribes to it. A process that has invalidated a key never sees the old value again.
/// Others may until the message has come: usually for less than a ms. If messages may be missing, the
/// first level is dropped, and not used until the subscription is there again. If the loss of a
/// connection is noticed late, ttl_ms bounds the age of a copy.
///
/// **Waiting** sends nothing: a message, or the end of the lease, starts the next attempt. A call in a
/// callback of the backend does not wait, and in manual mode no thread can: use get_or_load_async().
///
/// **Errors** are those of loads and of requests. If the cache cannot be reached, nothing is loaded.
/// If only the value cannot be written, the caller gets it all the same.
///   kDeadlineExceeded   the load of another caller did not end within wait_ms;
///   kInvalidArgument    the key is empty or longer than kKeyBytesMax, or the loaded value is empty
///                       or too long;
///   kUnknown            the load threw an exception, whose text is part of the message;
///   kFailedPrecondition another caller loads, and this one is a callback, which cannot wait;
///   kResourceExhausted  too many loads run in the background;
///   kCancelled          the cache was destroyed meanwhile.
class Cache {
 public:
  /// Nothing: there is no such value.
  using Value = std::optional<std::string>;
  using Loader = absl::AnyInvocable<absl::StatusOr<Value>()>;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Value>)>;

  static constexpr std::size_t kKeyBytesMax = 65'536;
  static constexpr std::int64_t kRefreshPauseMs = 1'000;
  static constexpr std::int64_t kTtlMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// kInvalidArgument: an option is out of range. Others: the first level could not subscribe.
  static absl::StatusOr<std::unique_ptr<Cache>> create(Backend& backend, CacheOptions options = {});

  /// Waits end with kCancelled. Waits for the load that the cache's own thread runs.
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// Returns the cached value. If there is none, runs `loader` on the calling thread, and keeps what
  /// it returns; or waits for the caller that does. A loader must not ask the cache for its own key.
  absl::StatusOr<Value> get_or_load(std::string_view key, Loader loader);
  /// As get_or_load(). Returns at once. `loader` runs in the background. `done` runs once: as a
  /// callback of the backend, in the background, or before this returns.
  void get_or_load_async(std::string_view key, Loader loader, Callback done);

  /// Removes the value, and has a load that is under way write nothing. To be called after the
  /// transaction that changed the value has committed. After an error the value may stay until its
  /// TTL ends: call it again.
  absl::Status invalidate(std::string_view key);

 private:
  explicit Cache(std::shared_ptr<CacheCore> core);

  const std::shared_ptr<CacheCore> core_;
};

}  // namespace rushgate
