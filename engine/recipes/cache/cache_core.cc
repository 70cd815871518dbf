#include "engine/recipes/cache/cache_core.h"

#include <array>
#include <exception>
#include <random>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/cache/cache_codes.lua.h"
#include "engine/recipes/cache/cache_scripts.h"
#include "engine/recipes/cache/cache_wait.h"
#include "engine/recipes/locks/wait_for.h"

namespace rushgate {
namespace {

using AttemptKind = CacheCore::Attempt::Kind;

absl::Status closed() { return absl::CancelledError("the cache is gone"); }

absl::Status check_key(std::string_view key) {
  if (!key.empty() && key.size() <= Cache::kKeyBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(concat(
      "cache: a key has ", key.size(), " bytes, and must have from 1 to ", Cache::kKeyBytesMax));
}

Cache::Value to_value(std::string text) {
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace

CacheCore::CacheCore(Backend& backend, CacheOptions options)
    : clock_(backend.clock()),
      scheduler_(backend.scheduler()),
      options_(std::move(options)),
      client_id_(random_name()),
      client_(backend.open_client(options_.client)),
      channels_(std::make_shared<LockChannels>()),
      invalidations_(concat(options_.key_prefix, "invalidated")),
      first_level_(options_.first_level.entries_max == 0
                       ? nullptr
                       : std::make_unique<FirstLevel>(options_.first_level, backend.clock())),
      jitter_(options_.jitter_seed != 0 ? options_.jitter_seed : std::random_device{}()) {
  channels_->open(backend, /*are_of_shards=*/false);
}

absl::Status CacheCore::open(Backend& backend) {
  if (!first_level_) return absl::OkStatus();
  ClientOptions options;
  options.wait = options_.client.wait;
  options.on_message = [weak = weak_from_this()](const Reply& message) {
    if (const std::shared_ptr<CacheCore> self = weak.lock()) self->receive(message);
  };
  subscriber_ = backend.open_client(options);
  const Reply subscribed = (*subscriber_)("SUBSCRIBE", invalidations_);
  if (subscribed.is_error()) return to_status(subscribed, "subscribing to invalidations");
  const std::lock_guard lock(mutex_);
  if (!is_disconnected_) first_level_->set_enabled(true);
  return absl::OkStatus();
}

/// Reads ["message", channel, key], or a backend's notice about a connection: messages may be
/// missing.
void CacheCore::receive(const Reply& message) {
  const std::vector<Reply>& parts = message.elements();
  if (parts.size() != 3) return;
  const std::string& kind = parts[0].text();
  if (kind == "message") return first_level_->remove(parts[2].text());
  if (kind != "disconnected" && kind != "resubscribed") return;
  const std::lock_guard lock(mutex_);
  is_disconnected_ = kind == "disconnected";
  first_level_->set_enabled(!is_disconnected_);
}

void CacheCore::close() {
  std::set<std::shared_ptr<CacheWait>> waits;
  std::unique_ptr<BackgroundThread> thread;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    waits.swap(waits_);
    thread.swap(thread_);
  }
  for (const auto& wait : waits) wait->finish(closed());
}

CacheCore::Names CacheCore::names_of(std::string_view key) {
  return {.value = concat(options_.key_prefix, key),
          .lock = concat(options_.lock_prefix, key),
          .channel = concat(options_.key_prefix, key, ":load-ended"),
          .load = concat(client_id_, ":", ++loads_),
          .key_begin = options_.key_prefix.size(),
          .epoch = first_level_ ? first_level_->epoch(key) : 0};
}

// ---- Attempts ----

absl::StatusOr<CacheCore::Attempt> CacheCore::read(const Reply& reply) {
  const std::vector<Reply>& parts = reply.elements();
  if (parts.empty()) return to_status(reply, "reading a cache");
  if (parts[0].integer() == lua::cache_codes::kLoad) return Attempt{.kind = AttemptKind::kLoad};
  if (parts.size() != 2) return to_status(reply, "reading a cache");
  if (parts[0].integer() == lua::cache_codes::kWait) {
    return Attempt{.kind = AttemptKind::kWait, .lease_left_ms = parts[1].integer()};
  }
  const std::int64_t fetched = parts[0].integer();
  return Attempt{
      .kind = fetched == lua::cache_codes::kOld ? AttemptKind::kOld : AttemptKind::kValue,
      .value = to_value(parts[1].text()),
      .is_old = fetched != lua::cache_codes::kValue};
}

const Script& CacheCore::fetch_script() const {
  return options_.stale_ms > 0 ? cache_scripts::fetch_with_expiry() : cache_scripts::fetch();
}

/// A hit is one GET, if the value has no expiry inside.
absl::StatusOr<CacheCore::Attempt> CacheCore::attempt(const Names& names) {
  if (options_.stale_ms == 0) {
    Reply value = (*client_)("GET", names.value);
    if (value.kind() == Reply::Kind::kBulk) {
      return Attempt{.kind = AttemptKind::kValue,
                     .value = to_value(std::move(value.mutable_text()))};
    }
    if (!value.is_nil()) return to_status(value, "reading a cache");
  }
  const std::string lease_ms = concat(options_.load_lease_ms);
  const std::array<std::string_view, 2> keys = {names.value, names.lock};
  const std::array<std::string_view, 2> arguments = {names.load, lease_ms};
  return read(client_->run(fetch_script(), keys, arguments));
}

void CacheCore::attempt_async(const Names& names, Attempted done) {
  if (is_closed_) return done(closed());
  const std::string lease_ms = concat(options_.load_lease_ms);
  const std::array<std::string_view, 2> keys = {names.value, names.lock};
  const std::array<std::string_view, 2> arguments = {names.load, lease_ms};
  client_->submit_script(fetch_script(), keys, arguments,
                         [self = shared_from_this(), done = std::move(done)](
                             const Reply& reply) mutable { done(read(reply)); });
}

void CacheCore::wait(const Names& names, Attempted done) {
  const std::int64_t deadline_ms = clock_.monotonic_ms() + options_.wait_ms;
  const auto wait =
      std::make_shared<CacheWait>(shared_from_this(), names, deadline_ms, std::move(done));
  bool is_open = false;
  {
    const std::lock_guard lock(mutex_);
    is_open = !is_closed_;
    if (is_open) waits_.insert(wait);
  }
  if (is_open) return wait->start();
  wait->finish(closed());
}

void CacheCore::remove(const std::shared_ptr<CacheWait>& wait) {
  const std::lock_guard lock(mutex_);
  waits_.erase(wait);
}

// ---- Loads ----

absl::StatusOr<CacheCore::Value> CacheCore::run(const Names& names, Cache::Loader& loader) {
  absl::StatusOr<Value> loaded = closed();
  try {
    loaded = loader();
  } catch (const std::exception& thrown) {
    return absl::UnknownError(concat("loading ", names.value, " threw: ", thrown.what()));
  }
  if (!loaded.ok() || !*loaded) return loaded;
  const std::size_t bytes = (*loaded)->size();
  if (bytes > 0 && bytes <= options_.value_bytes_max) return loaded;
  return absl::InvalidArgumentError(concat("loading ", names.value, " returned ", bytes,
                                           " bytes, and must return from 1 to ",
                                           options_.value_bytes_max, ", or nothing"));
}

absl::StatusOr<CacheCore::Value> CacheCore::load(const Names& names, Cache::Loader& loader,
                                                 OnFailure on_failure) {
  /// Handles a loader's exception that is no std::exception.
  struct Unwinding {
    ~Unwinding() {
      if (is_unwinding) core.abandon(names);
    }
    CacheCore& core;
    const Names& names;
    bool is_unwinding = true;
  } unwinding{*this, names};
  absl::StatusOr<Value> loaded = run(names, loader);
  unwinding.is_unwinding = false;

  bool is_ended = false;
  if (loaded.ok()) {
    const std::string ttl_ms = concat(ttl_ms_of(*loaded));
    const std::string_view value = *loaded ? std::string_view(**loaded) : std::string_view();
    const std::array<std::string_view, 2> keys = {names.value, names.lock};
    const std::string stale_ms = concat(options_.stale_ms);
    const std::array<std::string_view, 5> arguments = {names.load, names.channel, value, ttl_ms,
                                                       stale_ms};
    const Reply stored = client_->run(cache_scripts::store(), keys, arguments);
    is_ended = !stored.is_error();
    if (stored.integer() == 1) keep(names, *loaded);
  }
  if (is_ended) return loaded;
  const bool holds_off = on_failure == OnFailure::kHoldOff;
  const std::string pause_ms = concat(Cache::kRefreshPauseMs);
  const std::string_view key = names.lock;
  const std::array<std::string_view, 2> arguments = {names.load,
                                                     holds_off ? pause_ms : names.channel};
  static_cast<void>(client_->run(holds_off ? cache_scripts::hold_off() : cache_scripts::abandon(),
                                 {&key, 1}, arguments));
  return loaded;
}

void CacheCore::abandon(const Names& names) {
  const std::string_view key = names.lock;
  const std::array<std::string_view, 2> arguments = {names.load, names.channel};
  client_->submit_script(cache_scripts::abandon(), {&key, 1}, arguments,
                         [self = shared_from_this()](const Reply&) {});
}

std::int64_t CacheCore::ttl_ms_of(const Value& value) {
  constexpr std::int64_t kPercent = 100;
  const std::int64_t ttl_ms = value ? options_.ttl_ms : options_.missing_ttl_ms;
  const std::int64_t jitter_ms = ttl_ms / kPercent * options_.ttl_jitter_percent +
                                 ttl_ms % kPercent * options_.ttl_jitter_percent / kPercent;
  const std::lock_guard lock(mutex_);
  return ttl_ms +
         static_cast<std::int64_t>(jitter_.below(static_cast<std::uint64_t>(jitter_ms) + 1));
}

void CacheCore::load_in_background(const Names& names, Cache::Loader loader, OnFailure on_failure,
                                   Cache::Callback done) {
  if (++background_loads_ > options_.background_loads_max) {
    --background_loads_;
    abandon(names);
    return done(absl::ResourceExhaustedError(
        concat("cache: ", options_.background_loads_max, " loads run in the background")));
  }
  BackgroundThread::Task task = [self = shared_from_this(), names, on_failure,
                                 loader = std::move(loader), done = std::move(done)]() mutable {
    absl::StatusOr<Value> loaded = closed();
    if (!self->is_closed_) loaded = self->load(names, loader, on_failure);
    --self->background_loads_;
    done(std::move(loaded));
  };
  if (options_.run_in_background) return options_.run_in_background(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      if (!thread_) thread_ = std::make_unique<BackgroundThread>("rg-cache");
      return thread_->run(std::move(task));
    }
  }
  task();
}

void CacheCore::refresh(const Names& names, Cache::Loader loader) {
  load_in_background(names, std::move(loader), OnFailure::kHoldOff,
                     [self = shared_from_this(), names](const absl::StatusOr<Value>& loaded) {
                       if (loaded.ok() || self->is_closed_ || !self->options_.on_refresh_failed)
                         return;
                       const std::string_view name = names.value;
                       self->options_.on_refresh_failed(
                           name.substr(self->options_.key_prefix.size()), loaded.status());
                     });
}

// ---- Calls ----

void CacheCore::keep(const Names& names, const Value& value) {
  if (first_level_) first_level_->keep(names.key(), value, names.epoch);
}

absl::StatusOr<CacheCore::Value> CacheCore::get_or_load(std::string_view key,
                                                        Cache::Loader loader) {
  if (absl::StatusOr<Value> copy{Value()}; first_level_ && first_level_->find(key, *copy)) {
    return copy;
  }
  RETURN_IF_ERROR(check_key(key));
  const Names names = names_of(key);
  absl::StatusOr<Attempt> tried = attempt(names);
  if (tried.ok() && tried->kind == AttemptKind::kWait) {
    if (client_->inside_callback()) {
      return absl::FailedPreconditionError(
          concat(names.value, " is loaded by another caller, and a callback cannot wait"));
    }
    tried = wait_for<absl::StatusOr<Attempt>>(
        options_.client.wait, [&](Attempted done) { wait(names, std::move(done)); });
  }
  if (!tried.ok()) return tried.status();
  if (tried->kind == AttemptKind::kLoad) return load(names, loader, OnFailure::kRelease);
  if (tried->kind == AttemptKind::kOld) refresh(names, std::move(loader));
  if (!tried->is_old) keep(names, tried->value);
  return std::move(tried->value);
}

void CacheCore::get_or_load_async(std::string_view key, Cache::Loader loader,
                                  Cache::Callback done) {
  if (Value copy; first_level_ && first_level_->find(key, copy)) return done(std::move(copy));
  if (absl::Status fault = check_key(key); !fault.ok()) return done(fault);
  const Names names = names_of(key);
  auto decided = [self = shared_from_this(), names, loader = std::move(loader),
                  done = std::move(done)](absl::StatusOr<Attempt> tried) mutable {
    if (!tried.ok()) return done(tried.status());
    if (tried->kind == AttemptKind::kLoad) {
      return self->load_in_background(names, std::move(loader), OnFailure::kRelease,
                                      std::move(done));
    }
    if (tried->kind == AttemptKind::kOld) self->refresh(names, std::move(loader));
    if (!tried->is_old) self->keep(names, tried->value);
    done(std::move(tried->value));
  };
  attempt_async(names, [self = shared_from_this(), names,
                        decided = std::move(decided)](absl::StatusOr<Attempt> tried) mutable {
    if (!tried.ok() || tried->kind != AttemptKind::kWait) return decided(std::move(tried));
    self->wait(names, std::move(decided));
  });
}

absl::Status CacheCore::invalidate(std::string_view key) {
  RETURN_IF_ERROR(check_key(key));
  const Names names = names_of(key);
  const std::array<std::string_view, 2> keys = {names.value, names.lock};
  const std::array<std::string_view, 3> arguments = {names.channel, invalidations_, key};
  const Reply reply = client_->run(cache_scripts::invalidate(), keys, arguments);
  if (first_level_) first_level_->remove(key);
  return reply.is_integer() ? absl::OkStatus() : to_status(reply, "invalidating a cached value");
}

}  // namespace rushgate
