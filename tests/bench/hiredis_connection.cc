#include "tests/bench/hiredis_connection.h"

#include <stdexcept>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>

namespace rushgate::bench {

void HiredisConnection::Free::operator()(redisContext* context) const { redisFree(context); }

HiredisConnection::HiredisConnection(const std::string& unix_path)
    : context_(redisConnectUnix(unix_path.c_str())) {
  if (context_ == nullptr || context_->err != 0) {
    throw std::runtime_error("hiredis cannot connect to " + unix_path);
  }
}

void HiredisConnection::append(const Request& request) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  words.reserve(request.size());
  sizes.reserve(request.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    const std::string_view word = request[i];
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(),
                         sizes.data());
}

std::int64_t HiredisConnection::next_integer() {
  void* object = nullptr;
  if (redisGetReply(context_.get(), &object) != REDIS_OK) {
    throw std::runtime_error(std::string("hiredis: ") + context_->errstr);
  }
  const std::unique_ptr<void, void (*)(void*)> reply(object, &freeReplyObject);
  const auto* const read = static_cast<const redisReply*>(object);
  if (read->type != REDIS_REPLY_INTEGER) {
    throw std::runtime_error("hiredis: no integer but " + std::string(read->str, read->len));
  }
  return read->integer;
}

}  // namespace rushgate::bench
