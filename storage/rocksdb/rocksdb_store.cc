#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/batch_translation.h"
#include "storage/rocksdb/database_reads.h"
#include "storage/rocksdb/disk_probe.h"
#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_database.h"
#include "storage/rocksdb/rocksdb_status.h"
#include "storage/rocksdb/segment_search.h"
#include "storage/rocksdb/store_copy.h"
#include "storage/rocksdb/write_failure.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {

struct RocksDbStore::Impl {
  // Constant after construction.
  RocksDbStoreOptions options;
  std::filesystem::path dir;
  std::shared_ptr<const WorkCounters> work;
  Durability durability = Durability::kOs;

  // Changed by reopen() alone, while no other thread uses the store.
  std::unique_ptr<RocksDatabase> database;  // null while it is closed after a failure
  std::shared_ptr<WriteFailure> failure;

  // Used by reopen() alone.
  std::unique_ptr<RocksDatabase> closed;
  KeptOperations kept;  // that `closed` must keep

  const absl::Status no_memory = absl::ResourceExhaustedError("no memory");

  // Used only by the thread that commits and reads.
  rocksdb::WriteBatch writes{1'024};  // kept for its memory; space for the first record
  bool loaded = false;
  std::optional<KeptOperations> before_failed;  // before a failed commit
  FirstSegments first_segments;

  // Used by the threads that commit and sync.
  std::atomic<std::uint64_t> synced = 0;  // number of the last synced operation

  absl::Status fail(const rocksdb::Status& status, const char* doing) const {
    return failure->fail(to_absl(status, doing, dir));
  }
  absl::Status write(const StoreBatch& batch);
  [[nodiscard]] absl::Status check_open() const {
    if (database) return absl::OkStatus();
    return absl::UnavailableError("reading in " + dir.string() +
                                  ": the store is being reopened after a failure");
  }
  void raise_synced(std::uint64_t sequence);
};

void RocksDbStore::Impl::raise_synced(std::uint64_t sequence) {
  std::uint64_t known = synced.load();
  while (known < sequence && !synced.compare_exchange_weak(known, sequence)) {
  }
}

absl::StatusOr<std::unique_ptr<RocksDbStore>> RocksDbStore::open(const std::filesystem::path& dir,
                                                                 RocksDbStoreOptions options) {
  if (options.durability == Durability::kMemory) {
    return absl::InvalidArgumentError("a store on disk cannot have durability memory");
  }
  const auto failure = std::make_shared<WriteFailure>(options.logger);
  ASSIGN_OR_RETURN(std::unique_ptr<RocksDatabase> database,
                   RocksDatabase::open(dir, options, failure));
  auto impl = std::make_unique<Impl>();
  impl->database = std::move(database);
  impl->dir = dir;
  impl->work = impl->database->work();
  impl->options = options;
  impl->options.create_if_missing = false;
  impl->durability = options.durability;
  impl->failure = failure;
  if (options.logger) log_info(*options.logger, concat("opened the store in ", dir.string()));
  return std::unique_ptr<RocksDbStore>(new RocksDbStore(std::move(impl)));
}

RocksDbStore::RocksDbStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RocksDbStore::~RocksDbStore() {
  // sync() logs a failure. A destructor cannot return it.
  if (impl_->durability > Durability::kOs && !impl_->failure->occurred()) sync().IgnoreError();
}

absl::Status RocksDbStore::load(
    absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) {
  if (std::exchange(impl_->loaded, true)) {
    return absl::FailedPreconditionError("load() works once, on a store that was just opened");
  }
  return load_records(*impl_->database, visit);
}

absl::Status RocksDbStore::commit(const StoreBatch& batch) {
  if (impl_->failure->occurred()) return impl_->failure->refusal();
  const std::uint64_t before = impl_->database->db().GetLatestSequenceNumber();
  absl::Status written = impl_->write(batch);
  if (!written.ok()) impl_->before_failed = {before, impl_->writes.Count()};
  return written;
}

absl::Status RocksDbStore::Impl::write(const StoreBatch& batch) {
  writes.Clear();
  writes.PutLogData(to_slice(SyncedPosition(synced).view()));
  BatchTranslation translation(*database, first_segments, writes);
  batch.visit(translation);
  if (!translation.status().ok()) return failure->fail(translation.status());
  if (writes.Count() == 0) return absl::OkStatus();

  rocksdb::WriteOptions write_options;
  write_options.sync = durability == Durability::kSync && !batch.is_sync_deferred();
  try {
    const rocksdb::Status status = database->db().Write(write_options, &writes);
    if (!status.ok()) return fail(status, kWriting);
    if (failure->occurred()) return failure->refusal();
    if (write_options.sync) raise_synced(database->db().GetLatestSequenceNumber());
    translation.update(first_segments);
  } catch (const std::bad_alloc&) {  // the outcome is unknown
    return failure->fail(no_memory);
  }
  return absl::OkStatus();
}

absl::Status RocksDbStore::reopen(Exclusively exclusively) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(probe_disk(env_of(impl.options), impl.dir));
  exclusively([&impl] {
    if (!impl.database) return;  // an earlier attempt has closed it
    impl.kept = impl.before_failed.value_or(
        KeptOperations{.last = impl.database->db().GetLatestSequenceNumber()});
    impl.closed = std::move(impl.database);
  });
  const auto failure = std::make_shared<WriteFailure>(impl.options.logger);
  absl::Status opened = impl.closed->reopen(impl.options, failure, impl.kept);
  if (!opened.ok()) return opened;
  exclusively([&] {
    impl.database = std::move(impl.closed);
    impl.failure = failure;
    impl.before_failed.reset();
  });
  if (impl.options.logger) {
    log_warning(*impl.options.logger, concat("reopened the store in ", impl.dir.string()));
  }
  return opened;
}

