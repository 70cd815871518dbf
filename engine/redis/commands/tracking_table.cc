#include "engine/redis/commands/tracking_table.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/heap.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/sessions.h"

namespace rushgate {
namespace {

/// The most keys or reads that one request or batch removes.
constexpr int kReadsAtOnceMax = 1'000;

constexpr std::string_view kChannel = "__redis__:invalidate";

/// Returns about how much memory a prefix of a client uses: the session and the table store it.
std::size_t memory_bytes_of(const std::string& prefix) {
  constexpr std::size_t kNodes = 320;
  return kNodes + 2 * heap_bytes(prefix);
}

Reply one_key(std::string_view key) { return Reply::array({Reply::bulk(key)}); }

std::size_t common_size(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

// ---- Clients ----

void TrackingTable::enable(Session& session, const KeyTracking& tracking) {
  std::optional<KeyTracking>& old = session.tracking;
  KeyTracking joined = tracking;
  if (old) {
    joined.prefixes.insert(old->prefixes.begin(), old->prefixes.end());
    joined.caching_is_set = old->caching_is_set;
  }
  absl::Cleanup roll_back = [&] {
    for (const std::string& prefix : tracking.prefixes) {
      if (!old || !old->prefixes.contains(prefix)) leave(session, prefix);
    }
    if (!old) clients_.erase(session.id);
  };
  clients_.emplace(session.id, &session);
  for (const std::string& prefix : tracking.prefixes)
    prefixes_[prefix].clients.emplace(session.id, &session);
  std::move(roll_back).Cancel();
  std::size_t bytes = 0;
  for (const std::string& prefix : joined.prefixes) bytes += memory_bytes_of(prefix);
  session.held_bytes.prefixes = bytes;
  old = std::move(joined);
  update_listener();
}

void TrackingTable::disable(Session& session) {
  if (!session.tracking) return;
  for (const std::string& prefix : session.tracking->prefixes) leave(session, prefix);
  clients_.erase(session.id);
  session.held_bytes.prefixes = 0;
  session.tracking.reset();
  update_listener();
}

void TrackingTable::forget(Session& session) {
  if (current_ == &session) current_ = nullptr;
  if (changer_ == &session) changer_ = nullptr;
  disable(session);
  for (int i = 0; i < kReadsAtOnceMax; ++i) {
    const auto read = reads_.lower_bound({session.id, nullptr});
    if (read == reads_.end() || read->first != session.id) return;
    remove_read(*read->second, session.id);
  }
  sweeps_left_ = 2;  // the rest of the present sweep, and a whole one
}

/// Goes on with a sweep, which removes the reads of sessions that have left.
void TrackingTable::sweep() {
  for (int i = 0; i < kReadsAtOnceMax; ++i) {
    const auto read = reads_.lower_bound({swept_to_, nullptr});
    if (read == reads_.end()) {
      swept_to_ = 0;
      --sweeps_left_;
      return;
    }
    const auto [session_id, key] = *read;
    if (services_.sessions.find(session_id) != nullptr) {
      swept_to_ = session_id + 1;
    } else {
      remove_read(*key, session_id);
    }
  }
}

void TrackingTable::leave(const Session& session, const std::string& prefix) {
  const auto found = prefixes_.find(prefix);
  if (found == prefixes_.end()) return;
  found->second.clients.erase(session.id);
  if (found->second.clients.empty()) prefixes_.erase(found);
}

void TrackingTable::update_listener() {
  const bool is_needed = !clients_.empty() || !keys_.empty();
  services_.keyspace.set_change_listener(is_needed ? this : nullptr);
}

// ---- Keys ----

void TrackingTable::remember(Session& session, std::string_view key) {
  if (key.size() > kKeyBytesMax) return send(session, one_key(key), place_for(session));
  const auto known = keys_.find(key);
  add_read(known == keys_.end() ? add(key) : *known, session.id);
  shrink();
}

TrackingTable::Key& TrackingTable::add(std::string_view key) {
  places_.push_back(nullptr);
  absl::Cleanup roll_back = [this] { places_.pop_back(); };
  Key& added = *keys_.try_emplace(std::string(key)).first;
  std::move(roll_back).Cancel();
  added.second.place = places_.size() - 1;
  places_.back() = &added;
  name_bytes_ += heap_bytes(added.first);
  return added;
}

void TrackingTable::add_read(Key& key, std::uint64_t session_id) {
  absl::Cleanup roll_back = [&] { remove_read(key, session_id); };
  const bool is_new = key.second.readers.insert(session_id).second;
  if (is_new) reads_.emplace(session_id, &key);
  std::move(roll_back).Cancel();
}

void TrackingTable::remove_read(Key& key, std::uint64_t session_id) {
  reads_.erase({session_id, &key});
  key.second.readers.erase(session_id);
  if (key.second.readers.empty()) remove(key);
}

void TrackingTable::remove(Key& key) {
  const auto& [readers, place] = key.second;
  for (const std::uint64_t reader : readers) reads_.erase({reader, &key});
  places_[place] = places_.back();
  places_[place]->second.place = place;
  places_.pop_back();
  name_bytes_ -= heap_bytes(key.first);
  keys_.erase(keys_.find(key.first));
  update_listener();
}

std::size_t TrackingTable::memory_bytes() const {
  // Nodes of the containers, with the allocator's overhead.
  constexpr std::size_t kKeyBytes = 160;
  constexpr std::size_t kReadBytes = 128;
  return keys_.size() * kKeyBytes + reads_.size() * kReadBytes + name_bytes_;
}

bool TrackingTable::exceeds_limits() const {
  const auto keys_max = static_cast<std::size_t>(services_.settings.tracked_keys_max);
  return (keys_max != 0 && keys_.size() > keys_max) || memory_bytes() > kBytesMax;
}

void TrackingTable::shrink() {
  // More than the longest key needs. A lowered limit is reached step by step, as in Redis.
  for (int i = 0; i < kReadsAtOnceMax && exceeds_limits(); ++i)
    invalidate(*places_[random_.below(places_.size())], nullptr);
}

void TrackingTable::invalidate(Key& key, const Session* by) {
  for (const std::uint64_t reader : key.second.readers) {
    const auto client = clients_.find(reader);
    if (client == clients_.end()) continue;  // its tracking has ended
    Session& session = *client->second;
    const KeyTracking& tracking = *session.tracking;
    if (tracking.broadcasts || (tracking.skips_own && &session == by)) continue;
    send(session, one_key(key.first), place_for(session));
  }
  remove(key);
}

void TrackingTable::key_changed(std::string_view key, ChangeCause cause) {
  if (!prefixes_.empty()) note_for_broadcast(key, cause);
  const auto known = keys_.find(key);
  if (known != keys_.end()) invalidate(*known, changer_);
}

void TrackingTable::keys_flushed() {
  for (const auto& [id, session] : clients_) send(*session, Reply::nil(), place_for(*session));
  struct Flushed {
    Keys keys;
    std::set<Read> reads;
  };
  auto flushed = std::make_unique<Flushed>();
  // They do not belong to the used memory, so they count only as enough to leave the turn.
  const std::size_t bytes = std::min(memory_bytes(), LazyFree::kBytesAtOnceMax + 1);
  flushed->keys.swap(keys_);
  flushed->reads.swap(reads_);
  services_.keyspace.lazy_free().free(std::move(flushed), bytes);
  places_.clear();
  name_bytes_ = 0;
  update_listener();
}

// ---- Messages ----

Channels::Place TrackingTable::place_for(const Session& session) const {
  return is_executing_ && &session == current_ ? Channels::Place::kAfterReply
                                               : Channels::Place::kNow;
}

void TrackingTable::send(Session& session, Reply keys, Channels::Place place) {
  KeyTracking& tracking = *session.tracking;
  Channels& channels = services_.channels;
  std::shared_ptr<Session> other;
  if (tracking.redirect != 0 && tracking.redirect != session.id) {
    other = services_.sessions.find(tracking.redirect);
    if (other == nullptr) {
      tracking.redirect_is_broken = true;
      if (session.protocol != 3) return;
      const auto id = static_cast<std::int64_t>(tracking.redirect);
      return channels.notify(session, {Reply::bulk("tracking-redir-broken"), Reply::integer(id)},
                             place);
    }
    if (place == Channels::Place::kAfterReply) place = Channels::Place::kNow;
  }
  const Session& receiver = other != nullptr ? *other : session;
  if (receiver.protocol == 3) {
    channels.notify(receiver, {Reply::bulk("invalidate"), std::move(keys)}, place);
  } else if (tracking.redirect != 0 && !receiver.subscriptions.empty()) {
    channels.notify(receiver, {Reply::bulk("message"), Reply::bulk(kChannel), std::move(keys)},
                    place);
  }
}

/// Notes the key for all its prefixes, from the longest to the shortest. `rest` is at least as long
/// as the prefixes that are left.
void TrackingTable::note_for_broadcast(std::string_view key, ChangeCause cause) {
  // As in Redis, NOLOOP has no effect on changes by scripts and on expiry.
  const bool is_by_client =
      changer_ != nullptr && services_.running_script == nullptr && cause == ChangeCause::kRequest;
  const std::uint64_t by = is_by_client ? changer_->id : 0;
  for (std::string_view rest = key;;) {
    const auto above = prefixes_.upper_bound(rest);
    if (above == prefixes_.begin()) return;
    auto& [name, prefix] = *std::prev(above);
    const std::size_t common = common_size(name, rest);
    if (common < name.size()) {
      rest = rest.substr(0, common);
      continue;
    }
    prefix.changed.insert_or_assign(std::string(key), by);
    has_broadcasts_ = true;
    if (name.empty()) return;
    rest = rest.substr(0, name.size() - 1);
  }
}

void TrackingTable::broadcast() {
  try {
    for (auto& [name, prefix] : prefixes_) {
      if (!prefix.changed.empty()) broadcast(prefix);
    }
    has_broadcasts_ = false;
  } catch (...) {  // out of memory
  }
}

void TrackingTable::broadcast(Prefix& prefix) {
  for (const auto& [id, session] : prefix.clients) {
    const bool skips_own = session->tracking->skips_own;
    std::vector<Reply> keys;
    for (const auto& [key, by] : prefix.changed) {
      if (!skips_own || by != id) keys.push_back(Reply::bulk(key));
    }
    if (!keys.empty())
      send(*session, Reply::array(std::move(keys)), Channels::Place::kAtEndOfBatch);
  }
  prefix.changed.clear();
}

}  // namespace rushgate
