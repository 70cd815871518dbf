// Commands with any arguments, some of them in scripts. Each gets a reply. Another engine finds
// their results in the store, and an undone script leaves nothing.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/command_table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/opened_engine.h"
#include "tests/fuzz/script_runs.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

/// Keywords that commands look for in their arguments. Other arguments come from the input.
constexpr std::string_view kWords[] = {
    "a",
    "b",
    "c",
    "s",
    "g",
    "m",
    "0",
    "1",
    "2",
    "-1",
    "10",
    "100000",
    "1.5",
    "-inf",
    "+inf",
    "nan",
    "0x10",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e400",
    "*",
    "$",
    ">",
    "-",
    "+",
    "~",
    "=",
    "0-0",
    "1-1",
    "5-*",
    "(1-1",
    "[a",
    "(b",
    "(1",
    "18446744073709551615-1",
    "EX",
    "PX",
    "EXAT",
    "PXAT",
    "NX",
    "XX",
    "GT",
    "LT",
    "CH",
    "INCR",
    "KEEPTTL",
    "PERSIST",
    "GET",
    "WITHSCORES",
    "WITHVALUES",
    "LIMIT",
    "BYSCORE",
    "BYLEX",
    "REV",
    "WEIGHTS",
    "AGGREGATE",
    "MIN",
    "MAX",
    "SUM",
    "LEFT",
    "RIGHT",
    "BEFORE",
    "AFTER",
    "COUNT",
    "RANK",
    "MAXLEN",
    "MINID",
    "NOMKSTREAM",
    "STREAMS",
    "GROUP",
    "BLOCK",
    "NOACK",
    "IDLE",
    "TIME",
    "RETRYCOUNT",
    "FORCE",
    "JUSTID",
    "LASTID",
    "CREATE",
    "CREATECONSUMER",
    "SETID",
    "DESTROY",
    "DELCONSUMER",
    "MKSTREAM",
    "ENTRIESREAD",
    "ENTRIESADDED",
    "MAXDELETEDID",
    "FULL",
    "MATCH",
    "TYPE",
    "DB",
    "REPLACE",
    "LEN",
    "IDX",
    "MINMATCHLEN",
    "WITHMATCHLEN",
    "BIT",
    "NOT",
    "INCRBY",
    "OVERFLOW",
    "SAT",
    "i16",
};

/// Returns true for commands that run arbitrary scripts, which have their own fuzzer.
bool is_left_out(const CommandSpec& spec) {
  return spec.name.starts_with("eval") || spec.name.starts_with("fcall") ||
         spec.name.starts_with("script") ||
         spec.name == "client|pause";  // would delay the look at the contents
}

/// Returns true if a small number in the request could produce a reply or value of any size.
bool takes_all_memory(const CommandSpec& spec, RequestView request) {
  constexpr std::int64_t kMost = 10'000;
  constexpr std::string_view kNames[] = {"bitfield", "hrandfield",  "setbit",
                                         "setrange", "srandmember", "zrandmember"};
  if (std::ranges::find(kNames, spec.name) == std::end(kNames)) return false;
  for (const std::string_view argument : request) {
    const auto number = parse_int64(argument.substr(argument.starts_with('#') ? 1 : 0));
    if (number && (*number > kMost || *number < -kMost)) return true;
  }
  return false;
}

std::string_view next_argument(fuzz::Input& input) {
  const std::size_t choice = input.byte();
  return choice < std::size(kWords) ? kWords[choice] : input.text();
}

/// Returns nothing if the request is left out.
std::optional<Request> next_request(std::size_t row, std::size_t page, fuzz::Input& input) {
  const auto table = command_table();
  const CommandSpec& spec = table[(row + 256 * page) % table.size()];
  Request request;
  const std::size_t bar = spec.name.find('|');
  request.add(spec.name.substr(0, bar));
  if (bar != std::string_view::npos) request.add(spec.name.substr(bar + 1));
  constexpr std::size_t kArgumentsMax = 16;
  for (std::size_t i = input.byte() % kArgumentsMax; i > 0; --i) {
    request.add(next_argument(input));
  }
  if (is_left_out(spec) || takes_all_memory(spec, request.views())) return std::nullopt;
  return request;
}

std::vector<Request> next_requests(fuzz::Input& input) {
  constexpr std::size_t kRequestsMax = 8;
  std::vector<Request> requests;
  for (std::size_t left = 1 + input.byte() % kRequestsMax; left > 0; --left) {
    const std::size_t row = input.byte();
    auto request = next_request(row, input.byte() % 2U, input);
    if (request) requests.push_back(*std::move(request));
  }
  return requests;
}

void run_next(fuzz::Input& input, fuzz::OpenedEngine& engine, bool rolls_back) {
  constexpr std::size_t kScriptPages = 0x80;
  const std::size_t row = input.byte();
  const std::size_t page = input.byte();
  if (page >= kScriptPages) {
    fuzz::run_in_script(engine, row, next_requests(input), rolls_back);
  } else if (const auto request = next_request(row, page % 2U, input)) {
    engine.run(*request);
  }
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(commands) {
  rushgate::fuzz::Input input(data, size);
  rushgate::MemoryStore store({.keep_state = true});
  const bool rolls_back = size % 2 == 1;
  std::string kept;
  {
    rushgate::fuzz::OpenedEngine engine(store, rushgate::fuzz::script_options(rolls_back),
                                        rushgate::fuzz::native_scripts());
    while (!input.empty()) rushgate::run_next(input, engine, rolls_back);
    engine.call("DISCARD");
    engine.call("SELECT", 0);
    kept = engine.contents();
  }
  rushgate::fuzz::expect_kept(store, kept);
  return 0;
}
