// Ids from a daily counter in the keyspace, without a round trip for each id, and their public
// form. Read IdOptions and IdGenerator first. IdReservations is for a generator with a database.
// IdScrambler works without the others.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>

namespace rushgate {

class IdDraws;
class OwnedConnectionCheck;

/// Defines the layout of an id, a positive 64-bit number: (seconds since the epoch) << counter_bits
/// | counter. Times are seconds since 1970-01-01 00:00 UTC, days are days since then. A value type.
struct IdLayout {
  /// 2022-01-01 00:00 UTC. To match a generator that reads a local clock as if it were UTC,
  /// subtract that clock's UTC offset from this value.
  std::int64_t epoch_seconds = 1'640'995'200;
  int counter_bits = 32;       // of 63
  int utc_offset_minutes = 0;  // of the clock that begins a day at 00:00; -720 to 840

  static constexpr std::int64_t kDaySeconds = 24 * 60 * 60;

  [[nodiscard]] constexpr std::int64_t counter_max() const {
    return (std::int64_t{1} << counter_bits) - 1;
  }
  /// Returns the last second that an id can have.
  [[nodiscard]] constexpr std::int64_t seconds_max() const {
    return epoch_seconds + (std::int64_t{1} << (63 - counter_bits)) - 1;
  }

  [[nodiscard]] constexpr std::int64_t make(std::int64_t seconds, std::int64_t counter) const {
    return (seconds - epoch_seconds) << counter_bits | counter;
  }
  [[nodiscard]] constexpr std::int64_t counter_of(std::int64_t id) const {
    return id & counter_max();
  }
  [[nodiscard]] constexpr std::int64_t seconds_of(std::int64_t id) const {
    return (id >> counter_bits) + epoch_seconds;
  }
  /// Returns when an id was drawn: ms since 1970 UTC, to the second.
  [[nodiscard]] constexpr std::int64_t made_at_ms(std::int64_t id) const {
    return seconds_of(id) * 1'000;
  }

  [[nodiscard]] constexpr std::int64_t day_of(std::int64_t seconds) const {
    const std::int64_t local = seconds + std::int64_t{utc_offset_minutes} * 60;
    return local / kDaySeconds - (local % kDaySeconds < 0 ? 1 : 0);
  }
  /// Returns the first second of a day.
  [[nodiscard]] constexpr std::int64_t begin_of(std::int64_t day) const {
    return day * kDaySeconds - std::int64_t{utc_offset_minutes} * 60;
  }
};

/// An optional port of IdGenerator: remembers in a database which counters may have been drawn.
/// Implementations must be thread-safe. Days are days since 1970, as the generator's IdLayout
/// counts them. A method may throw, which counts as an error.
class IdReservations {
 public:
  virtual ~IdReservations() = default;

  /// Returns the greatest id below `below` that the database has; 0 if there is none.
  virtual absl::StatusOr<std::int64_t> greatest_id(std::int64_t below) = 0;

  /// Raises the greatest reserved counter of `day` to `above` if it is lower, and then by `count`.
  /// Returns the new counter. The caller owns the last `count` counters up to and including it; no
  /// two calls reserve the same one. With `count` 0 nothing is recorded. May forget all days but
  /// the last two. kResourceExhausted: the day's counters are used up.
  virtual absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                               std::int64_t count) = 0;

  /// Returns how many counters the generator reserves at least. The more, the less often it asks, and the
  /// more are lost with a keyspace that loses its counter.
  [[nodiscard]] virtual std::int64_t reserved_at_once() const { return kReservedAtOnce; }
  static constexpr std::int64_t kReservedAtOnce = std::int64_t{1} << 20;
};

/// Hands out the ids of a block without a lock. It is a part of IdGenerator, and is in this header
/// because next_id() is inline. Any thread may call take(). Callers of the other methods must hold
/// a lock.
///
/// One atomic number holds the block's generation and the number of ids taken. The block itself is
/// in one of two slots. A slot is written only while the number names the other one. So a thread
/// that read a slot too early fails to change the number, and reads again.
class IdCursor {
 public:
  static constexpr std::int64_t kBlockMax = std::int64_t{1} << 30;

