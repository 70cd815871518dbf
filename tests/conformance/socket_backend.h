// A Backend over a server with RUSHGATE.ADVANCE, through its socket.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapters/resp/resp_encoder.h"
#include "tests/conformance/backend.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/temporary_directory.h"

namespace rushgate::testing {

/// The server has a manual clock, so that time passes only on request of a transcript. A final
/// class calls reset() in its constructor and end() in its destructor.
class SocketBackend : public Backend {
 public:
  void reset() final;
  void send(int session, const Request& request) final;
  void send_pipelined(int session, std::span<const Request> requests) final;
  std::string receive(int session) final;
  std::vector<std::string> call_all(int session, std::span<const Request> requests) final;
  bool has_answer(int session) final;
  void close(int session) final;
  bool has_ended(int session) final;
  std::string receive_all(int session) final;
  void send_barrier(int session, bool in_transaction) final;
  std::string receive_to_barrier(int session, bool in_transaction) final;
  void elapse(std::chrono::milliseconds duration) final;

 protected:
  explicit SocketBackend(RespVersion protocol) : protocol_(protocol) {}

  /// Closes the connections, then stops the server.
  void end();

  [[nodiscard]] std::string socket_path() const {
    return (directory_.path() / "rushgate.sock").string();
  }

 private:
  /// Starts a server without data that listens at socket_path().
  virtual void start() = 0;
  /// Stops the server if one runs.
  virtual void stop() = 0;

  RawConnection& session(int number);

  const RespVersion protocol_;  // of the sessions
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::unique_ptr<RawConnection> control_;
  std::map<int, std::unique_ptr<RawConnection>> sessions_;
  bool is_drained_ = false;  // no request was sent since the last reply
};

}  // namespace rushgate::testing
