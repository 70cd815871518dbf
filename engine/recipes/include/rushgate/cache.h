// Cache-aside: a keyspace caches values of a database. Read CacheOptions first: they turn on
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
  /// The TTL of the result "does not exist".
  std::int64_t missing_ttl_ms = 2 * 60'000;
  /// Lengthens each TTL by a random part of this share, so that values loaded together do not
  /// expire together.
  std::int64_t ttl_jitter_percent = 20;
  std::uint64_t jitter_seed = 0;  // 0: chosen at random

  /// How long a load may take. After that time its process counts as dead or slow, and another
  /// caller loads too.
  std::int64_t load_lease_ms = 10'000;
  /// How long a caller waits for another caller's load.
  std::int64_t wait_ms = 3'000;
  std::size_t value_bytes_max = 1'048'576;

  /// Logical expiry: how long a value is kept beyond its TTL. Meanwhile callers get the old value,
  /// and one load in the background replaces it. 0: a value ends with its TTL, and callers wait for
  /// a load.
  std::int64_t stale_ms = 0;
  /// Runs in the background after a load that was to replace an old value has failed. The next such
  /// load begins at least kRefreshPauseMs later.
  std::function<void(std::string_view key, const absl::Status& failure)> on_refresh_failed = {};

  /// Copies of values in the memory of the process. A copy ends with an invalidation by any
  /// process, after ttl_ms, or when the connection for invalidations is lost.
  struct FirstLevel {
    std::size_t entries_max = 0;  // 0: no first level
    std::size_t bytes_max = 16 * 1'048'576;
    /// The greatest age of a copy. It may outlive the value's own TTL.
    std::int64_t ttl_ms = 10'000;
  } first_level = {};

  /// Runs loads in the background: loads of get_or_load_async(), and loads that replace old values.
  /// Empty: a thread of the cache runs them. At most background_loads_max of them are queued or
  /// running.
  std::function<void(absl::AnyInvocable<void()> load)> run_in_background = {};
  std::int64_t background_loads_max = 1'024;

  /// Options of the cache's own clients. Callers wait for a load in the way that `wait` selects.
  ClientOptions client = {};
};

/// Caches values. One caller loads a value while others wait for it. Thread-safe. Does not own the
/// backend, which must outlive it.
///
/// **Keys** are those that many systems use. <key_prefix><key> is a string with a TTL: the value,
/// or an empty string for "does not exist". During a load, <lock_prefix><key> is a string that
/// names the load, and expires with its lease. Other systems can take the same lock by SET NX PX. A
/// message on the channel <key_prefix><key>:load-ended tells waiting callers that a load has ended.
/// On a Redis Cluster a key needs a hash tag.
///
/// With logical expiry a value is "<ms since 1970 UTC>:<value>", where the time is the end of its
/// TTL by the server's clock. Any other string is replaced. When you turn logical expiry on, change
/// key_prefix too.
///
/// **Loads.** One script writes the value, and only if the load still has its lock. So a load that
/// outlasted its lease, or whose key was invalidated meanwhile, writes nothing. Its own caller
/// still gets the loaded value. A load that fails releases its lock, and a waiting caller loads
/// next. Failures are not cached.
///
/// **First level.** An invalidation sends the key as a message on <key_prefix>invalidated, to which
/// a cache with a first level subscribes. A process that has invalidated a key never sees the old
/// value again. Other processes may see it until the message arrives, usually for less than a ms.
///
/// If messages may have been missed, the first level is dropped, and not used until the cache has
/// subscribed again. If the loss of a connection is noticed late, ttl_ms bounds the age of a copy.
///
/// **Waiting** sends nothing: a message, or the end of the lease, starts the next attempt. A call
/// within a callback of the backend does not wait. In manual mode no thread can wait: use
/// get_or_load_async().
///
/// **Errors** are those of loads and of requests. If the keyspace cannot be reached, nothing is
/// loaded. If the loaded value cannot be written, the caller still gets it. Further errors:
///   kDeadlineExceeded   the load of another caller did not end within wait_ms;
///   kInvalidArgument    the key is empty or longer than kKeyBytesMax, or the loaded value is empty
///                       or too long;
///   kUnknown            the load threw an exception, whose message is part of this one;
///   kFailedPrecondition another caller loads, and this one is a callback, which cannot wait;
///   kResourceExhausted  too many loads run in the background;
///   kCancelled          the cache was destroyed meanwhile.
class Cache {
 public:
  /// A value; nothing means that it does not exist.
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
  /// result, or waits for the caller that is already loading it. A loader must not ask the cache
  /// for its own key.
  absl::StatusOr<Value> get_or_load(std::string_view key, Loader loader);
  /// Works as get_or_load(), but returns at once. `loader` runs in the background. `done` runs
  /// once: as a callback of the backend, in the background, or before this returns.
  void get_or_load_async(std::string_view key, Loader loader, Callback done);

  /// Removes the value, and prevents a load that is under way from writing it. Call this after the
  /// transaction that changed the value has committed. After an error the value may stay until its
  /// TTL ends, so call it once more.
  absl::Status invalidate(std::string_view key);

 private:
  explicit Cache(std::shared_ptr<CacheCore> core);

  const std::shared_ptr<CacheCore> core_;
};

}  // namespace rushgate
