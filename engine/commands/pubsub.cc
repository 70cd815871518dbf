// Commands of publish and subscribe: https://redis.io/docs/latest/commands/?group=pubsub
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "engine/commands/channels.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"
#include "engine/commands/glob.h"
#include "engine/commands/help_reply.h"

namespace rushgate {
namespace {

/// Returns the confirmation of a subscription or its end: its name, or nil, and the number of
/// subscriptions left.
Reply confirmation(const CommandContext& context, const char* word, ChannelKind kind, Reply name) {
  Session& session = context.session();
  const auto count = static_cast<std::int64_t>(session.subscriptions.count_with(kind));
  std::vector<Reply> parts = {Reply::bulk(word), std::move(name), Reply::integer(count)};
  return session.protocol == 3 ? Reply::push(std::move(parts)) : Reply::array(std::move(parts));
}

Reply subscribe(const CommandContext& context, ChannelKind kind, const char* word) {
  if (context.session().outlet == nullptr) return errors::takes_no_messages();
  std::vector<Reply> replies;
  for (std::size_t i = 1; i < context.size(); ++i) {
    context.services().channels.subscribe(context.session(), kind, context[i]);
    replies.push_back(confirmation(context, word, kind, Reply::bulk(context[i])));
  }
  return Reply::several(std::move(replies));
}

/// Without names, ends all subscriptions of the kind.
Reply unsubscribe(const CommandContext& context, ChannelKind kind, const char* word) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < context.size(); ++i) names.emplace_back(context[i]);
  if (names.empty()) {
    const auto& all = context.session().subscriptions.of(kind);
    names.assign(all.begin(), all.end());
  }
  if (names.empty()) return confirmation(context, word, kind, Reply::nil());
  std::vector<Reply> replies;
  for (const std::string& name : names) {
    context.services().channels.unsubscribe(context.session(), kind, name);
    replies.push_back(confirmation(context, word, kind, Reply::bulk(name)));
  }
  return Reply::several(std::move(replies));
}

Reply publish(const CommandContext& context, ChannelKind kind) {
  // A read-only script must not publish, because its replicas would publish, too.
  if (context.read_only()) return errors::write_in_read_only_script();
  Channels& channels = context.services().channels;
  const std::size_t before = channels.waiting();
  absl::Cleanup take_back = [&] { channels.take_back_to(before); };
  context.keyspace().changes().reserve_undo();
  const std::size_t reached = channels.publish(kind, context[1], context[2]);
  if (reached > 0) {
    context.keyspace().changes().push_undo([&channels, before] { channels.take_back_to(before); });
  }
  std::move(take_back).Cancel();
  return Reply::integer(static_cast<std::int64_t>(reached));
}

// ---- PUBSUB ----

Reply names_reply(const CommandContext& context, ChannelKind kind) {
  if (context.size() > 3) return errors::unknown_subcommand_or_arity("PUBSUB", context[1]);
  std::vector<Reply> names;
  for (const std::string& name : context.services().channels.names(kind)) {
    const bool is_wanted = context.size() == 2 || glob_matches(context[2], name);
    if (is_wanted) names.push_back(Reply::bulk(name));
  }
  return Reply::array(std::move(names));
}

Reply subscribers_reply(const CommandContext& context, ChannelKind kind) {
  std::vector<Reply> names_and_counts;
  for (std::size_t i = 2; i < context.size(); ++i) {
    const std::size_t count = context.services().channels.subscribers(kind, context[i]);
    names_and_counts.push_back(Reply::bulk(context[i]));
    names_and_counts.push_back(Reply::integer(static_cast<std::int64_t>(count)));
  }
  return Reply::array(std::move(names_and_counts));
}

}  // namespace

// PUBSUB CHANNELS [pattern]
Reply pubsub_channels_command(CommandContext& context) {
  return names_reply(context, ChannelKind::kPlain);
}
// PUBSUB SHARDCHANNELS [pattern]
Reply pubsub_shardchannels_command(CommandContext& context) {
  return names_reply(context, ChannelKind::kShard);
}
// PUBSUB NUMSUB [channel ...]
Reply pubsub_numsub_command(CommandContext& context) {
  return subscribers_reply(context, ChannelKind::kPlain);
}
// PUBSUB SHARDNUMSUB [shardchannel ...]
Reply pubsub_shardnumsub_command(CommandContext& context) {
  return subscribers_reply(context, ChannelKind::kShard);
}
// PUBSUB NUMPAT
Reply pubsub_numpat_command(CommandContext& context) {
  const auto patterns = context.services().channels.count(ChannelKind::kPattern);
  return Reply::integer(static_cast<std::int64_t>(patterns));
}
// PUBSUB HELP
Reply pubsub_help_command(CommandContext& /*context*/) {
  static constexpr std::string_view kLines[] = {
      "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CHANNELS [<pattern>]",
      "    Return the currently active channels matching a <pattern> (default: '*').",
      "NUMPAT",
      "    Return number of subscriptions to patterns.",
      "NUMSUB [<channel> ...]",
      "    Return the number of subscribers for the specified channels, excluding",
      "    pattern subscriptions(default: no channels).",
      "SHARDCHANNELS [<pattern>]",
      "    Return the currently active shard level channels matching a <pattern> (default: '*').",
      "SHARDNUMSUB [<shardchannel> ...]",
      "    Return the number of subscribers for the specified shard level channel(s)",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// SUBSCRIBE channel [channel ...]
Reply subscribe_command(CommandContext& context) {
  return subscribe(context, ChannelKind::kPlain, "subscribe");
}

// UNSUBSCRIBE [channel [channel ...]]
Reply unsubscribe_command(CommandContext& context) {
  return unsubscribe(context, ChannelKind::kPlain, "unsubscribe");
}

// PSUBSCRIBE pattern [pattern ...]
Reply psubscribe_command(CommandContext& context) {
  return subscribe(context, ChannelKind::kPattern, "psubscribe");
}

// PUNSUBSCRIBE [pattern [pattern ...]]
Reply punsubscribe_command(CommandContext& context) {
  return unsubscribe(context, ChannelKind::kPattern, "punsubscribe");
}

// SSUBSCRIBE shardchannel [shardchannel ...]
Reply ssubscribe_command(CommandContext& context) {
  if (!context.may_wait()) return errors::one_answer_wanted();  // in a transaction, others may
  return subscribe(context, ChannelKind::kShard, "ssubscribe");
}

// SUNSUBSCRIBE [shardchannel [shardchannel ...]]
Reply sunsubscribe_command(CommandContext& context) {
  return unsubscribe(context, ChannelKind::kShard, "sunsubscribe");
}

// PUBLISH channel message
Reply publish_command(CommandContext& context) { return publish(context, ChannelKind::kPlain); }

// SPUBLISH shardchannel message
Reply spublish_command(CommandContext& context) { return publish(context, ChannelKind::kShard); }

}  // namespace rushgate
