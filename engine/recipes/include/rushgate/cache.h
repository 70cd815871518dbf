// Cache-aside: values of a database, cached in a keyspace. Read CacheOptions first: they turn on
// logical expiry and the first level.
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
#include <rushgate/backend.h>
#include <rushgate/client.h>

namespace rushgate {

class CacheCore;

/// A value type.
struct CacheOptions {
  std::string key_prefix = "cache:";
  std::string lock_prefix = "lock:";

  std::int64_t ttl_ms = 30 * 60'000;
  /// The TTL of "does not exist".
  std::int64_t missing_ttl_ms = 2 * 60'000;
  /// Lengthens each TTL by a random part of this share, so that values loaded together do not
  /// expire together.
  std::int64_t ttl_jitter_percent = 20;
  std::uint64_t jitter_seed = 0;  // 0: chosen at random

  /// The time that a load may take. After that its process may have died or be slow, so another
  /// caller loads too.
  std::int64_t load_lease_ms = 10'000;
  /// The time that a caller waits for another caller's load.
  std::int64_t wait_ms = 3'000;
  std::size_t value_bytes_max = 1'048'576;

  /// Logical expiry: the time that a value is kept beyond its TTL. Meanwhile callers get the old
  /// value, and one load in the background replaces it. 0: a value ends with its TTL, and callers
  /// wait.
  std::int64_t stale_ms = 0;
  /// Runs in the background when a load that should replace an old value has failed. The next one
  /// begins at least kRefreshPauseMs later.
  std::function<void(std::string_view key, const absl::Status& failure)> on_refresh_failed = {};

  /// Copies of values in the memory of the process. A copy ends with an invalidation by any
  /// process, after ttl_ms, or when the connection for invalidations is lost.
  struct FirstLevel {
    std::size_t entries_max = 0;  // 0: no first level
    std::size_t bytes_max = 16 * 1'048'576;
    /// The oldest age of a copy. The end of the value's own TTL does not end it.
    std::int64_t ttl_ms = 10'000;
  } first_level = {};

  /// Runs loads in the background: loads of get_or_load_async(), and loads that replace old values.
  /// Empty: a thread of the cache runs them. At most background_loads_max of them are queued or
  /// running.
  std::function<void(absl::AnyInvocable<void()> load)> run_in_background = {};
  std::int64_t background_loads_max = 1'024;

  /// Of the cache's own clients. `wait` is also the way in which callers wait for a load.
  ClientOptions client = {};
};

/// Caches values. One caller loads a value, and others wait for it. Thread-safe. Does not own the
/// backend, which must outlive it.
///
/// **Keys**, the field's. <key_prefix><key> is a string with a TTL: the value, or an empty string
/// for "does not exist". During a load, <lock_prefix><key> is a string with a lease that names the
/// load. Other systems take the same lock by SET NX PX. The channel <key_prefix><key>:load-ended
/// reports the end of a load to waiting callers. On a Redis Cluster a key needs a hash tag.
///
/// With logical expiry a value is "<ms since 1970 UTC>:<value>", where the time is the end of its
/// TTL, by the server's clock. Any other string is replaced. Turn it on together with another
/// key_prefix.
///
/// **Loads.** A value is written only if its load still has its lock, in one script. A load that
/// outlasted its lease, or whose key was invalidated meanwhile, therefore writes nothing. Its own
/// caller still gets the loaded value. A load that fails releases its lock, and a waiting caller
/// loads next. Failures are not cached.
///
/// **First level.** An invalidation is a message on <key_prefix>invalidated: the key. A cache with
/// a first level subscribes to it. A process that has invalidated a key never sees the old value
/// again. Others may until the message arrives: usually for less than a ms.
///
/// If messages may be missing, the first level is dropped, and not used until it is subscribed
/// again. If the loss of a connection is noticed late, ttl_ms bounds the age of a copy.
///
/// **Waiting** sends nothing: a message, or the end of the lease, starts the next attempt. A call
/// in a callback of the backend does not wait. In manual mode no thread can wait: use
/// get_or_load_async().
///
/// **Errors** are those of loads and of requests. If the cache cannot be reached, nothing is
/// loaded. If only the value cannot be written, the caller still gets it.
///   kDeadlineExceeded   the load of another caller did not end within wait_ms;
///   kInvalidArgument    the key is empty or longer than kKeyBytesMax, or the loaded value is empty
///                       or too long;
///   kUnknown            the load threw an exception, whose message is part of this one;
///   kFailedPrecondition another caller loads, and this one is a callback, which cannot wait;
///   kResourceExhausted  too many loads run in the background;
///   kCancelled          the cache was destroyed meanwhile.
class Cache {
 public:
  /// A cached value; nothing: it does not exist.
  using Value = std::optional<std::string>;
  using Loader = absl::AnyInvocable<absl::StatusOr<Value>()>;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Value>)>;

  static constexpr std::size_t kKeyBytesMax = 65'536;
  static constexpr std::int64_t kRefreshPauseMs = 1'000;
  static constexpr std::int64_t kTtlMsMax = 366LL * 24 * 60 * 60 * 1'000;

  /// Returns kInvalidArgument if an option is out of range, another error if the first level could
  /// not subscribe.
  static absl::StatusOr<std::unique_ptr<Cache>> create(Backend& backend, CacheOptions options = {});

  /// Ends waits with kCancelled. Blocks until the load on the cache's own thread has ended.
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// Returns the cached value. If there is none, runs `loader` on the calling thread and caches its
  /// result. If another caller is loading, waits for it. A loader must not ask the cache for its
  /// own key.
  absl::StatusOr<Value> get_or_load(std::string_view key, Loader loader);
  /// Works as get_or_load(), but returns at once. `loader` runs in the background. `done` runs
  /// once: as a callback of the backend, in the background, or before this returns.
  void get_or_load_async(std::string_view key, Loader loader, Callback done);

  /// Removes the value, and keeps a load that is under way from writing. To be called after the
  /// transaction that changed the value has committed. After an error the value may stay until its
  /// TTL ends: call it once more.
  absl::Status invalidate(std::string_view key);

 private:
  explicit Cache(std::shared_ptr<CacheCore> core);

  const std::shared_ptr<CacheCore> core_;
};

}  // namespace rushgate
