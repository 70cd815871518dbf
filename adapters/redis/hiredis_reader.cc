#include "adapters/redis/hiredis_reader.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

namespace rushgate {
namespace {

// hiredis is C, so an exception must not pass through it. A null pointer means "out of memory" to
// hiredis, and ends the connection.

// An array announces its size before its elements arrive. The announced size reserves no more than
// this.
constexpr std::size_t kReservedMax = 1'024;

/// Returns the place for the value that `task` describes: a new Reply, or the next element of the
/// array above it. The array may move its elements, but those before this one are complete.
Reply* slot_of(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  return &static_cast<Reply*>(task->parent->obj)->mutable_elements().emplace_back();
}

template <class MakeReply>
void* place(const redisReadTask* task, MakeReply make) noexcept {
  try {
    Reply value = make();
    Reply* const slot = slot_of(task);
    *slot = std::move(value);
    return slot;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* create_string(const redisReadTask* task, char* text, std::size_t size) {
  return place(task, [&] {
    const std::string_view bytes(text, size);
    if (task->type == REDIS_REPLY_ERROR) return Reply::error(std::string(bytes));
    if (task->type == REDIS_REPLY_STATUS) return Reply::status(std::string(bytes));
    return Reply::bulk(bytes);
  });
}

// hiredis 1.0 made the size a std::size_t.
template <class Size>
void* create_array(const redisReadTask* task, Size size) {
  return place(task, [&] {
    std::vector<Reply> elements;
    elements.reserve(std::min(static_cast<std::size_t>(size), kReservedMax));
    return Reply::array(std::move(elements));
  });
}

void* create_integer(const redisReadTask* task, long long value) {
  return place(task, [&] { return Reply::integer(value); });
}

void* create_nil(const redisReadTask* task) {
  return place(task,
               [&] { return task->type == REDIS_REPLY_ARRAY ? Reply::nil_array() : Reply::nil(); });
}

void free_object(void* root) { delete static_cast<Reply*>(root); }

/// Adds the functions of hiredis 1.0 and later, which knows RESP3. A connection has RESP2, but a
/// server may send anything, and in place of a null function hiredis takes the type's number for the
/// object.
template <class Functions>
void add_resp3(Functions& functions) {
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask* task, double value, char* /*text*/,
                                std::size_t /*size*/) {
      return place(task, [&] { return Reply::real(value); });
    };
    functions.createBool = [](const redisReadTask* task, int value) {
      return place(task, [&] { return Reply::boolean(value != 0); });
    };
  }
}

redisReplyObjectFunctions reply_functions() {
  redisReplyObjectFunctions functions{};
  functions.createString = create_string;
  functions.createArray = create_array;
  functions.createInteger = create_integer;
  functions.createNil = create_nil;
  functions.freeObject = free_object;
  add_resp3(functions);
  return functions;
}

}  // namespace

void make_reader_build_replies(redisReader& reader) {
  // hiredis takes a pointer to non-const and does not write through it.
  static redisReplyObjectFunctions functions = reply_functions();
  reader.fn = &functions;
}

void ReplyReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyReader::ReplyReader() : reader_(redisReaderCreate()) { make_reader_build_replies(*reader_); }

void ReplyReader::feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    error_ = reader_->errstr;
  }
}

std::optional<Reply> ReplyReader::next() {
  if (!error_.empty()) return std::nullopt;
  void* object = nullptr;
  if (redisReaderGetReply(reader_.get(), &object) != REDIS_OK) error_ = reader_->errstr;
  if (object == nullptr) return std::nullopt;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  return std::move(*reply);
}

}  // namespace rushgate
