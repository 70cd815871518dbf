#include "apps/input/file_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/core/base/make_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

absl::Status failed(const char* doing, const fs::path& file) {
  const int error = errno;
  return absl::ErrnoToStatus(error, fmt::format("{} {}", doing, file.string()));
}

absl::Status write_and_sync(int descriptor, std::string_view text, const fs::path& file) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("writing", file);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(descriptor) == 0 ? absl::OkStatus() : failed("writing", file);
}

}  // namespace

absl::StatusOr<std::string> read_file(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    return absl::InvalidArgumentError(file.string() + " is a directory");
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) return failed("cannot open", file);
  std::ostringstream text;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !text) return failed("cannot read", file);
  return std::move(text).str();
}

absl::Status write_file(const fs::path& file, std::string_view text) {
  fs::path unfinished = file;
  unfinished += ".unfinished";
  const int descriptor = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return failed("creating", unfinished);
  absl::Status written = write_and_sync(descriptor, text, unfinished);
  close(descriptor);
  if (!written.ok()) return written;
  if (::rename(unfinished.c_str(), file.c_str()) != 0) return failed("creating", file);
  const fs::path dir = file.parent_path();
  return sync_directory(dir.empty() ? fs::path(".") : dir);
}

std::string content_hash(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace rushgate
