// What a power cut would leave of the files of another process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rushgate::testing {

/// Environment variables, "name=value", of a process that shall note in the file `notes` which
/// files it syncs, and how large they are then. For any program that is linked to libc dynamically.
std::vector<std::string> noting_environment(const std::filesystem::path& notes);

/// Removes from the files in `directory` what was appended since their last sync by a process that
/// had noting_environment(notes) and is dead. What was overwritten in place stays, as do the names
/// of files: it is for programs that append to logs, and rename what they have written whole. Files
/// in `spared` stay as they are.
void lose_unsynced(const std::filesystem::path& directory, const std::filesystem::path& notes,
                   const std::vector<std::filesystem::path>& spared = {});

}  // namespace rushgate::testing
