#include "adapters/redis/redis_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

#include "adapters/redis/command_traits.h"
#include "adapters/redis/hiredis_reader.h"
#include "adapters/redis/text.h"
#include "adapters/resp/resp_encoder.h"
#include "engine/client/errors.h"

namespace rushgate {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kOutboxBytes = 64 * 1024;  // encoded at once; a larger request goes alone

// On top of a blocking command's own timeout: an idle Redis looks at those ten times a second.
constexpr std::int64_t kBlockSlackMs = 1'000;

timeval to_timeval(std::int64_t ms) {
  return {static_cast<time_t>(ms / 1000), static_cast<suseconds_t>(ms % 1000 * 1000)};
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

std::string error_text(int error) { return std::strerror(error); }

}  // namespace

// ---- What is on its way to the server -----------------------------------------------------------

/// Encodes requests a chunk at a time, so that a pipeline of any length needs bounded memory.
class RedisConnection::Outbox {
 public:
  explicit Outbox(std::span<const Request> requests) : requests_(requests) {}

  [[nodiscard]] bool is_empty() const {
    return offset_ == bytes_.size() && encoded_ == requests_.size();
  }

  /// The first request of which certainly no complete form has left.
  [[nodiscard]] std::size_t first_unsent() const { return offset_ == 0 ? chunk_begin_ : encoded_; }

  /// Sends what the socket takes. 0, or errno of a failed send.
  int send_to(int fd) {
    while (!is_empty()) {
      if (offset_ == bytes_.size()) encode_chunk();
      const ssize_t sent =
          ::send(fd, bytes_.data() + offset_, bytes_.size() - offset_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        if (errno == EINTR) continue;
        return would_block(errno) ? 0 : errno;
      }
      offset_ += static_cast<std::size_t>(sent);
    }
    return 0;
  }

 private:
  void encode_chunk() {
    bytes_.clear();
    offset_ = 0;
    chunk_begin_ = encoded_;
    while (encoded_ < requests_.size() && bytes_.size() < kOutboxBytes) {
      append_request(requests_[encoded_++], bytes_);
    }
  }

