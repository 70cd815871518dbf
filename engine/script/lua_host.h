// The Lua 5.1 interpreter as Redis embeds it: sandboxed, with redis.*, cjson, cmsgpack, struct and
// bit, scripts cached by the SHA-1 of their text.
// Semantics: https://redis.io/docs/latest/develop/programmability/lua-api/ (of Redis 7.0), and
// docs/differences.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/reply.h"
#include "engine/script/script_call.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct LuaContext;
class ScriptCache;

struct LuaLimits {
  /// Then others are answered BUSY, and the script may be killed. 0: never.
  std::int64_t busy_after_ms = 5'000;
  /// All scripts together, garbage included; what wants more ends with an error. A script's reply
  /// is bounded by the same figure. 1 GiB at most.
  std::size_t memory_bytes_max = std::size_t{256} * 1024 * 1024;
  /// The least recently used goes. At least 1.
  std::size_t cached_scripts_max = 4'096;
};

/// What a script says of itself in its first line: `#!lua flags=no-writes,allow-oom`.
struct ScriptFlags {
  bool declared = false;  // there is such a line
  bool no_writes = false;
  bool allow_oom = false;
  bool allow_stale = false;
  bool no_cluster = false;
  bool allow_cross_slot_keys = false;
};

/// What a script does with its globals (lua_globals.h).
struct GlobalUse {
  /// It sets no global, does not name _G, and of each table that all scripts share it only reads
  /// fields, by the table's name: `redis.call`, but not `local r = redis`.
  bool needs_no_guard = false;
  /// Of KEYS and ARGV it only reads elements and the length: they stay as they are.
  bool keeps_lists = false;
};

/// A compiled script.
struct LuaScript {
  std::string sha1;  // 40 lower-case hexadecimal digits
  ScriptFlags flags;
  // The host's.
  int function;  // where the interpreter keeps it
  GlobalUse globals;
};

/// How a script ended. The reply of one that failed is an error as Redis words it; but a script
/// that returns an error has not failed.
struct LuaResult {
  Reply reply;
  bool failed;
  bool killed = false;  // failed for that reason
  /// The errors in the reply, at any depth, that the script has made itself: how they begin.
  std::vector<std::string> new_errors = {};
  std::uint32_t errors_passed_on = 0;  // those that a command was answered with
};

/// One interpreter. Not thread-safe: it belongs to whoever has the turn. A script needs up to 2 MiB
/// of its thread's stack.
class LuaHost {
 public:
  /// `logger` may be null. `monitor` must outlive the host. math.random() of all scripts draws one
  /// sequence, that of a fresh Redis.
  LuaHost(const LuaLimits& limits, BusyMonitor& monitor, std::shared_ptr<spdlog::logger> logger);
  ~LuaHost();
  LuaHost(const LuaHost&) = delete;
  LuaHost& operator=(const LuaHost&) = delete;

  // ---- The cache. Pointers are valid until the next load() or flush() ----

  /// Compiles and caches `text` unless it is cached already. Null with `error` set if it is wrong.
  const LuaScript* load(std::string_view text, Reply& error);
  /// The cached script of this name, in either case; null if there is none. Counts as a use.
  const LuaScript* find(std::string_view sha1);
  [[nodiscard]] bool knows(std::string_view sha1) const;
  [[nodiscard]] std::size_t cached_scripts() const;
  void flush();

  // ---- Running ----

  /// Runs a script that load() or find() gave. An exception of `call.caller` ends the script,
  /// cannot be caught by it, and comes out here.
  LuaResult run(const LuaScript& script, const ScriptCall& call);

  // ---- From any thread ----

  /// Returns true while a script runs.
  [[nodiscard]] bool is_running() const noexcept { return runs_; }
  /// Kills each script at its next look at the time, from now on: after at most 10,000
  /// instructions. Ends with as many calls of end_killing().
  void begin_killing() noexcept;
  void end_killing() noexcept;

  [[nodiscard]] std::int64_t busy_after_ms() const;
  /// From the next script on.
  void set_busy_after_ms(std::int64_t busy_after_ms);

  /// What the interpreter holds, the cached scripts included.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  const std::unique_ptr<LuaContext> context_;
  const std::unique_ptr<ScriptCache> scripts_;
  std::atomic<bool> runs_{false};
};

}  // namespace rushgate
