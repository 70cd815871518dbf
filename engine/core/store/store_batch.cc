#include <cassert>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <rushgate/store.h>

namespace rushgate {
namespace {

struct OperationHead {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};

constexpr std::size_t kBytesMax = std::numeric_limits<std::uint32_t>::max();

struct StreamKey {
  std::uint64_t stream;
  StreamId id;
};

template <class T>
T read_as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace

void StoreBatch::add(Operation operation, std::string_view key, std::string_view value) {
  if (key.size() > kBytesMax || value.size() > kBytesMax) throw std::length_error("a record");
  const OperationHead head{static_cast<std::uint32_t>(key.size()),
                           static_cast<std::uint32_t>(value.size())};
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + 1 + sizeof(head) + key.size() + value.size());
  char* to = bytes_.data() + begin;
  *to++ = static_cast<char>(operation);
  std::memcpy(to, &head, sizeof(head));
  to += sizeof(head);
  if (!key.empty()) std::memcpy(to, key.data(), key.size());
  if (!value.empty()) std::memcpy(to + key.size(), value.data(), value.size());
}

std::size_t StoreBatch::begin_record(Operation operation) {
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + 1 + sizeof(OperationHead));
  bytes_[begin] = static_cast<char>(operation);
  return begin;
}

void StoreBatch::end_record(std::size_t begin, std::size_t key_end) {
  const std::size_t key_begin = begin + 1 + sizeof(OperationHead);
  const std::size_t key_bytes = key_end - key_begin;
  const std::size_t value_bytes = bytes_.size() - key_end;
  if (key_bytes > kBytesMax || value_bytes > kBytesMax) throw std::length_error("a record");
  const OperationHead head{static_cast<std::uint32_t>(key_bytes),
                           static_cast<std::uint32_t>(value_bytes)};
  std::memcpy(bytes_.data() + begin + 1, &head, sizeof(head));
}

void StoreBatch::add_stream(Operation operation, std::uint64_t stream, StreamId id,
                            std::string_view bytes) {
  const StreamKey key{stream, id};
  char encoded[sizeof(key)];
  std::memcpy(encoded, &key, sizeof(key));
  add(operation, {encoded, sizeof(encoded)}, bytes);
}

void StoreBatch::drop_streams(std::uint64_t first, std::uint64_t last) {
  assert(first <= last);
  char encoded[sizeof(last)];
  std::memcpy(encoded, &last, sizeof(last));
  add_stream(Operation::kDropStreams, first, {}, {encoded, sizeof(encoded)});
}

void StoreBatch::visit(Visitor& visitor) const {
  const char* at = bytes_.data();
  const char* const end = at + bytes_.size();
  while (at != end) {
    const auto operation = static_cast<Operation>(*at++);
    const auto head = read_as<OperationHead>(at);
    at += sizeof(head);
    const std::string_view key(at, head.key_bytes);
    const std::string_view value(at + head.key_bytes, head.value_bytes);
    at += head.key_bytes + head.value_bytes;
    assert(at <= end);
    switch (operation) {
      case Operation::kPut:
        visitor.put(key, value);
        continue;
      case Operation::kRemove:
        visitor.remove(key);
        continue;
      case Operation::kRemoveRange:
        visitor.remove_range(key, value);
        continue;
      case Operation::kAppendSegment:
      case Operation::kTrimStream:
      case Operation::kRemoveSegment:
      case Operation::kDropStreams:
        break;
    }
    const auto stream = read_as<StreamKey>(key.data());
    if (operation == Operation::kAppendSegment)
      visitor.append_segment(stream.stream, stream.id, value);
    if (operation == Operation::kTrimStream) visitor.trim_stream(stream.stream, stream.id);
    if (operation == Operation::kRemoveSegment) visitor.remove_segment(stream.stream, stream.id);
    if (operation == Operation::kDropStreams) {
      visitor.drop_streams(stream.stream, read_as<std::uint64_t>(value.data()));
    }
  }
}

}  // namespace rushgate