  struct Taken {
    std::int64_t first = 0;
    std::uint32_t count = 0;  // 0: the block is used up
    bool is_low = false;      // at most `low` ids are left: see publish()
  };
  struct Block {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  /// Takes up to `count_max` ids, which follow one another.
  Taken take(std::uint32_t count_max) {
    std::uint64_t state = state_.load(std::memory_order_acquire);
    while (true) {
      const Slot& slot = slot_of(state);
      const std::int64_t first = slot.first.load(std::memory_order_acquire);
      const std::uint32_t size = slot.size.load(std::memory_order_acquire);
      const std::uint32_t alert = slot.alert.load(std::memory_order_acquire);
      const auto used = static_cast<std::uint32_t>(state);
      const std::uint32_t count = std::min(count_max, size - std::min(size, used));
      if (count == 0) {
        const std::uint64_t now = state_.load(std::memory_order_acquire);
        if (now == state) return {};
        state = now;
        continue;
      }
      if (state_.compare_exchange_weak(state, state + count, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        return {.first = first + used, .count = count, .is_low = used + count >= alert};
      }
    }
  }

  /// Ends the block, and returns its remaining ids.
  Block retire();
  /// Begins a block of at most kBlockMax ids. The previous block must be ended or used up. take()
  /// reports is_low once at most `low` ids are left.
  void publish(Block block, std::int64_t low);

  /// Returns the number of ids left.
  [[nodiscard]] std::int64_t left() const;
  /// Makes take() report is_low once at most `low` ids are left.
  void set_low(std::int64_t low);

 private:
  static constexpr int kGenerationShift = 32;

  struct Slot {
    std::atomic<std::int64_t> first{0};
    std::atomic<std::uint32_t> size{0};
    std::atomic<std::uint32_t> alert{0};  // ids taken when few are left
  };

  [[nodiscard]] const Slot& slot_of(std::uint64_t state) const {
    return slots_[state >> kGenerationShift & 1];
  }
  [[nodiscard]] Slot& slot_of(std::uint64_t state) { return slots_[state >> kGenerationShift & 1]; }
  Block replace(Block block, std::int64_t low);

  alignas(64) std::atomic<std::uint64_t> state_{0};  // generation, ids taken
  alignas(64) std::array<Slot, 2> slots_;
};

/// Ids that were handed out and given back unused. It is a part of IdGenerator, and is in this
/// header because next_id() is inline. Thread-safe. Threads are spread over a few lists, so that
/// they rarely meet.
class SpareIds {
 public:
  /// Returns true if this thread's list is empty.
  [[nodiscard]] bool is_empty() const { return mine().size.load(std::memory_order_relaxed) == 0; }
  /// Adds ids. Drops those for which the list has no space.
  void add(std::span<const std::int64_t> ids);
  /// Takes up to ids.size() ids, and returns their number. Drops the ids that it finds below
  /// `first`, or below that of the last forget().
  std::size_t take(std::span<std::int64_t> ids, std::int64_t first);
  /// From now on, takes no id below `first`.
  void forget(std::int64_t first) { first_.store(first, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kLists = 8;
  static constexpr std::size_t kIdsMax = 4'096;  // in a list

  struct alignas(64) List {
    /// Returns false if another thread is using the list. Otherwise release() must follow.
    bool try_take() { return !is_taken.exchange(true, std::memory_order_acquire); }
    void release() {
      size.store(ids.size(), std::memory_order_relaxed);
      is_taken.store(false, std::memory_order_release);
    }

    std::atomic<std::size_t> size{0};
    std::atomic<bool> is_taken{false};
    std::vector<std::int64_t> ids;  // guarded by is_taken; the last one is taken first
  };

  static std::size_t number_of_thread() {
    thread_local const std::size_t kNumber = threads_.fetch_add(1, std::memory_order_relaxed);
    return kNumber;
  }
  [[nodiscard]] const List& mine() const { return lists_[number_of_thread() % kLists]; }
  [[nodiscard]] List& mine() { return lists_[number_of_thread() % kLists]; }

  static inline std::atomic<std::size_t> threads_{0};
  std::array<List, kLists> lists_;
  std::atomic<std::int64_t> first_{0};  // smaller ids are not taken
};

/// A value type.
struct IdOptions {
  /// The counter of a day is the string at <key_prefix><day>.
  std::string key_prefix = "icr:order:";
  /// The form of the day, as in Java's DateTimeFormatter: yyyy, MM and dd, with any characters
  /// between them.
  std::string day_pattern = "yyyyMMdd";
  IdLayout layout = {};                // the same for all generators of a counter
  std::int64_t block_size = 1'024;     // counters per draw; up to 64 times as many under load
  std::int64_t block_life_ms = 1'000;  // see IdGenerator; without reservations
  ClientOptions client = {};           // of the generator's own client

  /// Returns options with the keys icr:<prefix>:<yyyyMMdd>, and days and seconds in UTC.
  static IdOptions of(std::string_view prefix);
  /// Returns options to share the counter icr:<prefix>:<day> with the generator that many systems
  /// use, which calls INCR for each id. That generator takes day and seconds from a local clock,
  /// and counts from 2022-01-01 00:00 of that clock. Its `day_pattern` is mostly "yyyy:MM:dd",
  /// sometimes "yyyyMMdd". With the wrong pattern or offset, both generators give the same ids.
  static IdOptions beside_field(std::string_view prefix, std::string_view day_pattern,
                                int utc_offset_minutes);
  /// Returns kInvalidArgument with the reason if the options are invalid.
  [[nodiscard]] absl::Status check() const;
};

/// Gives ids of 64 bits: seconds in the upper bits, the counter of a day in the lower ones. Layout
/// and keys are those of a widespread scheme ("global unique id by INCR icr:<prefix>:<day>"). Such
/// a generator may run at the same time: see IdOptions::beside_field().
///
/// The generator takes ids from blocks of counters. A call is one atomic operation unless the block
/// is used up. Thread-safe. Does not own the backend and the reservations, which must outlive it.
///
/// **Order.** The ids of one generator are positive and strictly ascend. A clock that goes back
/// neither blocks the generator nor makes it repeat an id. Between several generators of one
/// counter, ids ascend only by their seconds, and so do ids that were given back.
///
/// **Blocks.** The next block is drawn when half of one is used. A caller waits only if none are
/// left, in the way that IdOptions::client selects. A process that ends loses its remaining
/// counters, which does no harm.
///
/// **A lost counter.** A keyspace may lose the counter, or come back with an older one, while
/// processes hold blocks that they have not used up.
/// - Without reservations, the seconds of an id are those at which it was drawn, by the server's
///   clock. A draw that may follow a loss gets the next second. So two draws of one counter, one
///   before the loss and one after it, differ in their seconds. This holds for any number of
///   processes on two conditions: the server's clock does not go back beyond the loss, and no loss
///   falls into the same second as another one or as the first draw of a generator. An id's seconds
///   are up to block_life_ms older than its use. In the second after a loss or the generator's
///   start, they are one second ahead. Blocks end after block_life_ms only to bound this age.
///   Another system that shares the counter by INCR repeats no id after a loss on the same
///   conditions, and on a third: since this generator's last draw, less than a 1,024th of a day's
///   counters (4,194,303 of 32 bits) were drawn. The generator that finds the loss skips as many.
/// - With reservations (a database) no counter of a day is ever given twice, without conditions.
///   The seconds are those of the use, by the backend's clock. The day's new ids are greater than
///   all of its ids that the database knew when the day began. The sale works this way.
///   Another system's INCR reserves nothing. Sharing the counter with it ends at a loss: it may
///   then repeat its own ids of that second.
///
/// Errors, besides those of the reservations:
/// - kResourceExhausted: the day's counters are used up. They never carry into the seconds.
/// - kUnavailable: a retry may succeed.
/// - kFailedPrecondition: the counter is negative.
/// - kOutOfRange: the time does not fit into the layout.
class IdGenerator {
 public:
  /// Opens a generator. Returns the error of IdOptions::check() if there is one.
  static absl::StatusOr<std::unique_ptr<IdGenerator>> open(Backend& backend, IdOptions options = {},
                                                           IdReservations* reservations = nullptr);

  /// Requires that check() returned OK for `options`.
  IdGenerator(Backend& backend, IdOptions options, IdReservations* reservations = nullptr);
  ~IdGenerator();
  IdGenerator(const IdGenerator&) = delete;
  IdGenerator& operator=(const IdGenerator&) = delete;

  /// Reads what the first id of this day needs from the reservations, so that next_id() does not
  /// have to. Does nothing without reservations.
  absl::Status prepare();

  /// Returns the next id.
  absl::StatusOr<std::int64_t> next_id() {
    if (!spares_.is_empty()) {
      std::int64_t id = 0;
      if (take_spares({&id, 1}) == 1) return id;
    }
    if (const IdCursor::Taken taken = take(1); taken.count == 1 && !taken.is_low) [[likely]] {
      return taken.first;
    } else {
      return finish(taken);
    }
  }
  /// Fills `ids` with the next ids, from the front, and sets `count` to their number. If it returns
  /// OK, all of `ids` are filled.
  absl::Status next_ids(std::span<std::int64_t> ids, std::size_t& count);

  /// Takes back ids that next_id() or next_ids() gave and that were not used. Within their second
  /// they are given again, so that requests which turn out to need no id do not use up the day's
  /// counters. Does nothing without reservations.
  void give_back(std::span<const std::int64_t> ids);

  /// Stops giving ids from the counters drawn so far, and begins above all reserved ones. For a
  /// generator with reservations, when the keyspace may have lost writes.
  void forget_draws();
  /// Then lets other processes do so, too, also those that began after the loss. For a
  /// ConnectionCheck: uses only `connection`, over which nothing else was sent yet.
  absl::Status raise_counter(Client& connection);

  [[nodiscard]] const IdLayout& layout() const { return options_.layout; }

 private:
  struct Blocks;

  IdCursor::Taken take(std::uint32_t count_max) {
    if (reservations_ != nullptr) update_seconds();
    return cursor_.take(count_max);
  }
  absl::StatusOr<std::int64_t> finish(IdCursor::Taken taken);
  std::size_t take_spares(std::span<std::int64_t> ids);
  void update_seconds();
  void ask_ahead();
  [[nodiscard]] std::int64_t day() const;
  bool renew(std::int64_t day, bool accepts_old);
  [[nodiscard]] bool is_in_layout(std::int64_t seconds) const;
  void publish_counters(std::int64_t next, std::int64_t end);
  static void end_block_later(Scheduler& scheduler, const Clock& clock,
                              const std::shared_ptr<Blocks>& blocks);

  Backend& backend_;
  const Clock& clock_;
  const IdOptions options_;
  IdReservations* const reservations_;
  const std::unique_ptr<Client> client_;
  const std::shared_ptr<IdDraws> draws_;
  const std::shared_ptr<Blocks> blocks_;
  IdCursor& cursor_;  // of blocks_
  SpareIds spares_;

  // With reservations; written under the blocks' mutex:
  std::atomic<std::int64_t> seconds_{0};        // of the ids given now; never goes back
  std::atomic<std::int64_t> tomorrow_from_{0};  // when the next day's first block is requested
  std::int64_t day_ = -1;                       // of the block

  std::unique_ptr<OwnedConnectionCheck> connection_check_;
};

/// Maps ids to public ids, which do not reveal how many there are in a day, and back. Positive
/// 64-bit numbers map one to one onto positive 64-bit numbers: public ids are as unique as ids, but
/// not in order. Immutable, and so thread-safe.
///
/// The map is an alternating Feistel network over 63 bits (halves of 32 and 31), 12 rounds of
/// SipHash-2-4 with the key. Without the key the numbers do not show seconds, counters or volume.
/// The map authenticates nothing: every positive number is the image of some id.
class IdScrambler {
 public:
  /// Creates a map from a key of 16 secret bytes. Another key makes another map, so keep the key as
  /// long as the ids. kInvalidArgument: the key has another size.
  static absl::StatusOr<IdScrambler> create(std::string_view key);

  /// Returns the public number of `id`, which must be positive.
  [[nodiscard]] std::int64_t scramble(std::int64_t id) const;
  /// Returns the id of a public number, which must be positive.
  [[nodiscard]] std::int64_t unscramble(std::int64_t number) const;

 private:
  IdScrambler(std::uint64_t key_0, std::uint64_t key_1) : key_0_(key_0), key_1_(key_1) {}

  [[nodiscard]] std::uint64_t forth(std::uint64_t bits) const;
  [[nodiscard]] std::uint64_t back(std::uint64_t bits) const;
  [[nodiscard]] std::uint64_t round_bits(int round, std::uint64_t half) const;

  std::uint64_t key_0_;
  std::uint64_t key_1_;
};

}  // namespace rushgate
