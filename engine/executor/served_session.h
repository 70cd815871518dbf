// A session as a server keeps one for each of its clients. Programs use Client (client.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "engine/commands/settings.h"
#include "engine/executor/engine.h"

namespace rushgate {

class Executor;
class UntakenOutput;
struct Operation;
struct Session;

struct ServedSessionOptions {
  std::string password = {};  // what the client must say (AUTH) before anything else; empty: none
  std::string address = {};   // of the client, and the one it came to, as CLIENT LIST shows them
  std::string local_address = {};
  /// What the reply to one request may take of memory, where a request can ask for any multiple of
  /// what is stored (MGET, XREAD, EXEC), or for a stream that is larger than memory.
  std::size_t reply_bytes_max = std::numeric_limits<std::size_t>::max();
  /// Bytes of messages that may wait, set_unsent_bytes() included. A message beyond is left out,
  /// and overflow() reports it. 0: no bound.
  std::size_t message_bytes_max = 0;
  /// Shared by the sessions of one server. Counts the messages until take_messages(), and the
  /// replies that go to a completion until reply_is_taken(). Without room a message is left out, a
  /// request with a completion does not run, and overflow() reports it. Null: no bound.
  std::shared_ptr<UntakenOutput> untaken = {};
  /// take_messages(), is_hung_up() or overflow() has something new. Called inside the
  /// engine's turn, by any thread, also after the session's end: must return at once and use no
  /// client.
  std::function<void()> on_message = {};
  /// SHUTDOWN: whoever runs the server is to end it, and with `saves` to sync the engine when that
  /// is done. Called as on_message is. Empty: SHUTDOWN is refused.
  std::function<void(bool saves)> on_shutdown = {};
};

/// One request or batch at a time: whoever has submitted one waits for its answer before the next.
/// Within that it may be used from any thread. Replies have the kinds that the commands gave them:
/// a client that speaks RESP2 is sent what to_resp2() makes of them.
class ServedSession {
 public:
  using Completion = absl::AnyInvocable<void(Reply)>;

  ServedSession(Engine& engine, ServedSessionOptions options);
  ~ServedSession();
  ServedSession(const ServedSession&) = delete;
  ServedSession& operator=(const ServedSession&) = delete;

  static constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

  /// What one session asks, and is answered: a reply a request. There are fewer replies if they
  /// reach a bound of memory: the requests that have none have not begun.
  struct Batch {
    ServedSession* session;
    std::span<const Request> requests;       // at least one; without a completion none may block
    std::size_t reply_bytes_max = kNoBound;  // in run(): the reply that reaches it is the last one
    absl::InlinedVector<Reply, 1> replies = {};
    bool is_answered = false;  // in run(): its replies are there
    /// Of a batch of one request, which is copied: it is not waited for, and answered as one of
    /// Client::submit() is.
    Completion completion = {};
  };

  /// Runs all the batches, of sessions of one engine, as if all had been submitted at once in their
  /// order: in as few groups as the engine permits. Returns when all are answered, but for those
  /// with a completion, which is moved away. Not from a callback of the engine. If this thread runs
  /// a script that takes too long, `while_busy` is called again and again, so that batches that are
  /// answered meanwhile can be taken, and other clients' requests be answered by
  /// answer_while_busy(). `reply_bytes_max`: the bound on all replies together; it holds for no
  /// batch with a completion.
  static void run(std::span<Batch> batches, std::size_t reply_bytes_max,
                  absl::FunctionRef<void()> while_busy);
  /// BUSY, but for commands like SCRIPT KILL, which run.
  static void answer_while_busy(Batch& batch);

  /// A batch with a completion, by itself; the completion runs as one of Client::submit() does.
  static void submit(Batch batch);

  /// While it is there, the engine's Lua scripts are ended as EndOfScripts says. From any thread.
  class EndsScripts {
   public:
    EndsScripts(Engine& engine, EndOfScripts scripts);
    ~EndsScripts();
    EndsScripts(const EndsScripts&) = delete;
    EndsScripts& operator=(const EndsScripts&) = delete;

   private:
    const std::shared_ptr<Executor> executor_;  // null: they are awaited
  };

  /// Returns how much memory the keyspace took after the last commit batch, without values that
  /// were freed since. From any thread.
  static std::size_t keyspace_bytes(const Engine& engine);

  /// Sets what CONFIG and INFO report about the server. From any thread.
  static void set_server(Engine& engine, const ServerSettings& server);

  /// A client of the engine was turned away before it had a session: for INFO. From any thread.
  static void note_refusal(Engine& engine);

  struct Message {
    Reply text;
    std::uint64_t after_replies;  // so many requests had been answered when it was published
    std::size_t bytes;            // memory_bytes(text)
  };
  /// Those that came since the last call. From any thread.
  [[nodiscard]] std::vector<Message> take_messages();
  /// Sets how many bytes were taken, and wait still. From any thread.
  void set_unsent_bytes(std::size_t bytes);
  /// The client has the reply that went to a completion. From any thread.
  void reply_is_taken();
  enum class Overflow : std::uint8_t { kNone, kOfSession, kOfServer };
  /// Returns the bound because of which a message was left out, or a request did not run. From any
  /// thread.
  [[nodiscard]] Overflow overflow() const;
  /// Somebody wants the connection to end (CLIENT KILL). From any thread.
  [[nodiscard]] bool is_hung_up() const;
  /// Returns true if it is subscribed to a channel or a pattern. From any thread.
  [[nodiscard]] bool is_subscribed() const;
  /// Returns how much memory is kept for the client: requests that wait for EXEC, watched keys,
  /// subscriptions, its name. From any thread.
  [[nodiscard]] std::size_t held_bytes() const;

  // ---- What the commands made of it; to be asked while none runs ----
  [[nodiscard]] int protocol() const;  // 2 or 3
  [[nodiscard]] bool is_authenticated() const;
  [[nodiscard]] bool is_in_transaction() const;
  [[nodiscard]] bool is_protected() const;  // CLIENT NO-EVICT
  [[nodiscard]] bool is_closing() const;    // after QUIT: hang up when the answer is sent

 private:
  class Inbox;

  static std::unique_ptr<Operation> operation_of(Batch& batch);

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Inbox> inbox_;
  const std::shared_ptr<Session> session_;
  std::unique_ptr<Operation> session_end_;  // made beforehand: its destruction needs no memory
};

}  // namespace rushgate
