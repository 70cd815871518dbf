#include "engine/redis/commands/command_syntax.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/commands/command_table.h"

namespace rushgate {
namespace {

using SyntaxKind = SyntaxArgument::Kind;

// ---- Writing a syntax ----

std::string shown(const std::vector<SyntaxArgument>& arguments, const char* between = " ");

/// Returns the argument without its word, and without brackets around it.
std::string core(const SyntaxArgument& argument) {
  if (argument.kind == SyntaxKind::kBlock) return shown(argument.parts);
  if (argument.kind != SyntaxKind::kOneOf) return std::string(argument.text);
  const std::string choices = shown(argument.parts, " | ");
  const bool has_brackets = argument.is_optional && argument.word.empty() && !argument.is_multiple;
  return has_brackets ? choices : '<' + choices + '>';
}

std::string shown(const SyntaxArgument& argument) {
  const std::string word = argument.word.empty() ? "" : std::string(argument.word) + ' ';
  std::string text = core(argument);
  if (argument.is_multiple) text += " [" + (argument.repeats_word ? word : "") + text + " ...]";
  text = word + text;
  if (argument.is_optional) text = '[' + text + ']';
  return argument.since.empty() ? text : text + '@' + std::string(argument.since);
}

std::string shown(const std::vector<SyntaxArgument>& arguments, const char* between) {
  std::string text;
  for (const SyntaxArgument& argument : arguments) {
    if (!text.empty()) text += between;
    text += shown(argument);
  }
  return text;
}

TEST(CommandSyntaxTest, EverySyntaxIsReadAsWritten) {
  for (const CommandSpec& spec : command_table())
    EXPECT_EQ(shown(parse_syntax(spec.syntax)), spec.syntax) << spec.name;
}

// ---- Arguments of a syntax ----

/// Returns "name:type" of each argument, "word=" before it, and its parts in parentheses.
std::string outline(const std::vector<SyntaxArgument>& arguments) {
  std::string text;
  for (const SyntaxArgument& argument : arguments) {
    if (!text.empty()) text += ' ';
    if (!argument.word.empty()) text += std::string(argument.word) + '=';
    text += argument_name(argument) + ':' + std::string(argument_type(argument));
    if (argument.is_optional) text += '?';
    if (argument.is_multiple) text += '+';
    if (!argument.parts.empty()) text += '(' + outline(argument.parts) + ')';
  }
  return text;
}

std::string outline(std::string_view syntax) { return outline(parse_syntax(syntax)); }

TEST(CommandSyntaxTest, ValuesAndWordsHaveNamesAndTypes) {
  EXPECT_EQ(outline(""), "");
  EXPECT_EQ(outline("key seconds [NX]"), "key:key seconds:integer nx:pure-token?");
  EXPECT_EQ(outline("score pattern unix-time-seconds member"),
            "score:double pattern:pattern unix-time-seconds:unix-time member:string");
  EXPECT_EQ(outline("<* | id>"), "auto_id_id:oneof(auto_id:pure-token id:string)");
}

TEST(CommandSyntaxTest, WordTakesNextArgument) {
  EXPECT_EQ(outline("[COUNT count]"), "COUNT=count:integer?");
  EXPECT_EQ(outline("[LIMIT offset count]"),
            "LIMIT=offset_count:block?(offset:integer count:integer)");
  EXPECT_EQ(outline("[TYPE <A | B>] key"), "TYPE=a_b:oneof?(a:pure-token b:pure-token) key:key");
  EXPECT_EQ(outline("[EX seconds | KEEPTTL]"),
            "seconds_keepttl:oneof?(EX=seconds:integer keepttl:pure-token)");
  EXPECT_EQ(outline("[GET] key"), "get:pure-token? key:key");
  EXPECT_EQ(outline("STREAMS key [key ...] id [id ...]"),
            "STREAMS=key_id:block(key:key+ id:string+)");
}

TEST(CommandSyntaxTest, RepeatedPartIsMultiple) {
  EXPECT_EQ(outline("key [key ...]"), "key:key+");
  EXPECT_EQ(outline("[key [key ...]]"), "key:key?+");
  EXPECT_EQ(outline("key field value [field value ...]"),
            "key:key field_value:block+(field:string value:string)");
}

TEST(CommandSyntaxTest, WordMayPrecedeEachRepetition) {
  EXPECT_TRUE(parse_syntax("[GET pattern [GET pattern ...]]").front().repeats_word);
  EXPECT_FALSE(parse_syntax("[WEIGHTS weight [weight ...]]").front().repeats_word);
}

TEST(CommandSyntaxTest, VersionBelongsToArgumentBefore) {
  const std::vector<SyntaxArgument> condition =
      parse_syntax("key [NX | IFEQ value@8.4.0] [XX]@8.2.0");
  EXPECT_EQ(condition[0].since, "");
  EXPECT_EQ(condition[1].since, "");
  EXPECT_EQ(condition[1].parts[0].since, "");
  EXPECT_EQ(condition[1].parts[1].since, "8.4.0");
  EXPECT_EQ(condition[1].parts[1].word, "IFEQ");
  EXPECT_EQ(condition[2].since, "8.2.0");
}

TEST(CommandSyntaxTest, NestedBracketsFormBlocks) {
  EXPECT_EQ(outline("[[IDLE ms] start [consumer]]"),
            "ms_start_consumer:block?(IDLE=ms:integer? start:string consumer:string?)");
}

}  // namespace
}  // namespace rushgate
