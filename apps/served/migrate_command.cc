#include "apps/served/migrate_command.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/flash_sale/request_lane.h"
#include "adapters/redis/blocking_connection.h"
#include "apps/served/migration_source.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/letter_case.h"
#include "engine/core/base/thread_name.h"
#include "engine/core/base/time_units.h"
#include "engine/redis/commands/errors.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {
namespace {

// ---- Arguments --------------------------------------------------------------------------------

struct MigrateArguments {
  std::string host;
  std::string port;
  std::int64_t target_database = 0;
  std::int64_t timeout_ms = 0;
  bool copies = false;
  bool replaces = false;
  std::vector<std::string_view> credentials;  // of AUTH: [user,] password; none: no AUTH
  std::vector<std::string_view> keys;
};

/// Reads `[COPY] [REPLACE] [AUTH password | AUTH2 user password] [KEYS key [key ...]]`. Returns the error
/// if they are wrong.
std::optional<Reply> read_migrate_options(const Request& from, MigrateArguments& arguments) {
  constexpr std::size_t kKey = 3;
  constexpr std::size_t kFirstOption = 6;
  arguments.keys = {from[kKey]};
  for (std::size_t at = kFirstOption; at < from.size(); ++at) {
    const auto is = [&](std::string_view word) { return equal_in_any_case(from[at], word); };
    const std::size_t credentials = is("auth2") ? 2 : static_cast<std::size_t>(is("auth"));
    if (is("copy")) {
      arguments.copies = true;
    } else if (is("replace")) {
      arguments.replaces = true;
    } else if (credentials > 0 && at + credentials < from.size()) {
      arguments.credentials.clear();
      for (std::size_t i = 0; i < credentials; ++i) arguments.credentials.push_back(from[++at]);
    } else if (is("keys")) {
      if (!from[kKey].empty()) {
        return Reply::error(
            "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string");
      }
      arguments.keys.clear();
      while (++at < from.size()) arguments.keys.push_back(from[at]);
    } else {
      return errors::syntax();
    }
  }
  return std::nullopt;
}

/// Reads `host port key database timeout`, then the options.
std::optional<Reply> read_migrate_arguments(const Request& from, MigrateArguments& arguments) {
  constexpr std::int64_t kDefaultTimeoutMs = 1'000;
  if (auto error = read_migrate_options(from, arguments)) return error;
  const auto database = parse_int64(from[4]);
  const auto timeout_ms = parse_int64(from[5]);
  if (!database || !timeout_ms) return errors::not_an_integer();
  arguments.host = from[1];
  arguments.port = from[2];
  arguments.target_database = *database;
  arguments.timeout_ms = *timeout_ms > 0 ? std::min(*timeout_ms, kDayMs) : kDefaultTimeoutMs;
  return std::nullopt;
}

// ---- The other server -------------------------------------------------------------------------

constexpr std::string_view kWriting = "writing to target instance";

Reply failed_to(std::string_view what) {
  return Reply::error(concat("IOERR error or timeout ", what));
}

/// Receives one reply. Returns the error if it is one, or if none comes.
std::optional<Reply> receive_ok(BlockingConnection& target) {
  const auto line = target.receive();
  if (!line) return failed_to("reading to target instance");
  if (!line->starts_with('-')) return std::nullopt;
  return Reply::error(concat("ERR Target instance replied with error: ", line->substr(1)));
}

/// Connects, logs in and selects the database.
std::optional<Reply> enter(const MigrateArguments& arguments, BlockingConnection& target) {
  if (!target.connect(arguments.host, arguments.port)) {
    // Redis notices only when it writes that nothing listens there.
    return failed_to(target.was_refused() ? kWriting : "connecting to the client");
  }
  const bool logs_in = !arguments.credentials.empty();
  Request login = Request::of("AUTH");
  for (const std::string_view word : arguments.credentials) login.add(word);
  if ((logs_in && !target.send(login)) ||
      !target.send(Request::of("SELECT", arguments.target_database))) {
    return failed_to(kWriting);
  }
  if (logs_in) {
    if (auto error = receive_ok(target)) return error;
  }
  return receive_ok(target);
}

Request restore_request(const MigratedKey& one, std::int64_t now_ms, bool replaces) {
  const std::int64_t expires_ms = one.expires_ms.integer();
  const std::int64_t ttl_ms = expires_ms < 0 ? 0 : std::max<std::int64_t>(1, expires_ms - now_ms);
  Request request = Request::of("RESTORE", one.key, ttl_ms, one.payload.text());
  if (replaces) request.add("REPLACE");
  return request;
}

/// Restores the keys on the target, and leaves those that it took. Returns the first error.
std::optional<Reply> restore(const MigrateArguments& arguments, const MigrationSource& source,
                             BlockingConnection& target, std::vector<MigratedKey>& keys) {
  std::vector<MigratedKey> sent = std::exchange(keys, {});
  if (auto error = enter(arguments, target)) return error;
  for (const MigratedKey& one : sent) {
    if (!target.send(restore_request(one, source.now_ms(), arguments.replaces))) {
      return failed_to(kWriting);
    }
  }
  std::optional<Reply> first_error;
  for (MigratedKey& one : sent) {
    auto error = receive_ok(target);
    if (!error) {
      keys.push_back(std::move(one));
    } else if (!first_error) {
      first_error = std::move(error);
    }
  }
  return first_error;
}

// ---- The command ------------------------------------------------------------------------------

class MigrateCommand final : public ProgramCommands {
 public:
  explicit MigrateCommand(Engine& engine)
      : engine_(engine),
        lane_(
            kThreads, kWaitingMax, 1, [] { name_this_thread("rg-migrate"); },
            [this](std::vector<ClientBatch> batches) {
              for (ClientBatch& batch : batches) run(batch);
            }) {}
  ~MigrateCommand() override {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    for (BlockingConnection* const target : targets_) target->interrupt();
  }
  MigrateCommand(const MigrateCommand&) = delete;
  MigrateCommand& operator=(const MigrateCommand&) = delete;

