// The store on disk: a directory with a RocksDB database. What it writes: docs/format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/store/store.h"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb
namespace spdlog {
class logger;
}

namespace rushgate {

/// The layout of the directory, and of what the keyspace keeps in it: one number for both, raised
/// whenever either changes. A directory with any other is refused.
inline constexpr std::uint32_t kStoreFormat = 2;

struct RocksDbStoreOptions {
  Durability durability = Durability::kOs;  // kOs, kEverySec or kSync
  bool create_if_missing = true;
  /// Beyond this the log is cut short by writing out what it covers. Reopening reads it all: about
  /// a second for 64 MiB.
  std::size_t log_bytes_max = std::size_t{32} << 20;
  /// Gets a line when the directory is opened, one when writing has failed, and RocksDB's own
  /// warnings and errors, at most 20 in ten seconds; null for silence.
  std::shared_ptr<spdlog::logger> logger = {};
  /// For tests: what the database stands on. Not owned, must outlive the store; null for the disk.
  rocksdb::Env* env = nullptr;
  /// For tests: returns a database that stands in front of the given one, and owns it. Called once,
  /// when the database is open.
  std::function<rocksdb::DB*(rocksdb::DB*)> wrap_database = {};
};

/// What RocksDB has done by itself since the store was opened.
struct RocksDbWork {
  std::uint64_t flushes = 0;      // of what was in memory, into files
  std::uint64_t compactions = 0;  // of files, into fewer
  std::uint64_t stalls = 0;       // times that it began to hold up commits, to keep up with them
};

/// Did opening a store fail because somebody holds its directory? Apart from other failures of the
/// same code.
bool is_held_by_another(const absl::Status& opened);

/// Threads: as engine/store/store.h says. With kEverySec a commit is as safe as with kOs; whoever
/// owns the store calls sync() every second.
///
/// After a failed commit() or sync() all further ones fail with the first reason, and what is on
/// disk is found out by opening the directory again: what was safe, and perhaps more, up to some
/// commit and never half of one. Reading goes on.
///
/// Errors: kResourceExhausted the disk is full, kDataLoss what is on disk is damaged, kUnavailable
/// any other failure of the disk. The text names the directory and holds RocksDB's own.
///
/// A file that may not grow any more (RLIMIT_FSIZE, `ulimit -f`) is such a failure: SIGXFSZ is kept
/// from the threads that write, while they write. The log asks for the limit when it begins a file,
/// so set it before the store is opened.
class RocksDbStore final : public Store {
 public:
  /// Opens the directory and holds it until the store is destroyed.
  ///
  /// Further errors: kFailedPrecondition somebody (the text says who) holds it, which
  /// is_held_by_another() tells, or it belongs to somebody else: it is not empty and no store of
  /// ours; kUnimplemented its format is not kStoreFormat; kNotFound it is missing or empty, and
  /// create_if_missing is off; kInvalidArgument the options.
  ///
  /// A log that ends in the middle of a commit is what a power cut leaves behind: it opens, up to
  /// the commit before. A gap in a part of the log that had been synced is kDataLoss, and nothing
  /// is changed. (Damage to the log's very last commit looks like the former.) A log file that was
  /// deleted, even the newest, is kDataLoss too, and the text names it.
  static absl::StatusOr<std::unique_ptr<RocksDbStore>> open(const std::filesystem::path& dir,
                                                            RocksDbStoreOptions options = {});

  /// Syncs first where the durability promises more than kOs. Writes nothing else.
  ~RocksDbStore() override;

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override;
  absl::Status commit(const StoreBatch& batch) override;
  absl::Status sync() override;
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamRun>& runs) override;
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max, std::vector<StreamRun>& runs) override;
  absl::Status find_last_stream(std::uint64_t& stream) override;
  [[nodiscard]] Durability durability() const override;

  /// From any thread.
  [[nodiscard]] RocksDbWork work() const;

 private:
  struct Impl;
  explicit RocksDbStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
