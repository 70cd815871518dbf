#include "engine/redis/commands/channels.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/heap.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/session.h"

namespace rushgate {

namespace {

/// Returns about how much memory a subscription uses: the session and the channel store the name
/// each.
std::size_t subscription_bytes(std::string_view name) {
  constexpr std::size_t kNodes = 160;
  const bool is_on_heap = name.size() > std::string().capacity();
  return kNodes + (is_on_heap ? 2 * heap_block(name.size() + 1) : 0);
}

/// Returns a message in the form of the receiver's protocol.
Reply message_of(const Session& to, std::vector<Reply> parts) {
  return to.protocol == 3 ? Reply::push(std::move(parts)) : Reply::array(std::move(parts));
}

}  // namespace

bool Channels::subscribe(Session& session, ChannelKind kind, std::string_view name) {
  auto& names = session.subscriptions.of(kind);
  if (names.contains(name)) return false;
  const auto found = of(kind).try_emplace(std::string(name)).first;
  absl::Cleanup roll_back = [&] {
    std::erase(found->second, &session);
    if (found->second.empty()) of(kind).erase(found);
  };
  found->second.push_back(&session);
  names.emplace(name);
  std::move(roll_back).Cancel();
  session.is_subscribed = true;
  session.held_bytes.channels = session.held_bytes.channels + subscription_bytes(name);
  return true;
}

bool Channels::unsubscribe(Session& session, ChannelKind kind, std::string_view name) {
  auto& names = session.subscriptions.of(kind);
  const auto subscribed = names.find(name);
  if (subscribed == names.end()) return false;
  const auto found = of(kind).find(name);
  std::erase(found->second, &session);
  session.held_bytes.channels = session.held_bytes.channels - subscription_bytes(name);
  if (found->second.empty()) of(kind).erase(found);
  names.erase(subscribed);
  session.is_subscribed = session.is_monitor || !session.subscriptions.empty();
  return true;
}

void Channels::leave_all(Session& session) {
  std::erase(monitors_, &session);
  session.is_monitor = false;
  session.is_subscribed = !session.subscriptions.empty();
  for (const ChannelKind kind : {ChannelKind::kPlain, ChannelKind::kPattern, ChannelKind::kShard}) {
    while (!session.subscriptions.of(kind).empty()) {
      unsubscribe(session, kind, *session.subscriptions.of(kind).begin());
    }
  }
}

std::size_t Channels::publish(ChannelKind kind, std::string_view channel,
                              std::string_view message) {
  std::size_t reached = 0;
  const char* const word = kind == ChannelKind::kShard ? "smessage" : "message";
  if (const auto found = of(kind).find(channel); found != of(kind).end()) {
    for (const Session* session : found->second) {
      add_message(*session, message_of(*session, {Reply::bulk(word), Reply::bulk(channel),
                                                  Reply::bulk(message)}));
      ++reached;
    }
  }
  if (kind == ChannelKind::kPlain) {
    for (const auto& [pattern, sessions] : of(ChannelKind::kPattern)) {
      if (!glob_matches(pattern, channel)) continue;
      for (const Session* session : sessions) {
        add_message(*session, message_of(*session, {Reply::bulk("pmessage"), Reply::bulk(pattern),
                                                    Reply::bulk(channel), Reply::bulk(message)}));
        ++reached;
      }
    }
  }
  return reached;
}

void Channels::add_monitor(Session& session) {
  monitors_.push_back(&session);
  session.is_monitor = true;
  session.is_subscribed = true;
}

void Channels::publish_to_monitors(const std::string& line) {
  for (const Session* const session : monitors_) {
    // No rollback withdraws the line: the command has run.
    if (!session->is_silent) add_message(*session, Reply::status(line), Place::kNow, true);
  }
}

void Channels::notify(const Session& to, std::vector<Reply> parts, Place place) {
  if (to.outlet == nullptr) return;
  add_message(to, message_of(to, std::move(parts)), place, true);
  if (place == Place::kAfterReply) are_sorted_ = false;
}

void Channels::add_message(const Session& to, Reply message, Place place, bool is_final) {
  messages_.push_back({.to = to.outlet,
                       .text = std::move(message),
                       .after_replies = to.replies + (place == Place::kAfterReply ? 1 : 0),
                       .is_late = place != Place::kNow,
                       .is_final = is_final});
  const std::size_t bytes = memory_bytes(messages_.back().text);
  if (!to.outlet->reserve(bytes, to.is_protected)) messages_.pop_back();
}

void Channels::roll_back_to(std::size_t count) {
  auto kept = messages_.begin() + static_cast<std::ptrdiff_t>(std::min(count, messages_.size()));
  for (auto message = kept; message != messages_.end(); ++message) {
    if (!message->is_final) {
      message->to->release(memory_bytes(message->text));
    } else if (message != kept++) {
      *std::prev(kept) = std::move(*message);
    }
  }
  messages_.erase(kept, messages_.end());
}

void Channels::send_before_replies() {
  std::vector<Message> messages = std::exchange(messages_, {});  // an idle engine keeps no memory
  if (!std::exchange(are_sorted_, true)) {
    std::ranges::stable_sort(messages, {}, &Message::after_replies);
  }
  const auto waits = [](const Message& message) {
    return message.is_late && !message.to->orders_messages();
  };
  const auto late = std::stable_partition(messages.begin(), messages.end(), std::not_fn(waits));
  std::for_each(messages.begin(), late, push);
  messages.erase(messages.begin(), late);
  if (!messages.empty()) messages_ = std::move(messages);
}

void Channels::send_after_replies() { std::ranges::for_each(std::exchange(messages_, {}), push); }

void Channels::push(Message& message) {
  try {
    message.to->push(std::move(message.text), message.after_replies);
  } catch (...) {  // out of memory: the message is lost, as on a broken connection
  }
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
