// One client of a RespServer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "adapters/resp/request_parser.h"
#include "adapters/resp/resp_server.h"
#include "engine/executor/served_session.h"

namespace rushgate {

/// Reads requests, batch by batch, and writes what they are answered. Belongs to the server's
/// thread. A server keeps it as a shared_ptr, and lets go of it once it is_closed().
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// What it asks of its server.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// It has something to run or to send, or is closed: it is to be asked for next_batch(), then
    /// settle()d. Comes once until then.
    virtual void wants_turn(const std::shared_ptr<Connection>& connection) = 0;
    /// Is it called in the middle of a script?
    [[nodiscard]] virtual bool is_busy() const = 0;
  };

  Connection(std::shared_ptr<boost::asio::io_context> io, Socket socket, Engine& engine,
             const RespServerOptions& options, Owner& owner);

  /// Begins to read. To be called once, first.
  void start();

  /// The next requests, to be run in their turn; none if there are none now. They stay as they are
  /// until take_replies(), or until they have begun if they have a completion: then they may block.
  [[nodiscard]] std::optional<ServedSession::Batch> next_batch();
  void take_replies(std::span<const Reply> replies);
  /// After next_batch() gave nothing: is the next request RUSHGATE.ADVANCE? It is then to be run by
  /// advance_clock(), between batches.
  [[nodiscard]] bool moves_clock_next() const { return alone_ && !session_->is_hung_up(); }
  void advance_clock();

  /// After its batches: sends what there is to send, and reads on.
  void settle();

  /// Between next_batch() and take_replies().
  [[nodiscard]] bool is_in_batch() const { return is_in_batch_; }

  [[nodiscard]] bool is_closed() const { return is_closed_; }
  void close();

 private:
  void want_turn();
  void read();
  void received(std::size_t bytes);
  std::size_t parse_batch();
  [[nodiscard]] bool moves_clock(const Request& request) const;
  void unblocked(const Reply& reply);
  ServedSessionOptions session_options();
  void append(const Reply& reply);
  void append_answer(const Reply& reply);
  void collect_messages();
  void append_messages(std::uint64_t up_to_replies);
  void send();
  void wait_until_writable();
  /// Closes it for a reason that the log is told.
  void drop(const char* reason);

  // ---- Constant after construction ----
  const std::shared_ptr<boost::asio::io_context> io_;  // completions may outlive the server
  Engine& engine_;
  const RespServerOptions& options_;
  Owner& owner_;

  Socket socket_;
  std::unique_ptr<ServedSession> session_;  // from start() on

  // ---- Coming in ----
  RequestParser parser_;
  boost::beast::flat_buffer input_;
  std::size_t parsed_bytes_ = 0;   // at the front of input_, where they stay during a read
  std::size_t read_bytes_;         // how much the next read may take
  std::vector<Request> requests_;  // of the current batch, and spare ones
  std::optional<Request> alone_;   // follows the current batch, and does not run with it
  std::optional<Request> held_;    // begins the next batch
  bool is_in_batch_ = false;
  bool is_reading_ = false;
  bool is_blocked_ = false;  // what it sent last may wait: what came after it does

  // ---- Going out ----
  std::string output_;
  std::vector<ServedSession::Message> messages_;  // not yet in output_
  std::uint64_t answers_ = 0;                     // in output_ so far
  std::size_t sent_ = 0;                          // bytes of output_ that are gone
  bool waits_to_write_ = false;
  bool ends_after_output_ = false;  // QUIT, or what cannot be understood
  bool is_closed_ = false;

  bool wants_turn_ = false;  // its owner knows, and has not settled it yet
};

}  // namespace rushgate
