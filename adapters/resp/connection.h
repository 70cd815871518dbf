// One client of a RespServer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "adapters/resp/output_queue.h"
#include "adapters/resp/request_parser.h"
#include "adapters/resp/resp_server.h"
#include "adapters/resp/shared_buffers.h"
#include "engine/executor/served_session.h"

namespace rushgate {

/// Reads requests in batches and writes their replies. While more than a little output waits for
/// the client, it neither reads nor runs anything. Belongs to the server's thread. A server keeps
/// it as a shared_ptr until it is closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// The functions of its server.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// It has something to run or to send: it is to be asked for next_batch(), then settle()d.
    /// Comes once until then.
    virtual void wants_turn(const std::shared_ptr<Connection>& connection) = 0;
    /// Its memory_bytes() were `before`, and are `after`.
    virtual void memory_changed(std::size_t before, std::size_t after) = 0;
    /// It is closed, and wants nothing more.
    virtual void closed(const std::shared_ptr<Connection>& connection) = 0;
    /// Is it called in the middle of a script?
    [[nodiscard]] virtual bool is_busy() const = 0;
    [[nodiscard]] virtual SharedBuffers& buffers() = 0;
    /// Returns the bound on the engine's output that connections have not taken yet.
    [[nodiscard]] virtual std::shared_ptr<UntakenOutput> untaken_output() const = 0;
  };

  Connection(std::shared_ptr<boost::asio::io_context> io, Socket socket, Engine& engine,
             const RespServerOptions& options, Owner& owner);

  /// Begins to read. To be called once, first.
  void start();

  /// The next requests, to be run in their turn; none if there are none now, or if output waits.
  /// They stay as they are until take_replies(), or until they have begun if they have a
  /// completion: then they may block.
  [[nodiscard]] std::optional<ServedSession::Batch> next_batch();
  /// Of the first requests of the batch. Those without a reply are the next batch.
  void take_replies(std::span<Reply> replies);
  /// After next_batch() gave nothing: is the next request RUSHGATE.ADVANCE? It is then to be run by
  /// advance_clock(), between batches.
  [[nodiscard]] bool moves_clock_next() const { return alone_ && can_run(); }
  void advance_clock();

  /// Called after a batch, or if there is none. Sends pending output. Then requests another turn, or
  /// waits for input.
  void settle();

  /// Between next_batch() and take_replies().
  [[nodiscard]] bool is_in_batch() const { return is_in_batch_; }

  /// Returns for how long it has neither received nor sent anything; 0 if it has reason to wait: it
  /// is subscribed or blocked, or about to be served.
  [[nodiscard]] std::int64_t idle_ms(std::int64_t now_monotonic_ms) const;

  /// Returns the memory of its requests and replies, as last reported to its owner.
  [[nodiscard]] std::size_t memory_bytes() const { return counted_bytes_; }
  /// Returns how much memory the requests of next_batch() take.
  [[nodiscard]] std::size_t batch_bytes() const { return batch_bytes_; }
  /// Returns true if it may be closed to free memory: not in a batch, not with CLIENT NO-EVICT.
  [[nodiscard]] bool is_evictable() const { return !is_in_batch_ && !session_->is_protected(); }

  /// Returns true if it is subscribed, and leaves more unread than subscriber_soft_bytes_max.
  [[nodiscard]] bool is_backlogged() const;
  /// Closes it if it has been backlogged for too long.
  void check_backlog();

  [[nodiscard]] bool is_closed() const { return is_closed_; }
  void close();
  /// Closes it, and logs the reason.
  void drop(std::string_view reason);

 private:
  void want_turn();
  void send_and_go_on();
  void drop_if_overflowing();
  void count_memory();
  [[nodiscard]] std::size_t unanswered_bytes() const;
  ServedSessionOptions session_options();

  // ---- Coming in ----
  void wait_for_input();
  void receive();
  void find_batch();
  void parse_input();
  std::string_view parse(std::string_view input);
  bool take_request(std::string_view& input, Request& request);
  bool add_request(Request& request);
  void end_batch();
  [[nodiscard]] bool moves_clock(const Request& request) const;
  [[nodiscard]] bool can_run() const;
  void unblocked(Reply reply);

  // ---- Going out ----
  void append(Reply&& reply);
  void append_answer(Reply&& reply);
  void collect_messages();
  void append_messages(std::uint64_t up_to_replies);
  [[nodiscard]] bool output_waits() const;
  /// Returns true if the client's input must wait.
  [[nodiscard]] bool holds_input() const;
  [[nodiscard]] std::size_t unread_bytes() const { return output_.size() + message_bytes_; }
  void send();
  std::size_t send_some(boost::system::error_code& error);
  void wait_until_writable();

  // ---- Constant after construction ----
  const std::shared_ptr<boost::asio::io_context> io_;  // completions may outlive the server
  Engine& engine_;
  const RespServerOptions& options_;
  Owner& owner_;

  Socket socket_;
  std::size_t counted_bytes_ = 0;  // memory_bytes()
  std::int64_t active_ms_ = 0;     // when it received or sent bytes last, on the monotonic clock
  std::unique_ptr<ServedSession> session_;  // from start() on

  // ---- Coming in ----
  RequestParser parser_;
  std::string input_;              // received, not parsed yet
  std::size_t parsed_bytes_ = 0;   // at the front of input_
  bool is_readable_ = false;       // the socket may have bytes or its end
  bool waits_for_input_ = false;   // until is_readable_
  bool may_have_request_ = false;  // input_ was not parsed to its end

  std::vector<Request> requests_;  // shared_buffers.h: of the current batch, and spare ones
  std::size_t batch_begin_ = 0;    // requests_ before it have their replies
  std::size_t batch_end_ = 0;      // requests_ from it on are spare
  std::size_t batch_bytes_ = 0;    // memory of requests_ before batch_end_
  std::optional<Request> alone_;   // follows the current batch, and does not run with it
  std::optional<Request> held_;    // begins the next batch
  Request blocking_;               // the last one that was alone_, until it has begun
  bool is_in_batch_ = false;
  bool is_blocked_ = false;  // its last request may be blocked: later ones wait

  // ---- Going out ----
  OutputQueue output_;
  std::vector<ServedSession::Message> messages_;  // not yet in output_
  std::size_t message_bytes_ = 0;                 // of messages_
  std::optional<std::int64_t> backlogged_ms_;     // since when, on the monotonic clock
  std::uint64_t answers_ = 0;                     // in output_ so far
  bool was_authenticated_ = false;                // at any time: RESET leaves its replies
  bool waits_to_write_ = false;
  bool ends_after_output_ = false;  // QUIT, or an invalid request
  bool is_closed_ = false;

  bool wants_turn_ = false;  // its owner knows, and has not handled it yet
};

}  // namespace rushgate
