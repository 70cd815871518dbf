#include <mutex>
#include <system_error>
#include <utility>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>

#include "engine/core/base/concat.h"
#include "engine/core/base/file_size_signal.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/status_macros.h"
#include "storage/sqlite/archive_table.h"
#include "storage/sqlite/change_table.h"
#include "storage/sqlite/event_writer.h"
#include "storage/sqlite/file_instance.h"
#include "storage/sqlite/integrity.h"
#include "storage/sqlite/order_copy.h"
#include "storage/sqlite/order_table.h"
#include "storage/sqlite/payment_table.h"
#include "storage/sqlite/record_tables.h"
#include "storage/sqlite/sqlite_connection.h"
#include "storage/sqlite/sqlite_status.h"
#include "storage/sqlite/state_table.h"
#include "storage/sqlite/voucher_table.h"
#include <rushgate/copy_orders.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

struct Reader {
  explicit Reader(SQLite::Database connection) : database(std::move(connection)) {}

  std::mutex mutex;  // guards the members below
  SQLite::Database database;
  OpenFiles files{database};
  OrderReader orders{database};
  PaymentReader payments{database};
  ChangeReader changes{database};
  ArchiveReader archive{database};
  VoucherReader vouchers{database};
  StateReader state{database};
};

struct Writer {
  explicit Writer(SQLite::Database connection) : database(std::move(connection)) {}

  std::mutex mutex;  // guards the members below
  SQLite::Database database;
  OpenFiles files{database};
  OrderWriter orders{database};
  EventWriter events{database, orders};
  VoucherWriter vouchers{database};
  ArchiveWriter archive{database};
  StateWriter state{database};
};

}  // namespace

struct SqliteOrderStore::Impl final : RecordStore {
  std::string file;
  DatabaseInstance instance;  // constant after open()
  SqliteOrderStoreOptions options;
  // Constant after open(). The writer is closed last, because only it can remove the log.
  std::unique_ptr<Writer> writer;  // null if read-only
  std::unique_ptr<Reader> reader;

  /// Returns read(reader), run under the mutex, as a StatusOr.
  template <class Read>
  auto read(Read read) -> absl::StatusOr<std::invoke_result_t<Read, Reader&>> {
    using Result = absl::StatusOr<std::invoke_result_t<Read, Reader&>>;
    const std::lock_guard lock(reader->mutex);
    const FileSizeSignalBlock no_signal;  // reading may sort in a file, and recover the log's index
    return catch_errors("reading", file, [&]() -> Result { return read(*reader); });
  }

  /// Runs change(writer), which returns a Status or StatusOr, in a transaction. Commits if it is
  /// OK.
  template <class Change>
  std::invoke_result_t<Change, Writer&> write(const char* doing, Change change) {
    using Result = std::invoke_result_t<Change, Writer&>;
    if (!writer) {
      return absl::FailedPreconditionError(
          concat(doing, " ", file, ": it was opened for reading only"));
    }
    const std::lock_guard lock(writer->mutex);
    const FileSizeSignalBlock no_signal;
    return catch_errors(doing, file, [&]() -> Result {
      absl::Status in_place = writer->files.check();
      if (!in_place.ok()) return in_place;
      SQLite::Transaction transaction(writer->database, SQLite::TransactionBehavior::IMMEDIATE);
      Result result = change(*writer);
      if (!result.ok()) return result;
      transaction.commit();
      // A commit to a file that was moved or deleted meanwhile is not in the database.
      in_place = writer->files.check();
      if (!in_place.ok()) return in_place;
      return result;
    });
  }

  /// Returns use(connection), where use returns a Status or StatusOr, on a connection of its own, so that
  /// no other call waits.
  template <class Use>
  std::invoke_result_t<Use, SQLite::Database&> read_apart(const char* doing, Use use) {
    {
      const std::lock_guard lock(reader->mutex);
      RETURN_IF_ERROR(reader->files.check());
    }
    const FileSizeSignalBlock no_signal;  // may use a temporary file
    return catch_errors(doing, file, [&]() -> std::invoke_result_t<Use, SQLite::Database&> {
      ASSIGN_OR_RETURN(SQLite::Database connection, open_reader(file, options));
      return use(connection);
    });
  }