  [[nodiscard]] std::vector<ProgramCommand> commands() const override {
    return {{.name = "migrate",
             .arity = -6,
             .is_read_only = false,
             .syntax = "host port key destination-db timeout [COPY] [REPLACE] "
                       "[<AUTH password | AUTH2 username password>] [KEYS key [key ...]]",
             .summary = "Moves keys to another Redis server."}};
  }

  void begin(std::size_t command, int database, std::span<const Request> requests,
             Completion completion) override {
    lane_.submit({.command = command,
                  .database = database,
                  .requests = requests,
                  .completion = std::move(completion)},
                 "migrations");
  }

 private:
  static constexpr int kThreads = 4;
  static constexpr std::size_t kWaitingMax = 1'024;

  /// Lets the destructor interrupt the waits for a target.
  class Interruptible {
   public:
    Interruptible(MigrateCommand& command, BlockingConnection& target)
        : command_(command), target_(target) {
      const std::lock_guard lock(command_.mutex_);
      command_.targets_.push_back(&target_);
      if (command_.is_ending_) target_.interrupt();
    }
    ~Interruptible() {
      const std::lock_guard lock(command_.mutex_);
      std::erase(command_.targets_, &target_);
    }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

   private:
    MigrateCommand& command_;
    BlockingConnection& target_;
  };

  void run(ClientBatch& batch) {
    std::vector<Reply> replies;
    for (const Request& request : batch.requests) {
      try {
        replies.push_back(migrate(request, batch.database));
      } catch (const std::exception& error) {  // for want of memory
        replies.push_back(Reply::error(concat(error_code::kOutcomeUnknown, " ", error.what())));
      }
    }
    batch.completion(std::move(replies));
  }

  Reply migrate(const Request& request, int database) {
    MigrateArguments arguments;
    if (auto error = read_migrate_arguments(request, arguments)) return *std::move(error);
    MigrationSource source(engine_, database);
    std::vector<MigratedKey> keys;
    if (auto error = source.read(arguments.keys, keys)) return *std::move(error);
    if (keys.empty()) return Reply::status("NOKEY");
    BlockingConnection target{std::chrono::milliseconds(arguments.timeout_ms)};
    const Interruptible interruptible(*this, target);
    std::optional<Reply> error = restore(arguments, source, target, keys);
    if (!arguments.copies) {
      auto kept = source.remove(std::move(keys));
      if (!error) error = std::move(kept);
    }
    return error ? *std::move(error) : Reply::ok();
  }

  Engine& engine_;
  std::mutex mutex_;  // guards the next two members
  std::vector<BlockingConnection*> targets_;
  bool is_ending_ = false;
  RequestLane lane_;  // ends first
};

}  // namespace

std::shared_ptr<ProgramCommands> make_migrate_command(Engine& engine) {
  return std::make_shared<MigrateCommand>(engine);
}

}  // namespace rushgate
