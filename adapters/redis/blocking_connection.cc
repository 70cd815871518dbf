#include "adapters/redis/blocking_connection.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "adapters/resp/resp_encoder.h"

namespace rushgate {
namespace {

constexpr std::size_t kSentAtOnce = std::size_t{64} * 1'024;
constexpr std::size_t kReceivedMax = std::size_t{64} * 1'024;  // one line, and what follows it

}  // namespace

/// Waits for an operation that `begin` starts and that sets `result`.
bool BlockingConnection::wait(absl::FunctionRef<void(Result& result)> begin) {
  if (has_failed_) return false;
  Result result;
  begin(result);
  io_.restart();
  io_.run_for(wait_max_);
  // An operation that is still running never completes: nothing calls run() again.
  has_failed_ = is_interrupted_ || !result || result->failed();
  return !has_failed_;
}

bool BlockingConnection::connect(const std::string& host, const std::string& port) {
  using Tcp = boost::asio::ip::tcp;
  Tcp::resolver resolver(io_);
  Tcp::resolver::results_type addresses;
  const bool is_resolved = wait([&](Result& result) {
    resolver.async_resolve(
        host, port, [&](const boost::system::error_code& error, Tcp::resolver::results_type found) {
          addresses = std::move(found);
          result = error;
        });
  });
  return is_resolved && wait([&](Result& result) {
           boost::asio::async_connect(
               socket_, addresses,
               [&](const boost::system::error_code& error, const Tcp::endpoint& /*used*/) {
                 was_refused_ = error == boost::asio::error::connection_refused;
                 result = error;
               });
         });
}

bool BlockingConnection::send(const Request& request) {
  std::string bytes;
  append_request(request, bytes);
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::string_view part = rest.substr(0, kSentAtOnce);
    const bool is_sent = wait([&](Result& result) {
      boost::asio::async_write(
          socket_, boost::asio::buffer(part.data(), part.size()),
          [&](const boost::system::error_code& error, std::size_t /*bytes*/) { result = error; });
    });
    if (!is_sent) return false;
    rest.remove_prefix(part.size());
  }
  return true;
}

std::optional<std::string> BlockingConnection::receive() {
  std::size_t bytes = 0;
  const bool is_received = wait([&](Result& result) {
    boost::asio::async_read_until(
        socket_, boost::asio::dynamic_buffer(received_, kReceivedMax), kLineEnd,
        [&](const boost::system::error_code& error, std::size_t line_bytes) {
          bytes = line_bytes;
          result = error;
        });
  });
  if (!is_received) return std::nullopt;
  std::string line = received_.substr(0, bytes - kLineEnd.size());
  received_.erase(0, bytes);
  return line;
}

void BlockingConnection::interrupt() {
  boost::asio::post(io_, [this] {
    is_interrupted_ = true;
    io_.stop();
  });
}

}  // namespace rushgate
