#include "engine/redis/commands/command_table.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "engine/core/client/command_traits.h"
#include "engine/redis/commands/command_syntax.h"
#include <rushgate/request.h>

namespace rushgate {
namespace {

TEST(CommandTableTest, EachNameIsFoundInAnyCase) {
  for (const CommandSpec& spec : command_table()) {
    if (is_subcommand(spec)) continue;
    std::string name(spec.name);
    EXPECT_EQ(find_command(name), &spec);
    for (std::size_t i = 0; i < name.size(); i += 2) {
      name[i] = absl::ascii_toupper(static_cast<unsigned char>(name[i]));
    }
    EXPECT_EQ(find_command(name), &spec) << name;
    EXPECT_EQ(find_command(absl::AsciiStrToUpper(name)), &spec);
  }
}

TEST(CommandTableTest, UnknownNameIsNotFound) {
  for (const CommandSpec& spec : command_table()) {
    const std::string name(spec.name);
    for (std::size_t i = 0; i < name.size(); ++i) {
      for (const unsigned flipped : {0x01U, 0x10U, 0x20U, 0x40U, 0x80U}) {
        std::string other = name;
        other[i] = static_cast<char>(static_cast<unsigned char>(other[i]) ^ flipped);
        const CommandSpec* const found = find_command(other);
        if (found != nullptr) {
          EXPECT_FALSE(is_subcommand(spec));
          EXPECT_EQ(absl::AsciiStrToLower(other), found->name);
        }
      }
    }
    EXPECT_EQ(find_command(name + '\0'), nullptr);
    EXPECT_EQ(find_command(name + " "), nullptr);
  }
  EXPECT_EQ(find_command(""), nullptr);
  EXPECT_EQ(find_command(std::string(17, 'x')), nullptr);
  EXPECT_EQ(find_command(std::string(1'000'000, 'x')), nullptr);
}

// ---- Subcommands ----

const CommandSpec* find(const Request& request) { return find_command(request.views()); }

TEST(CommandTableTest, SubcommandsAreFoundUnderTheirContainer) {
  for (const CommandSpec& container : command_table()) {
    const bool is_container = (container.flags & kContainer) != 0;
    EXPECT_EQ(is_container, !subcommands_of(container).empty()) << container.name;
    EXPECT_TRUE(is_container || container.function != nullptr) << container.name;
    for (const CommandSpec& spec : subcommands_of(container)) {
      const std::string_view name = spec.name.substr(container.name.size() + 1);
      EXPECT_EQ(find(Request::of(container.name, name)), &spec);
      const std::string upper = absl::AsciiStrToUpper(std::string(name));
      EXPECT_EQ(find(Request::of(container.name, upper, "x")), &spec);
      EXPECT_EQ(find_full_name(spec.name), &spec);
      EXPECT_EQ(find_command(spec.name), nullptr);
      EXPECT_EQ(find(Request::of(spec.name)), nullptr);
    }
  }
  EXPECT_EQ(find(Request::of("CONFIG"))->name, "config");
  EXPECT_EQ(find(Request::of("CONFIG", "NOSUCH")), nullptr);
  EXPECT_EQ(find(Request::of("CONFIG", std::string_view("get\0", 4))), nullptr);
  EXPECT_EQ(find(Request::of("GET", "nosuch"))->name, "get");
  EXPECT_EQ(find_full_name("get|x"), nullptr);
  EXPECT_EQ(find_full_name("config|"), nullptr);
}

TEST(CommandTableTest, ContainersLoseNoRow) {
  std::size_t rows = 0;
  for (const CommandSpec& spec : command_table()) {
    if (!is_subcommand(spec)) rows += 1 + subcommands_of(spec).size();
  }
  EXPECT_EQ(rows, command_table().size());
}

// ---- Descriptions ------------------

TEST(CommandTableTest, EachNameIsInOneRecord) {
  std::set<std::string_view> names;
  for (const CommandSpec& spec : command_table()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(&command_table()[spec.row], &spec) << spec.name;
  }
}

TEST(CommandTableTest, EachRecordIsDocumented) {
  for (const CommandSpec& spec : command_table()) {
    EXPECT_TRUE(spec.summary.ends_with('.')) << spec.name;
    EXPECT_EQ(std::ranges::count(spec.since, '.'), 2) << spec.name;
    EXPECT_FALSE(spec.complexity.empty()) << spec.name;
    EXPECT_EQ(spec.deprecated_since.empty(), spec.replaced_by.empty()) << spec.name;
  }
}

/// The smallest number of arguments, and whether there may be more.
struct ArgumentCount {
  std::int64_t fewest = 0;
  bool may_be_more = false;
};

ArgumentCount count(std::span<const SyntaxArgument> arguments);

ArgumentCount count(const SyntaxArgument& argument) {
  ArgumentCount result = {.fewest = 1};
  if (argument.kind == SyntaxArgument::Kind::kBlock) {
    result = count(argument.parts);
  } else if (argument.kind == SyntaxArgument::Kind::kOneOf) {
    result = count(argument.parts.front());
    for (const SyntaxArgument& part : argument.parts) {
      const ArgumentCount other = count(part);
      result.may_be_more |= other.may_be_more || other.fewest != result.fewest;
      result.fewest = std::min(result.fewest, other.fewest);
    }
  }
  if (!argument.word.empty()) ++result.fewest;
  if (argument.is_optional) return {.fewest = 0, .may_be_more = true};
  result.may_be_more |= argument.is_multiple;
  return result;
}

ArgumentCount count(std::span<const SyntaxArgument> arguments) {
  ArgumentCount sum;
  for (const SyntaxArgument& argument : arguments) {
    const ArgumentCount some = count(argument);
    sum.fewest += some.fewest;
    sum.may_be_more |= some.may_be_more;
  }
  return sum;
}

TEST(CommandTableTest, EachSyntaxFitsArity) {
  // As in Redis: QUIT, PSYNC and REPLCONF take any further arguments. A command with keys has at
  // least one argument. CLIENT KILL needs a filter.
  const std::set<std::string_view> exceptions = {
      "quit", "psync", "replconf", "command|getkeys", "command|getkeysandflags", "client|kill"};
  for (const CommandSpec& spec : command_table()) {
    if ((spec.flags & kContainer) != 0) {
      EXPECT_EQ(spec.syntax, "") << spec.name;
    } else if (!exceptions.contains(spec.name)) {
      const ArgumentCount arguments = count(parse_syntax(spec.syntax));
      const std::int64_t fewest = arguments.fewest + (is_subcommand(spec) ? 2 : 1);
      EXPECT_EQ(spec.arity, arguments.may_be_more ? -fewest : fewest) << spec.name;
    }
  }
}

TEST(CommandTableTest, OnlyNewerServersHaveOtherCommandsWithTraits) {
  std::vector<std::string_view> others;
  for (const auto& [name, traits] : named_command_traits()) {
    if (find_full_name(name) == nullptr) others.push_back(name);
  }
  EXPECT_THAT(others, ::testing::ElementsAre("waitaof"));
}

TEST(CommandTableTest, EachTimeoutIsInSyntax) {
  for (const CommandSpec& spec : command_table()) {
    BlockTimeout timeout = BlockTimeout::kNone;
    const bool is_pause = spec.name == "client|pause";  // its timeout is not that of the command
    if (!is_pause && spec.syntax.starts_with("timeout ")) timeout = BlockTimeout::kFirstSeconds;
    if (spec.syntax.ends_with(" timeout")) timeout = BlockTimeout::kLastSeconds;
    if (spec.syntax == "numreplicas timeout") timeout = BlockTimeout::kLastMs;
    if (spec.syntax.find("[BLOCK milliseconds]") != std::string_view::npos)
      timeout = BlockTimeout::kBlockOption;
    EXPECT_EQ(spec.traits.timeout, timeout) << spec.name;
    const bool is_wait = timeout == BlockTimeout::kLastMs;
    EXPECT_EQ((spec.flags & kBlocking) != 0, timeout != BlockTimeout::kNone && !is_wait)
        << spec.name;
  }
}

/// The flags of COMMAND INFO are compared with Redis's by CommandInfoTest. These are the engine's.
TEST(CommandTableTest, SpecialFlagsHaveFewCommands) {
  const auto names = [](unsigned flag) {
    std::set<std::string_view> with_flag;
    for (const CommandSpec& spec : command_table()) {
      if ((spec.flags & flag) != 0) with_flag.insert(spec.name);
    }
    return with_flag;
  };
  using Names = std::set<std::string_view>;
  EXPECT_EQ(names(kRunsQueue), Names({"exec"}));
  EXPECT_EQ(names(kEndsMulti), Names({"discard", "exec", "quit", "reset"}));
  EXPECT_EQ(names(kChangesProtocol), Names({"hello", "reset"}));
}

}  // namespace
}  // namespace rushgate
