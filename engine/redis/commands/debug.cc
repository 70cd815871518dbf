// DEBUG: https://redis.io/docs/latest/commands/debug/
//
// The subcommands that test suites of clients use. A subcommand without an effect here replies as
// in Redis.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/memory_size.h"
#include "engine/core/base/random.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/debug_errors.h"
#include "engine/redis/commands/debug_values.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/help_reply.h"

namespace rushgate {
namespace {

/// Returns the number at the beginning of the argument, 0 if there is none.
double leading_number(std::string_view argument) {
  return std::strtod(std::string(argument).c_str(), nullptr);
}

/// Blocks all clients, in manual mode too. The clock of the engine is not moved.
Reply sleep_command(CommandContext& context) {
  constexpr double kSecondsMax = 60;
  const double seconds = leading_number(context[2]);
  if (!(seconds <= kSecondsMax)) return errors::sleeps_too_long();
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return Reply::ok();
}

int leading_integer(std::string_view argument) { return std::atoi(std::string(argument).c_str()); }

Reply set_active_expire_command(CommandContext& context) {
  context.services().settings.removes_expired = leading_integer(context[2]) != 0;
  return Reply::ok();
}

Reply reload_command(CommandContext& context) {
  bool saves = true;
  Arguments arguments(context.request(), 2);
  while (!arguments.at_end()) {
    if (arguments.accept("NOSAVE")) {
      saves = false;
    } else if (!arguments.accept("MERGE") && !arguments.accept("NOFLUSH")) {
      return errors::reload_option();
    }
  }
  CommandServices& services = context.services();
  if (saves && !services.write_refusal.empty()) return Reply::error(services.write_refusal);
  if (saves) services.saves_batch = true;
  return Reply::ok();
}

// ---- Settings ----

/// Checks its argument. There are no quicklists.
Reply packed_threshold_command(CommandContext& context) {
  constexpr std::uint64_t kBytesMax = (std::uint64_t{1} << 32) - (1U << 20);
  const auto bytes = parse_memory_size(errors::as_c_string(context[2]));
  return bytes && *bytes <= kBytesMax ? Reply::ok() : errors::invalid_packed_threshold();
}

Reply set_skip_checksum_validation_command(CommandContext& context) {
  context.services().settings.skips_checksums = leading_integer(context[2]) != 0;
  return Reply::ok();
}

/// Checks its arguments. The buffers of replies have no such settings.
Reply replybuffer_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  if (arguments.accept("PEAK-RESET-TIME")) {
    if (!arguments.accept("NEVER") && !arguments.accept("RESET")) arguments.next_integer();
  } else if (arguments.accept("RESIZING")) {
    arguments.next();
  } else {
    arguments.fail(errors::unknown_subcommand_or_arity("DEBUG", context[1]));
  }
  return arguments.ok() ? Reply::ok() : arguments.take_error();
}

// ---- The program ----

Reply structsize_command(CommandContext& /*context*/) {
  return Reply::bulk(concat("bits:", CHAR_BIT * sizeof(void*), " robj:", sizeof(Object)));
}

/// Compares random strings with random patterns. The results have no meaning: it must only end.
Reply stringmatch_test_command(CommandContext& /*context*/) {
  constexpr int kRounds = 20'000;
  constexpr std::size_t kBytesMax = 32;
  Random random(kRounds);
  const auto draw = [&random] {
    std::string bytes(random.below(kBytesMax), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    return bytes;
  };
  for (int i = 0; i < kRounds; ++i) static_cast<void>(glob_matches(draw(), draw()));
  return Reply::status("Apparently Redis did not crash: test passed");
}

// ---- Replies ----

Reply error_command(CommandContext& context) { return errors::one_line(std::string(context[2])); }

Reply numbers_reply(Reply make(std::vector<Reply>)) {
  return make({Reply::integer(0), Reply::integer(1), Reply::integer(2)});
}

struct ProtocolType {
  std::string_view name;
  Reply (*reply)();
};

constexpr ProtocolType kProtocolTypes[] = {
    {"string", [] { return Reply::bulk("Hello World"); }},
    {"integer", [] { return Reply::integer(12'345); }},
    {"double", [] { return Reply::real(3.141); }},
    {"null", [] { return Reply::nil(); }},
    {"array", [] { return numbers_reply(Reply::array); }},
    {"set", [] { return numbers_reply(Reply::set); }},
    {"map",
     [] {
       return Reply::map({Reply::integer(0), Reply::boolean(false), Reply::integer(1),
                          Reply::boolean(true), Reply::integer(2), Reply::boolean(false)});
     }},
    // Without the attribute, which no reply has.
    {"attrib", [] { return Reply::bulk("Some real reply following the attribute"); }},
    {"push",
     [] {
       return Reply::several({Reply::push({Reply::bulk("server-cpu-usage"), Reply::integer(42)}),
                              Reply::bulk("Some real reply following the push reply")});
     }},
    {"verbatim", [] { return Reply::verbatim("txt:This is a verbatim\nstring"); }},
    {"bignum", [] { return Reply::big_number("1234567999999999999999999999999999999"); }},
    {"true", [] { return Reply::boolean(true); }},
    {"false", [] { return Reply::boolean(false); }},
};

/// Replies a value of the type, for the tests of clients.
Reply protocol_command(CommandContext& context) {
  const auto* const type = std::ranges::find_if(kProtocolTypes, [&](const ProtocolType& known) {
    return is_keyword(context[2], known.name);
  });
  if (type == std::end(kProtocolTypes)) return errors::unknown_protocol_type();
  if (type->name == "push" && !context.resp3()) return errors::needs_resp3();
  return type->reply();
}

Reply ok_command(CommandContext& /*context*/) { return Reply::ok(); }

Reply help_command(CommandContext& /*context*/) {
  static constexpr std::string_view kLines[] = {
      "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CHANGE-REPL-ID",
      "    Reply OK: there are no replicas.",
      "DIGEST",
      "    Output a hex signature representing the current DB content.",
      "DIGEST-VALUE <key> [<key> ...]",
      "    Output a hex signature of the values of all the specified keys.",
      "ERROR <string>",
      "    Return an error with <string> as message.",
      "HTSTATS <dbid>",
      "    Return the sizes of the tables of the specified database.",
      "HTSTATS-KEY <key>",
      "    Return the size of the table stored at <key>.",
      "LISTPACK <key>",
      "    Return an error: there are no listpacks.",
      "LOG <message>",
      "    Reply OK: the message is not written.",
      "OBJECT <key>",
      "    Show low level info about the value at <key>.",
      "PAUSE-CRON <0|1>",
      "    Reply OK: there is no cron job.",
      "POPULATE <count> [<prefix>] [<size>]",
      "    Create <count> string keys named key:<num>. If <prefix> is specified then",
      "    it is used instead of the 'key' prefix.",
      "PROTOCOL <type>",
      "    Reply with a test value of the specified type. <type> can be: string,",
      "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
      "    true, false.",
      "QUICKLIST <key> [<0|1>]",
      "    Return an error: there are no quicklists.",
      "QUICKLIST-PACKED-THRESHOLD <size>",
      "    Reply OK: there are no quicklists.",
      "RELOAD [option ...]",
      "    Make all changes safe against power loss, unless an option is NOSAVE.",
      "REPLYBUFFER PEAK-RESET-TIME <NEVER|RESET|time>",
      "REPLYBUFFER RESIZING <0|1>",
      "    Reply OK: the buffers of replies have no such settings.",
      "SDSLEN <key>",
      "    Show the lengths of the strings at <key>.",
      "SET-ACTIVE-EXPIRE <0|1>",
      "    Setting it to 0 keeps expired keys until they are accessed.",
      "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
      "    Setting it to 1 disables the check of the checksum of RESTORE's payload.",
      "SLEEP <seconds>",
      "    Stop the server for <seconds>, at most 60. Decimals allowed.",
      "STRINGMATCH-TEST",
      "    Compare random strings with random patterns.",
      "STRUCTSIZE",
      "    Return the sizes of structures.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- Subcommands ----

/// DEBUG has no records for its subcommands, as in Redis.
struct Subcommand {
  std::string_view name;
  std::size_t size_min;  // of the request
  std::size_t size_max;
  CommandFunction function;
};

constexpr std::size_t kAnySize = static_cast<std::size_t>(-1);

constexpr Subcommand kSubcommands[] = {
    {"change-repl-id", 2, 2, ok_command},
    {"digest", 2, 2, debug_digest},
    {"digest-value", 2, kAnySize, debug_digest_value},
    {"error", 3, 3, error_command},
    {"help", 2, 2, help_command},
    {"htstats", 3, 3, debug_htstats},
    {"htstats-key", 3, 3, debug_htstats_key},
    {"listpack", 3, 3, debug_listpack},
    {"log", 3, 3, ok_command},
    {"object", 3, 3, debug_object},
    {"pause-cron", 3, 3, ok_command},
    {"populate", 3, 5, debug_populate},
    {"protocol", 3, 3, protocol_command},
    {"quicklist", 3, 4, debug_quicklist},
    {"quicklist-packed-threshold", 3, 3, packed_threshold_command},
    {"reload", 2, kAnySize, reload_command},
    {"replybuffer", 4, 4, replybuffer_command},
    {"sdslen", 3, 3, debug_sdslen},
    {"set-active-expire", 3, 3, set_active_expire_command},
    {"set-skip-checksum-validation", 3, 3, set_skip_checksum_validation_command},
    {"sleep", 3, 3, sleep_command},
    {"stringmatch-test", 2, 2, stringmatch_test_command},
    {"structsize", 2, 2, structsize_command},
};

Reply debug_command(CommandContext& context) {
  const auto* const found = std::ranges::find_if(kSubcommands, [&](const Subcommand& subcommand) {
    return is_keyword(context[1], subcommand.name) && context.size() >= subcommand.size_min &&
           context.size() <= subcommand.size_max;
  });
  if (found == std::end(kSubcommands))
    return errors::unknown_subcommand_or_arity("DEBUG", context[1]);
  return found->function(context);
}

// ---- The records ----

constexpr CommandSpec kDebugCommands[] = {
    {.name = "debug",
     .function = debug_command,
     .arity = -2,
     .flags = kAdministers | kDebugs | kSystemCommand,
     .syntax = "subcommand [argument [argument ...]]",
     .summary = "Has subcommands for tests, if they are allowed.",
     .since = "1.0.0",
     .complexity = "Depends on the subcommand."},
};

}  // namespace

CommandFamily debug_commands() { return {CommandGroup::kServer, kDebugCommands}; }

}  // namespace rushgate
