#include "engine/redis/commands/hyperloglog.h"

#include <algorithm>

namespace rushgate::hll {
namespace {

constexpr std::string_view kMagic = "HYLL";
constexpr std::size_t kFormOffset = 4;

// ---- Runs of the sparse form ----

constexpr std::size_t kShortZerosMax = 64;
constexpr std::size_t kValuesMax = 4;
constexpr std::uint8_t kSparseValueMax = 32;

struct Run {
  enum class Kind : std::uint8_t { kZeros, kLongZeros, kValues };

  Kind kind;
  std::size_t registers;
  std::uint8_t value;  // of kValues

  [[nodiscard]] std::size_t bytes() const { return kind == Kind::kLongZeros ? 2 : 1; }
};

/// Reads the run at `offset`, which must be inside. A second byte that is missing counts as zero.
Run read_run(std::string_view bytes, std::size_t offset) {
  const auto first = static_cast<std::uint8_t>(bytes[offset]);
  if ((first & 0x80) != 0) {
    return {Run::Kind::kValues, (first & 0x3U) + 1,
            static_cast<std::uint8_t>((first >> 2 & 0x1F) + 1)};
  }
  if ((first & 0x40) == 0) return {Run::Kind::kZeros, (first & 0x3FU) + 1, 0};
  const bool has_second = offset + 1 < bytes.size();
  const auto second = static_cast<std::uint8_t>(has_second ? bytes[offset + 1] : 0);
  return {Run::Kind::kLongZeros, ((first & 0x3FU) << 8 | second) + 1, 0};
}

char values_byte(std::uint8_t value, std::size_t registers) {
  return static_cast<char>(0x80U | static_cast<unsigned>(value - 1) << 2 | (registers - 1));
}

void append_zeros(std::size_t registers, std::string& out) {
  if (registers == 0) return;
  const std::size_t number = registers - 1;
  if (registers > kShortZerosMax) out += static_cast<char>(0x40U | number >> 8);
  out += static_cast<char>(number & 0xFF);
}

void append_values(std::uint8_t value, std::size_t registers, std::string& out) {
  if (registers > 0) out += values_byte(value, registers);
}

/// Calls visit(const Run&, std::size_t index) for the runs of a sparse one and their first
/// registers, until it returns false.
template <class Visit>
void for_each_run(std::string_view bytes, Visit visit) {
  std::size_t index = 0;
  for (std::size_t offset = kHeaderBytes; offset < bytes.size();) {
    const Run run = read_run(bytes, offset);
    if (!visit(run, index)) return;
    index += run.registers;
    offset += run.bytes();
  }
}

/// Calls visit(std::size_t index, std::uint8_t value) for the registers of a sparse one that are
/// not zero. Returns false if the runs do not have exactly all registers.
template <class Visit>
bool for_each_value(std::string_view bytes, Visit visit) {
  std::size_t end = 0;
  for_each_run(bytes, [&](const Run& run, std::size_t index) {
    end = index + run.registers;
    if (end > kRegisters) return false;
    if (run.kind != Run::Kind::kValues) return true;
    for (std::size_t i = index; i < end; ++i) visit(i, run.value);
    return true;
  });
  return end == kRegisters;
}

// ---- Changes of the sparse form ----

/// The run with a register.
struct FoundRun {
  Run run;
  std::size_t offset;
  std::size_t first;            // its first register
  std::size_t previous_offset;  // of the run before; the same offset if there is none
};

std::optional<FoundRun> find_run(std::string_view bytes, std::size_t index) {
  std::size_t first = 0;
  std::size_t previous = kHeaderBytes;
  for (std::size_t offset = kHeaderBytes; offset < bytes.size();) {
    const Run run = read_run(bytes, offset);
    if (index < first + run.registers) return FoundRun{run, offset, first, previous};
    previous = offset;
    first += run.registers;
    offset += run.bytes();
  }
  return std::nullopt;
}

/// Returns the bytes of a run after one of its registers was set.
std::string split(const FoundRun& found, std::size_t index, std::uint8_t value) {
  const std::size_t before = index - found.first;
  const std::size_t after = found.run.registers - before - 1;
  const bool has_values = found.run.kind == Run::Kind::kValues;
  std::string bytes;
  has_values ? append_values(found.run.value, before, bytes) : append_zeros(before, bytes);
  append_values(value, 1, bytes);
  has_values ? append_values(found.run.value, after, bytes) : append_zeros(after, bytes);
  return bytes;
}

/// Joins neighbouring runs of equal values. Looks at five runs from `offset` on, as Redis does.
void join_values(std::string& bytes, std::size_t offset) {
  constexpr int kLookedAt = 5;
  for (int i = 0; i < kLookedAt && offset < bytes.size(); ++i) {
    const Run run = read_run(bytes, offset);
    const std::size_t next_offset = offset + run.bytes();
    if (run.kind == Run::Kind::kValues && next_offset < bytes.size()) {
      const Run next = read_run(bytes, next_offset);
      const std::size_t registers = run.registers + next.registers;
      if (next.kind == Run::Kind::kValues && next.value == run.value && registers <= kValuesMax) {
        bytes[offset] = values_byte(run.value, registers);
        bytes.erase(next_offset, 1);
        continue;  // it may join the next one, too
      }
    }
    offset = next_offset;
  }
}

Raised raise_dense(std::string& bytes, const Observation& observation) {
  if (dense_register(bytes, observation.index) >= observation.rank) return Raised::kNo;
  const DensePatch patch = patch_dense(bytes, observation.index, observation.rank);
  bytes.replace(patch.offset, patch.size, patch.view());
  return Raised::kYes;
}

Raised raise_after_conversion(std::string& bytes, const Observation& observation) {
  auto dense = to_dense(bytes);
  if (!dense) return Raised::kDamaged;
  bytes = *std::move(dense);
  return raise_dense(bytes, observation);
}

Raised raise_sparse(std::string& bytes, const Observation& observation,
                    std::size_t sparse_bytes_max) {
  if (observation.rank > kSparseValueMax) return raise_after_conversion(bytes, observation);
  const auto found = find_run(bytes, observation.index);
  if (!found) return Raised::kDamaged;
  if (found->run.kind == Run::Kind::kValues && found->run.value >= observation.rank)
    return Raised::kNo;
  const std::string split_run = split(*found, observation.index, observation.rank);
  const std::size_t old_bytes = found->run.bytes();
  if (split_run.size() > old_bytes &&
      bytes.size() + split_run.size() - old_bytes > sparse_bytes_max) {
    return raise_after_conversion(bytes, observation);
  }
  bytes.replace(found->offset, old_bytes, split_run);
  join_values(bytes, found->previous_offset);
  return Raised::kYes;
}

}  // namespace

// ---- The whole string ----

bool has_header(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return false;
  const auto form = static_cast<std::uint8_t>(bytes[kFormOffset]);
  return form == 1 || (form == 0 && bytes.size() == kDenseBytes);
}

std::string make_empty() {
  std::string bytes(kMagic);
  bytes += '\1';
  bytes.resize(kHeaderBytes);
  append_zeros(kRegisters, bytes);
  return bytes;
}

std::optional<std::string> to_dense(std::string_view bytes) {
  if (is_dense(bytes)) return std::string(bytes);
  std::string dense(bytes.substr(0, kHeaderBytes));
  dense[kFormOffset] = 0;
  dense.resize(kDenseBytes);
  const bool is_whole = for_each_value(bytes, [&dense](std::size_t index, std::uint8_t value) {
    const DensePatch patch = patch_dense(dense, index, value);
    dense.replace(patch.offset, patch.size, patch.view());
  });
  if (!is_whole) return std::nullopt;
  return dense;
}

std::string describe_runs(std::string_view bytes, std::size_t bytes_max) {
  std::string description;
  for_each_run(bytes, [&](const Run& run, std::size_t) {
    if (!description.empty()) description += ' ';
    if (run.kind == Run::Kind::kValues) {
      description += "v:" + std::to_string(run.value) + ',';
    } else {
      description += run.kind == Run::Kind::kZeros ? "z:" : "Z:";
    }
    description += std::to_string(run.registers);
    return description.size() <= bytes_max;
  });
  return description;
}

// ---- The last count ----

std::optional<std::uint64_t> last_count(std::string_view bytes) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kCountBytes; ++i)
    count |= std::uint64_t{static_cast<std::uint8_t>(bytes[kCountOffset + i])} << 8 * i;
  if (count >> 63 != 0) return std::nullopt;
  return count;
}

