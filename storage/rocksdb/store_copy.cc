#include "storage/rocksdb/store_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <limits>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/file_size_signal.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/directory_lock.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

absl::Status copy_failure(const fs::path& file, const std::error_code& error) {
  return absl::UnavailableError(concat("copying to ", file.string(), ": ", error.message()));
}

/// Writes the first `size` bytes of a file to a new one, and syncs it.
absl::Status copy_bytes(const fs::path& from, const fs::path& to, std::uint64_t size) {
  constexpr std::size_t kPortion = std::size_t{1} << 20;
  std::ifstream in(from, std::ios::binary);
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  std::vector<char> portion(kPortion);
  for (std::uint64_t left = size; left > 0 && in && out;) {
    in.read(portion.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, kPortion)));
    out.write(portion.data(), in.gcount());
    left -= static_cast<std::uint64_t>(in.gcount());
  }
  out.close();
  std::error_code error;
  if (!out || fs::file_size(to, error) != size) {
    return copy_failure(to, error ? error : std::make_error_code(std::errc::io_error));
  }
  return sync_file(to);
}

absl::Status write_bytes(const fs::path& to, const std::string& bytes) {
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  if (!out) return copy_failure(to, std::make_error_code(std::errc::io_error));
  return sync_file(to);
}

/// Returns the end of a file, which has a table's properties. Among them are a name that RocksDB draws
/// when it opens a database, and the table's number.
std::string end_of(const fs::path& file, std::uint64_t size) {
  constexpr std::uint64_t kEndBytes = std::uint64_t{16} << 10;
  const std::uint64_t bytes = std::min(size, kEndBytes);
  std::string end(bytes, '\0');
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(size - bytes));
  in.read(end.data(), static_cast<std::streamsize>(bytes));
  return in ? end : std::string();
}

bool has_size(const fs::path& file, std::uint64_t size) {
  std::error_code error;
  return fs::file_size(file, error) == size && !error;
}

/// Returns true if both are the same table, which is never changed.
bool is_same_table(const fs::path& a, const fs::path& b, std::uint64_t size) {
  if (!has_size(a, size) || !has_size(b, size)) return false;
  const std::string end = end_of(a, size);
  return !end.empty() && end == end_of(b, size);
}

bool links(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);
  fs::create_hard_link(from, to, error);
  return !error;
}

/// Copies one of the files. A table becomes a link where possible.
absl::Status copy_file(const rocksdb::LiveFileStorageInfo& file, const fs::path& from,
                       const fs::path& to, const fs::path& previous) {
  if (!file.replacement_contents.empty()) return write_bytes(to, file.replacement_contents);
  if (file.file_type != rocksdb::kTableFile) return copy_bytes(from, to, file.size);
  if (is_same_table(to, from, file.size)) return absl::OkStatus();
  if (links(from, to)) return absl::OkStatus();
  const fs::path earlier = previous / file.relative_filename;
  const bool is_there = !previous.empty() && is_same_table(earlier, from, file.size);
  if (is_there && links(earlier, to)) return absl::OkStatus();
  return copy_bytes(from, to, file.size);
}

/// Removes the files of an earlier call that are not in the copy.
absl::Status remove_others(const fs::path& dir, const std::set<std::string>& kept) {
  std::error_code error;
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    if (!kept.contains(entry.path().filename().string())) others.push_back(entry.path());
  }
  for (const fs::path& other : others) fs::remove(other, error);
  return error ? copy_failure(dir, error) : absl::OkStatus();
}

}  // namespace

absl::Status copy_live_files(rocksdb::DB& db, const fs::path& from, const fs::path& to,
                             const fs::path& previous) {
  const FileSizeSignalBlock no_signal;
  RETURN_IF_ERROR(make_directory(to));
  rocksdb::Status status = db.DisableFileDeletions();
  if (!status.ok()) return to_absl(status, "copying", from);
  const absl::Cleanup enable = [&db] { db.EnableFileDeletions().PermitUncheckedError(); };
  rocksdb::LiveFilesStorageInfoOptions options;
  options.wal_size_for_flush = std::numeric_limits<std::uint64_t>::max();  // never
  std::vector<rocksdb::LiveFileStorageInfo> files;
  status = db.GetLiveFilesStorageInfo(options, &files);
  if (!status.ok()) return to_absl(status, "copying", from);
  // The lock file marks the directory as ours.
  std::set<std::string> kept = {kLockFileName};
  RETURN_IF_ERROR(write_bytes(to / kLockFileName, ""));
  for (const rocksdb::LiveFileStorageInfo& file : files) {
    const std::string& name = file.relative_filename;
    const fs::path source = fs::path(file.directory) / name;
    RETURN_IF_ERROR(copy_file(file, source, to / name, previous));
    kept.insert(name);
  }
  RETURN_IF_ERROR(remove_others(to, kept));
  return sync_directory(to);
}

}  // namespace rushgate
