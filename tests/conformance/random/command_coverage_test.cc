// Each command of the table is compared with Redis: by a transcript, and by a random shape.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "engine/redis/commands/command_syntax.h"
#include "engine/redis/commands/command_table.h"
#include "tests/conformance/random/random_commands.h"
#include "tests/conformance/transcript.h"
#include "tests/support/later_version.h"
#include "tests/support/random.h"

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string, std::less<>>;

/// QUIT ends the connection of the transcript.
const Names kWithoutTranscript = {"quit"};

/// CLIENT REPLY SKIP has no reply to compare. SCRIPT DEBUG begins a dialogue in Redis, and is
/// refused here.
const Names kOptionsWithoutTranscript = {"client|reply SKIP", "script|debug SYNC",
                                         "script|debug YES"};

/// Commands that describe or end the server, or that have one form each, which a transcript sends.
const Names kWithoutShape = {"bgrewriteaof",
                             "bgsave",
                             "info",
                             "lastsave",
                             "latency",
                             "lolwut",
                             "memory",
                             "module",
                             "monitor",
                             "pfselftest",
                             "save",
                             "shutdown",
                             "slowlog",
                             "time",
                             "psync",
                             "replconf",
                             "sync",
                             "client|help",
                             "command|count",
                             "command|docs",
                             "command|getkeysandflags",
                             "command|help",
                             "command|info",
                             "command|list",
                             "config|help",
                             "config|resetstat",
                             "config|rewrite",
                             "latency|doctor",
                             "latency|graph",
                             "latency|help",
                             "latency|histogram",
                             "latency|history",
                             "latency|latest",
                             "latency|reset",
                             "memory|doctor",
                             "memory|help",
                             "memory|malloc-stats",
                             "memory|purge",
                             "memory|stats",
                             "memory|usage",
                             "module|help",
                             "module|list",
                             "module|load",
                             "module|loadex",
                             "module|unload",
                             "function|help",
                             "function|kill",
                             "object|help",
                             "object|refcount",
                             "pubsub|help",
                             "script|debug",
                             "script|help",
                             "script|kill",
                             "slowlog|get",
                             "slowlog|help",
                             "slowlog|len",
                             "slowlog|reset",
                             "xgroup|help",
                             "xinfo|help"};

/// Adds the name of the request's command, and that of its container.
void add_name(const Request& request, Names& names) {
  if (request.size() == 0) return;
  if (const CommandSpec* const spec = find_command(request[0])) names.emplace(spec->name);
  if (const CommandSpec* const spec = find_command(request.views())) names.emplace(spec->name);
}

/// Returns the commands that Redis 7.0 has, too, and that are not in `names`.
Names missing_in(const Names& names) {
  Names missing;
  for (const CommandSpec& spec : command_table()) {
    if (!is_later_version(spec.since) && !names.contains(spec.name)) missing.emplace(spec.name);
  }
  return missing;
}

/// Returns all requests of the transcripts.
std::vector<Request> requests_of_transcripts() {
  std::vector<Request> requests;
  for (const fs::directory_entry& entry : fs::directory_iterator(RUSHGATE_TRANSCRIPTS)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const Case& parsed : parse_transcript(entry.path().string(), text)) {
      for (const Step& step : parsed.steps) {
        Request request;
        for (const auto& argument : step.command) request.add(argument.text);
        if (request.size() > 0) requests.push_back(std::move(request));
      }
    }
  }
  return requests;
}

TEST(CommandCoverageTest, EachCommandHasTranscript) {
  Names sent;
  for (const Request& request : requests_of_transcripts()) add_name(request, sent);
  EXPECT_EQ(missing_in(sent), kWithoutTranscript);
}

/// Adds "set NX" for each word of the arguments, without those of later versions.
void add_options(std::string_view command, const std::vector<SyntaxArgument>& arguments,
                 Names& options) {
  for (const SyntaxArgument& argument : arguments) {
    if (is_later_version(argument.since)) continue;
    const bool is_word = argument.kind == SyntaxArgument::Kind::kWord;
    const std::string_view word = is_word ? argument.text : argument.word;
    if (!word.empty()) options.insert(std::string(command) + ' ' + std::string(word));
    add_options(command, argument.parts, options);
  }
}

TEST(CommandCoverageTest, EachOptionHasTranscript) {
  Names missing;
  for (const CommandSpec& spec : command_table()) {
    if (!is_later_version(spec.since)) add_options(spec.name, parse_syntax(spec.syntax), missing);
  }
  EXPECT_GT(missing.size(), 300U);
  for (const Request& request : requests_of_transcripts()) {
    const CommandSpec* const spec = find_command(request.views());
    if (spec == nullptr) continue;
    for (const std::string_view argument : request.views())
      missing.erase(std::string(spec->name) + ' ' + absl::AsciiStrToUpper(std::string(argument)));
  }
  EXPECT_EQ(missing, kOptionsWithoutTranscript);
}

TEST(CommandCoverageTest, EachCommandHasRandomShape) {
  constexpr int kSteps = 20'000;
  Names said;
  for (const std::string& family : families()) {
    const Grammar grammar = grammar_of(family);
    Random random(1);
    RandomRound round(grammar, random);
    for (const RandomStep& step : round.first()) {
      for (const RandomCommand& command : step) add_name(command.request, said);
    }
    for (int i = 0; i < kSteps; ++i) {
      for (const RandomCommand& command : round.next()) add_name(command.request, said);
    }
  }
  EXPECT_EQ(missing_in(said), kWithoutShape);
}

}  // namespace
}  // namespace rushgate::testing
