// The keys that clients have read and may keep in a cache, and the messages about their changes:
// https://redis.io/docs/latest/develop/reference/client-side-caching/
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/random.h"
#include "engine/redis/commands/channels.h"
#include "engine/redis/commands/key_tracking.h"
#include "engine/redis/keyspace/change_listener.h"
#include <rushgate/reply.h>

namespace rushgate {

struct CommandServices;
struct Session;

/// Belongs to the thread that holds the turn. Does not own the sessions: forget() must be called
/// before a session ends. A key has the same name in all databases, as in Redis.
///
/// No rollback withdraws a message, because the table no longer has the key. The client then reads
/// an unchanged key again.
class TrackingTable final : public ChangeListener {
 public:
  /// The bound on memory_bytes(), for any tracking-table-max-keys.
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20;
  /// A longer key is not stored: its readers get the message at once.
  static constexpr std::size_t kKeyBytesMax = std::size_t{64} << 10;

  explicit TrackingTable(CommandServices& services) : services_(services) {}
  ~TrackingTable() override = default;
  TrackingTable(const TrackingTable&) = delete;
  TrackingTable& operator=(const TrackingTable&) = delete;

  // ---- Clients ----
  /// Begins to track, or changes how. Prefixes are added to the prefixes of the session. Changes
  /// nothing if it throws (out of memory).
  void enable(Session& session, const KeyTracking& tracking);
  /// Ends the tracking. As in Redis, keys that were read stay in the table: if tracking begins
  /// again, their changes are reported. Needs no memory.
  void disable(Session& session);
  /// Ends the tracking of a session that has left. The keys that it has read leave the table in
  /// steps, one per commit batch. Needs no memory.
  void forget(Session& session);

  // ---- The current request ----
  /// Messages of the session to itself come after its reply until end_request().
  void begin_request(const Session& session) {
    current_ = changer_ = &session;
    is_executing_ = true;
  }
  /// Counts changes as those of a session that was blocked, until the result is destroyed.
  [[nodiscard]] auto count_changes_of(const Session& session) {
    return absl::Cleanup([this, before = std::exchange(changer_, &session)] { changer_ = before; });
  }
  void end_request() { is_executing_ = false; }
  /// Ends a commit batch: sends the broadcasts. Throws nothing: without memory the broadcasts wait
  /// for the end of the next batch.
  void end_batch() {
    current_ = changer_ = nullptr;
    is_executing_ = false;
    if (has_broadcasts_) broadcast();
    if (sweeps_left_ > 0) sweep();
  }

  // ---- Keys ----
  /// Remembers that the session has read a key.
  void remember(Session& session, std::string_view key);
  /// Invalidates random keys until the table has at most tracking-table-max-keys keys. One call
  /// invalidates a limited number of them.
  void shrink();

  // ---- ChangeListener ----
  void key_changed(std::string_view key, ChangeCause cause) override;
  void keys_flushed() override;

  // ---- For INFO ----
  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  [[nodiscard]] std::size_t keys() const { return keys_.size(); }
  [[nodiscard]] std::size_t reads() const { return reads_.size(); }
  [[nodiscard]] std::size_t prefixes() const { return prefixes_.size(); }
  /// Returns about how much memory the keys use.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Entry {
    std::set<std::uint64_t> readers;  // ids of sessions
    std::size_t place = 0;            // in places_
  };
  using Keys = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;
  using Key = Keys::value_type;                 // its address does not change
  using Read = std::pair<std::uint64_t, Key*>;  // id of the session, key
  struct Prefix {
    std::map<std::uint64_t, Session*> clients;                  // by id
    std::map<std::string, std::uint64_t, std::less<>> changed;  // in this batch, with the id of the
                                                                // session that did it; 0: none
  };

  [[nodiscard]] bool exceeds_limits() const;
  Key& add(std::string_view key);
  void add_read(Key& key, std::uint64_t session_id);
  void remove_read(Key& key, std::uint64_t session_id);
  void remove(Key& key);
  /// Sends the messages about a key and removes it. `by`: the session that changed it, or null.
  void invalidate(Key& key, const Session* by);

  void sweep();
  void leave(const Session& session, const std::string& prefix);
  void note_for_broadcast(std::string_view key, ChangeCause cause);
  void broadcast();
  void broadcast(Prefix& prefix);

  /// Sends a message about changed keys, or about all of them (nil), for a session that is
  /// tracked.
  void send(Session& session, Reply keys, Channels::Place place);
  /// Returns the place of a message that the running request causes.
  [[nodiscard]] Channels::Place place_for(const Session& session) const;
  /// Listens only while it is needed.
  void update_listener();

  CommandServices& services_;
  std::map<std::uint64_t, Session*> clients_;  // that are tracked, by id
  Keys keys_;
  std::vector<Key*> places_;  // all of keys_, for random draws
  std::set<Read> reads_;
  std::size_t name_bytes_ = 0;  // of keys_
  std::map<std::string, Prefix, std::less<>> prefixes_;
  bool has_broadcasts_ = false;
  int sweeps_left_ = 0;         // reads_ may have reads of sessions that have left: so many sweeps
  std::uint64_t swept_to_ = 0;  // the next one to look at
  const Session* current_ = nullptr;  // the session whose request runs or has just run
  bool is_executing_ = false;         // its request has no reply yet
  const Session* changer_ = nullptr;  // NOLOOP hides the changes of this session
  Random random_{1};
};

}  // namespace rushgate
