#include "engine/redis/keyspace/string_value.h"

namespace rushgate {

StringValue::StringValue(const StringValue& other) : data_(other.data_) {
  if (data_.form == Form::kBlock) {
    hold(other.text());
  } else if (data_.form == Form::kBuffer) {
    store(std::make_unique<std::string>(other.text()).release());
  }
}

/// Becomes a string. The old value is not released.
void StringValue::hold(std::string_view text) {
  if (text.size() <= kPlaceBytes) {
    text.copy(data_.place.data(), text.size());
    data_.inline_size = static_cast<std::uint8_t>(text.size()) & 0xFU;
    data_.form = Form::kInline;
    return;
  }
  auto block = std::make_unique_for_overwrite<char[]>(text.size());
  text.copy(block.get(), text.size());
  const std::size_t size = text.size();
  store(block.release());
  std::memcpy(data_.place.data() + sizeof(char*), &size, kPlaceBytes - sizeof(char*));
  data_.form = Form::kBlock;
}

void StringValue::free_heap() {
  if (data_.form == Form::kBlock) delete[] load<char*>();
  if (data_.form == Form::kBuffer) delete load<std::string*>();
}

}  // namespace rushgate
