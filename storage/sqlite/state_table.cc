#include "storage/sqlite/state_table.h"

#include <algorithm>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

// A voucher that was recorded and has no row is older than the other lanes.
constexpr char kVoucherLanes[] =
    "SELECT voucher_id, max(lane) FROM (SELECT voucher_id, lane FROM voucher_lanes UNION ALL "
    "SELECT voucher_id, 0 FROM voucher_versions UNION ALL "
    "SELECT voucher_id, 0 FROM archived_vouchers) GROUP BY voucher_id";

}  // namespace

StateReader::StateReader(const SQLite::Database& database)
    : read_(database, "SELECT identity, epoch, checkpoint, revision FROM database_state"),
      read_lane_(database,
                 "SELECT identity, lane_states.epoch, lane_states.checkpoint, lane_states.revision "
                 "FROM lane_states, database_state WHERE lane = ?1"),
      count_lanes_(database, "SELECT coalesce(max(lane), 0) + 1 FROM lane_states"),
      lane_of_(database,
               "SELECT coalesce((SELECT lane FROM voucher_lanes WHERE voucher_id = ?1), "
               "(SELECT 0 FROM voucher_versions WHERE voucher_id = ?1), "
               "(SELECT 0 FROM archived_vouchers WHERE voucher_id = ?1))"),
      voucher_lanes_(database, kVoucherLanes),
      moved_pieces_(
          database,
          concat("SELECT ", kMovedColumns,
                 " FROM moved_pieces WHERE voucher_id = ?1 ORDER BY from_lane, to_lane")) {}

MovedPieces to_moved(const Query& row) {
  return {.voucher = row.integer(0),
          .from = static_cast<int>(row.integer(1)),
          .to = static_cast<int>(row.integer(2)),
          .pieces = row.integer(3)};
}

absl::StatusOr<DatabaseState> StateReader::state(int lane) {
  Query row = lane == 0 ? Query(read_) : Query(read_lane_, lane);
  if (!row.next()) return no_lane_error(lane);
  return DatabaseState{.identity = row.text(0),
                       .epoch = row.integer(1),
                       .checkpoint = row.integer(2),
                       .revision = row.integer(3)};
}

int StateReader::count_lanes() {
  Query row(count_lanes_);
  row.next();
  return static_cast<int>(row.integer(0));
}

std::optional<int> StateReader::lane_of(VoucherId voucher) {
  Query row(lane_of_, voucher);
  row.next();
  if (row.is_null(0)) return std::nullopt;
  return static_cast<int>(row.integer(0));
}

std::map<VoucherId, int> StateReader::voucher_lanes() {
  std::map<VoucherId, int> lanes;
  Query row(voucher_lanes_);
  while (row.next()) lanes.emplace(row.integer(0), static_cast<int>(row.integer(1)));
  return lanes;
}

std::vector<MovedPieces> StateReader::moved_pieces(VoucherId voucher) {
  std::vector<MovedPieces> moved;
  Query row(moved_pieces_, voucher);
  while (row.next()) moved.push_back(to_moved(row));
  return moved;
}

StateWriter::StateWriter(const SQLite::Database& database)
    : reader_(database),
      raise_epoch_(database, "UPDATE database_state SET epoch = epoch + 1"),
      raise_lane_epoch_(database, "UPDATE lane_states SET epoch = epoch + 1 WHERE lane = ?1"),
      write_record_(database, "UPDATE database_state SET checkpoint = ?1, revision = ?2"),
      write_lane_record_(database,
                         "UPDATE lane_states SET checkpoint = ?1, revision = ?2 WHERE lane = ?3"),
      read_reserved_ids_(database, "SELECT reserved FROM reserved_ids WHERE day = ?1"),
      write_reserved_ids_(database, "INSERT OR REPLACE INTO reserved_ids VALUES (?1, ?2)"),
      forget_reserved_ids_(database, "DELETE FROM reserved_ids WHERE day < ?1 - 1"),
      read_lane_reserved_ids_(
          database, "SELECT reserved FROM lane_reserved_ids WHERE day = ?1 AND lane = ?2"),
      write_lane_reserved_ids_(
          database,
          "INSERT OR REPLACE INTO lane_reserved_ids (day, reserved, lane) VALUES (?1, ?2, ?3)"),
      forget_lane_reserved_ids_(database,
                                "DELETE FROM lane_reserved_ids WHERE day < ?1 - 1 AND lane = ?2"),
      add_lane_(database, "INSERT OR IGNORE INTO lane_states VALUES (?1, 1, 0, 0)"),
      put_on_lane_(database, "INSERT INTO voucher_lanes VALUES (?1, ?2)"),
      record_moved_(database, concat(insert_row("moved_pieces", kMovedColumns),
                                     " ON CONFLICT DO UPDATE SET pieces = max(pieces, ?4)")) {}

absl::StatusOr<DatabaseState> StateWriter::raise_epoch(int lane) {
  if (lane == 0) {
    Query(raise_epoch_).next();
  } else {
    Query(raise_lane_epoch_, lane).next();
  }
  return reader_.state(lane);
}

void StateWriter::write_record(int lane, const DatabaseState& state) {
  if (lane == 0) {
    Query(write_record_, state.checkpoint, state.revision).next();
  } else {
    Query(write_lane_record_, state.checkpoint, state.revision, lane).next();
  }
}

std::int64_t StateWriter::reserve_ids(int lane, std::int64_t day, std::int64_t above,
                                      std::int64_t count) {
  std::int64_t reserved = above;
  {
    Query row =
        lane == 0 ? Query(read_reserved_ids_, day) : Query(read_lane_reserved_ids_, day, lane);
    if (row.next()) reserved = std::max(reserved, row.integer(0));
  }
  if (count == 0) return reserved;
  reserved += count;
  if (lane == 0) {
    Query(write_reserved_ids_, day, reserved).next();
    Query(forget_reserved_ids_, day).next();
  } else {
    Query(write_lane_reserved_ids_, day, reserved, lane).next();
    Query(forget_lane_reserved_ids_, day, lane).next();
  }
  return reserved;
}

absl::Status StateWriter::add_lanes(int count) {
  for (int lane = reader_.count_lanes(); lane < count; ++lane) Query(add_lane_, lane).next();
  return absl::OkStatus();
}

absl::StatusOr<int> StateWriter::put_on_lane(VoucherId voucher, int lane) {
  if (const auto present = reader_.lane_of(voucher)) return *present;
  RETURN_IF_ERROR(reader_.state(lane).status());
  Query(put_on_lane_, voucher, lane).next();
  return lane;
}

void StateWriter::record_moved(const MovedPieces& moved) {
  Query(record_moved_, moved.voucher, moved.from, moved.to, moved.pieces).next();
}

}  // namespace rushgate
