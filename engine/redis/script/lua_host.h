// The Lua 5.1 interpreter as embedded in Redis: sandboxed, with redis.*, cjson, cmsgpack, struct
// and bit. Scripts are cached by the SHA-1 of their source. Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/ (of Redis 7.0), and
// docs/differences.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/redis/script/script_call.h"
#include "engine/redis/script/script_flags.h"
#include <rushgate/reply.h>

namespace spdlog {
class logger;
}

namespace rushgate {

class FunctionLibrary;
class FunctionRegistry;
struct LibrarySource;
struct LuaContext;
struct LuaFunction;
class ScriptCache;

/// When the loading of a library ends with an error.
using LoadDeadline = std::chrono::steady_clock::time_point;

struct LuaLimits {
  /// After this time other clients get BUSY, and the script may be killed. 0: never.
  std::int64_t busy_after_ms = 5'000;
  /// Limit for all scripts and functions together, garbage included; exceeding it is an error. It
  /// also bounds a script's reply. At most 1 GiB.
  std::size_t memory_bytes_max = std::size_t{256} * 1024 * 1024;
  /// The least recently used script is removed. At least 1.
  std::size_t cached_scripts_max = 4'096;
};

/// A script's use of its globals (lua_globals.h).
struct GlobalUse {
  /// The script sets no global and does not name _G. It only reads fields of shared tables, and by
  /// the table's name: `redis.call`, but not `local r = redis`.
  bool needs_no_guard = false;
  /// The script only reads elements and the length of KEYS and ARGV, so they stay unchanged.
  bool keeps_lists = false;
};

/// A compiled script.
struct LuaScript {
  std::string sha1;  // 40 lower-case hexadecimal digits
  ScriptFlags flags;
  // The host's.
  int function;  // reference in the interpreter
  GlobalUse globals;
};

/// The result of a script. The reply of a failed script is an error in Redis's words. A script that
/// returns an error has not failed.
struct LuaResult {
  Reply reply;
  bool failed;
  bool killed = false;  // failed for that reason
  /// The errors in the reply, at any depth, that the script has made itself: how they begin.
  std::vector<std::string> new_errors = {};
  std::uint32_t errors_passed_on = 0;  // errors that were replies of commands
};

/// An interpreter. Not thread-safe: it belongs to the thread that holds the turn. A script needs up
/// to 2 MiB of the thread's stack.
class LuaHost {
 public:
  /// `logger` may be null. `monitor` must outlive the host. All scripts share one sequence of
  /// math.random(), that of a fresh Redis.
  LuaHost(const LuaLimits& limits, BusyMonitor& monitor, std::shared_ptr<spdlog::logger> logger);
  ~LuaHost();
  LuaHost(const LuaHost&) = delete;
  LuaHost& operator=(const LuaHost&) = delete;

  // ---- The cache. Pointers are valid until the next load() or flush() ----

  /// Compiles and caches `text`, unless cached. Returns null and sets `error` if it is invalid.
  const LuaScript* load(std::string_view text, Reply& error);
  /// Returns the cached script, in any case; null if there is none. Counts as a use.
  const LuaScript* find(std::string_view sha1);
  [[nodiscard]] bool knows(std::string_view sha1) const;
  [[nodiscard]] std::size_t cached_scripts() const;
  void flush();

  // ---- Libraries of functions ----

  /// Compiles a library, and runs it, so that it registers its functions. Returns null and sets
  /// `error` if it fails, also if it has not ended by `deadline`.
  std::shared_ptr<const FunctionLibrary> load_library(const LibrarySource& source,
                                                      std::optional<LoadDeadline> deadline,
                                                      Reply& error);
  /// The libraries of FCALL.
  [[nodiscard]] FunctionRegistry& functions() { return *functions_; }

  // ---- Running ----

  /// Runs a script from load() or find(). An exception of `call.caller` ends the script, which
  /// cannot catch it, and is rethrown here.
  LuaResult run(const LuaScript& script, const ScriptCall& call);
  /// As above, for a function. Its library must exist until it returns.
  LuaResult run(const LuaFunction& function, const ScriptCall& call);

  // ---- From any thread ----

  /// Returns true while a script runs.
  [[nodiscard]] bool is_running() const noexcept { return runs_; }
  /// Kills all scripts from now on, each after at most 10,000 instructions. Ends after as many
  /// calls of end_killing().
  void begin_killing() noexcept;
  void end_killing() noexcept;

  [[nodiscard]] std::int64_t busy_after_ms() const;
  /// Takes effect with the next script.
  void set_busy_after_ms(std::int64_t busy_after_ms);

  /// Returns the interpreter's memory, cached scripts and libraries included.
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] std::size_t memory_bytes_max() const;

 private:
  template <class Code>
  LuaResult run_code(const Code& code, const ScriptCall& call);

  const std::shared_ptr<LuaContext> context_;  // shared with the libraries
  const std::unique_ptr<ScriptCache> scripts_;
  const std::unique_ptr<FunctionRegistry> functions_;
  std::atomic<bool> runs_{false};
};

}  // namespace rushgate
