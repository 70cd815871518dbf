#include "adapters/resp/connection.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "adapters/resp/resp_encoder.h"
#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_table.h"
#include "engine/commands/errors.h"
#include "engine/script/script_errors.h"

namespace rushgate {
namespace {

constexpr std::size_t kReadBytesMin = 16 * 1'024;
constexpr std::size_t kReadBytesMax = 1'024 * 1'024;
constexpr std::size_t kBatchRequestsMax = 1'024;

/// As CLIENT LIST shows it.
std::string address_text(const Connection::Socket::endpoint_type& endpoint,
                         const RespServerOptions& options) {
  if (endpoint.protocol().family() == AF_UNIX) return options.unix_socket + ":0";
  boost::asio::ip::tcp::endpoint tcp;
  if (endpoint.size() > tcp.capacity()) return "";
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  const std::string ip = tcp.address().to_string();
  const std::string shown = tcp.address().is_v6() ? '[' + ip + ']' : ip;
  return shown + ':' + std::to_string(tcp.port());
}

/// May the request wait for something?
bool may_block(const CommandSpec& spec, const Request& request) {
  if ((spec.flags & kBlocking) == 0) return false;
  const bool only_if_told = spec.name == "xread" || spec.name == "xreadgroup";
  const auto arguments = request.views();
  return !only_if_told || std::ranges::any_of(arguments, [](std::string_view argument) {
    return is_keyword(argument, "BLOCK");
  });
}

/// Does it change the protocol, so that what is before it must have been answered?
bool may_change_protocol(const CommandSpec& spec) {
  return spec.name == "hello" || spec.name == "reset";
}

/// Is it of a browser that some page has sent here? As in Redis.
bool is_http(std::string_view name) {
  return is_keyword(name, "post") || is_keyword(name, "host:");
}

}  // namespace

/// Is it the command of manual mode?
bool Connection::moves_clock(const Request& request) const {
  return engine_.is_manual() && session_->is_authenticated() &&
         is_keyword(request[0], "rushgate.advance");
}

Connection::Connection(std::shared_ptr<boost::asio::io_context> io, Socket socket, Engine& engine,
                       const RespServerOptions& options, Owner& owner)
    : io_(std::move(io)),
      engine_(engine),
      options_(options),
      owner_(owner),
      socket_(std::move(socket)),
      read_bytes_(kReadBytesMin) {
  socket_.non_blocking(true);
}

void Connection::start() {
  session_ = std::make_unique<ServedSession>(engine_, session_options());
  read();
}

ServedSessionOptions Connection::session_options() {
  const auto wake = [io = io_, weak = weak_from_this()] {
    boost::asio::post(*io, [weak] {
      if (const auto self = weak.lock()) self->want_turn();
    });
  };
  boost::system::error_code ignored;
  return {.password = options_.password,
          .address = address_text(socket_.remote_endpoint(ignored), options_),
          .local_address = address_text(socket_.local_endpoint(ignored), options_),
          .on_message = wake,
          .on_shutdown = options_.on_shutdown};
}

void Connection::want_turn() {
  if (!std::exchange(wants_turn_, true)) owner_.wants_turn(shared_from_this());
}

// ---- Coming in ----

void Connection::read() {
  if (is_reading_ || is_closed_ || ends_after_output_) return;
  is_reading_ = true;
  socket_.async_read_some(
      input_.prepare(read_bytes_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->is_reading_ = false;
        if (error) return self->close();
        self->received(bytes);
      });
}

void Connection::received(std::size_t bytes) {
  input_.commit(bytes);
  input_.consume(std::exchange(parsed_bytes_, 0));
  // Who sends a lot at once is read in large pieces.
  read_bytes_ = bytes == read_bytes_ ? std::min(2 * read_bytes_, kReadBytesMax) : kReadBytesMin;
  if (input_.size() + parser_.kept_bytes() > options_.query_bytes_max) {
    return drop("it sent more than query_bytes_max without a pause for the answers");
  }
  // While it is blocked it is read on only to see whether it hangs up.
  if (is_blocked_) return read();
  want_turn();
}

std::optional<ServedSession::Batch> Connection::next_batch() {
  if (session_->is_hung_up()) return std::nullopt;
  const std::size_t count = alone_ ? 0 : parse_batch();
  if (count > 0) {
    is_in_batch_ = true;
    return ServedSession::Batch{.session = session_.get(), .requests = {requests_.data(), count}};
  }
  if (!alone_ || moves_clock(*alone_)) return std::nullopt;
  is_blocked_ = true;
  requests_[0] = *std::exchange(alone_, std::nullopt);
  return ServedSession::Batch{.session = session_.get(),
                              .requests = {requests_.data(), 1},
                              .completion = [io = io_, weak = weak_from_this()](Reply reply) {
                                boost::asio::post(*io, [weak, reply = std::move(reply)] {
                                  if (const auto self = weak.lock()) self->unblocked(reply);
                                });
                              }};
}

/// How many requests there are that run together; or else alone_ may be one that does not.
std::size_t Connection::parse_batch() {
  std::size_t count = 0;
  const auto buffered = input_.data();
  std::string_view rest(static_cast<const char*>(buffered.data()), buffered.size());
  rest.remove_prefix(parsed_bytes_);
  while (count < kBatchRequestsMax && !is_blocked_ && !alone_ && !ends_after_output_ &&
         !is_closed_) {
    if (count == requests_.size()) requests_.emplace_back();
    if (held_) {
      requests_[count] = *std::exchange(held_, std::nullopt);
    } else {
      const auto& limits = session_->is_authenticated() ? RequestParser::kAuthenticated
                                                        : RequestParser::kUnauthenticated;
      const RequestParser::Result result = parser_.next(rest, limits, requests_[count]);
      if (result == RequestParser::Result::kIncomplete) break;
      if (result == RequestParser::Result::kBroken) {
        if (count > 0) break;  // those before it are answered first; it will be found again
        append(Reply::error(parser_.error()));
        ends_after_output_ = true;
        break;
      }
    }
    const CommandSpec* const spec = find_command(requests_[count][0]);
    const bool ends_all = spec == nullptr && is_http(requests_[count][0]);
    if (count > 0 && (ends_all || (spec != nullptr && may_change_protocol(*spec)))) {
      held_ = std::move(requests_[count]);
      break;
    }
    if (ends_all) {
      drop("it speaks HTTP, perhaps on behalf of a web page");
      break;
    }
    const bool is_alone =
        spec == nullptr ? moves_clock(requests_[count]) : may_block(*spec, requests_[count]);
    if (is_alone) {
      alone_ = std::move(requests_[count]);
      break;
    }
    ++count;
    if (spec != nullptr && (spec->flags & kEndsBatch) != 0) break;
  }
  parsed_bytes_ = buffered.size() - rest.size();
  // While a read is under way, what it was promised must stay where it is.
  if (!is_reading_) input_.consume(std::exchange(parsed_bytes_, 0));
  return count;
}

// RUSHGATE.ADVANCE milliseconds
void Connection::advance_clock() {
  const Request request = *std::exchange(alone_, std::nullopt);
  if (owner_.is_busy()) return append(script_errors::busy());
  if (request.size() != 2) return append(errors::wrong_arity("rushgate.advance"));
  if (session_->is_in_transaction()) {
    return append(Reply::error("ERR RUSHGATE.ADVANCE inside MULTI is not allowed"));
  }
  const auto duration_ms = parse_int64(request[1]);
  if (!duration_ms) return append(errors::not_an_integer());
  const std::int64_t most_ms = Engine::kLastMs - engine_.clock().now_ms();
  if (*duration_ms < 0 || *duration_ms > most_ms) return append(errors::out_of_range(0, most_ms));
  engine_.advance_ms(*duration_ms);
  append(Reply::ok());
}

void Connection::unblocked(const Reply& reply) {
  is_blocked_ = false;
  collect_messages();
  append_answer(reply);
  want_turn();
}

// ---- Going out ----

/// What is published before an answer is sent before it.
void Connection::append_answer(const Reply& reply) {
  append_messages(answers_++);
  append(reply);
}

void Connection::collect_messages() {
  std::ranges::move(session_->take_messages(), std::back_inserter(messages_));
}

void Connection::append_messages(std::uint64_t up_to_replies) {
  auto message = messages_.begin();
  for (; message != messages_.end() && message->after_replies <= up_to_replies; ++message) {
    // In the protocol that it was published for.
    const bool is_push = message->text.kind() == Reply::Kind::kPush;
    append_reply(message->text, is_push ? RespVersion::k3 : RespVersion::k2, output_);
  }
  messages_.erase(messages_.begin(), message);
}

void Connection::append(const Reply& reply) {
  append_reply(reply, session_->protocol() == 3 ? RespVersion::k3 : RespVersion::k2, output_);
}

void Connection::take_replies(std::span<const Reply> replies) {
  is_in_batch_ = false;
  collect_messages();
  for (const Reply& reply : replies) append_answer(reply);
  if (session_->is_closing()) ends_after_output_ = true;
}

void Connection::settle() {
  wants_turn_ = false;
  if (session_->is_hung_up()) close();
  if (is_closed_) return want_turn();  // its owner lets go of it
  collect_messages();
  append_messages(answers_);
  send();
  read();
}

void Connection::send() {
  while (sent_ < output_.size() && !waits_to_write_) {
    boost::system::error_code error;
    sent_ +=
        socket_.send(boost::asio::buffer(output_.data() + sent_, output_.size() - sent_), 0, error);
    if (error == boost::asio::error::would_block) {
      wait_until_writable();
    } else if (error) {
      return close();
    }
  }
  if (waits_to_write_) {
    if (sent_ > output_.size() / 2)
      output_.erase(0, std::exchange(sent_, 0));  // it may never catch up
    if (output_.size() - sent_ > options_.output_bytes_max) {
      drop("it left more than output_bytes_max of its answers unread");
    }
    return;
  }
  output_.clear();
  if (output_.capacity() > kReadBytesMax) output_.shrink_to_fit();
  sent_ = 0;
  if (ends_after_output_) close();
}

void Connection::wait_until_writable() {
  waits_to_write_ = true;
  socket_.async_wait(Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waits_to_write_ = false;
                       if (error) return self->close();
                       if (!self->is_closed_) self->send();
                     });
}

void Connection::drop(const char* reason) {
  if (options_.logger != nullptr) options_.logger->warn("a client is closed: {}", reason);
  close();
}

void Connection::close() {
  if (is_closed_) return;
  is_closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  want_turn();
}

}  // namespace rushgate
