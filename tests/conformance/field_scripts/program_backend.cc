#include "tests/conformance/field_scripts/program_backend.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace rushgate::testing {

void ProgramBackend::start() {
  std::filesystem::remove(socket_path());  // left by a killed server
  program_.emplace(std::vector<std::string>{"serve", "--manual-clock", "--port", "0",
                                            "--unixsocket", socket_path()});
  if (!program_->wait_for_error_text("serving on")) {
    throw std::runtime_error("rushgate serve ended: " + program_->wait().err);
  }
}

}  // namespace rushgate::testing