absl::Status RocksDbStore::sync() {
  if (impl_->failure->occurred()) return impl_->failure->refusal();
  const RocksDatabase& database = *impl_->database;
  // Read before the sync: later commits may or may not be included.
  const std::uint64_t last = database.db().GetLatestSequenceNumber();
  if (impl_->synced >= last) return absl::OkStatus();
  try {
    const rocksdb::Status status = database.db().SyncWAL();
    if (!status.ok()) return impl_->fail(status, kSyncing);
  } catch (const std::bad_alloc&) {  // the outcome is unknown
    return impl_->failure->fail(impl_->no_memory);
  }
  if (impl_->failure->occurred()) return impl_->failure->refusal();
  impl_->raise_synced(last);
  return absl::OkStatus();
}

absl::Status RocksDbStore::read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                       std::size_t bytes_max,
                                       std::vector<StreamSegment>& segments) {
  RETURN_IF_ERROR(impl_->check_open());
  return read_segments(*impl_->database,
                       {.stream = stream, .begin = impl_->first_segments.of(stream)}, from, to,
                       bytes_max, segments);
}

absl::Status RocksDbStore::read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                            std::size_t bytes_max,
                                            std::vector<StreamSegment>& segments) {
  RETURN_IF_ERROR(impl_->check_open());
  return read_segments_back(*impl_->database,
                            {.stream = stream, .begin = impl_->first_segments.of(stream)}, from, to,
                            bytes_max, segments);
}

absl::Status RocksDbStore::find_last_stream(std::uint64_t& stream) {
  return find_last_segment(*impl_->database, stream);
}

Durability RocksDbStore::durability() const { return impl_->durability; }

absl::Status RocksDbStore::copy_to(const std::filesystem::path& dir,
                                   const std::filesystem::path& previous, AfterPortion after) {
  RETURN_IF_ERROR(impl_->check_open());
  return copy_live_files(impl_->database->db(), impl_->dir, dir, previous, after);
}

RocksDbWork RocksDbStore::work() const {
  const WorkCounters& work = *impl_->work;
  return {.flushes = work.flushes, .compactions = work.compactions, .stalls = work.stalls};
}

std::vector<Store::Figure> RocksDbStore::figures() const {
  const RocksDbWork done = work();
  return {{"flushes", done.flushes}, {"compactions", done.compactions}, {"stalls", done.stalls}};
}

}  // namespace rushgate
