// Compares the replies of COMMAND for each command with those of Redis.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/commands/command_table.h"
#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"
#include "tests/support/later_version.h"
#include "tests/support/random.h"
#include <rushgate/random_seed.h>

namespace rushgate::testing {
namespace {

// ---- Permanent differences ----

/// Subcommands of Redis that do not exist here.
const std::set<std::string> kNotHere = {};

/// Returns the records of the commands that Redis 7.0 has, too.
std::vector<CommandSpec> common_commands() {
  std::vector<CommandSpec> commands;
  std::ranges::copy_if(command_table(), std::back_inserter(commands),
                       [](const CommandSpec& spec) { return !is_later_version(spec.since); });
  return commands;
}

/// Key specs of Redis have notes for some commands, and commands have tips. Neither is here.
constexpr std::string_view kNotes = "notes";

/// Words that only one of the two syntaxes has, with the reason.
const std::set<std::string> kOtherWords = {
    "client|kill",  // SLAVE is missing here, and yes/no are words
};

// ---- Requests to both ----

Reply field_of(std::string_view name, const Reply& map) {
  const std::vector<Reply>& fields = map.elements();
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].is_text() && fields[i].text() == name) return fields[i + 1];
  }
  return Reply::nil();
}

class CommandInfoTest : public ::testing::TestWithParam<RespVersion> {
 protected:
  Reply redis(const Request& request) { return redis_.ask(0, request); }
  Reply ours(const Request& request) { return ours_.ask(0, request); }

 private:
  RedisBackend redis_{GetParam()};
  EmbeddedBackend ours_{GetParam()};
};

std::string protocol_name(const ::testing::TestParamInfo<RespVersion>& protocol) {
  return protocol.param == RespVersion::k2 ? "Resp2" : "Resp3";
}

INSTANTIATE_TEST_SUITE_P(Protocols, CommandInfoTest,
                         ::testing::Values(RespVersion::k2, RespVersion::k3), protocol_name);

// ---- COMMAND INFO ----

/// Positions in the reply about one command.
constexpr std::size_t kName = 0;
constexpr std::size_t kTips = 7;
constexpr std::size_t kKeySpecs = 8;
constexpr std::size_t kSubcommands = 9;

/// Removes the permanent differences, and sorts the subcommands by name.
void normalize(Reply& info) {
  info.mutable_elements()[kTips].mutable_elements().clear();
  for (Reply& spec : info.mutable_elements()[kKeySpecs].mutable_elements()) {
    std::vector<Reply>& fields = spec.mutable_elements();
    if (fields.front().text() == kNotes) fields.erase(fields.begin(), fields.begin() + 2);
  }
  std::vector<Reply>& subcommands = info.mutable_elements()[kSubcommands].mutable_elements();
  std::erase_if(subcommands, [](const Reply& subcommand) {
    const std::string& name = subcommand.elements()[kName].text();
    const CommandSpec* const spec = find_full_name(name);
    return kNotHere.contains(name) || (spec != nullptr && is_later_version(spec->since));
  });
  for (Reply& subcommand : subcommands) normalize(subcommand);
  std::ranges::sort(subcommands, {},
                    [](const Reply& subcommand) { return subcommand.elements()[kName].text(); });
}

TEST_P(CommandInfoTest, EachRowEqualsRedis) {
  for (const CommandSpec& spec : common_commands()) {
    const Request request = Request::of("COMMAND", "INFO", spec.name);
    Reply expected = redis(request);
    Reply answer = ours(request);
    ASSERT_FALSE(expected.elements().front().is_nil()) << spec.name;
    ASSERT_FALSE(answer.elements().front().is_nil()) << spec.name;
    normalize(expected.mutable_elements().front());
    normalize(answer.mutable_elements().front());
    EXPECT_EQ(to_debug_string(answer), to_debug_string(expected));
  }
}

TEST_P(CommandInfoTest, NoOtherSubcommandsAreMissing) {
  std::set<std::string> missing;
  for (const CommandSpec& spec : command_table()) {
    if ((spec.flags & kContainer) == 0) continue;
    const Reply info = redis(Request::of("COMMAND", "INFO", spec.name)).elements().front();
    for (const Reply& subcommand : info.elements()[kSubcommands].elements()) {
      const std::string& name = subcommand.elements()[kName].text();
      if (find_full_name(name) == nullptr) missing.insert(name);
    }
  }
  EXPECT_EQ(missing, kNotHere);
}

