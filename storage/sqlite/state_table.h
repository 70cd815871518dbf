// Reads and writes the tables about the database's keyspaces: `database_state` and `reserved_ids` of the
// lane 0, `lane_states` and `lane_reserved_ids` of the others, `voucher_lanes` and `moved_pieces`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sqlite/query.h"
#include <rushgate/order_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

inline constexpr char kMovedColumns[] = "voucher_id, from_lane, to_lane, pieces";
/// Reads these columns.
MovedPieces to_moved(const Query& row);

class StateReader {
 public:
  explicit StateReader(const SQLite::Database& database);

  /// kNotFound: there is no such lane.
  absl::StatusOr<DatabaseState> state(int lane);
  int count_lanes();
  std::optional<int> lane_of(VoucherId voucher);
  std::map<VoucherId, int> voucher_lanes();
  std::vector<MovedPieces> moved_pieces(VoucherId voucher);

 private:
  SQLite::Statement read_;
  SQLite::Statement read_lane_;
  SQLite::Statement count_lanes_;
  SQLite::Statement lane_of_;
  SQLite::Statement voucher_lanes_;
  SQLite::Statement moved_pieces_;
};

class StateWriter {
 public:
  explicit StateWriter(const SQLite::Database& database);

  // Must run in a transaction.
  absl::StatusOr<DatabaseState> state(int lane) { return reader_.state(lane); }
  absl::StatusOr<DatabaseState> raise_epoch(int lane);
  void write_record(int lane, const DatabaseState& state);  // its checkpoint and its revision
  std::int64_t reserve_ids(int lane, std::int64_t day, std::int64_t above, std::int64_t count);
  absl::Status add_lanes(int count);
  /// As LaneStore::put_on_lane().
  absl::StatusOr<int> put_on_lane(VoucherId voucher, int lane);
  /// As LaneStore::record_moved(), without the batch.
  void record_moved(const MovedPieces& moved);

 private:
  StateReader reader_;
  SQLite::Statement raise_epoch_;
  SQLite::Statement raise_lane_epoch_;
  SQLite::Statement write_record_;
  SQLite::Statement write_lane_record_;
  SQLite::Statement read_reserved_ids_;
  SQLite::Statement write_reserved_ids_;
  SQLite::Statement forget_reserved_ids_;
  SQLite::Statement read_lane_reserved_ids_;
  SQLite::Statement write_lane_reserved_ids_;
  SQLite::Statement forget_lane_reserved_ids_;
  SQLite::Statement add_lane_;
  SQLite::Statement put_on_lane_;
  SQLite::Statement record_moved_;
};

}  // namespace rushgate
