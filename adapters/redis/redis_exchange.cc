#include "adapters/redis/redis_exchange.h"

#include <utility>

#include "adapters/redis/text.h"
#include "adapters/resp/resp_encoder.h"

namespace rushgate {
namespace {

constexpr std::size_t kExchangeBytesMax = std::size_t{1} << 20;  // of all replies

}  // namespace

RedisExchange::RedisExchange(boost::asio::io_context& io, const RedisOptions& options,
                             boost::asio::ssl::context* tls)
    : io_(io), options_(options), tls_(tls), timer_(io) {}

void RedisExchange::start(const RedisAddress& server, const std::vector<Request>& requests,
                          std::int64_t timeout_ms, Then then) {
  then_ = std::move(then);
  expected_ = requests.size();
  for (const Request& request : requests) append_request(request, out_);
  timer_.start(timeout_ms, [self = shared_from_this(), timeout_ms] {
    self->fail(concat("no reply within ", std::to_string(timeout_ms), " ms"));
  });
  wire_ = std::make_shared<RedisWire>(io_, options_, server, tls_, shared_from_this());
  wire_->connect();
}

void RedisExchange::close() {
  timer_.stop();
  then_ = nullptr;
  if (wire_ != nullptr) std::exchange(wire_, nullptr)->close();
}

void RedisExchange::connected(RedisWire& wire, const std::string& failure) {
  if (!failure.empty()) return fail(failure);
  wire.read();
  if (!wire.is_plain()) return wire.write(out_);
  // A new socket has space for a few short requests.
  if (wire.send(out_) != static_cast<ssize_t>(out_.size())) fail("it accepts no requests");
}

void RedisExchange::can_write(RedisWire& /*wire*/, const std::string& /*failure*/) {}

void RedisExchange::received(RedisWire& /*wire*/, std::string_view bytes,
                             const std::string& failure) {
  if (!failure.empty()) return fail(failure);
  received_bytes_ += bytes.size();
  if (received_bytes_ > kExchangeBytesMax) return fail("its replies are too long");
  reader_.feed(bytes);
  while (auto reply = reader_.next()) replies_.push_back(*std::move(reply));
  if (!reader_.error().empty()) return fail(reader_.error());
  if (replies_.size() >= expected_) end(std::move(replies_));
}

void RedisExchange::fail(std::string_view reason) {
  end(absl::UnavailableError(std::string(reason)));
}

void RedisExchange::end(absl::StatusOr<std::vector<Reply>> result) {
  const auto self = shared_from_this();
  Then then = std::move(then_);
  close();
  if (then) then(std::move(result));
}

}  // namespace rushgate
