#include "storage/rocksdb/manifest.h"

#include <charconv>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/base/concat.h"
#include "storage/rocksdb/log_fragment.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view kPrefix = "MANIFEST-";
constexpr std::string_view kManifestNoteEnd = "end\n";  // the note is whole

// ---- The note: "MANIFEST-000004 1234 end" ----

struct ManifestNote {
  std::string manifest;
  std::uint64_t synced_bytes = 0;
};

/// Nothing if it is no note.
std::optional<ManifestNote> read_manifest_note(std::string_view text) {
  if (!text.ends_with(kManifestNoteEnd)) return std::nullopt;
  const std::size_t space = text.find(' ');
  ManifestNote note{.manifest = std::string(text.substr(0, space))};
  text.remove_prefix(space + 1);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), note.synced_bytes);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || rest != concat(" ", kManifestNoteEnd)) return std::nullopt;
  return note;
}

/// Thread-safe.
class NoteWriter {
 public:
  NoteWriter(std::shared_ptr<rocksdb::FileSystem> file_system, const std::filesystem::path& dir)
      : file_system_(std::move(file_system)), path_((dir / kNotedManifestName).string()) {}

  /// A number may be used again for a new file. RocksDB syncs the directory before it relies on the
  /// new file, and so the old note is gone by then.
  void created() {
    const std::lock_guard lock(mutex_);
    file_system_->DeleteFile(path_, IOOptions(), nullptr).PermitUncheckedError();
  }
  /// A note that cannot be written stays as it was.
  void synced(const std::string& manifest, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::string written = path_ + ".new";
    const std::string note = concat(manifest, " ", bytes, " ", kManifestNoteEnd);
    if (!rocksdb::WriteStringToFile(file_system_.get(), note, written, false).ok()) return;
    file_system_->RenameFile(written, path_, IOOptions(), nullptr).PermitUncheckedError();
  }

 private:
  const std::shared_ptr<rocksdb::FileSystem> file_system_;
  const std::string path_;
  std::mutex mutex_;  // guards the file
};

/// A MANIFEST. RocksDB writes it from one thread at a time.
class NotedManifest final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  NotedManifest(std::unique_ptr<rocksdb::FSWritableFile> target, std::string name,
                std::shared_ptr<NoteWriter> note)
      : FSWritableFileOwnerWrapper(std::move(target)),
        name_(std::move(name)),
        note_(std::move(note)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    return count(data, target()->Append(data, options, debug));
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return count(data, target()->Append(data, options, verification, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return note(target()->Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return note(target()->Fsync(options, debug));
  }

 private:
  IOStatus count(const rocksdb::Slice& data, IOStatus appended) {
    if (appended.ok()) bytes_ += data.size();
    return appended;
  }
  IOStatus note(IOStatus synced) {
    if (synced.ok()) note_->synced(name_, bytes_);
    return synced;
  }

  const std::string name_;
  const std::shared_ptr<NoteWriter> note_;
  std::uint64_t bytes_ = 0;
};

class ManifestNotingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  ManifestNotingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target,
                           const std::filesystem::path& dir)
      : FileSystemWrapper(target), note_(std::make_shared<NoteWriter>(target, dir)) {}

  [[nodiscard]] const char* Name() const override { return "ManifestNotingFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    std::string name = std::filesystem::path(path).filename().string();
    if (!name.starts_with(kPrefix)) return target()->NewWritableFile(path, options, file, debug);
    note_->created();
    std::unique_ptr<rocksdb::FSWritableFile> real;
    IOStatus status = target()->NewWritableFile(path, options, &real, debug);
    if (status.ok()) {
      *file = std::make_unique<NotedManifest>(std::move(real), std::move(name), note_);
    }
    return status;
  }

 private:
  const std::shared_ptr<NoteWriter> note_;
};

absl::Status damaged(const std::filesystem::path& path, std::uint64_t readable,
                     std::uint64_t synced) {
  return absl::DataLossError(concat(path.string(), " is damaged: it is readable up to byte ",
                                    readable, ", and had ", synced, " bytes"));
}

}  // namespace

std::uint64_t readable_bytes(std::string_view manifest) {
  std::size_t whole = 0;  // the end of the last whole record
  bool is_inside = false;
  for (std::size_t at = 0; at < manifest.size();) {
    const std::size_t block_left = LogFragment::kBlockBytes - at % LogFragment::kBlockBytes;
    if (block_left < LogFragment::kHeadBytes) {
      at += block_left;
      continue;
    }
    const auto fragment = read_fragment(manifest.substr(at, block_left));
    if (!fragment || fragment->begins_record() == is_inside) break;
    is_inside = !fragment->ends_record();
    at += fragment->bytes();
    if (!is_inside) whole = at;
  }
  return whole;
}

std::shared_ptr<rocksdb::FileSystem> note_manifest(
    const std::shared_ptr<rocksdb::FileSystem>& target, const std::filesystem::path& dir) {
  return std::make_shared<ManifestNotingFileSystem>(target, dir);
}

absl::StatusOr<std::uint64_t> cut_torn_manifest(rocksdb::Env& env,
                                                const std::filesystem::path& dir) {
  std::string name;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, (dir / "CURRENT").string(), &name);
  if (status.IsPathNotFound() || status.IsNotFound()) return 0;
  if (!status.ok()) return to_absl(status, "reading CURRENT", dir);
  if (name.empty() || name.back() != '\n') return 0;  // RocksDB reports the fault
  name.pop_back();
  const std::filesystem::path path = dir / name;
  std::string manifest;
  status = rocksdb::ReadFileToString(&env, path.string(), &manifest);
  if (!status.ok()) return to_absl(status, "reading the MANIFEST", dir);
  const std::uint64_t readable = readable_bytes(manifest);

  std::string text;
  status = rocksdb::ReadFileToString(&env, (dir / kNotedManifestName).string(), &text);
  const std::optional<ManifestNote> note = status.ok() ? read_manifest_note(text) : std::nullopt;
  if (note && note->manifest == name && readable < note->synced_bytes) {
    return damaged(path, readable, note->synced_bytes);
  }
  if (readable == 0 || readable == manifest.size()) return 0;  // without a record it is no MANIFEST

  const std::string written = (dir / kNotedManifestName).string() + ".cut";
  status = rocksdb::WriteStringToFile(&env, rocksdb::Slice(manifest.data(), readable), written,
                                      /*should_sync=*/true);
  if (status.ok()) status = env.RenameFile(written, path.string());
  if (!status.ok()) return to_absl(status, "cutting off the end of the MANIFEST", dir);
  return manifest.size() - readable;
}

}  // namespace rushgate
