#include "engine/keyspace/set_records.h"

#include "engine/base/numbers.h"
#include "engine/keyspace/records.h"
#include "engine/keyspace/varint.h"
#include "engine/store/store_batch.h"

namespace rushgate {
namespace {

// A member in a run: signed varint << 1 of an integer; length << 1, + 1, and the bytes of a text.
// The integers that the shift would harm are written as texts.
constexpr std::int64_t kIntegerMax = (std::int64_t{1} << 61) - 1;
constexpr std::uint64_t kIsText = 1;

bool visit_member(RecordReader& reader, absl::FunctionRef<void(std::int64_t member)> integer,
                  absl::FunctionRef<void(std::string_view member)> text) {
  const std::uint64_t head = reader.varint();
  if ((head & kIsText) == 0) {
    if (reader.ok()) integer(unfold(head >> 1));
    return reader.ok();
  }
  const std::string_view bytes = reader.bytes(head >> 1);
  if (reader.ok()) text(bytes);
  return reader.ok();
}

}  // namespace

void SetRecords::add_integer(std::int64_t member) {
  if (member > kIntegerMax || member < -kIntegerMax) return add_text(DecimalText(member));
  RecordWriter(gathered_.bytes).varint(fold(member) << 1);
  ++gathered_.count;
}

void SetRecords::add_text(std::string_view member) {
  RecordWriter(gathered_.bytes).varint(std::uint64_t{member.size()} << 1 | kIsText).rest(member);
  ++gathered_.count;
}

void SetRecords::take_back_to(const Mark& mark) {
  if (gathered_.count <= mark.count) return;
  gathered_.bytes.resize(mark.bytes);
  gathered_.count = mark.count;
}

void SetRecords::complete(StoreBatch& batch, std::uint64_t object_id) {
  if (gathered_.count == 0) return;
  if (gathered_.count == 1 || marks_ > 0) {
    const auto put = [&](std::string_view member) { put_element(batch, object_id, member, {}); };
    visit_set_run(
        gathered_.bytes, [&](std::int64_t member) { put(DecimalText(member)); }, put);
  } else {
    std::string key = element_prefix(RecordKind::kSetRun, object_id);
    RecordReader reader(gathered_.bytes);
    const auto end_key = [&](std::string_view first) { RecordWriter(key).scalar(first); };
    visit_member(
        reader, [&](std::int64_t first) { end_key(DecimalText(first)); }, end_key);
    batch.put(key, reader.rest());
    has_runs_ = true;
  }
  gathered_.bytes.clear();
  gathered_.count = 0;
}

void SetRecords::record_removal(StoreBatch& batch, std::uint64_t object_id,
                                std::string_view member) {
  if (!has_runs_) return remove_element(batch, object_id, member);
  put_element(batch, object_id, member, kRemoved);
  ++marks_;
}

void SetRecords::start_anew(StoreBatch& batch, std::uint64_t object_id) {
  batch.remove_prefix(element_prefix(RecordKind::kElement, object_id));
  batch.remove_prefix(element_prefix(RecordKind::kSetRun, object_id));
  has_runs_ = false;
  marks_ = 0;
}

bool visit_set_run(std::string_view bytes, absl::FunctionRef<void(std::int64_t member)> integer,
                   absl::FunctionRef<void(std::string_view member)> text) {
  RecordReader reader(bytes);
  while (!reader.at_end()) {
    if (!visit_member(reader, integer, text)) return false;
  }
  return true;
}

}  // namespace rushgate
