#include "apps/stderr_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace rushgate {
namespace {

/// A sink for a stderr that is not a terminal.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (left_out_ > 0) {
      const std::string_view text(line.data(), line.size());
      const std::string counted =
          fmt::format("({} lines were dropped before this one) {}", left_out_, text);
      line.clear();
      line.append(counted);
    }
    // A pipe with this much free space accepts the line without blocking.
    if (line.size() > PIPE_BUF) {
      line.resize(PIPE_BUF);
      line[PIPE_BUF - 1] = '\n';
    }
    left_out_ = has_room() && write({line.data(), line.size()}) ? 0 : left_out_ + 1;
  }
  void flush_() override {}

  static bool has_room() {
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0;
  }

  static bool write(std::string_view line) {
    ssize_t written = 0;
    do {
      written = ::write(STDERR_FILENO, line.data(), line.size());
    } while (written < 0 && errno == EINTR);
    return written >= 0;
  }

  std::size_t left_out_ = 0;
};

}  // namespace

std::shared_ptr<spdlog::logger> make_logger(bool verbose) {
  auto logger = ::isatty(STDERR_FILENO) == 1
                    ? spdlog::stderr_color_mt("rushgate")
                    : std::make_shared<spdlog::logger>("rushgate", std::make_shared<StderrSink>());
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  return logger;
}

}  // namespace rushgate
