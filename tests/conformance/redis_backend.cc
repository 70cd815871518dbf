#include "tests/conformance/redis_backend.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace rushgate::testing {

RedisBackend::RedisBackend(RespVersion protocol, RedisTime time)
    : protocol_(protocol),
      time_(time),
      server_({.arguments = {"--enable-debug-command", "yes"},
               .manual_clock = time == RedisTime::kManual}),
      control_(std::make_unique<RawConnection>(server_.socket_path())) {}

void RedisBackend::reset() {
  sessions_.clear();
  if (time_ == RedisTime::kManual) server_.set_now_ms(now_ms_ = ManualClock::kStartMs);
  try {
    flush();
  } catch (const std::runtime_error&) {
    server_.restart();
    control_ = std::make_unique<RawConnection>(server_.socket_path());
    flush();
  }
}

void RedisBackend::flush() {
  wait_for_children();
  for (const Request& request :
       {Request::of("CLIENT", "UNPAUSE"), Request::of("FLUSHALL"), Request::of("SCRIPT", "FLUSH"),
        Request::of("FUNCTION", "FLUSH")}) {
    expect_ok(request);
  }
  set_usual_limits();
}

void RedisBackend::wait_for_children() {
  const auto is_busy = [this] {
    const Reply info = control_->call(Request::of("INFO", "persistence"));
    const std::string_view text = info.text();
    return text.find("rdb_bgsave_in_progress:1") != std::string_view::npos ||
           text.find("aof_rewrite_in_progress:1") != std::string_view::npos ||
           text.find("aof_rewrite_scheduled:1") != std::string_view::npos;
  };
  while (is_busy()) std::this_thread::yield();
}

void RedisBackend::expect_ok(const Request& request) {
  const Reply reply = control_->call(request);
  if (reply != Reply::ok()) throw std::runtime_error("reset: " + to_debug_string(reply));
}

void RedisBackend::set_usual_limits() {
  // clang-format off
  expect_ok(Request::of("CONFIG", "SET",
      "hash-max-listpack-entries", 512, "hash-max-listpack-value", 64,
      "set-max-intset-entries", 512, "list-max-listpack-size", -2,
      "zset-max-listpack-entries", 128, "zset-max-listpack-value", 64,
      "notify-keyspace-events", "", "hll-sparse-max-bytes", 3'000,
      "stream-node-max-entries", 100, "stream-node-max-bytes", 4'096));
  // clang-format on
  expect_ok(Request::of("DEBUG", "SET-ACTIVE-EXPIRE", 1));
}

void RedisBackend::send(int number, const Request& request) {
  send_pipelined(number, {&request, 1});
}

void RedisBackend::send_pipelined(int number, std::span<const Request> requests) {
  Session& session = this->session(number);
  session.connection->send(requests);
  is_drained_ = false;
  // The server reads its sockets in no particular order, so this waits for the effect on this one.
  RawConnection& connection = *session.connection;
  while (!connection.has_reply(kUsualPatience) && !connection.has_ended() && !is_blocked(session)) {
  }
}

std::string RedisBackend::receive(int number) { return session(number).connection->receive(); }

std::vector<std::string> RedisBackend::call_all(int number, std::span<const Request> requests) {
  is_drained_ = false;
  return session(number).connection->exchange(requests);
}

bool RedisBackend::has_answer(int number) {
  // The server replies to an earlier command before it replies to the next one.
  if (!std::exchange(is_drained_, true)) control_->call(Request::of("PING"));
  return session(number).connection->has_reply();
}

void RedisBackend::close(int number) {
  is_drained_ = false;
  sessions_.erase(number);
}

bool RedisBackend::has_ended(int number) {
  has_answer(number);
  return session(number).connection->has_ended();
}

std::string RedisBackend::receive_all(int number) {
  return session(number).connection->receive_all();
}

void RedisBackend::send_barrier(int number, bool in_transaction) {
  is_drained_ = false;
  session(number).connection->send_barrier(in_transaction);
}

std::string RedisBackend::receive_to_barrier(int number, bool in_transaction) {
  return session(number).connection->receive_to_barrier(in_transaction);
}

void RedisBackend::elapse(std::chrono::milliseconds duration) {
  is_drained_ = false;
  if (time_ == RedisTime::kManual) {
    server_.set_now_ms(now_ms_ += duration.count());
  } else {
    std::this_thread::sleep_for(duration);
  }
}

void RedisBackend::reopen() {
  sessions_.clear();
  // The server may still hold their connections.
  const auto clients = [this] {
    const Reply list = control_->call(Request::of("CLIENT", "LIST"));
    return std::ranges::count(list.text(), '\n');
  };
  while (clients() > 1) std::this_thread::yield();
  expect_ok(Request::of("SCRIPT", "FLUSH"));
  set_usual_limits();
  expect_ok(Request::of("DEBUG", "RELOAD"));
}

RedisBackend::Session& RedisBackend::session(int number) {
  Session& session = sessions_[number];
  if (!session.connection) {
    session.connection = std::make_unique<RawConnection>(server_.socket_path());
    const Reply hello = session.connection->call(Request::of("HELLO", static_cast<int>(protocol_)));
    if (hello.is_error()) throw std::runtime_error("HELLO: " + hello.text());
    session.id = std::to_string(session.connection->call(Request::of("CLIENT", "ID")).integer());
  }
  return session;
}

bool RedisBackend::is_blocked(const Session& session) {
  const Reply reply = control_->call(Request::of("CLIENT", "LIST", "ID", session.id));
  const std::string_view line = reply.text();
  constexpr std::string_view kFlags = " flags=";
  const std::size_t flags = line.find(kFlags);
  if (flags == std::string_view::npos) return false;
  const std::size_t begin = flags + kFlags.size();
  return line.substr(begin, line.find(' ', begin) - begin).find('b') != std::string_view::npos;
}

}  // namespace rushgate::testing
