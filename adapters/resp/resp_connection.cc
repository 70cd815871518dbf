#include "adapters/resp/resp_connection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "absl/container/inlined_vector.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/heap.h"
#include "engine/core/base/log.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_table.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

constexpr std::size_t kBatchRequestsMax = 1'024;
constexpr std::size_t kBatchBytesMax = 256 * 1'024;  // the request that reaches it ends the batch
constexpr std::size_t kBatchReplyBytesMax = 256 * 1'024;
constexpr std::size_t kWaitingBytesMax = 64 * 1'024;  // with more pending output, a client waits
constexpr std::size_t kHeldBytesMax = 4 * 1'024 * 1'024;  // bound on the input received meanwhile
constexpr std::size_t kSendBytesMax = 1'024 * 1'024;      // then other clients get their turn
constexpr std::size_t kKeptInputBytes = 1'024;            // a larger empty buffer is freed

// The bound before AUTH, as in Redis (CVE-2025-21605).
constexpr std::size_t kUnauthenticatedOutputBytesMax = 1'024;
constexpr std::size_t kUnauthenticatedReadBytesMax = 16 * 1'024;

constexpr std::string_view kSpeaksHttp = "it speaks HTTP, perhaps on behalf of a web page";

constexpr std::string_view kReadsNoMessages =
    "it left more than subscriber_bytes_max of its messages unread";
constexpr std::string_view kNoRoomForOutput =
    "all clients together hold more than clients_bytes_max, and it was to be sent more";

/// Returns true if `bytes` exceed the bound; 0: no bound.
constexpr bool exceeds(std::size_t bytes, std::size_t bytes_max) {
  return bytes_max != 0 && bytes > bytes_max;
}

/// Returns the address as in CLIENT LIST.
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

/// Returns true if the request may block.
bool may_block(const CommandSpec& spec, const Request& request) {
  if (spec.traits.timeout == BlockTimeout::kNone) return false;
  if (spec.traits.timeout != BlockTimeout::kBlockOption) return true;
  const auto arguments = request.views();
  return std::ranges::any_of(
      arguments, [](std::string_view argument) { return is_keyword(argument, "BLOCK"); });
}

/// Returns true for a browser's request, which a malicious page may cause. The same check as in
/// Redis.
bool is_http(std::string_view name) {
  return is_keyword(name, "post") || is_keyword(name, "host:");
}

}  // namespace

/// Returns true for the command that advances the clock in manual mode.
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
      socket_(std::move(socket)) {
  socket_.non_blocking(true);
}

void Connection::start() {
  active_ms_ = engine_.clock().monotonic_ms();
  session_ = std::make_unique<ServedSession>(engine_, session_options());
  was_authenticated_ = session_->is_authenticated();
  wait_for_input();
}

ServedSessionOptions Connection::session_options() {
  const auto wake = [io = io_, weak = weak_from_this()] {
    boost::asio::post(*io, [weak] {
      if (const auto self = weak.lock()) {
        self->session_->end_pause();
        self->want_turn();
      }
    });
  };
  boost::system::error_code ignored;
  return {.password = options_.password,
          .address = address_text(socket_.remote_endpoint(ignored), options_),
          .local_address = address_text(socket_.local_endpoint(ignored), options_),
          .reply_bytes_max = options_.output_bytes_max,
          .message_bytes_max = options_.subscriber_bytes_max,
          .untaken = owner_.untaken_output(),
          .on_message = wake,
          .on_shutdown = options_.on_shutdown};
}

void Connection::want_turn() {
  if (!std::exchange(wants_turn_, true)) owner_.wants_turn(shared_from_this());
}

// ---- Input ----

void Connection::wait_for_input() {
  if (output_waits()) {
    if (unsent_reply_bytes() >= kHeldBytesMax) return;
    is_readable_ = false;  // to be notified again
  }
  if (waits_for_input_ || is_readable_ || is_closed_ || ends_after_output_) return;
  waits_for_input_ = true;
  socket_.async_wait(Socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waits_for_input_ = false;
                       if (error) return self->close();
                       self->is_readable_ = true;
                       if (!self->holds_input()) return self->want_turn();
                       // A blocked client may hang up. One that sends a whole pipeline before it
                       // reads must be able to send all of it.
                       self->receive();
                       self->count_memory();
                       self->wait_for_input();
                     });
}

