// Ids from a counter in the keyspace: 64 bits, seconds above, a daily counter below. They have the
// field's layout and keys ("global unique id by INCR icr:<prefix>:<yyyyMMdd>"), without its round
// trip per id.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/connection_check.h"
#include "engine/recipes/ids/id_cursor.h"
#include "engine/recipes/ids/id_draws.h"
#include "engine/recipes/ids/id_layout.h"
#include "engine/recipes/ids/id_reservations.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>

namespace rushgate {

struct IdOptions {
  /// The counter of a day is the key <key_prefix><yyyyMMdd>, a string.
  std::string key_prefix = "icr:order:";
  IdLayout layout = {};                // the same for all generators of a counter
  std::int64_t block_size = 1'024;     // counters per draw; up to 64 times as many under load
  std::int64_t block_life_ms = 1'000;  // see IdGenerator; without reservations
  ClientOptions client = {};           // of the generator's own client

  /// Returns options with the field's keys, icr:<prefix>:<yyyyMMdd>.
  static IdOptions of(std::string_view prefix);
  /// Returns kInvalidArgument with the reason if the options are invalid.
  [[nodiscard]] absl::Status check() const;
};

/// Gives ids out of blocks of counters. Thread-safe: a call is one atomic operation unless the
/// block is used up. Does not own its arguments. The backend and the reservations must outlive it.
///
/// **Order.** The ids of one generator strictly ascend, and are positive. A clock that goes back
/// neither blocks the generator nor makes it repeat an id. Ids of several generators of one counter
/// ascend only by their seconds.
///
/// **Blocks.** The next block is drawn when half of one is used. A caller waits only if nothing is
/// left, in its client's way. A process that ends loses its remaining counters, which does no harm.
///
/// **A lost counter.** A keyspace may lose the counter, or come back with an older one, while
/// processes hold blocks that they have not used.
/// - Without reservations the seconds of an id are those of its draw, by the server's clock. A draw
///   that may follow a loss gets the next second (dated_counters.h). So two draws of one counter,
///   one before the loss and one after it, differ by their seconds. This holds for any number of
///   processes, on two conditions. The server's clock does not go back over the loss. No loss falls
///   into the same second as another one, or as the first draw of a generator.
///   An id's seconds are up to block_life_ms older than its use. In the second after a loss or the
///   generator's start, they are one second ahead. Blocks end after block_life_ms only to bound
///   this age.
/// - With reservations (a database) no counter of a day is ever given twice, under no conditions.
///   The seconds are those of the use, by the backend's clock. The day's new ids are greater than
///   all of its ids that the database knew when the day began. The sale works this way.
///
/// **Errors.** kResourceExhausted: the day's counters are used up; they never carry into the
/// seconds. kUnavailable: trying again may help. kFailedPrecondition: the counter is negative.
/// kOutOfRange: the time does not fit into the layout. Other errors are those of the reservations.
class IdGenerator {
 public:
  /// Returns kInvalidArgument as IdOptions::check().
  static absl::StatusOr<std::unique_ptr<IdGenerator>> open(Backend& backend, IdOptions options = {},
                                                           IdReservations* reservations = nullptr);

  /// `options` must have passed check().
  IdGenerator(Backend& backend, IdOptions options, IdReservations* reservations = nullptr);
  ~IdGenerator();
  IdGenerator(const IdGenerator&) = delete;
  IdGenerator& operator=(const IdGenerator&) = delete;

  /// Reads the state for the first id of this day from the reservations, so that next_id() need
  /// not. Does nothing without them.
  absl::Status prepare();

  /// Returns the next id.
  absl::StatusOr<std::int64_t> next_id() {
    if (const IdCursor::Taken taken = take(1); taken.count == 1 && !taken.is_low) [[likely]] {
      return taken.first;
    } else {
      return finish(taken);
    }
  }
  /// Fills `ids` with the next ids, from the front. Sets `count` to their number: all, if it is ok.
  absl::Status next_ids(std::span<std::int64_t> ids, std::size_t& count);

  /// Gives no further id of the counters drawn so far, and begins above all that is reserved. For
  /// the owner of reservations, when the keyspace may have lost writes.
  void forget_draws();

  [[nodiscard]] const IdLayout& layout() const { return options_.layout; }

 private:
  /// The block, and the state of its timer. The timer may run while the generator ends.
  struct Blocks {
    std::mutex mutex;
    IdCursor cursor;  // all but take(): guarded by mutex
    // Guarded by mutex:
    std::int64_t low = 0;         // the number left when the next block is requested
    std::int64_t ends_at_ms = 0;  // when the block's life ends; monotonic
    bool has_timer = false;
  };

  IdCursor::Taken take(std::uint32_t count_max) {
    if (reservations_ != nullptr) update_seconds();
    return blocks_->cursor.take(count_max);
  }
  absl::StatusOr<std::int64_t> finish(IdCursor::Taken taken);
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
  const std::shared_ptr<Blocks> blocks_ = std::make_shared<Blocks>();

  // With reservations; written under the blocks' mutex:
  std::atomic<std::int64_t> seconds_{0};        // of the ids given now; never goes back
  std::atomic<std::int64_t> tomorrow_from_{0};  // when the next day's first block is requested
  std::int64_t day_ = -1;                       // of the block

  std::unique_ptr<OwnedConnectionCheck> connection_check_;
};

}  // namespace rushgate