  std::span<const Request> requests_;
  std::string bytes_;            // the chunk: requests [chunk_begin_, encoded_)
  std::size_t offset_ = 0;       // how much of it is sent
  std::size_t chunk_begin_ = 0;  //
  std::size_t encoded_ = 0;
};

// ---- Opening ------------------------------------------------------------------------------------

void RedisConnection::FreeContext::operator()(redisContext* context) const { redisFree(context); }

RedisConnection::RedisConnection(const RedisOptions& options, redisContext* context)
    : options_(options), context_(context), buffer_(std::make_unique<char[]>(kReadBytes)) {}

RedisConnection::~RedisConnection() = default;

absl::StatusOr<std::unique_ptr<RedisConnection>> RedisConnection::open(
    const RedisOptions& options) {
  const timeval timeout = to_timeval(options.connect_timeout_ms);
  redisContext* const context =
      options.unix_path.empty()
          ? redisConnectWithTimeout(options.host.c_str(), options.port, timeout)
          : redisConnectUnixWithTimeout(options.unix_path.c_str(), timeout);
  const auto cannot = [&](std::string_view why) {
    return concat("cannot connect to ", options.address(), ": ", why);
  };
  if (context == nullptr) return absl::UnavailableError(cannot("out of memory"));
  std::unique_ptr<RedisConnection> connection(new RedisConnection(options, context));
  if (context->err != 0) return absl::UnavailableError(cannot(context->errstr));
  ::fcntl(context->fd, F_SETFD, FD_CLOEXEC);
  make_reader_build_replies(*context->reader);
  if (const absl::Status status = connection->handshake(); !status.ok()) {
    return absl::Status(status.code(), cannot(std::string(status.message())));
  }
  return connection;
}

absl::Status RedisConnection::handshake() {
  std::vector<Request> requests;
  if (!options_.password.empty()) {
    requests.push_back(options_.user.empty()
                           ? Request::of("AUTH", options_.password)
                           : Request::of("AUTH", options_.user, options_.password));
  }
  if (options_.db != 0) requests.push_back(Request::of("SELECT", options_.db));
  if (!options_.client_name.empty()) {
    requests.push_back(Request::of("CLIENT", "SETNAME", options_.client_name));
  }
  // A server that is full or still loading says so here, before anything is asked of it.
  requests.push_back(Request::of("PING"));

  std::vector<Reply> replies(requests.size());
  const bool alive = exchange(requests, replies);
  for (const Reply& reply : replies) {
    if (!reply.is_error()) continue;
    if (!alive) return absl::UnavailableError(failure_);
    const std::string_view code = reply.error_code();
    const bool about_password = code == "WRONGPASS" || code == "NOAUTH" || code == "NOPERM" ||
                                reply.text().starts_with("ERR AUTH");
    if (about_password) return absl::PermissionDeniedError(reply.text());
    if (code == "LOADING") return absl::UnavailableError(reply.text());
    return absl::FailedPreconditionError(reply.text());
  }
  return ask_id();
}

/// Not everybody may: it can do without.
absl::Status RedisConnection::ask_id() {
  const Request request = Request::of("CLIENT", "ID");
  Reply reply;
  if (!exchange({&request, 1}, {&reply, 1})) return absl::UnavailableError(failure_);
  if (reply.is_integer()) id_ = reply.integer();
  return absl::OkStatus();
}

// ---- Requests and answers -----------------------------------------------------------------------

bool RedisConnection::is_stale() const {
  char byte = 0;
  const ssize_t got = ::recv(context_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || !would_block(errno);
}

bool RedisConnection::exchange(std::span<const Request> requests, std::span<Reply> replies) {
  Outbox outbox(requests);
  std::size_t answered = 0;
  int send_error = 0;
  while (answered < requests.size()) {
    // After a failed send, what the server answered before it hung up is still worth reading.
    if (send_error == 0) send_error = outbox.send_to(context_->fd);
    const bool more_to_send = send_error == 0 && !outbox.is_empty();
    const short events = static_cast<short>(more_to_send ? POLLIN | POLLOUT : POLLIN);
    if (!wait_for(events, requests[answered])) break;
    read_available();
    if (!take_answers(replies, answered) || !failure_.empty()) break;
  }
  if (answered == requests.size()) return failure_.empty();

  if (send_error != 0) failure_ = error_text(send_error);
  for (std::size_t i = answered; i < replies.size(); ++i) {
    const std::string_view code =
        i < outbox.first_unsent() ? error_code::kOutcomeUnknown : error_code::kClosed;
    replies[i] = Reply::error(concat(code, " ", options_.address(), ": ", failure_));
  }
  return false;
}

/// Waits until the socket is ready for one of `events`, at most as long as the server may be silent
/// while it works on `awaited`. False, with failure_ set, if it was silent for longer.
bool RedisConnection::wait_for(short events, const Request& awaited) {
  using Clock = std::chrono::steady_clock;
  const auto block_ms = block_timeout_ms(awaited);
  const bool for_ever = block_ms == 0;
  const std::int64_t patience_ms =
      options_.command_timeout_ms + (block_ms ? *block_ms + kBlockSlackMs : 0);
  const auto deadline = Clock::now() + std::chrono::milliseconds(patience_ms);
  pollfd socket{context_->fd, events, 0};
  for (;;) {
    std::int64_t left_ms = -1;
    if (!for_ever) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      left_ms = std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max());
    }
    const int ready = ::poll(&socket, 1, static_cast<int>(left_ms));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) {
      failure_ = error_text(errno);
      return false;
    }
    if (ready == 0 && Clock::now() >= deadline) {
      failure_ = concat("no answer within ", std::to_string(patience_ms), " ms");
      return false;
    }
  }
}

/// Hands to the parser what has arrived; sets failure_ when the server has hung up.
void RedisConnection::read_available() {
  const ssize_t got = ::recv(context_->fd, buffer_.get(), kReadBytes, MSG_DONTWAIT);
  if (got > 0) {
    if (redisReaderFeed(context_->reader, buffer_.get(), static_cast<std::size_t>(got)) !=
        REDIS_OK) {
      failure_ = context_->reader->errstr;
    }
  } else if (got == 0) {
    failure_ = "the server closed the connection";
  } else if (!would_block(errno) && errno != EINTR) {
    failure_ = error_text(errno);
  }
}

/// Moves complete answers to where they belong. False, with failure_ set, if the bytes are no
/// RESP2.
bool RedisConnection::take_answers(std::span<Reply> replies, std::size_t& answered) {
  while (answered < replies.size()) {
    void* object = nullptr;
    if (redisReaderGetReply(context_->reader, &object) != REDIS_OK) {
      failure_ = context_->reader->errstr;
      return false;
    }
    if (object == nullptr) return true;
    const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
    replies[answered++] = std::move(*reply);
  }
  return true;
}

}  // namespace rushgate
