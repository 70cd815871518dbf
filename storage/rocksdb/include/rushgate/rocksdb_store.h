// The store on disk: a directory with a RocksDB database. docs/format.md defines its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/store.h>

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb
namespace spdlog {
class logger;
}

namespace rushgate {

/// The version of the directory's layout and of the keyspace's records: one number, raised when
/// either changes. A directory with another version is refused.
inline constexpr std::uint32_t kStoreFormat = 2;

struct RocksDbStoreOptions {
  Durability durability = Durability::kOs;  // kOs, kEverySec or kSync
  bool create_if_missing = true;
  /// The maximum size of the log. Beyond it, the contents are written to tables, and the log is
  /// shortened. Reopening reads the whole log, which takes about a second for 64 MiB.
  std::size_t log_bytes_max = std::size_t{32} << 20;
  /// Logs the opening of the directory, the first failed write, and RocksDB's own warnings and
  /// errors (at most 20 in ten seconds). Null: no logging.
  std::shared_ptr<spdlog::logger> logger = {};
  /// For tests: the database's environment. Not owned; must outlive the store. Null: the disk.
  rocksdb::Env* env = nullptr;
  /// For tests: returns a database that wraps and owns the given one. Called once, when the
  /// database is open.
  std::function<rocksdb::DB*(rocksdb::DB*)> wrap_database = {};
};

/// RocksDB's background work since the store was opened.
struct RocksDbWork {
  std::uint64_t flushes = 0;      // memory tables written to files
  std::uint64_t compactions = 0;  // files merged into fewer
  std::uint64_t stalls = 0;       // times that commits began to stall, waiting for this work
};

/// Returns true if opening a store failed because another process or store uses the directory.
/// Other failures may have the same status code.
bool is_held_by_another(const absl::Status& opened);

/// A store in a directory. As thread-safe as <rushgate/store.h> demands. With kEverySec a commit is
/// as durable as with kOs; the owner of the store calls sync() every second.
///
/// After a failed commit() or sync(), all further ones fail with the first reason until reopen()
/// succeeds, which undoes a failed commit. Reads continue. Opening the directory again recovers the
/// durable data and possibly later commits, but never a part of one. Messages contain the directory
/// and RocksDB's message. Exceeding the file size limit (RLIMIT_FSIZE, `ulimit -f`) is such a
/// failure: SIGXFSZ is blocked on writing threads. The log reads the limit when it begins a file,
/// so set the limit before you open the store. Errors:
/// - kResourceExhausted: the disk is full.
/// - kDataLoss: the data on disk is damaged.
/// - kUnavailable: any other failure of the disk.
class RocksDbStore final : public Store {
 public:
  /// Opens the directory and locks it until the store is destroyed.
  ///
  /// Further errors:
  /// - kFailedPrecondition: the directory is not empty and not a store's, or another store uses it.
  ///   The message then names the process, and is_held_by_another() returns true.
  /// - kUnimplemented: its format is not kStoreFormat.
  /// - kNotFound: it is missing or empty, and create_if_missing is off.
  /// - kInvalidArgument: invalid options.
  ///
  /// A log that ends in the middle of a commit is the result of a power cut: it is opened up to the
  /// commit before. A gap in a synced part of the log is kDataLoss, and nothing is changed. (Damage
  /// to the very last commit of the log looks like a power cut.) A deleted log file, even the
  /// newest, is kDataLoss, and the message names the file.
  static absl::StatusOr<std::unique_ptr<RocksDbStore>> open(const std::filesystem::path& dir,
                                                            RocksDbStoreOptions options = {});

  /// Syncs first if the durability is above kOs. Writes nothing else.
  ~RocksDbStore() override;

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override;
  absl::Status commit(const StoreBatch& batch) override;
  absl::Status sync() override;
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override;
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override;
  absl::Status find_last_stream(std::uint64_t& stream) override;
  [[nodiscard]] Durability durability() const override;
  [[nodiscard]] bool can_reopen() const override { return true; }
  /// First writes a file as large as the log to the disk, and removes it. If that fails, the
  /// database stays open for reads. If a later step fails, reads fail until a call succeeds.
  absl::Status reopen(Exclusively exclusively) override;
  /// Copies the log, at most log_bytes_max, so that no memory table has to be written for the copy.
  absl::Status copy_to(const std::filesystem::path& dir, const std::filesystem::path& previous,
                       AfterPortion after) override;

  /// Any thread may call it.
  [[nodiscard]] RocksDbWork work() const;
  /// Returns the same.
  [[nodiscard]] std::vector<Figure> figures() const override;

 private:
  struct Impl;
  explicit RocksDbStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