TEST_P(CommandInfoTest, WithoutNamesAllCommandsAreReturned) {
  const Reply all = ours(Request::of("COMMAND"));
  EXPECT_EQ(ours(Request::of("COMMAND", "INFO")), all);
  EXPECT_EQ(ours(Request::of("COMMAND", "COUNT")).integer(), std::ssize(all.elements()));
  EXPECT_EQ(ours(Request::of("COMMAND", "LIST")).elements().size(), command_table().size());
  for (const Reply& info : all.elements()) {
    const std::string& name = info.elements()[kName].text();
    EXPECT_EQ(ours(Request::of("COMMAND", "INFO", name)).elements().front(), info) << name;
  }
}

TEST_P(CommandInfoTest, CategoriesEqualRedis) {
  std::set<std::string> categories;
  const Reply infos = ours(Request::of("COMMAND"));
  for (const Reply& info : infos.elements()) {
    constexpr std::size_t kCategories = 6;
    for (const Reply& category : info.elements()[kCategories].elements())
      categories.insert(category.text().substr(1));
  }
  EXPECT_GT(categories.size(), 15U);
  for (const std::string& category : categories) {
    const Request request = Request::of("COMMAND", "LIST", "FILTERBY", "ACLCAT", category);
    const Reply in_redis = redis(request);
    const Reply here = ours(request);
    std::set<std::string> expected;
    for (const Reply& name : in_redis.elements()) {
      if (find_full_name(name.text()) != nullptr) expected.insert(name.text());
    }
    std::set<std::string> names;
    for (const Reply& name : here.elements()) {
      if (!is_later_version(find_full_name(name.text())->since)) names.insert(name.text());
    }
    EXPECT_EQ(names, expected) << category;
  }
}

// ---- COMMAND GETKEYS ----

/// The keys of a request must also be found if its arguments are invalid.
TEST_P(CommandInfoTest, KeysOfRandomRequestsEqualRedis) {
  constexpr int kRequestsPerCommand = 60;
  constexpr std::string_view kWords[] = {"a",     "b",   "0",   "1",       "2",     "3",
                                         "1x",    "-1",  "GET", "STREAMS", "STORE", "get",
                                         "count", "MIN", "",    " 1",      "BY",    "limit"};
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (const CommandSpec& spec : common_commands()) {
    if (spec.keys.empty()) continue;
    for (int i = 0; i < kRequestsPerCommand; ++i) {
      Request request = Request::of("COMMAND", "GETKEYSANDFLAGS");
      const std::size_t bar = spec.name.find('|');
      request.add(spec.name.substr(0, bar));
      if (bar != std::string_view::npos) request.add(spec.name.substr(bar + 1));
      const std::size_t size = static_cast<std::size_t>(std::abs(spec.arity)) + 1 + random.below(4);
      while (request.size() < size) request.add(random.pick(kWords));
      std::string shown;
      for (const std::string_view argument : request.views())
        shown += '"' + std::string(argument) + "\" ";
      ASSERT_EQ(to_debug_string(ours(request)), to_debug_string(redis(request))) << shown;
    }
  }
}

// ---- COMMAND DOCS ----

/// Returns all words in arguments, in alphabetical order, without those of later versions.
std::vector<std::string> words_of(const Reply& arguments) {
  std::vector<std::string> words;
  if (arguments.is_nil()) return words;
  for (const Reply& argument : arguments.elements()) {
    const Reply since = field_of("since", argument);
    if (!since.is_nil() && is_later_version(since.text())) continue;
    const Reply word = field_of("token", argument);
    if (!word.is_nil()) words.push_back(word.text());
    std::vector<std::string> inner = words_of(field_of("arguments", argument));
    std::ranges::move(inner, std::back_inserter(words));
  }
  std::ranges::sort(words);
  return words;
}

TEST_P(CommandInfoTest, DocsHaveFactsOfRedis) {
  for (const CommandSpec& spec : common_commands()) {
    const Request request = Request::of("COMMAND", "DOCS", spec.name);
    const Reply expected = field_of(spec.name, redis(request));
    const Reply docs = field_of(spec.name, ours(request));
    for (const char* fact : {"since", "group", "doc_flags", "deprecated_since"})
      EXPECT_EQ(field_of(fact, docs), field_of(fact, expected)) << spec.name << ' ' << fact;
    EXPECT_FALSE(field_of("summary", docs).is_nil()) << spec.name;
    EXPECT_TRUE(field_of("history", docs).is_nil()) << spec.name;
    if (kOtherWords.contains(std::string(spec.name))) continue;
    EXPECT_EQ(words_of(field_of("arguments", docs)), words_of(field_of("arguments", expected)))
        << spec.name;
  }
}

}  // namespace
}  // namespace rushgate::testing