  // ---- RecordStore ----

  absl::StatusOr<std::vector<Order>> read_orders(Shelf shelf, OrderId after,
                                                 std::size_t count_max) override {
    return read(
        [&](Reader& in) { return CopyReader(in.database).read_orders(shelf, after, count_max); });
  }
  absl::StatusOr<std::vector<Payment>> read_payments(Shelf shelf, const std::string& after,
                                                     std::size_t count_max) override {
    return read(
        [&](Reader& in) { return CopyReader(in.database).read_payments(shelf, after, count_max); });
  }
  absl::StatusOr<std::vector<OrderChange>> read_changes(Shelf shelf, std::int64_t after,
                                                        std::size_t count_max) override {
    return read(
        [&](Reader& in) { return CopyReader(in.database).read_changes(shelf, after, count_max); });
  }
  absl::StatusOr<SaleRecords> read_sale() override {
    return read([](Reader& in) { return CopyReader(in.database).read_sale(); });
  }
  absl::StatusOr<std::int64_t> count() override {
    return read_apart("counting the records of",
                      [](SQLite::Database& connection) -> absl::StatusOr<std::int64_t> {
                        return count_records(connection);
                      });
  }
  absl::Status replace(Shelf shelf, std::span<const Order> removed,
                       std::span<const Order> added) override {
    return replace_records(shelf, removed, added);
  }
  absl::Status replace(Shelf shelf, std::span<const Payment> removed,
                       std::span<const Payment> added) override {
    return replace_records(shelf, removed, added);
  }
  absl::Status replace(Shelf shelf, std::span<const OrderChange> removed,
                       std::span<const OrderChange> added) override {
    return replace_records(shelf, removed, added);
  }
  absl::Status replace_sale(const SaleRecords& sale) override {
    return write("copying to", [&](Writer& out) -> absl::Status {
      CopyWriter(out.database).replace_sale(sale);
      return absl::OkStatus();
    });
  }
  absl::Status close(absl::FunctionRef<absl::Status(const SaleRecords&)> check,
                     const std::string& identity) override {
    return write("closing", [&](Writer& out) -> absl::Status {
      SaleRecords sale = CopyReader(out.database).read_sale();
      RETURN_IF_ERROR(check(sale));
      sale.state.identity = identity;
      ++sale.state.epoch;
      CopyWriter(out.database).write_state(sale.state);
      return absl::OkStatus();
    });
  }

 private:
  template <class Record>
  absl::Status replace_records(Shelf shelf, std::span<const Record> removed,
                               std::span<const Record> added) {
    return write("copying to", [&](Writer& out) -> absl::Status {
      CopyWriter(out.database).replace(shelf, removed, added);
      return absl::OkStatus();
    });
  }
};

namespace {

/// SQLite syncs the directory of a new database, but not that directory's own entry. A missing
/// directory is reported by SQLite.
absl::Status keep_directory_of(const std::filesystem::path& file) {
  std::error_code error;
  const bool is_new = !std::filesystem::exists(file, error) && !error;
  if (!is_new || !std::filesystem::is_directory(file.parent_path(), error)) return absl::OkStatus();
  return make_directory(file.parent_path());
}

/// Records the batch, unless it is of another epoch.
absl::Status begin_batch(Writer& writer, const BatchFence& fence) {
  ASSIGN_OR_RETURN(DatabaseState state, writer.state.state(fence.lane));
  RETURN_IF_ERROR(check_fence(fence, state));
  state.record(fence);
  writer.state.write_record(fence.lane, state);
  return absl::OkStatus();
}

}  // namespace

SqliteOrderStore::SqliteOrderStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteOrderStore::~SqliteOrderStore() {
  const FileSizeSignalBlock no_signal;  // the last close copies the log into the database
  impl_.reset();
}

