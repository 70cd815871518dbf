// Draws the counters for ids: one draw at a time, off the callers' threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/base/background_thread.h"
#include "engine/recipes/ids/dated_counters.h"
#include "engine/recipes/ids/day_name.h"
#include "engine/recipes/ids/id_range.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/ids.h>

namespace rushgate {

/// Keeps ranges of counters ahead of need. Thread-safe. A draw that is under way keeps the object
/// alive, but uses the client and the reservations only until close().
///
/// A draw adds to a counter in the keyspace, in one script. The keyspace may lose the counter while
/// other processes hold ranges that this one does not know.
/// - With reservations, a counter may be drawn only if it was reserved before the draw was sent. A
///   counter that is lost or too low begins above all that is reserved. Ranges belong to days.
/// - Without them, DatedCounters keeps ids unique. Its ranges are whole ids of any day: the methods
///   then take the day kAnyDay.
class IdDraws : public std::enable_shared_from_this<IdDraws> {
 public:
  static constexpr std::int64_t kAnyDay = 0;
  /// Two draws of a day within kBusyMs double the size of the next one, up to kGrowthMax times the
  /// block size. A draw wakes the thread that runs completions, which costs about 100 us.
  static constexpr std::int64_t kBusyMs = 100;
  static constexpr std::int64_t kGrowthMax = 64;

  /// `reservations` may be null. `wait` is that of the client's options. `has_callback_thread`: of the backend's
  /// capabilities. Owns nothing.
  IdDraws(Client& client, const WaitMethod* wait, IdReservations* reservations, const Clock& clock,
          IdLayout layout, const CounterKeys& keys, std::int64_t block_size,
          bool has_callback_thread);

  /// Reads the state that the first draw of `day` needs from the reservations, unless it is known.
  /// Reserves counters if the keyspace has no counter. So the day's first draw needs no
  /// reservation.
  absl::Status prepare(std::int64_t day);

  /// Returns a range for `day`, if one is ready. Forgets earlier days.
  std::optional<IdRange> take(std::int64_t day);

  /// Begins to draw at least `count_min` counters for `day`, and returns at once. Does nothing if a
  /// range for the day is ready, or if a draw is under way.
  void ask(std::int64_t day, std::int64_t count_min);

  /// Draws a range, and waits for it in the client's way. After OK, take() is worth a try.
  ///
  /// Within a callback of the backend it draws on its own thread: the completion of a draw by ask()
  /// would come only after the callback.
  absl::Status wait(std::int64_t day, std::int64_t count_min);

  /// Forgets the ranges that are ready: the keyspace may have lost their draws. With reservations,
  /// the next draw begins above all reserved counters: other processes may still hold the ones
  /// below.
  void drop_ranges();

  /// Raises the day's counter above all reserved ones, if it is lower. For a ConnectionCheck, with
  /// reservations, after drop_ranges(): a process that began after a loss knows of none, and would
  /// draw again what is used on this side. If the day's counters are used up, nobody can draw more. Needs no
  /// memory, and may be repeated after an error.
  absl::Status raise_counter(Client& connection, std::int64_t day);

  /// Assumes a loss before the next draws over `connection`. For a ConnectionCheck, without
  /// reservations.
  void declare_loss(Client& connection) { dated_.declare_loss(connection); }

  /// Ends the use of the client and the reservations. Blocks until a draw that uses them now has
  /// ended.
  void close();

 private:
  struct Day {
    bool is_looked_up = false;
    std::int64_t stored = 0;                     // greatest counter in the database
    std::int64_t seconds_min = 0;                // of the id that has it
    std::int64_t drawn = 0;                      // the greatest counter, or id, drawn …
    std::int64_t drawn_at_ms = 0;                // … and its time; monotonic
    std::int64_t reserved = 0;                   // the greatest counter known to be reserved
    std::optional<std::int64_t> begins_at = {};  // where the next draw begins a lost counter
    std::int64_t losses_covered = 0;             // of losses_, by a reservation after them
    std::vector<IdRange> ranges = {};
  };
  struct Draw {
    std::int64_t day = 0;
    std::int64_t size = 0;
    std::int64_t above = 0;     // the greatest counter drawn or stored before
    std::int64_t reserved = 0;  // Day::reserved, before the draw was sent
    std::optional<std::int64_t> begins_at = {};
    std::int64_t losses_before = 0;  // losses_ when it was sent
    std::int64_t losses = 0;         // of DatedCounters::Draw
    std::int64_t sent_at_ms = 0;
    bool is_asked = false;  // by ask()
  };

  [[nodiscard]] Request make_request(Draw& draw);
  [[nodiscard]] Request reserved_draw(const Draw& draw, std::string_view script) const;
  Draw make_draw(std::int64_t day, std::int64_t count_min);
  absl::Status look_up(std::int64_t day);
  absl::Status reserve(std::int64_t day, std::int64_t above, std::int64_t count_min = 0);
  absl::Status cover_losses(std::int64_t day);
  void keep_beginning(const Draw& draw);
  /// Returns nothing while a range is ready or the draw has not ended.
  std::optional<absl::Status> result(std::int64_t day, std::uint64_t draws_ended_before);
  [[nodiscard]] std::uint64_t draws_ended();
  void wait_for_end(std::uint64_t ended_before);
  void draw_here(std::int64_t day, std::int64_t count_min);
  void end(const Draw& draw, const absl::StatusOr<IdRange>& range);
  /// Adds a drawn range to its day. Call it with mutex_ held. Throws nothing.
  absl::Status add(std::int64_t to_day, const IdRange& range);
  void receive(const Draw& draw, const Reply& reply);
  bool finish_on_thread(const Draw& draw, const Reply& reply);
  void finish(const Draw& draw, const Reply& reply);
  [[nodiscard]] bool can_complete_at_once(const Draw& draw, const Reply& reply);
  absl::StatusOr<IdRange> complete(Draw draw, const Reply& reply);
  absl::StatusOr<IdRange> complete_reserved(Draw draw, const Reply& reply);
  std::optional<absl::StatusOr<IdRange>> read_reserved(const Draw& draw, const Reply& reply);

  Client& client_;
  const WaitMethod& wait_;
  IdReservations* const reservations_;
  const Clock& clock_;
  const IdLayout layout_;
  const CounterKeys keys_;
  DatedCounters dated_;
  const std::int64_t size_max_;

  std::mutex mutex_;
  // Guarded by mutex_:
  std::int64_t size_;        // of the next draw
  std::int64_t losses_ = 0;  // how often drop_ranges() was called
  std::map<std::int64_t, Day> days_;
  bool is_drawing_ = false;  // a draw that ask() began
  std::uint64_t draws_ended_ = 0;
  std::vector<WaitMethod::Event*> waiting_;  // for the end of a draw
  absl::Status failure_;                     // of the last draw that ended …
  std::int64_t failed_day_ = 0;              // … and its day

  std::mutex use_mutex_;  // held while a completion uses the client or the reservations
  // Guarded by use_mutex_:
  bool is_closed_ = false;
  /// For what may wait for long after a draw: the completions of other generators must not wait for that. Null: the
  /// backend has no thread for them either.
  std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace rushgate
