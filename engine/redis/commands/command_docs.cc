// COMMAND DOCS: https://redis.io/docs/latest/commands/command-docs/
#include "engine/redis/commands/command_docs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_syntax.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/program_command_table.h"
#include "engine/redis/commands/reply_allowance.h"

namespace rushgate {
namespace {

/// Names and values.
class DocFields {
 public:
  void add(const char* name, Reply value) { add(std::string(name), std::move(value)); }
  void add(std::string name, Reply value) {
    fields_.push_back(Reply::bulk(std::move(name)));
    fields_.push_back(std::move(value));
  }
  Reply reply() { return Reply::map(std::move(fields_)); }

 private:
  std::vector<Reply> fields_;
};

/// Builds the replies for a command's arguments. Its keys correspond to its key specs, in order. The
/// spec of SORT's patterns has no key among the arguments.
class ArgumentReplies {
 public:
  explicit ArgumentReplies(const CommandSpec& spec) {
    std::int64_t index = 0;
    for (const KeySpec& keys : spec.keys) {
      const bool is_of_patterns = keys.is_unknown && (keys.flags & key_specs::kRO) != 0;
      if (!is_of_patterns) key_specs_.push_back(index);
      ++index;
    }
  }

  Reply list(const std::vector<SyntaxArgument>& arguments) {
    std::vector<Reply> replies;
    for (const SyntaxArgument& argument : arguments) replies.push_back(reply(argument));
    return Reply::array(std::move(replies));
  }

 private:
  Reply reply(const SyntaxArgument& argument) {
    DocFields fields;
    const std::string_view type = argument_type(argument);
    fields.add("name", Reply::bulk(argument_name(argument)));
    fields.add("type", Reply::bulk(type));
    if (type == "key" && !key_specs_.empty())
      fields.add("key_spec_index",
                 Reply::integer(key_specs_[std::min(keys_++, key_specs_.size() - 1)]));
    const bool is_word = argument.kind == SyntaxArgument::Kind::kWord;
    const std::string_view word = is_word ? argument.text : argument.word;
    if (!word.empty()) fields.add("token", Reply::bulk(word));
    if (!argument.since.empty()) fields.add("since", Reply::bulk(argument.since));
    if (argument.is_optional || argument.is_multiple) fields.add("flags", flags(argument));
    if (!argument.parts.empty()) fields.add("arguments", list(argument.parts));
    return fields.reply();
  }

  static Reply flags(const SyntaxArgument& argument) {
    std::vector<Reply> flags;
    if (argument.is_optional) flags.push_back(Reply::status("optional"));
    if (argument.is_multiple) flags.push_back(Reply::status("multiple"));
    if (argument.repeats_word) flags.push_back(Reply::status("multiple_token"));
    return Reply::set(std::move(flags));
  }

  std::vector<std::int64_t> key_specs_;  // their indices
  std::size_t keys_ = 0;                 // so far
};

Reply doc_reply(const CommandSpec& spec) {
  DocFields fields;
  fields.add("summary", Reply::bulk(spec.summary));
  fields.add("since", Reply::bulk(spec.since));
  fields.add("group", Reply::bulk(group_name(spec.group)));
  fields.add("complexity", Reply::bulk(spec.complexity));
  if ((spec.flags & kSystemCommand) != 0)
    fields.add("doc_flags", Reply::set({Reply::status("syscmd")}));
  if (!spec.deprecated_since.empty()) {
    fields.add("doc_flags", Reply::set({Reply::status("deprecated")}));
    fields.add("deprecated_since", Reply::bulk(spec.deprecated_since));
    fields.add("replaced_by", Reply::bulk(spec.replaced_by));
  }
  if (!spec.syntax.empty())
    fields.add("arguments", ArgumentReplies(spec).list(parse_syntax(spec.syntax)));
  if (!subcommands_of(spec).empty()) {
    DocFields subcommands;
    for (const CommandSpec& subcommand : subcommands_of(spec))
      subcommands.add(std::string(subcommand.name), doc_reply(subcommand));
    fields.add("subcommands", subcommands.reply());
  }
  return fields.reply();
}

}  // namespace

Reply command_docs_command(CommandContext& context) {
  DocFields docs;
  if (context.size() == 2) {
    for (const CommandSpec* const spec : all_commands(context.services())) {
      if (!is_subcommand(*spec)) docs.add(std::string(spec->name), doc_reply(*spec));
    }
  }
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (const std::string_view name : context.request().subspan(2)) {
    const CommandSpec* const spec = find_full_name(context.services(), name);
    if (spec == nullptr) continue;
    Reply doc = doc_reply(*spec);
    if (!allowance.take(memory_bytes(doc))) return errors::reply_too_large();
    docs.add(std::string(spec->name), std::move(doc));
  }
  return docs.reply();
}

}  // namespace rushgate
