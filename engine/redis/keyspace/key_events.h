// Keyspace notifications: https://redis.io/docs/latest/develop/use/keyspace-notifications/
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// A letter of notify-keyspace-events: a class of events, or a kind of channel.
enum KeyEventFlag : std::uint16_t {
  kEventsByKey = 1U << 0,      // K: to __keyspace@<db>__:<key>
  kEventsByName = 1U << 1,     // E: to __keyevent@<db>__:<event>
  kGenericEvents = 1U << 2,    // g: of commands for any type (DEL, EXPIRE, RENAME, …)
  kStringEvents = 1U << 3,     // $
  kListEvents = 1U << 4,       // l
  kSetEvents = 1U << 5,        // s
  kHashEvents = 1U << 6,       // h
  kSortedSetEvents = 1U << 7,  // z
  kExpiredEvents = 1U << 8,    // x
  kEvictedEvents = 1U << 9,    // e: no key is ever evicted
  kStreamEvents = 1U << 10,    // t
  kMissEvents = 1U << 11,      // m: a command looked for a missing key
  kModuleEvents = 1U << 12,    // d: there are no modules
  kNewEvents = 1U << 13,       // n: a key was created
};

/// Parses the letters; "A" represents all classes but m and n. Empty if one is unknown.
std::optional<std::uint16_t> parse_key_events(std::string_view letters);
/// Returns the letters as CONFIG GET does.
std::string key_event_letters(std::uint16_t flags);

/// Publishes events. Called inside the turn, after the change. The messages must be withdrawn if
/// the change is rolled back.
class KeyEventListener {
 public:
  virtual ~KeyEventListener() = default;
  /// `channels` has kEventsByKey, kEventsByName or both.
  virtual void key_event(std::uint16_t channels, std::string_view event, std::uint8_t db,
                         std::string_view key) = 0;
};

/// The events of a keyspace. Nothing is published by default. Not thread-safe: it belongs to the
/// thread that holds the turn.
class KeyEvents {
 public:
  /// The combination of KeyEventFlag that is published.
  void set_flags(std::uint16_t flags) { flags_ = flags; }
  [[nodiscard]] std::uint16_t flags() const { return flags_; }
  /// May be null; is not owned.
  void set_listener(KeyEventListener* listener) { listener_ = listener; }

  /// Returns true if the events of a class are published.
  [[nodiscard]] bool wants(KeyEventFlag events) const {
    return (flags_ & events) != 0 && (flags_ & kChannels) != 0 && listener_ != nullptr;
  }
  /// Publishes an event if its class is wanted.
  void note(KeyEventFlag events, std::string_view event, std::uint8_t db, std::string_view key) {
    if (wants(events)) listener_->key_event(flags_ & kChannels, event, db, key);
  }

  /// Publishes no events while it exists.
  class Pause {
   public:
    explicit Pause(KeyEvents& events) : events_(events), flags_(events.flags_) {
      events.flags_ = 0;
    }
    ~Pause() { events_.flags_ = flags_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    KeyEvents& events_;
    const std::uint16_t flags_;
  };

  /// Whether find() publishes misses: true during a command that only reads.
  void set_reading(bool is_reading) { is_reading_ = is_reading; }
  void note_miss(std::uint8_t db, std::string_view key) {
    if (is_reading_) note(kMissEvents, "keymiss", db, key);
  }

 private:
  static constexpr std::uint16_t kChannels = kEventsByKey | kEventsByName;

  std::uint16_t flags_ = 0;
  bool is_reading_ = false;
  KeyEventListener* listener_ = nullptr;
};

}  // namespace rushgate
