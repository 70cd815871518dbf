#include "adapters/flash_sale/backup_manifest.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/make_directory.h"

namespace rushgate {
namespace {

constexpr int kBackupFormat = 1;

absl::Status manifest_damage(const std::filesystem::path& file) {
  return absl::DataLossError(concat(file.string(), " is damaged"));
}

}  // namespace

std::uint64_t BackupManifest::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, size] : files) sum += size;
  return sum;
}

absl::StatusOr<std::map<std::string, std::uint64_t>> list_files(const std::filesystem::path& dir) {
  std::map<std::string, std::uint64_t> files;
  std::error_code error;
  auto at = std::filesystem::recursive_directory_iterator(dir, error);
  for (; !error && at != std::filesystem::end(at); at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    const std::string name = at->path().lexically_relative(dir).string();
    if (name != kManifestName) files[name] = at->file_size(error);
    if (error) break;
  }
  if (error) return absl::UnavailableError(concat(dir.string(), ": ", error.message()));
  return files;
}

absl::Status write_manifest(const std::filesystem::path& dir, const BackupManifest& manifest) {
  const nlohmann::ordered_json json = {{"format", kBackupFormat},
                                       {"made_at", manifest.made_at},
                                       {"identity", manifest.state.identity},
                                       {"checkpoint", manifest.state.checkpoint},
                                       {"has_keyspace", manifest.has_keyspace},
                                       {"files", manifest.files}};
  const std::filesystem::path file = dir / kManifestName;
  std::ofstream out(file);
  out << json.dump(1) << '\n';
  out.close();
  if (!out) return absl::UnavailableError(concat("cannot write ", file.string()));
  return sync_file(file);
}

absl::StatusOr<BackupManifest> read_manifest(const std::filesystem::path& dir) {
  const std::filesystem::path file = dir / kManifestName;
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(concat("there is no complete backup in ", dir.string()));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    const auto json = parse_trusted_json(text);
    if (json.at("format").get<int>() > kBackupFormat) {
      return absl::UnimplementedError(concat(file.string(), " is of a newer Rushgate"));
    }
    BackupManifest manifest;
    json.at("made_at").get_to(manifest.made_at);
    json.at("identity").get_to(manifest.state.identity);
    json.at("checkpoint").get_to(manifest.state.checkpoint);
    json.at("has_keyspace").get_to(manifest.has_keyspace);
    json.at("files").get_to(manifest.files);
    return manifest;
  } catch (const nlohmann::json::exception&) {
    return manifest_damage(file);
  }
}

std::vector<std::filesystem::path> list_backups(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> backups;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    const bool is_hidden = entry.path().filename().string().starts_with('.');
    if (!is_hidden && std::filesystem::exists(entry.path() / kManifestName, error)) {
      backups.push_back(entry.path());
    }
  }
  std::ranges::sort(backups);
  return backups;
}

}  // namespace rushgate