/// Returns true if nothing delays its next request, if there is one.
bool Connection::can_run() const {
  return !is_closed_ && !is_in_batch_ && !is_blocked_ && !ends_after_output_ && !output_waits() &&
         !session_->is_paused() && !session_->is_hung_up();
}

std::optional<ServedSession::Batch> Connection::next_batch() {
  if (!can_run()) return std::nullopt;
  if (batch_begin_ == batch_end_ && !alone_) find_batch();
  if (is_closed_) return std::nullopt;
  if (batch_begin_ < batch_end_ && program_command_) {
    begin_program_batch();
    return std::nullopt;
  }
  if (batch_begin_ < batch_end_) {
    is_in_batch_ = true;
    const bool is_trusted = session_->is_authenticated();
    return ServedSession::Batch{
        .session = session_.get(),
        .requests = std::span(requests_).subspan(batch_begin_, batch_end_ - batch_begin_),
        .reply_bytes_max = is_trusted ? kBatchReplyBytesMax : kUnauthenticatedOutputBytesMax};
  }
  if (!alone_ || moves_clock(*alone_)) return std::nullopt;
  is_blocked_ = true;
  blocking_ = *std::exchange(alone_, std::nullopt);
  return ServedSession::Batch{
      .session = session_.get(),
      .requests = {&blocking_, 1},
      .completion = [io = io_, weak = weak_from_this()](std::optional<Reply> reply) {
        boost::asio::post(*io, [weak, reply = std::move(reply)]() mutable {
          if (const auto self = weak.lock()) {
            self->unblocked(std::move(reply));
          }
        });
      }};
}

/// Finds the requests of the next batch, or one that runs alone, in the received bytes or the
/// socket.
void Connection::find_batch() {
  if (held_ || may_have_request_) parse_input();
  if (is_readable_ && can_run() && batch_begin_ == batch_end_ && !alone_) receive();
}

void Connection::receive() {
  is_readable_ = false;
  std::span<char> buffer = owner_.buffers().read_buffer();
  if (!session_->is_authenticated()) buffer = buffer.first(kUnauthenticatedReadBytesMax);
  boost::system::error_code error;
  const std::size_t bytes =
      socket_.read_some(boost::asio::buffer(buffer.data(), buffer.size()), error);
  if (error == boost::asio::error::would_block) return;
  if (error) return close();
  session_->note_input(bytes);
  active_ms_ = engine_.clock().monotonic_ms();
  const std::string_view received(buffer.data(), bytes);
  if (!input_.empty() || holds_input()) {
    input_.append(received);
    may_have_request_ = true;
    if (!holds_input()) parse_input();
  } else {
    input_ = parse(received);
  }
  if (unsent_reply_bytes() > options_.query_bytes_max) {
    drop("it sent more than query_bytes_max without a pause for the replies");
  }
}

/// Returns the memory of the client's requests and of its kept data.
std::size_t Connection::unsent_reply_bytes() const {
  return input_.size() - parsed_bytes_ + parser_.memory_bytes() + session_->held_bytes();
}

void Connection::parse_input() {
  const std::string_view rest = parse(std::string_view(input_).substr(parsed_bytes_));
  parsed_bytes_ = input_.size() - rest.size();
  if (rest.empty()) {
    input_.clear();
    if (input_.capacity() > kKeptInputBytes) std::string().swap(input_);
    parsed_bytes_ = 0;
  } else if (2 * parsed_bytes_ > input_.size()) {
    input_.erase(0, std::exchange(parsed_bytes_, 0));
  }
}

/// Parses requests from the beginning of `input`. Returns the rest.
std::string_view Connection::parse(std::string_view input) {
  batch_begin_ = batch_end_ = batch_bytes_ = 0;
  requests_ = owner_.buffers().take_requests();
  may_have_request_ = true;
  bool goes_on = true;
  while (goes_on && batch_end_ < kBatchRequestsMax && batch_bytes_ < kBatchBytesMax) {
    if (batch_end_ == requests_.size()) requests_.emplace_back();
    Request& request = requests_[batch_end_];
    goes_on = take_request(input, request) && add_request(request);
    batch_bytes_ += request.memory_bytes();
  }
  if (batch_end_ == 0) end_batch();
  return input;
}

