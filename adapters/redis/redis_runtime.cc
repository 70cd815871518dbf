#include "adapters/redis/redis_runtime.h"

#include <chrono>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>

#include "adapters/redis/text.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thread_name.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

namespace asio = boost::asio;

}  // namespace

absl::Status RedisRuntime::make_tls() {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  boost::system::error_code error;
  const auto check = [&](std::string_view option, const std::string& file) {
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(concat(option, " ", file, ": ", error.message()));
  };
  context->set_verify_mode(asio::ssl::verify_peer);
  if (options_.tls_ca.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(options_.tls_ca, error);
  }
  absl::Status status = check("tls_ca", options_.tls_ca);
  if (status.ok() && !options_.tls_certificate.empty()) {
    context->use_certificate_chain_file(options_.tls_certificate, error);
    status = check("tls_certificate", options_.tls_certificate);
  }
  if (status.ok() && !options_.tls_key.empty()) {
    context->use_private_key_file(options_.tls_key, asio::ssl::context::pem, error);
    status = check("tls_key", options_.tls_key);
  }
  tls_ = std::move(context);
  return status;
}

absl::Status RedisRuntime::start() {
  if (options_.tls) {
    RETURN_IF_ERROR(make_tls());
  }
  callbacks_.start();
  io_thread_ = std::thread([this] {
    name_this_thread("rg-redis");
    io_.run();
  });
  return absl::OkStatus();
}

void RedisRuntime::run_on_io(absl::FunctionRef<void()> action) {
  std::promise<void> done;
  asio::post(io_, [&] {
    action();
    done.set_value();
  });
  done.get_future().get();
}

void RedisRuntime::stop_io() {
  work_.reset();
  io_.stop();
  if (io_thread_.joinable()) io_thread_.join();
}

// ---- The bound of the queue ---------------------------------------------------------------------

std::optional<Reply> RedisRuntime::admit(const Submission& submission, bool fail_when_full) {
  // A callback must not wait for later completions: it delays them.
  const bool is_callback = callbacks_.is_current();
  const auto take_space = [&] {
    const std::size_t bytes_before =
        queued_bytes_.fetch_add(submission.bytes) + (is_callback ? 0 : completion_bytes_.load());
    const std::size_t before = queued_.fetch_add(1) + (is_callback ? 0 : completions_.load());
    const bool has_bytes =
        bytes_before == 0 || bytes_before + submission.bytes <= options_.queue_bytes_max;
    if (before < options_.queue_capacity && has_bytes) return true;
    queued_.fetch_sub(1);
    queued_bytes_.fetch_sub(submission.bytes);
    return false;
  };
  counts.requests.fetch_add(submission.requests.size(), std::memory_order_relaxed);
  if (take_space()) return std::nullopt;
  if (fail_when_full) {
    wake_waiting();  // the attempt may have taken a connection that others wait for
    ++counts.overloads;
    return Reply::error(concat(error_code::kOverloaded, " the queue is full"));
  }
  std::unique_lock lock(space_mutex_);
  ++waiting_for_room_;
  bool is_late = false;
  while (!take_space() && !is_late) {
    if (submission.deadline_ms == 0) {
      space_made_.wait(lock);
    } else {
      const std::int64_t left_ms = submission.deadline_ms - now_ms();
      is_late = left_ms <= 0;
      if (!is_late) space_made_.wait_for(lock, std::chrono::milliseconds(left_ms));
    }
  }
  --waiting_for_room_;
  if (!is_late) return std::nullopt;
  ++counts.expired;
  return Reply::error(concat(error_code::kTimedOut, " ", kNotBegunInTime));
}

void RedisRuntime::release(const Submission& submission) {
  queued_.fetch_sub(1);
  queued_bytes_.fetch_sub(submission.bytes);
  wake_waiting();
}

void RedisRuntime::note_waiting_completion(std::size_t bytes) {
  completions_.fetch_add(1);
  completion_bytes_.fetch_add(bytes);
}

void RedisRuntime::note_running_completion(std::size_t bytes) {
  completions_.fetch_sub(1);
  completion_bytes_.fetch_sub(bytes);
  wake_waiting();
}

void RedisRuntime::wake_waiting() {
  if (waiting_for_room_.load() == 0) return;
  const std::lock_guard lock(space_mutex_);
  space_made_.notify_all();
}

// ---- Checks and counters ------------------------------------------------------------------------

void RedisRuntime::add_check(std::weak_ptr<const ConnectionCheck> check) {
  const std::lock_guard lock(checks_mutex_);
  std::erase_if(checks_, [](const auto& known) { return known.expired(); });
  checks_.push_back(std::move(check));
}

std::vector<std::shared_ptr<const ConnectionCheck>> RedisRuntime::checks() {
  std::vector<std::shared_ptr<const ConnectionCheck>> checks;
  const std::lock_guard lock(checks_mutex_);
  for (const auto& kept : checks_) {
    if (auto check = kept.lock()) checks.push_back(std::move(check));
  }
  return checks;
}

RedisCounters RedisRuntime::counters() const {
  return {.connects = counts.connects,
          .reconnects = counts.reconnects,
          .connect_failures = counts.connect_failures,
          .losses = counts.losses,
          .requests = counts.requests,
          .writes = counts.writes,
          .timeouts = counts.timeouts,
          .expired = counts.expired,
          .overloads = counts.overloads,
          .breaker_openings = counts.breaker_openings,
          .breaker_refusals = counts.breaker_refusals,
          .resubscriptions = counts.resubscriptions,
          .lookups = counts.lookups,
          .master_changes = counts.master_changes,
          .redirects = counts.redirects};
}

}  // namespace rushgate
