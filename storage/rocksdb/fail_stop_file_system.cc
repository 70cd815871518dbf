#include "storage/rocksdb/fail_stop_file_system.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <rocksdb/file_system.h>

#include "absl/functional/function_ref.h"
#include "engine/core/base/file_size_signal.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/noted_logs.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class FailStopFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  FailStopFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                     std::shared_ptr<WriteFailure> failure, std::filesystem::path dir)
      : FileSystemWrapper(target), failure_(std::move(failure)), dir_(std::move(dir)) {}

  [[nodiscard]] const char* Name() const override { return "FailStopFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    return change([&] { return target()->RenameFile(from, to, options, debug); });
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* debug) override {
    return change([&] { return target()->DeleteFile(name, options, debug); });
  }

 private:
  class File;
  class TrustedFile;

  IOStatus change(absl::FunctionRef<IOStatus()> operation) const {
    const FileSizeSignalBlock no_signal;
    if (!failure_->occurred()) return operation();
    return IOStatus::IOError("not done, for the store stopped writing");
  }

  const std::shared_ptr<WriteFailure> failure_;
  const std::filesystem::path dir_;
};

// A MANIFEST, or another small file.
class FailStopFileSystem::File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(const FailStopFileSystem& system, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), system_(system) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return system_.change([&] { return target()->Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return system_.change([&] { return target()->Append(data, options, verification, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return system_.change([&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return system_.change([&] { return target()->Fsync(options, debug); });
  }

  // Preallocates, to which some file systems apply the file size limit.
  void PrepareWrite(std::size_t offset, std::size_t bytes, const IOOptions& options,
                    IODebugContext* debug) override {
    const FileSizeSignalBlock no_signal;
    target()->PrepareWrite(offset, bytes, options, debug);
  }

 private:
  const FailStopFileSystem& system_;
};

// A log or a table. RocksDB sees all writes to it as successful.
class FailStopFileSystem::TrustedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TrustedFile(const FailStopFileSystem& system, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), system_(system) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return change(kWriting, [&] { return target()->Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return change(kWriting, [&] { return target()->Append(data, options, verification, debug); });
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return change(kWriting, [&] { return target()->Truncate(size, options, debug); });
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return change(kWriting, [&] { return target()->Close(options, debug); });
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return change(kWriting, [&] { return target()->Flush(options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return change(kSyncing, [&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return change(kSyncing, [&] { return target()->Fsync(options, debug); });
  }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    return change(kSyncing, [&] { return target()->RangeSync(offset, bytes, options, debug); });
  }
  void PrepareWrite(std::size_t offset, std::size_t bytes, const IOOptions& options,
                    IODebugContext* debug) override {
    const FileSizeSignalBlock no_signal(is_limited_);
    target()->PrepareWrite(offset, bytes, options, debug);
  }

 private:
  IOStatus change(const char* doing, absl::FunctionRef<IOStatus()> operation) const {
    WriteFailure& failure = *system_.failure_;
    if (failure.occurred()) return IOStatus::OK();
    const FileSizeSignalBlock no_signal(is_limited_);
    const IOStatus status = operation();
    if (!status.ok()) failure.fail(to_absl(status, doing, system_.dir_)).IgnoreError();
    return IOStatus::OK();
  }

  const FailStopFileSystem& system_;
  // Blocking the signal takes half as long as an append, so it depends on this. Checked once per
  // file.
  const bool is_limited_ = has_file_size_limit();
};

IOStatus FailStopFileSystem::NewWritableFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                                             IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSWritableFile> real;
  const IOStatus status =
      change([&] { return target()->NewWritableFile(name, options, &real, debug); });
  if (!status.ok()) return status;
  if (name.ends_with(".log") || name.ends_with(".sst")) {
    *file = std::make_unique<TrustedFile>(*this, std::move(real));
  } else {
    *file = std::make_unique<File>(*this, std::move(real));
  }
  return status;
}

class FailStopEnv final : public rocksdb::EnvWrapper {
 public:
  FailStopEnv(rocksdb::Env& target, std::shared_ptr<rocksdb::FileSystem> file_system)
      : EnvWrapper(&target) {
    file_system_ = std::move(file_system);
    system_clock_ = target.GetSystemClock();
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> make_fail_stop_env(rocksdb::Env& env,
                                                 std::shared_ptr<WriteFailure> failure,
                                                 const std::filesystem::path& dir) {
  const auto fail_stop =
      std::make_shared<FailStopFileSystem>(env.GetFileSystem(), std::move(failure), dir);
  return std::make_unique<FailStopEnv>(env, note_manifest(note_logs(fail_stop, dir), dir));
}

}  // namespace rushgate
