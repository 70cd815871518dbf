#include "storage/rocksdb/store_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <iterator>
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

/// Returns why a stream failed: what the system said about it since errno was 0.
std::error_code stream_error() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

/// A file that is copied, and of which an earlier call has copied the first bytes.
struct FileToCopy {
  fs::path from;
  fs::path to;
  std::uint64_t begin = 0;  // the first byte that is not there yet
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// Copies, and syncs each portion: one sync at the end would hold up the commits of others for as long
/// as the whole file takes. `bytes_left` counts down what the call has to copy.
absl::Status copy_bytes(const FileToCopy& file, std::uint64_t& bytes_left, AfterPortion after) {
  errno = 0;
  std::ifstream in(file.from, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(file.begin));
  std::ofstream out(file.to, std::ios::binary | (file.begin > 0 ? std::ios::app : std::ios::trunc));
  std::vector<char> portion(std::min(file.bytes(), CopyPortion::kBytes));
  for (std::uint64_t at = file.begin; at < file.end && in && out;) {
    const std::uint64_t bytes = std::min<std::uint64_t>(file.end - at, portion.size());
    errno = 0;
    in.read(portion.data(), static_cast<std::streamsize>(bytes));
    out.write(portion.data(), in.gcount());
    out.flush();
    if (!in || !out) break;
    RETURN_IF_ERROR(sync_file(file.to));
    at += bytes;
    bytes_left -= bytes;
    RETURN_IF_ERROR(after({.bytes = bytes, .bytes_left = bytes_left}));
  }
  if (!in || !out) return copy_failure(file.to, stream_error());
  out.close();
  std::error_code error;
  if (!out || fs::file_size(file.to, error) != file.end) {
    return copy_failure(file.to, error ? error : std::make_error_code(std::errc::io_error));
  }
  return file.end > 0 ? absl::OkStatus() : sync_file(file.to);
}

bool has_contents(const fs::path& file, const std::string& bytes) {
  std::ifstream in(file, std::ios::binary);
  return in && std::string(std::istreambuf_iterator<char>(in), {}) == bytes;
}

/// Writes a small file and syncs it, unless an earlier call has.
absl::Status write_bytes(const fs::path& to, const std::string& bytes) {
  if (has_contents(to, bytes)) return absl::OkStatus();
  errno = 0;
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  if (!out) return copy_failure(to, stream_error());
  return sync_file(to);
}

/// Returns the end of the first `size` bytes of a file. The end of a table has its properties: among them
/// are a name that RocksDB draws when it opens a database, and the table's number.
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

/// Returns true if `to` is the table `from` now, without a copy.
bool has_table(const fs::path& from, const fs::path& to, std::uint64_t size,
               const fs::path& previous) {
  if (is_same_table(to, from, size) || links(from, to)) return true;
  const fs::path earlier = previous / to.filename();
  return !previous.empty() && is_same_table(earlier, from, size) && links(earlier, to);
}

/// Returns how much of a file that is no table an earlier call has copied. Such a file only grows.
std::uint64_t copied_part(const fs::path& from, const fs::path& to, std::uint64_t size) {
  std::error_code error;
  const std::uint64_t there = fs::file_size(to, error);
  if (error || there > size) return 0;
  const std::string end = end_of(to, there);
  return !end.empty() && end == end_of(from, there) ? there : 0;
}

/// Lists what has to be copied. Links the tables, where possible, and writes small files.
absl::Status prepare(const std::vector<rocksdb::LiveFileStorageInfo>& files, const fs::path& to,
                     const fs::path& previous, std::vector<FileToCopy>& copies) {
  for (const rocksdb::LiveFileStorageInfo& file : files) {
    const fs::path source = fs::path(file.directory) / file.relative_filename;
    const fs::path target = to / file.relative_filename;
    if (!file.replacement_contents.empty()) {
      RETURN_IF_ERROR(write_bytes(target, file.replacement_contents));
      continue;
    }
    const bool is_table = file.file_type == rocksdb::kTableFile;
    if (is_table && has_table(source, target, file.size, previous)) continue;
    const std::uint64_t there = is_table ? 0 : copied_part(source, target, file.size);
    if (there == 0 || there < file.size) {
      copies.push_back({.from = source, .to = target, .begin = there, .end = file.size});
    }
  }
  return absl::OkStatus();
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
                             const fs::path& previous, AfterPortion after) {
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
  for (const rocksdb::LiveFileStorageInfo& file : files) kept.insert(file.relative_filename);
  std::vector<FileToCopy> copies;
  RETURN_IF_ERROR(prepare(files, to, previous, copies));
  std::uint64_t bytes_left = 0;
  for (const FileToCopy& file : copies) bytes_left += file.bytes();
  for (const FileToCopy& file : copies) RETURN_IF_ERROR(copy_bytes(file, bytes_left, after));
  RETURN_IF_ERROR(remove_others(to, kept));
  return sync_directory(to);
}

}  // namespace rushgate
