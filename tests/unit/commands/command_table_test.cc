#include "engine/commands/command_table.h"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "engine/commands/command_docs.h"
#include "engine/commands/out_of_scope.h"
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

TEST(CommandTableTest, EachCommandIsDescribedOnce) {
  std::multiset<std::string_view> described;
  for (const auto docs : {docs_of_values(), docs_of_server()}) {
    for (const CommandDoc& doc : docs) described.insert(doc.name);
  }
  std::multiset<std::string_view> names;
  for (const CommandSpec& spec : command_table()) names.insert(spec.name);
  EXPECT_EQ(described, names);
}

TEST(CommandTableTest, EachSummaryIsSentence) {
  for (const CommandSpec& spec : command_table()) {
    EXPECT_TRUE(find_doc(spec.name).summary.ends_with('.')) << spec.name;
    EXPECT_FALSE(find_doc(spec.name).complexity.empty()) << spec.name;
  }
}

TEST(CommandTableTest, CommandOutOfScopeHasNoRow) {
  EXPECT_EQ(out_of_scope("geoadd"), "geospatial indexes");
  EXPECT_EQ(out_of_scope("PFCOUNT"), "HyperLogLog");
  EXPECT_EQ(out_of_scope("Cluster"), "cluster");
  EXPECT_EQ(out_of_scope("REPLICAOF"), "replication");
  EXPECT_EQ(out_of_scope("client|TRACKING"), "client tracking");
  EXPECT_EQ(out_of_scope("geoad"), "");
  EXPECT_EQ(out_of_scope(""), "");
  for (const CommandSpec& spec : command_table()) EXPECT_EQ(out_of_scope(spec.name), "");
}

}  // namespace
}  // namespace rushgate