std::array<char, kCountBytes> encode_count(std::uint64_t count) {
  std::array<char, kCountBytes> bytes{};
  for (std::size_t i = 0; i < kCountBytes; ++i) bytes[i] = static_cast<char>(count >> 8 * i & 0xFF);
  return bytes;
}

// ---- Registers ----

bool merge(std::string_view bytes, Registers& registers) {
  const auto raise_to = [&registers](std::size_t index, std::uint8_t value) {
    registers[index] = std::max(registers[index], value);
  };
  if (!is_dense(bytes)) return for_each_value(bytes, raise_to);
  // Three bytes hold four registers.
  for (std::size_t index = 0; index < kRegisters; index += 4) {
    const char* const from = bytes.data() + kHeaderBytes + index / 4 * 3;
    unsigned four = 0;
    for (int i = 0; i < 3; ++i) four |= unsigned{static_cast<std::uint8_t>(from[i])} << 8 * i;
    for (std::size_t i = 0; i < 4; ++i)
      raise_to(index + i, static_cast<std::uint8_t>(four >> 6 * i & 0x3F));
  }
  return true;
}

std::optional<std::uint64_t> estimate(std::string_view bytes) {
  Registers registers{};
  if (!merge(bytes, registers)) return std::nullopt;
  return estimate(registers);
}

// ---- Changes ----

std::uint8_t dense_register(std::string_view bytes, std::size_t index) {
  const std::size_t bit = index * 6;
  const std::size_t offset = kHeaderBytes + bit / 8;
  unsigned pair = static_cast<std::uint8_t>(bytes[offset]);
  if (offset + 1 < bytes.size())
    pair |= unsigned{static_cast<std::uint8_t>(bytes[offset + 1])} << 8;
  return static_cast<std::uint8_t>(pair >> bit % 8 & 0x3F);
}

DensePatch patch_dense(std::string_view bytes, std::size_t index, std::uint8_t value) {
  const std::size_t bit = index * 6;
  DensePatch patch{.offset = kHeaderBytes + bit / 8, .bytes = {}, .size = 1};
  if (bit % 8 > 2) patch.size = 2;
  unsigned pair = 0;
  for (std::size_t i = 0; i < patch.size; ++i)
    pair |= unsigned{static_cast<std::uint8_t>(bytes[patch.offset + i])} << 8 * i;
  pair = (pair & ~(0x3FU << bit % 8)) | unsigned{value} << bit % 8;
  for (std::size_t i = 0; i < patch.size; ++i)
    patch.bytes[i] = static_cast<char>(pair >> 8 * i & 0xFF);
  return patch;
}

Raised raise(std::string& bytes, const Observation& observation, std::size_t sparse_bytes_max) {
  return is_dense(bytes) ? raise_dense(bytes, observation)
                         : raise_sparse(bytes, observation, sparse_bytes_max);
}

}  // namespace rushgate::hll