/// Returns false if there is no complete or no valid request.
bool Connection::take_request(std::string_view& input, Request& request) {
  if (held_) {
    request = *std::exchange(held_, std::nullopt);
    return true;
  }
  RequestParser::Limits limits = RequestParser::kUnauthenticated;
  if (session_->is_authenticated()) {
    limits = RequestParser::kAuthenticated;
    limits.argument_bytes_max = static_cast<std::int64_t>(session_->argument_bytes_max());
  }
  switch (parser_.next(input, limits, request)) {
    case RequestParser::Result::kRequest:
      return true;
    case RequestParser::Result::kIncomplete:
      may_have_request_ = false;
      return false;
    case RequestParser::Result::kBroken:
      break;
  }
  if (batch_end_ > 0) return false;  // earlier replies go first; it is parsed again
  append(Reply::error(parser_.error()));
  ends_after_output_ = true;
  return false;
}

/// Adds the request to the batch, or keeps it for the time after the batch. Returns false if the
/// batch is complete.
bool Connection::add_request(Request& request) {
  const CommandSpec* const spec = find_command(request[0]);
  if (const auto* const program = owner_.program_commands();
      spec == nullptr && program != nullptr) {
    if (const auto command = program->find(request[0])) {
      return add_program_request(*command, request);
    }
  }
  if (program_command_) {
    held_ = std::move(request);
    return false;
  }
  const bool ends_all = spec == nullptr && is_http(request[0]);
  if (batch_end_ > 0 && (ends_all || (spec != nullptr && (spec->flags & kChangesProtocol) != 0))) {
    held_ = std::move(request);
    return false;
  }
  if (ends_all) {
    drop(kSpeaksHttp);
    return false;
  }
  const bool is_alone = spec == nullptr ? moves_clock(request) : may_block(*spec, request);
  if (is_alone) {
    alone_ = std::move(request);
    return false;
  }
  ++batch_end_;
  return spec == nullptr || (spec->flags & kEndsBatch) == 0;
}

/// The program runs calls of one of its commands as a batch. What the session's state refuses is the
/// engine's, one by one: each may change the state. Returns false if the batch is complete.
bool Connection::add_program_request(std::size_t command, Request& request) {
  const CommandSpec& spec = owner_.program_commands()->specs()[command];
  const bool fits = arity_fits(spec, request.size());
  if (batch_end_ > 0 && !(fits && program_command_ == command)) {
    held_ = std::move(request);
    return false;
  }
  if (batch_end_ == 0 && fits && session_->takes_program_commands()) program_command_ = command;
  ++batch_end_;
  return program_command_.has_value();
}

void Connection::begin_program_batch() {
  is_blocked_ = true;
  const std::size_t command = *std::exchange(program_command_, std::nullopt);
  const std::size_t used = std::exchange(batch_end_, 0);
  std::vector<Request> requests = std::exchange(requests_, {});
  const std::span<const Request> begun(requests.data(), used);
  const auto batches = owner_.program_batches();
  ++*batches;
  options_.commands->begin(
      command, session_->database(), begun,
      [io = io_, weak = weak_from_this(), batches, used,
       requests = std::move(requests)](std::vector<Reply> replies) mutable {
        boost::asio::post(*io, [weak, batches, used, requests = std::move(requests),
                                replies = std::move(replies)]() mutable {
          --*batches;
          if (const auto self = weak.lock()) {
            self->program_replied(std::move(requests), used, std::move(replies));
          }
        });
      });
}

void Connection::program_replied(std::vector<Request> requests, std::size_t used,
                                 std::vector<Reply> replies) {
  is_blocked_ = false;
  batch_bytes_ = 0;
  owner_.buffers().give_back(std::move(requests), used);
  collect_messages();
  append_messages(replies_);
  for (Reply& reply : replies) {
    if (!session_->drops_reply()) append(std::move(reply));  // the engine does not count it
  }
  count_memory();
  want_turn();
}

