// The rushgate command.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/say.h"
#include "apps/signals.h"

namespace rushgate {
namespace {

/// Opens closed standard descriptors. Otherwise a file opened later would take the place of stdout
/// or stderr, and output would go into it.
void hold_standard_places() {
  int place = 0;
  do {
    place = ::open("/dev/null", O_RDWR);
  } while (place >= 0 && place <= STDERR_FILENO);
  if (place >= 0) ::close(place);
}

/// Returns a failure if stdout could not be written, for example to a full disk.
int finish_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  say("rushgate: stdout: {}\n", std::strerror(errno));
  return exit_code == kExitOk || exit_code == kExitNegative ? kExitFailure : exit_code;
}

}  // namespace
}  // namespace rushgate

int main(int argc, char** argv) {
  rushgate::hold_standard_places();
  rushgate::ignore_file_size_limit();  // also outside the library's own files
  try {
    return rushgate::finish_output(rushgate::run_command_line(argc, argv));
  } catch (const std::exception& error) {
    rushgate::say("rushgate: {}\n", error.what());
    return rushgate::kExitFailure;
  }
}
