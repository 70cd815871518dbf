// A session of a server's client. Programs use Client (client.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "engine/redis/commands/connection_buffers.h"
#include "engine/redis/commands/settings.h"
#include <rushgate/engine.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

class Executor;
class ProgramCommandTable;
class UntakenOutput;
struct Operation;
struct Session;

struct ServedSessionOptions {
  std::string password = {};  // required (AUTH) before any other command; empty: none
  std::string address = {};   // addresses of the client and of the server's socket, for CLIENT LIST
  std::string local_address = {};
  /// Bound on the memory of one reply. A request can ask for many times the stored data (MGET,
  /// XREAD, EXEC), or for a stream that is larger than memory.
  std::size_t reply_bytes_max = std::numeric_limits<std::size_t>::max();
  /// Bound on the bytes of waiting messages, set_unsent_bytes() included. A message beyond it is
  /// dropped, and overflow() reports that. 0: no bound.
  std::size_t message_bytes_max = 0;
  /// Bound shared by the sessions of one server. Counts messages until take_messages(), and replies
  /// of completions until reply_is_taken(). Beyond it messages are dropped and requests with a
  /// completion do not run; overflow() reports that. Null: no bound.
  std::shared_ptr<UntakenOutput> untaken = {};
  /// Called when take_messages(), is_hung_up(), is_paused() or overflow() has news. Called inside
  /// the engine's turn, by any thread, also after the session's end. Must return at once and use no
  /// client.
  std::function<void()> on_message = {};
  /// Called by SHUTDOWN to end the server. `saves`: sync the engine afterwards. Called as
  /// on_message is. If empty, SHUTDOWN is refused.
  std::function<void(bool saves)> on_shutdown = {};
};

/// Accepts one request or batch at a time; the next may follow after its replies. Between those it
/// may be used from any thread. Replies have RESP3's kinds; a client that speaks RESP2 gets the
/// result of to_resp2().
class ServedSession {
 public:
  /// Without a reply, CLIENT PAUSE delays the request, which has not begun: submit it again when
  /// is_paused() is false.
  using Completion = absl::AnyInvocable<void(std::optional<Reply>)>;

  ServedSession(Engine& engine, ServedSessionOptions options);
  ~ServedSession();
  ServedSession(const ServedSession&) = delete;
  ServedSession& operator=(const ServedSession&) = delete;

  static constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

  /// The requests of one session and their replies, in order. There are fewer replies if a memory
  /// bound is reached or in a pause (is_paused()): the requests without a reply have not begun.
  struct Batch {
    ServedSession* session;
    std::span<const Request> requests;       // at least one; without a completion none may block
    std::size_t reply_bytes_max = kNoBound;  // in run(): the reply that reaches it is the last
    absl::InlinedVector<Reply, 1> replies = {};
    bool is_replied = false;  // in run(): its replies are complete
    /// For a batch of one request, which is copied. run() does not wait for it; the completion runs
    /// as one of Client::submit() does.
    Completion completion = {};
  };

  /// Runs batches of several sessions of one engine, as if all had been submitted at once in their
  /// order, in as few commit batches as possible. Returns when all have their replies, except those
  /// with a completion, which is moved away. Must not be called in a callback of the engine.
  /// `while_busy` is called repeatedly if this thread runs a script beyond its time limit. It can
  /// take the replies of finished batches, and reply to other clients by reply_while_busy().
  /// `reply_bytes_max` is the bound on all replies together, without batches that have a
  /// completion.
  static void run(std::span<Batch> batches, std::size_t reply_bytes_max,
                  absl::FunctionRef<void()> while_busy);
  /// Replies BUSY, except to commands like SCRIPT KILL, which run.
  static void reply_while_busy(Batch& batch);

  /// Submits a batch with a completion, which runs as one of Client::submit() does.
  static void submit(Batch batch);

  /// Ends the engine's Lua scripts, by EndOfScripts, during its lifetime. Any thread may use it.
  class EndsScripts {
   public:
    EndsScripts(Engine& engine, EndOfScripts scripts);
    ~EndsScripts();
    EndsScripts(const EndsScripts&) = delete;
    EndsScripts& operator=(const EndsScripts&) = delete;

