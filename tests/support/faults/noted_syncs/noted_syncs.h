// The files of another process as a power cut would leave them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rushgate::testing {

/// Returns environment variables, "name=value", that make a process note its syncs in the file
/// `notes`, with the size of the synced file. They work for every program that links libc
/// dynamically.
std::vector<std::string> noting_environment(const std::filesystem::path& notes);

/// Removes the bytes that a dead process appended to files in `directory` after their last sync.
/// The process must have had noting_environment(notes). In-place writes and file names stay: this
/// suits programs that append to logs and rename complete files. Files in `spared` stay unchanged.
void lose_unsynced(const std::filesystem::path& directory, const std::filesystem::path& notes,
                   const std::vector<std::filesystem::path>& spared = {});

}  // namespace rushgate::testing
