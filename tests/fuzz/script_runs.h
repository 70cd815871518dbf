// Requests that run inside scripts with any end, for fuzzers.
#pragma once

#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/redis/executor/served_session.h"
#include "tests/fuzz/opened_engine.h"
#include <rushgate/script.h>

namespace rushgate::fuzz {

/// Appends a request to a script's arguments: its number of words, then the words.
inline void append_request(const Request& request, Request& call) {
  call.add(std::to_string(request.size()));
  for (std::size_t i = 0; i < request.size(); ++i) call.add(request[i]);
}

// Runs the requests, then ends as chosen.
inline constexpr char kLuaRequests[] = R"(
local at = 1
while at <= #ARGV do
  local size = tonumber(ARGV[at])
  redis.pcall(unpack(ARGV, at + 1, at + size))
  at = at + size + 1
end )";

/// The end of a script, and whether its effects are undone.
struct ScriptEnd {
  enum class Undone { kNever, kIfSet, kAlways };
  bool is_native;
  std::string_view text;  // Lua code, or the name of a native script
  Undone undone;
  bool is_endless = false;  // it must be killed
};
inline constexpr ScriptEnd kScriptEnds[] = {
    {false, "return 'done'", ScriptEnd::Undone::kNever},
    {false, "return redis.error_reply('ERR returned')", ScriptEnd::Undone::kNever},
    {false, "error('raised')", ScriptEnd::Undone::kIfSet},
    {false, "return redis.call('NOSUCH')", ScriptEnd::Undone::kIfSet},
    {false, "local t = {} while true do t[#t + 1] = {} end", ScriptEnd::Undone::kIfSet},
    {false, "while true do end", ScriptEnd::Undone::kAlways, true},
    {false, "while true do pcall(redis.call, 'GET', 'a') end", ScriptEnd::Undone::kAlways, true},
    {true, "returns", ScriptEnd::Undone::kNever},
    {true, "throws", ScriptEnd::Undone::kAlways},
    {true, "attempts", ScriptEnd::Undone::kAlways},
};

/// Returns the options of an engine that runs fuzzed scripts.
inline EngineOptions script_options(bool rolls_back) {
  constexpr std::size_t kMemoryMax = 4'000'000;
  return {.script_memory_bytes_max = kMemoryMax, .roll_back_failed_scripts = rolls_back};
}

inline void run_requests(NativeCall& call) {
  for (std::size_t at = 0; at < call.argument_count();) {
    const std::string_view words = call.argument(at++);
    std::size_t left = 0;
    std::from_chars(words.data(), words.data() + words.size(), left);
    Request request;
    for (; left > 0; --left) request.add(call.argument(at++));
    call.call(request);
  }
}

inline std::vector<NamedScript> native_scripts() {
  return {{"returns",
           [](NativeCall& call) {
             run_requests(call);
             return Reply::ok();
           }},
          {"throws",
           [](NativeCall& call) -> Reply {
             run_requests(call);
             throw ScriptError("ERR thrown");
           }},
          {"attempts", [](NativeCall& call) {
             return call.attempt([&]() -> Reply {
               run_requests(call);
               throw ScriptError("ERR thrown");
             });
           }}};
}

/// Runs the requests in a script that ends as `choice` selects. Expects that undone effects leave
/// nothing. `rolls_back`: failed Lua scripts are rolled back.
inline void run_in_script(OpenedEngine& engine, std::size_t choice,
                          const std::vector<Request>& requests, bool rolls_back) {
  const ScriptEnd& end = kScriptEnds[choice % std::size(kScriptEnds)];
  Request call;
  if (end.is_native) {
    call = Request::of("FCALL", end.text, 0);
  } else {
    call = Request::of("EVAL", kLuaRequests + std::string(end.text), 0);
  }
  for (const Request& request : requests) append_request(request, call);

  const bool is_undone = end.undone == ScriptEnd::Undone::kAlways ||
                         (end.undone == ScriptEnd::Undone::kIfSet && rolls_back);
  const std::string before = is_undone ? engine.contents() : "";
  {
    const ServedSession::EndsScripts ends(
        engine.engine(), end.is_endless ? EndOfScripts::kKill : EndOfScripts::kAwait);
    engine.engine().open_client()->call(call);
  }
  if (!is_undone) return;
  const std::string after = engine.contents();
  if (after != before) {
    std::fprintf(stderr, "before:\n%s\nafter:\n%s\n", before.c_str(), after.c_str());
  }
  expect(after == before, "what a script did is undone");
}

}  // namespace rushgate::fuzz
