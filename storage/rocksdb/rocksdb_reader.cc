#include "storage/rocksdb/rocksdb_reader.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/database_reads.h"
#include "storage/rocksdb/rocksdb_database.h"

namespace rushgate {
namespace {

/// The contents of a database, which does not change meanwhile.
class ReadStore final : public Store {
 public:
  explicit ReadStore(const RocksDatabase& database) : database_(database) {}

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override {
    return load_records(database_, visit);
  }
  /// Reading may expire keys.
  absl::Status commit(const StoreBatch& /*batch*/) override { return absl::OkStatus(); }
  absl::Status sync() override { return absl::OkStatus(); }
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override {
    return read_segments(database_, {.stream = stream}, from, to, bytes_max, segments);
  }
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override {
    return read_segments_back(database_, {.stream = stream}, from, to, bytes_max, segments);
  }
  absl::Status find_last_stream(std::uint64_t& stream) override {
    return find_last_segment(database_, stream);
  }
  [[nodiscard]] Durability durability() const override { return Durability::kMemory; }

 private:
  const RocksDatabase& database_;
};

/// Returns the oldest log in the directory. Empty: there is none, or the directory cannot be read.
std::filesystem::path oldest_log(const std::filesystem::path& dir) {
  std::filesystem::path oldest;  // names are numbers with leading zeros
  std::error_code error;
  for (std::filesystem::directory_iterator file(dir, error), end; !error && file != end;
       file.increment(error)) {
    const std::filesystem::path& path = file->path();
    if (path.extension() == ".log" && (oldest.empty() || path < oldest)) oldest = path;
  }
  return error ? std::filesystem::path() : oldest;
}

}  // namespace

RocksDbReader::RocksDbReader(std::filesystem::path dir, RocksDbStoreOptions options)
    : dir_(std::move(dir)), options_(std::move(options)) {}

RocksDbReader::~RocksDbReader() = default;

absl::StatusOr<std::unique_ptr<RocksDbReader>> RocksDbReader::open(const std::filesystem::path& dir,
                                                                   RocksDbStoreOptions options) {
  std::unique_ptr<RocksDbReader> reader(new RocksDbReader(dir, std::move(options)));
  RETURN_IF_ERROR(reader->read().status());
  return reader;
}

absl::StatusOr<std::unique_ptr<Store>> RocksDbReader::read() {
  constexpr int kAttemptsMax = 100;  // an attempt may take as long as a small log lasts
  absl::Status failed;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (!database_) {
      auto opened = RocksDatabase::open_to_read(dir_, options_);
      if (absl::IsNotFound(opened.status())) return opened.status();
      failed = opened.status();
      if (!opened.ok()) continue;
      database_ = *std::move(opened);
    }
    // RocksDB reads the list of tables first, and then the logs. A log that was written to a table and
    // removed in between is in neither, while later ones are there. Logs are removed in their order.
    const std::filesystem::path oldest = oldest_log(dir_);
    failed = database_->catch_up();
    if (!failed.ok()) {
      database_.reset();
      continue;
    }
    if (oldest_log(dir_) == oldest) return std::make_unique<ReadStore>(*database_);
    failed = absl::UnavailableError("the writer removed a log while the logs were read");
  }
  // A file that is missing for long would be damage, which its writer finds.
  return absl::UnavailableError(failed.message());
}

}  // namespace rushgate