absl::StatusOr<std::unique_ptr<SqliteOrderStore>> SqliteOrderStore::open(
    const std::filesystem::path& file, SqliteOrderStoreOptions options) {
  if (file.empty()) return absl::InvalidArgumentError("no file is named for the orders");
  std::error_code error;
  if (options.read_only && !std::filesystem::exists(file, error)) {
    return absl::NotFoundError(concat("there is no order database ", file.string()));
  }
  const FileSizeSignalBlock no_signal;
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  // Made absolute: SQLite would interpret `file:…` and `:memory:`.
  impl->file = std::filesystem::absolute(file, error).string();
  if (error) return absl::UnavailableError(concat(file.string(), ": ", error.message()));
  const absl::Status opened = catch_errors("opening", impl->file, [&]() -> absl::Status {
    if (!options.read_only) {
      RETURN_IF_ERROR(keep_directory_of(impl->file));
      ASSIGN_OR_RETURN(SQLite::Database database, open_writer(impl->file, options));
      impl->writer = std::make_unique<Writer>(std::move(database));
    }
    ASSIGN_OR_RETURN(SQLite::Database database, open_reader(impl->file, options));
    impl->reader = std::make_unique<Reader>(std::move(database));
    return absl::OkStatus();
  });
  if (!opened.ok()) return opened;
  ASSIGN_OR_RETURN(impl->instance, instance_of(impl->file));
  return std::unique_ptr<SqliteOrderStore>(new SqliteOrderStore(std::move(impl)));
}

// ---- Orders -----------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> SqliteOrderStore::write(std::span<const Order> orders,
                                                                 const BatchFence& fence) {
  using Results = std::vector<OrderResult>;
  return impl_->write("writing orders to", [&](Writer& writer) -> absl::StatusOr<Results> {
    RETURN_IF_ERROR(begin_batch(writer, fence));
    return writer.orders.store_all(orders, fence);
  });
}

absl::StatusOr<std::optional<Order>> SqliteOrderStore::find(OrderId id) {
  return impl_->read([&](Reader& reader) {
    auto found = reader.orders.find(id);
    return found ? found : reader.archive.find(id);
  });
}

absl::StatusOr<std::vector<Order>> SqliteOrderStore::list(const OrderFilter& filter) {
  return impl_->read([&](Reader& reader) { return reader.orders.list(filter); });
}

absl::StatusOr<FoundOrders> SqliteOrderStore::search(const OrderSearch& search) {
  return impl_->read([&](Reader& reader) { return reader.orders.search(search); });
}

absl::StatusOr<OrderId> SqliteOrderStore::greatest_id(OrderId below) {
  return impl_->read([&](Reader& reader) { return reader.orders.greatest_id(below); });
}

absl::StatusOr<std::int64_t> SqliteOrderStore::count_live(VoucherId voucher) {
  return impl_->read([&](Reader& reader) { return reader.orders.count_live(voucher); });
}

absl::StatusOr<OrderCounts> SqliteOrderStore::count_by_status(std::optional<VoucherId> voucher) {
  return impl_->read_apart("counting orders in",
                           [&](SQLite::Database& database) -> absl::StatusOr<OrderCounts> {
                             return rushgate::count_by_status(database, voucher);
                           });
}

absl::StatusOr<std::vector<VoucherId>> SqliteOrderStore::vouchers_with_orders() {
  return impl_->read([](Reader& reader) { return reader.orders.vouchers_with_orders(); });
}

absl::Status SqliteOrderStore::visit_keys(std::int64_t time_ms, VisitPortion visit) {
  constexpr std::size_t kOrdersPerRead = 1'000;
  for (KeyPosition after{.expires_at_ms = time_ms};;) {
    const auto portion = impl_->read(
        [&](Reader& reader) { return reader.orders.list_with_key(after, kOrdersPerRead); });
    if (!portion.ok()) return portion.status();
    RETURN_IF_ERROR(visit(*portion));
    if (portion->size() < kOrdersPerRead) return absl::OkStatus();
    after = {.expires_at_ms = portion->back().key_expires_at_ms, .id = portion->back().id};
  }
}

