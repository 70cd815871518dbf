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
#include "adapters/resp/shared_buffers.h"
#include "engine/redis/commands/program_command_table.h"
#include "engine/redis/executor/served_session.h"
#include <rushgate/resp_server.h>

namespace rushgate {

/// Reads requests in batches and writes their replies. While much output is pending, it neither
/// reads nor runs requests. Belongs to the server's thread. The server owns it as a shared_ptr
/// until it is closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// Callbacks to the server.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Requests a turn, to run or send something: the server calls next_batch(), then end_turn().
    /// Called once per turn.
    virtual void wants_turn(const std::shared_ptr<Connection>& connection) = 0;
    /// Reports a change of memory_bytes().
    virtual void memory_changed(std::size_t before, std::size_t after) = 0;
    /// Reports that the connection is closed. No call follows.
    virtual void closed(const std::shared_ptr<Connection>& connection) = 0;
    /// Returns true if the call comes from inside a script.
    [[nodiscard]] virtual bool is_busy() const = 0;
    [[nodiscard]] virtual SharedBuffers& buffers() = 0;
    /// Returns the bound on the engine's output that connections have not taken yet.
    [[nodiscard]] virtual std::shared_ptr<UntakenOutput> untaken_output() const = 0;
    /// Returns the records of RespServerOptions::commands; null if there are none.
    [[nodiscard]] virtual const ProgramCommandTable* program_commands() const = 0;
    /// Returns the number of batches of the program's commands without replies. Belongs to the server's
    /// thread.
    [[nodiscard]] virtual std::shared_ptr<std::size_t> program_batches() const = 0;
  };

  Connection(std::shared_ptr<boost::asio::io_context> io, Socket socket, Engine& engine,
             const RespServerOptions& options, Owner& owner);

  /// Begins to read. Call it once, first.
  void start();

  /// Returns the next requests to run. Returns none if there are none, or if output is pending.
  /// They stay unchanged until take_replies(). Requests with a completion, which may block, stay
  /// only until they have begun.
  [[nodiscard]] std::optional<ServedSession::Batch> next_batch();
  /// Takes the replies to the first requests of the batch. The others form the next batch.
  void take_replies(std::span<Reply> replies);
  /// Returns true if the next request is RUSHGATE.ADVANCE. Call it when next_batch() returned none.
  /// Run the request by advance_clock(), between batches.
  [[nodiscard]] bool moves_clock_next() const { return alone_ && can_run(); }
  void advance_clock();

  /// Ends a turn, with or without a batch. Sends pending output. Then requests another turn or
  /// waits for input.
  void end_turn();

  /// Returns true between next_batch() and take_replies().
  [[nodiscard]] bool is_in_batch() const { return is_in_batch_; }

  /// Returns the time since it last received or sent bytes. Returns 0 if it is subscribed, blocked
  /// or about to be served.
  [[nodiscard]] std::int64_t idle_ms(std::int64_t now_monotonic_ms) const;

  /// Returns the memory of its requests and replies, as last reported to the owner.
  [[nodiscard]] std::size_t memory_bytes() const { return counted_bytes_; }
  /// Returns the memory of the requests of next_batch().
  [[nodiscard]] std::size_t batch_bytes() const { return batch_bytes_; }
  /// Returns true if it may be closed to free memory: not in a batch, no CLIENT NO-EVICT.
  [[nodiscard]] bool is_evictable() const { return !is_in_batch_ && !session_->is_protected(); }

  /// Returns true if it is a subscriber with more unread output than subscriber_soft_bytes_max.
  [[nodiscard]] bool is_backlogged() const;
  /// Closes the connection if it was backlogged for too long.
  void check_backlog();

  [[nodiscard]] bool is_closed() const { return is_closed_; }
  void close();
  /// Closes the connection and logs the reason.
  void drop(std::string_view reason);

 private:
  void want_turn();
  void send_and_go_on();
  void drop_if_overflowing();
  void count_memory();
  [[nodiscard]] std::size_t request_bytes() const;
  void report_buffers(std::size_t requests);
  [[nodiscard]] std::size_t unsent_reply_bytes() const;
  ServedSessionOptions session_options();

  // ---- Input ----
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
  void unblocked(std::optional<Reply> reply);

  // ---- The program's commands ----
  bool add_program_request(std::size_t command, Request& request);
  void begin_program_batch();
  void program_replied(std::vector<Request> requests, std::size_t used, std::vector<Reply> replies);

  // ---- Output ----
  void append(Reply&& reply);
  void append_reply(Reply&& reply);
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
  std::size_t counted_bytes_ = 0;           // memory_bytes()
  std::int64_t active_ms_ = 0;              // when it last received or sent bytes, monotonic
  std::unique_ptr<ServedSession> session_;  // from start() on

  // ---- Input ----
  RequestParser parser_;
  std::string input_;              // received, not parsed yet
  std::size_t parsed_bytes_ = 0;   // at the front of input_
  bool is_readable_ = false;       // the socket may have bytes or its end
  bool waits_for_input_ = false;   // until is_readable_
  bool may_have_request_ = false;  // input_ was not parsed to its end

  std::vector<Request> requests_;  // shared_buffers.h: of the current batch, and spare ones
  std::size_t batch_begin_ = 0;    // earlier requests_ have their replies
  std::size_t batch_end_ = 0;      // later requests_ are spare
  std::size_t batch_bytes_ = 0;    // memory of requests_ before batch_end_
  std::optional<Request> alone_;   // runs after the current batch, on its own
  std::optional<Request> held_;    // first of the next batch
  Request blocking_;               // the last alone_, until it has begun
  std::optional<std::size_t> program_command_;  // the program runs the current batch: its index
  bool is_in_batch_ = false;
  bool is_blocked_ = false;  // its last request may be blocked, so later ones wait

  // ---- Output ----
  OutputQueue output_;
  std::vector<ServedSession::Message> messages_;  // not yet in output_
  std::size_t message_bytes_ = 0;                 // of messages_
  std::optional<std::int64_t> backlogged_ms_;     // since when, monotonic
  std::uint64_t replies_ = 0;                     // in output_ so far
  bool was_authenticated_ = false;                // at any time: RESET keeps its replies
  bool waits_to_write_ = false;
  bool ends_after_output_ = false;  // QUIT, or an invalid request
  bool is_closed_ = false;

  bool wants_turn_ = false;  // its owner knows and has not served it yet
};

}  // namespace rushgate