/// Frees the memory of the batch.
void Connection::end_batch() {
  const std::size_t used = std::min(requests_.size(), batch_end_ + 1);
  owner_.buffers().give_back(std::exchange(requests_, {}), used);
  batch_begin_ = batch_end_ = batch_bytes_ = 0;
}

// Runs RUSHGATE.ADVANCE milliseconds.
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

/// Without a reply, the request waits for the end of CLIENT PAUSE.
void Connection::unblocked(std::optional<Reply> reply) {
  is_blocked_ = false;
  if (reply) {
    free_memory(blocking_);
    collect_messages();
    append_reply(*std::move(reply));
  } else {
    alone_ = std::move(blocking_);
    blocking_.clear();
  }
  session_->reply_is_taken();
  count_memory();
  want_turn();
}

// ---- Output ----

/// Appends a reply. Messages published earlier are sent first.
void Connection::append_reply(Reply&& reply) {
  append_messages(replies_++);
  append(std::move(reply));
}

void Connection::collect_messages() {
  std::vector<ServedSession::Message> messages = session_->take_messages();
  for (const ServedSession::Message& message : messages) message_bytes_ += message.bytes;
  if (messages_.empty()) {
    messages_ = std::move(messages);
  } else {
    std::ranges::move(messages, std::back_inserter(messages_));
  }
}

void Connection::append_messages(std::uint64_t up_to_replies) {
  auto message = messages_.begin();
  for (; message != messages_.end() && message->after_replies <= up_to_replies; ++message) {
    // In the protocol of the time of publication.
    const bool is_push = message->text.kind() == Reply::Kind::kPush;
    message_bytes_ -= message->bytes;
    output_.append(std::move(message->text), is_push ? RespVersion::k3 : RespVersion::k2);
  }
  messages_.erase(messages_.begin(), message);
  if (messages_.empty()) std::vector<ServedSession::Message>().swap(messages_);
}

void Connection::append(Reply&& reply) {
  output_.append(std::move(reply), session_->protocol() == 3 ? RespVersion::k3 : RespVersion::k2);
}

void Connection::take_replies(std::span<Reply> replies) {
  is_in_batch_ = false;
  was_authenticated_ |= session_->is_authenticated();
  collect_messages();
  for (Reply& reply : replies) append_reply(std::move(reply));
  batch_begin_ += replies.size();
  if (batch_begin_ == batch_end_) end_batch();
  if (session_->is_closing()) ends_after_output_ = true;
}

void Connection::end_turn() {
  send_and_go_on();
  if (!is_closed_) check_backlog();
  count_memory();
}

void Connection::send_and_go_on() {
  wants_turn_ = false;
  if (session_->is_hung_up()) close();
  drop_if_overflowing();
  if (held_ && is_http((*held_)[0])) drop(kSpeaksHttp);  // as in Redis, earlier requests are lost
  if (is_closed_) return;
  collect_messages();
  append_messages(replies_);
  send();
  session_->set_unsent_bytes(unread_bytes());
  if (is_closed_) return;
  if (unsent_reply_bytes() > options_.query_bytes_max) {
    return drop(
        "its stored requests and names exceed query_bytes_max (MULTI, WATCH, SUBSCRIBE, SETNAME)");
  }
  const bool has_more =
      batch_begin_ < batch_end_ || alone_ || held_ || may_have_request_ || is_readable_;
  if (has_more && can_run()) {
    want_turn();
  } else {
    wait_for_input();
  }
}

void Connection::drop_if_overflowing() {
  const ServedSession::Overflow overflow = session_->overflow();
  if (is_closed_ || overflow == ServedSession::Overflow::kNone) return;
  drop(overflow == ServedSession::Overflow::kOfSession ? kReadsNoMessages : kNoRoomForOutput);
}

bool Connection::holds_input() const {
  return is_blocked_ || session_->is_paused() || output_waits();
}

bool Connection::output_waits() const { return output_.size() > kWaitingBytesMax; }

