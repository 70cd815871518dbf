#include "tests/conformance/socket_backend.h"

#include <stdexcept>
#include <utility>

namespace rushgate::testing {

void SocketBackend::end() {
  sessions_.clear();
  control_.reset();
  stop();
}

void SocketBackend::reset() {
  end();
  start();
  control_ = std::make_unique<RawConnection>(socket_path());
}

RawConnection& SocketBackend::session(int number) {
  std::unique_ptr<RawConnection>& session = sessions_[number];
  if (session == nullptr) {
    session = std::make_unique<RawConnection>(socket_path());
    const Reply hello = session->call(Request::of("HELLO", static_cast<int>(protocol_)));
    if (hello.is_error()) throw std::runtime_error("HELLO: " + hello.text());
  }
  return *session;
}

void SocketBackend::send(int number, const Request& request) {
  send_pipelined(number, {&request, 1});
}

void SocketBackend::send_pipelined(int number, std::span<const Request> requests) {
  session(number).send(requests);
  is_drained_ = false;
  if (requests.size() == 1 && session(number).has_reply(kUsualPatience)) return;
  has_answer(number);
}

std::string SocketBackend::receive(int number) {
  // A test that waits for a blocked command lets its timeout pass.
  constexpr int kLongestWaitMs = 10'000;
  for (int waited_ms = 0; !has_answer(number) && waited_ms < kLongestWaitMs; ++waited_ms) {
    elapse(std::chrono::milliseconds(1));
  }
  return session(number).receive();
}

std::vector<std::string> SocketBackend::call_all(int number, std::span<const Request> requests) {
  is_drained_ = false;
  return session(number).exchange(requests);
}

bool SocketBackend::has_answer(int number) {
  // The server runs requests in order of arrival, so earlier ones have a reply or are blocked.
  if (!std::exchange(is_drained_, true)) control_->call(Request::of("PING"));
  return session(number).has_reply();
}

void SocketBackend::close(int number) {
  is_drained_ = false;
  sessions_.erase(number);
}

bool SocketBackend::has_ended(int number) {
  has_answer(number);
  return session(number).has_ended();
}

std::string SocketBackend::receive_all(int number) { return session(number).receive_all(); }

void SocketBackend::send_barrier(int number, bool in_transaction) {
  is_drained_ = false;
  session(number).send_barrier(in_transaction);
}

std::string SocketBackend::receive_to_barrier(int number, bool in_transaction) {
  return session(number).receive_to_barrier(in_transaction);
}

void SocketBackend::elapse(std::chrono::milliseconds duration) {
  is_drained_ = false;
  const Reply moved = control_->call(Request::of("RUSHGATE.ADVANCE", duration.count()));
  if (moved != Reply::ok()) throw std::runtime_error(to_debug_string(moved));
}

}  // namespace rushgate::testing