absl::Status SqliteOrderStore::copy_to(const std::filesystem::path& file,
                                       absl::FunctionRef<absl::Status()> at_that_moment,
                                       AfterPortion after) {
  return impl_->read_apart("copying", [&](SQLite::Database& connection) {
    const auto at_rest = [&](absl::FunctionRef<void()> take_snapshot) {
      // The transaction changes nothing. It keeps out the writers of this process and of all others.
      return impl_->write("copying", [&](Writer& /*writer*/) {
        take_snapshot();
        return at_that_moment();
      });
    };
    return copy_database(connection, file, at_rest, after);
  });
}

absl::Status SqliteOrderStore::check_integrity() {
  return impl_->read_apart("checking", check_whole);
}

RecordStore* SqliteOrderStore::records() { return impl_.get(); }

absl::StatusOr<DatabaseInstance> SqliteOrderStore::instance() { return impl_->instance; }

// ---- Payments ---------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> SqliteOrderStore::apply(std::span<const OrderEvent> events,
                                                                 const BatchFence& fence) {
  using Results = std::vector<OrderResult>;
  return impl_->write("writing events to", [&](Writer& writer) -> absl::StatusOr<Results> {
    RETURN_IF_ERROR(begin_batch(writer, fence));
    return writer.events.apply_all(events, fence);
  });
}

absl::StatusOr<std::optional<Payment>> SqliteOrderStore::find_payment(std::string_view id) {
  return impl_->read([&](Reader& reader) {
    auto found = reader.payments.find(id);
    return found ? found : reader.archive.find_payment(id);
  });
}

absl::StatusOr<std::vector<Payment>> SqliteOrderStore::list_payments(const PaymentFilter& filter) {
  return impl_->read([&](Reader& reader) { return reader.payments.list(filter); });
}

absl::StatusOr<std::vector<OrderChange>> SqliteOrderStore::changes(std::int64_t after,
                                                                   std::size_t count_max,
                                                                   std::optional<OrderId> order) {
  return impl_->read(
      [&](Reader& reader) { return reader.changes.changes(after, count_max, order); });
}

absl::StatusOr<std::int64_t> SqliteOrderStore::last_position() {
  return impl_->read([](Reader& reader) { return reader.changes.last_position(); });
}

// ---- The archive ------------------------------------------------------------------------------

absl::Status SqliteOrderStore::archive_voucher(VoucherId voucher, std::int64_t at_ms) {
  return impl_->write("archiving a voucher in", [&](Writer& writer) {
    return writer.archive.archive_voucher(voucher, at_ms);
  });
}

absl::StatusOr<std::size_t> SqliteOrderStore::archive_orders(VoucherId voucher,
                                                             std::size_t count_max) {
  return impl_->write("archiving orders in", [&](Writer& writer) {
    return writer.archive.archive_orders(voucher, count_max);
  });
}

absl::StatusOr<std::size_t> SqliteOrderStore::delete_orders(VoucherId voucher,
                                                            std::size_t count_max) {
  return impl_->write("deleting archived orders in", [&](Writer& writer) {
    return writer.archive.delete_orders(voucher, count_max);
  });
}

absl::StatusOr<std::vector<ArchivedVoucher>> SqliteOrderStore::archived_vouchers() {
  return impl_->read([](Reader& reader) { return reader.archive.vouchers(); });
}

absl::StatusOr<std::vector<Order>> SqliteOrderStore::list_archived(const OrderFilter& filter) {
  return impl_->read([&](Reader& reader) { return reader.archive.list(filter); });
}

// ---- The keyspace -----------------------------------------------------------------------------

absl::StatusOr<DatabaseState> SqliteOrderStore::state() { return state_of(0); }
absl::StatusOr<DatabaseState> SqliteOrderStore::fence() { return fence_lane(0); }
absl::StatusOr<std::int64_t> SqliteOrderStore::reserve_ids(std::int64_t day, std::int64_t above,
                                                           std::int64_t count) {
  return reserve_ids_of(0, day, above, count);
}

absl::StatusOr<int> SqliteOrderStore::count_lanes() {
  return impl_->read([](Reader& reader) { return reader.state.count_lanes(); });
}

absl::Status SqliteOrderStore::add_lanes(int count) {
  return impl_->write("adding lanes to",
                      [&](Writer& writer) { return writer.state.add_lanes(count); });
}