void Connection::send() {
  std::size_t sent = 0;
  while (!output_.empty() && !waits_to_write_) {
    if (sent >= kSendBytesMax) {
      wait_until_writable();
      break;
    }
    boost::system::error_code error;
    const std::size_t bytes = send_some(error);
    output_.consume(bytes);
    if (bytes > 0) session_->note_output(bytes);
    sent += bytes;
    if (error == boost::asio::error::would_block) {
      wait_until_writable();
    } else if (error) {
      return close();
    }
  }
  if (sent > 0) active_ms_ = engine_.clock().monotonic_ms();
  const bool is_subscribed = session_->is_subscribed();
  if (is_subscribed && exceeds(unread_bytes(), options_.subscriber_bytes_max))
    return drop(kReadsNoMessages);
  if (!is_subscribed && output_.size() > options_.output_bytes_max) {
    return drop("it left more than output_bytes_max of its replies unread");
  }
  if (output_.size() > kUnauthenticatedOutputBytesMax && !was_authenticated_) {
    return drop("it left replies unread before AUTH");
  }
  if (output_.empty() && ends_after_output_) close();
}

/// Returns how many bytes the socket accepted.
std::size_t Connection::send_some(boost::system::error_code& error) {
  std::array<std::string_view, 16> views;
  const std::size_t count = output_.front(views);
  absl::InlinedVector<boost::asio::const_buffer, views.size()> buffers;
  for (const std::string_view view : std::span(views).first(count)) {
    buffers.emplace_back(view.data(), view.size());
  }
  if (count == 1) return socket_.send(buffers.front(), 0, error);
  return socket_.send(buffers, 0, error);
}

void Connection::wait_until_writable() {
  waits_to_write_ = true;
  socket_.async_wait(Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waits_to_write_ = false;
                       if (error) return self->close();
                       self->want_turn();
                     });
}

std::int64_t Connection::idle_ms(std::int64_t now_monotonic_ms) const {
  if (wants_turn_ || is_in_batch_ || is_blocked_) return 0;
  if (session_->is_paused() || session_->is_subscribed()) return 0;
  return now_monotonic_ms - active_ms_;
}

/// Reports an approximate size, without the small objects of each connection.
void Connection::count_memory() {
  std::size_t bytes = 0;
  if (!is_closed_) {
    const std::size_t requests = request_bytes();
    bytes = heap_bytes(input_) + parser_.memory_bytes() + requests + session_->held_bytes() +
            output_.memory_bytes() + message_bytes_ + heap_bytes(messages_);
    report_buffers(requests);
  }
  owner_.memory_changed(std::exchange(counted_bytes_, bytes), bytes);
}

/// Returns the memory of the requests without a reply.
std::size_t Connection::request_bytes() const {
  std::size_t bytes = batch_bytes_ + blocking_.memory_bytes();
  for (const auto& request : {&alone_, &held_}) {
    if (*request) bytes += (*request)->memory_bytes();
  }
  return bytes;
}

/// Reports the buffers for CLIENT LIST, with the result of request_bytes().
void Connection::report_buffers(std::size_t requests) {
  ConnectionBuffers& buffers = session_->buffers();
  buffers.input = input_.size() - parsed_bytes_ + parser_.memory_bytes();
  buffers.input_free = input_.capacity() - input_.size();
  buffers.requests = requests;
  buffers.reply_capacity = output_.tail_capacity();
  buffers.reply_peak = output_.last_tail_bytes();
  buffers.replies = output_.tail_bytes();
  buffers.output_chunks = output_.chunk_count() + messages_.size();
  buffers.output_bytes = output_.chunk_bytes() + message_bytes_;
}

bool Connection::is_backlogged() const {
  return session_->is_subscribed() && exceeds(unread_bytes(), options_.subscriber_soft_bytes_max);
}

void Connection::check_backlog() {
  if (!is_backlogged()) return backlogged_ms_.reset();
  const std::int64_t now_ms = engine_.clock().monotonic_ms();
  if (!backlogged_ms_) backlogged_ms_ = now_ms;
  if (now_ms - *backlogged_ms_ >= 1'000 * options_.subscriber_soft_s) {
    drop("it left more than subscriber_soft_bytes_max of its messages unread for too long");
  }
}

void Connection::drop(std::string_view reason) {
  if (options_.logger != nullptr)
    log_warning(*options_.logger, concat("a client is closed: ", reason));
  close();
}

void Connection::close() {
  if (is_closed_) return;
  is_closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  count_memory();
  owner_.closed(shared_from_this());
}

}  // namespace rushgate