   private:
    const std::shared_ptr<Executor> executor_;  // null: scripts run to their end
  };

  /// Returns the memory of the keyspace after the last commit batch, less the values freed since.
  /// Any thread may call it.
  static std::size_t keyspace_bytes(const Engine& engine);

  /// Sets the server's facts for CONFIG and INFO. Any thread may call it.
  static void set_server(Engine& engine, const ServerSettings& server);
  /// Returns these facts, with the changes of CONFIG SET. Any thread may call it.
  static ServerSettings server(const Engine& engine);

  /// Makes the program's commands known: to COMMAND and ACL, and to refusals. Any thread may call both.
  static void install(Engine& engine, std::shared_ptr<const ProgramCommandTable> commands);
  static void remove_program_commands(Engine& engine);

  /// Count bytes that were read from the client's socket and written to it, for INFO.
  void note_input(std::size_t bytes);
  void note_output(std::size_t bytes);

  /// Counts a client that was refused before it had a session, for INFO. Any thread may call it.
  static void note_refusal(Engine& engine);

  struct Message {
    Reply text;
    std::uint64_t after_replies;  // replies that precede it
    std::size_t bytes;            // memory of the message
  };
  /// Returns the messages since the last call. Any thread may call it.
  [[nodiscard]] std::vector<Message> take_messages();
  /// Sets the number of bytes that were taken and are not yet sent. Any thread may call it.
  void set_unsent_bytes(std::size_t bytes);
  /// Reports that the client has the reply of a completion. Any thread may call it.
  void reply_is_taken();
  enum class Overflow : std::uint8_t { kNone, kOfSession, kOfServer };
  /// Returns the bound that dropped a message or prevented a request. Any thread may call
  /// it.
  [[nodiscard]] Overflow overflow() const;
  /// Returns true if the connection must end (CLIENT KILL). Any thread may call it.
  [[nodiscard]] bool is_hung_up() const;
  /// Returns true if the session is subscribed to a channel or a pattern. Any thread may call it.
  [[nodiscard]] bool is_subscribed() const;
  /// Returns true while CLIENT PAUSE delays the first request without a reply, until end_pause().
  /// Any thread may call it.
  [[nodiscard]] bool is_paused() const;
  /// Ends the delay if on_message has reported the end of CLIENT PAUSE. Called for each on_message,
  /// in their order: so delayed clients continue in the order of their requests.
  void end_pause();
  /// Returns the buffers of the connection, which its server keeps up to date.
  [[nodiscard]] ConnectionBuffers& buffers();
  /// Returns proto-max-bulk-len: the bound on the bytes of an argument. Any thread may call it.
  [[nodiscard]] std::size_t argument_bytes_max() const;
  /// Returns the memory kept for the client: requests waiting for EXEC, watched keys,
  /// subscriptions, its name. Any thread may call it.
  [[nodiscard]] std::size_t held_bytes() const;

  // ---- Set by commands; valid while none runs ----
  [[nodiscard]] int protocol() const;  // 2 or 3
  [[nodiscard]] int database() const;
  [[nodiscard]] bool is_authenticated() const;
  [[nodiscard]] bool is_in_transaction() const;
  [[nodiscard]] bool is_protected() const;  // CLIENT NO-EVICT
  [[nodiscard]] bool is_closing() const;    // after QUIT: close after the reply
  /// Returns true if nothing in the session's state refuses the program's commands.
  [[nodiscard]] bool takes_program_commands() const;
  /// Returns true if the next reply to a program's command must not be sent (CLIENT REPLY). Call it once
  /// per reply.
  [[nodiscard]] bool drops_reply();

 private:
  class Inbox;

  static std::unique_ptr<Operation> operation_of(Batch& batch);

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Inbox> inbox_;
  const std::shared_ptr<Session> session_;
  std::unique_ptr<Operation> session_end_;  // created early, so that the destructor needs no memory
};

}  // namespace rushgate
