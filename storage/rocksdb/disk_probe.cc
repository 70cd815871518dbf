#include "storage/rocksdb/disk_probe.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/base/file_size_signal.h"
#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

constexpr std::uint64_t kReserveBytes = std::uint64_t{256} << 10;
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 10;

rocksdb::Status add_up_logs(rocksdb::Env& env, const std::filesystem::path& dir,
                            std::uint64_t& bytes) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(dir.string(), &names);
  for (const std::string& name : names) {
    if (!status.ok() || !log_number(name)) continue;
    std::uint64_t log_bytes = 0;
    status = env.GetFileSize((dir / name).string(), &log_bytes);
    bytes += log_bytes;
  }
  return status;
}

rocksdb::Status write_probe(rocksdb::Env& env, const std::string& path, std::uint64_t bytes) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.NewWritableFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return status;
  const std::string piece(kPieceBytes, '\0');
  for (std::uint64_t written = 0; status.ok() && written < bytes; written += kPieceBytes) {
    status = file->Append({piece.data(), std::min(kPieceBytes, bytes - written)});
  }
  if (status.ok()) status = file->Sync();
  const rocksdb::Status closed = file->Close();
  return status.ok() ? closed : status;
}

}  // namespace

absl::Status probe_disk(rocksdb::Env& env, const std::filesystem::path& dir) {
  const FileSizeSignalBlock no_signal;
  rocksdb::Status status = env.FileExists((dir / "CURRENT").string());
  if (status.IsNotFound()) {
    return absl::UnavailableError("the store is no longer in " + dir.string());
  }
  std::uint64_t bytes = kReserveBytes;
  if (status.ok()) status = add_up_logs(env, dir, bytes);
  if (!status.ok()) return to_absl(status, "looking at the store", dir);
  const std::string path = (dir / kProbeName).string();
  status = write_probe(env, path, bytes);
  const rocksdb::Status removed = env.DeleteFile(path);
  if (status.ok()) status = removed;
  return to_absl(status, "probing the disk", dir);
}

}  // namespace rushgate
