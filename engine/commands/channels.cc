#include "engine/commands/channels.h"

#include <algorithm>
#include <utility>

#include "engine/commands/glob.h"
#include "engine/commands/session.h"

namespace rushgate {

bool Channels::subscribe(Session& session, ChannelKind kind, std::string_view name) {
  if (!session.subscriptions.of(kind).emplace(name).second) return false;
  session.is_subscribed = true;
  of(kind)[std::string(name)].push_back(&session);
  return true;
}

bool Channels::unsubscribe(Session& session, ChannelKind kind, std::string_view name) {
  if (session.subscriptions.of(kind).erase(std::string(name)) == 0) return false;
  session.is_subscribed = !session.subscriptions.empty();
  const auto found = of(kind).find(name);
  std::erase(found->second, &session);
  if (found->second.empty()) of(kind).erase(found);
  return true;
}

void Channels::leave_all(Session& session) {
  for (const ChannelKind kind : {ChannelKind::kPlain, ChannelKind::kPattern, ChannelKind::kShard}) {
    while (!session.subscriptions.of(kind).empty()) {
      unsubscribe(session, kind, std::string(*session.subscriptions.of(kind).begin()));
    }
  }
}

std::size_t Channels::publish(ChannelKind kind, std::string_view channel,
                              std::string_view message) {
  const std::size_t before = messages_.size();
  const char* const word = kind == ChannelKind::kShard ? "smessage" : "message";
  if (const auto found = of(kind).find(channel); found != of(kind).end()) {
    for (const Session* session : found->second) {
      add_message(*session, {Reply::bulk(word), Reply::bulk(channel), Reply::bulk(message)});
    }
  }
  if (kind == ChannelKind::kPlain) {
    for (const auto& [pattern, sessions] : of(ChannelKind::kPattern)) {
      if (!glob_matches(pattern, channel)) continue;
      for (const Session* session : sessions) {
        add_message(*session, {Reply::bulk("pmessage"), Reply::bulk(pattern), Reply::bulk(channel),
                               Reply::bulk(message)});
      }
    }
  }
  return messages_.size() - before;
}

void Channels::add_message(const Session& to, std::vector<Reply> parts) {
  messages_.push_back(
      {to.outlet, to.protocol == 3 ? Reply::push(std::move(parts)) : Reply::array(std::move(parts)),
       to.replies});
}

void Channels::send() {
  for (Message& message : messages_)
    message.to->push(std::move(message.text), message.after_replies);
  messages_.clear();
}

std::vector<std::string> Channels::names(ChannelKind kind) const {
  std::vector<std::string> names;
  for (const auto& [name, sessions] : of(kind)) names.push_back(name);
  return names;
}

std::size_t Channels::subscribers(ChannelKind kind, std::string_view name) const {
  const auto found = of(kind).find(name);
  return found == of(kind).end() ? 0 : found->second.size();
}

}  // namespace rushgate
