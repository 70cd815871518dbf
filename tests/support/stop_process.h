// Stops processes for a while.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

namespace rushgate {

/// Returns true if each thread of a process is stopped, or it has ended.
inline bool is_stopped(pid_t pid) {
  std::error_code gone;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(thread.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = stat.rfind(')');  // a name may have brackets, too
    const bool is_alive = name_end != std::string::npos && name_end + 2 < stat.size();
    if (is_alive && std::string("TtZX").find(stat[name_end + 2]) == std::string::npos) return false;
  }
  return true;
}

/// Stops a process between two instructions (SIGSTOP). Its threads stand when this returns: the signal alone lets
/// them run until one of them takes it.
inline void stop_process(pid_t pid) {
  ::kill(pid, SIGSTOP);
  while (!is_stopped(pid)) std::this_thread::yield();
}

}  // namespace rushgate