absl::StatusOr<DatabaseState> SqliteOrderStore::state_of(int lane) {
  ASSIGN_OR_RETURN(auto state,
                   impl_->read([&](Reader& reader) { return reader.state.state(lane); }));
  return state;
}

absl::StatusOr<DatabaseState> SqliteOrderStore::fence_lane(int lane) {
  return impl_->write("fencing", [&](Writer& writer) { return writer.state.raise_epoch(lane); });
}

absl::StatusOr<std::int64_t> SqliteOrderStore::reserve_ids_of(int lane, std::int64_t day,
                                                              std::int64_t above,
                                                              std::int64_t count) {
  return impl_->write("reserving order ids in",
                      [&](Writer& writer) -> absl::StatusOr<std::int64_t> {
                        ASSIGN_OR_RETURN(const auto state, writer.state.state(0));
                        RETURN_IF_ERROR(check_open(state));
                        return writer.state.reserve_ids(lane, day, above, count);
                      });
}

absl::StatusOr<std::optional<int>> SqliteOrderStore::lane_of(VoucherId voucher) {
  return impl_->read([&](Reader& reader) { return reader.state.lane_of(voucher); });
}

absl::StatusOr<std::map<VoucherId, int>> SqliteOrderStore::voucher_lanes() {
  return impl_->read([](Reader& reader) { return reader.state.voucher_lanes(); });
}

absl::StatusOr<int> SqliteOrderStore::put_on_lane(VoucherId voucher, int lane) {
  return impl_->write("putting a voucher on a lane in",
                      [&](Writer& writer) { return writer.state.put_on_lane(voucher, lane); });
}

absl::StatusOr<std::vector<MovedPieces>> SqliteOrderStore::moved_pieces(VoucherId voucher) {
  return impl_->read([&](Reader& reader) { return reader.state.moved_pieces(voucher); });
}

absl::Status SqliteOrderStore::record_moved(const MovedPieces& moved, const BatchFence& fence) {
  RETURN_IF_ERROR(check_moved(moved, fence));
  return impl_->write("recording moved pieces in", [&](Writer& writer) -> absl::Status {
    RETURN_IF_ERROR(begin_batch(writer, fence));
    RETURN_IF_ERROR(writer.state.state(moved.to).status());
    writer.state.record_moved(moved);
    return absl::OkStatus();
  });
}

// ---- Vouchers ---------------------------------------------------------------------------------

absl::Status SqliteOrderStore::record_pending(const VoucherVersion& version) {
  return impl_->write("recording a voucher in",
                      [&](Writer& writer) { return writer.vouchers.record_pending(version); });
}

absl::Status SqliteOrderStore::resolve(VoucherId voucher, std::int64_t version,
                                       VoucherVersion::State state, const std::string& reason) {
  return impl_->write("resolving a voucher's version in", [&](Writer& writer) {
    return writer.vouchers.resolve(voucher, version, state, reason);
  });
}

absl::StatusOr<std::vector<VoucherVersion>> SqliteOrderStore::versions(VoucherId voucher) {
  return impl_->read([&](Reader& reader) { return reader.vouchers.versions(voucher); });
}

absl::StatusOr<std::vector<VoucherVersion>> SqliteOrderStore::all_versions() {
  return impl_->read([](Reader& reader) { return reader.vouchers.all_versions(); });
}

absl::StatusOr<std::vector<VoucherVersion>> SqliteOrderStore::pending() {
  return impl_->read([](Reader& reader) { return reader.vouchers.pending(); });
}

absl::StatusOr<std::optional<VoucherVersion>> SqliteOrderStore::latest(VoucherId voucher) {
  return impl_->read([&](Reader& reader) { return reader.vouchers.latest(voucher); });
}

absl::StatusOr<std::optional<VoucherVersion>> SqliteOrderStore::applied(VoucherId voucher) {
  return impl_->read([&](Reader& reader) { return reader.vouchers.applied(voucher); });
}

absl::StatusOr<std::vector<VoucherVersion>> SqliteOrderStore::all_applied() {
  return impl_->read([](Reader& reader) { return reader.vouchers.all_applied(); });
}

}  // namespace rushgate
