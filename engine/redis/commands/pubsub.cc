// Commands of publish and subscribe: https://redis.io/docs/latest/commands/?group=pubsub
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/channels.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/publishing.h"

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
  const std::size_t reached = publish_with_undo(
      context.services().channels, context.keyspace().changes(), kind, context[1], context[2]);
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

Reply pubsub_channels_command(CommandContext& context) {
  return names_reply(context, ChannelKind::kPlain);
}
Reply pubsub_shardchannels_command(CommandContext& context) {
  return names_reply(context, ChannelKind::kShard);
}
Reply pubsub_numsub_command(CommandContext& context) {
  return subscribers_reply(context, ChannelKind::kPlain);
}
Reply pubsub_shardnumsub_command(CommandContext& context) {
  return subscribers_reply(context, ChannelKind::kShard);
}
Reply pubsub_numpat_command(CommandContext& context) {
  const auto patterns = context.services().channels.count(ChannelKind::kPattern);
  return Reply::integer(static_cast<std::int64_t>(patterns));
}
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

Reply subscribe_command(CommandContext& context) {
  return subscribe(context, ChannelKind::kPlain, "subscribe");
}

Reply unsubscribe_command(CommandContext& context) {
  return unsubscribe(context, ChannelKind::kPlain, "unsubscribe");
}

Reply psubscribe_command(CommandContext& context) {
  return subscribe(context, ChannelKind::kPattern, "psubscribe");
}

Reply punsubscribe_command(CommandContext& context) {
  return unsubscribe(context, ChannelKind::kPattern, "punsubscribe");
}

Reply ssubscribe_command(CommandContext& context) {
  if (!context.may_wait()) return errors::one_reply_wanted();  // in a transaction, others may
  return subscribe(context, ChannelKind::kShard, "ssubscribe");
}

Reply sunsubscribe_command(CommandContext& context) {
  return unsubscribe(context, ChannelKind::kShard, "sunsubscribe");
}

Reply publish_command(CommandContext& context) { return publish(context, ChannelKind::kPlain); }

Reply spublish_command(CommandContext& context) { return publish(context, ChannelKind::kShard); }

// ---- The records ----

constexpr CommandFlags kSubscribes = kPubSub | kNoScript | kAnytime | kWhileSubscribed;

constexpr CommandSpec kChannelCommands[] = {
    {.name = "subscribe",
     .function = subscribe_command,
     .arity = -2,
     .flags = kSubscribes,
     .syntax = "channel [channel ...]",
     .summary = "Subscribes the client to channels.",
     .since = "2.0.0",
     .complexity = "O(N), N channels"},
    {.name = "unsubscribe",
     .function = unsubscribe_command,
     .arity = -1,
     .flags = kSubscribes,
     .syntax = "[channel [channel ...]]",
     .summary = "Ends subscriptions to channels, or to all.",
     .since = "2.0.0",
     .complexity = "O(N), N clients of the channel"},
    {.name = "psubscribe",
     .function = psubscribe_command,
     .arity = -2,
     .flags = kSubscribes,
     .syntax = "pattern [pattern ...]",
     .summary = "Subscribes the client to all channels that match patterns.",
     .since = "2.0.0",
     .complexity = "O(N), N patterns of the client"},
    {.name = "punsubscribe",
     .function = punsubscribe_command,
     .arity = -1,
     .flags = kSubscribes,
     .syntax = "[pattern [pattern ...]]",
     .summary = "Ends subscriptions to patterns, or to all.",
     .since = "2.0.0",
     .complexity = "O(N+M), N patterns of the client, M of all clients"},
    {.name = "ssubscribe",
     .function = ssubscribe_command,
     .arity = -2,
     .flags = kSubscribes,
     .syntax = "shardchannel [shardchannel ...]",
     .summary = "Subscribes the client to shard channels.",
     .since = "7.0.0",
     .complexity = "O(N), N channels"},
    {.name = "sunsubscribe",
     .function = sunsubscribe_command,
     .arity = -1,
     .flags = kSubscribes,
     .syntax = "[shardchannel [shardchannel ...]]",
     .summary = "Ends subscriptions to shard channels, or to all.",
     .since = "7.0.0",
     .complexity = "O(N), N clients of the channel"},
    {.name = "publish",
     .function = publish_command,
     .arity = 3,
     .flags = kPubSub | kAnytime | kFast | kPausedWithWrites,
     .syntax = "channel message",
     .summary = "Sends a message to all subscribers of a channel.",
     .since = "2.0.0",
     .complexity = "O(N+M), N clients of the channel, M patterns of all clients"},
    {.name = "spublish",
     .function = spublish_command,
     .arity = 3,
     .flags = kPubSub | kAnytime | kFast | kPausedWithWrites,
     .syntax = "shardchannel message",
     .summary = "Sends a message to all subscribers of a shard channel.",
     .since = "7.0.0",
     .complexity = "O(N), N clients of the channel"},
    {.name = "pubsub",
     .arity = -2,
     .flags = kContainer,
     .summary = "Describes channels and their subscribers.",
     .since = "2.8.0",
     .complexity = "Depends on the subcommand."},
    {.name = "pubsub|channels",
     .function = pubsub_channels_command,
     .arity = -2,
     .flags = kPubSub | kAnytime,
     .syntax = "[pattern]",
     .summary = "Returns the channels with subscribers.",
     .since = "2.8.0",
     .complexity = "O(N), N channels"},
    {.name = "pubsub|numpat",
     .function = pubsub_numpat_command,
     .arity = 2,
     .flags = kPubSub | kAnytime,
     .summary = "Counts the subscribed patterns.",
     .since = "2.8.0",
     .complexity = "O(1)"},
    {.name = "pubsub|numsub",
     .function = pubsub_numsub_command,
     .arity = -2,
     .flags = kPubSub | kAnytime,
     .syntax = "[channel [channel ...]]",
     .summary = "Counts the subscribers of channels.",
     .since = "2.8.0",
     .complexity = "O(N), N channels requested"},
    {.name = "pubsub|shardchannels",
     .function = pubsub_shardchannels_command,
     .arity = -2,
     .flags = kPubSub | kAnytime,
     .syntax = "[pattern]",
     .summary = "Returns the shard channels with subscribers.",
     .since = "7.0.0",
     .complexity = "O(N), N shard channels"},
    {.name = "pubsub|shardnumsub",
     .function = pubsub_shardnumsub_command,
     .arity = -2,
     .flags = kPubSub | kAnytime,
     .syntax = "[shardchannel [shardchannel ...]]",
     .summary = "Counts the subscribers of shard channels.",
     .since = "7.0.0",
     .complexity = "O(N), N channels requested"},
    help_record("pubsub|help", pubsub_help_command, "6.2.0"),
};

}  // namespace

CommandFamily channel_commands() { return {CommandGroup::kChannels, kChannelCommands}; }

}  // namespace rushgate
