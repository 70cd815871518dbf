// A command and its arguments in one block of memory, from the caller to the commit.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/container/inlined_vector.h"

namespace rushgate {

/// Views of a command and its arguments.
using RequestView = std::span<const std::string_view>;

/// An array of byte strings, of which the first is the command's name. A value type. Views stay
/// valid until the request is changed or moved. All arguments together are less than 4 GiB; adding
/// more throws std::length_error and changes nothing.
class Request {
 public:
  using Views = absl::InlinedVector<std::string_view, 16>;

  Request() = default;
  explicit Request(RequestView arguments) {
    for (const std::string_view argument : arguments) add(argument);
  }
  /// Copies `beginning`, and reserves space for so many further arguments and bytes.
  Request(const Request& beginning, std::size_t arguments, std::size_t bytes)
      : ends_(beginning.ends_) {
    reserve(beginning.size() + arguments, beginning.bytes() + bytes);
    bytes_.append(beginning.bytes_);
  }

  /// Returns a request of strings and integers: Request::of("SET", key, 5).
  template <class... Args>
  static Request of(const Args&... args) {
    Request request;
    (request.add(args), ...);
    return request;
  }

  void add(std::string_view bytes) {
    add_part(bytes);
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  template <class Integer>
  requires std::is_integral_v<Integer>
  void add(Integer value) {
    if constexpr (std::is_unsigned_v<Integer>) {
      add_unsigned(value);
    } else {
      add_signed(value);
    }
  }
  /// Appends bytes to the current argument. The next add() completes it.
  void add_part(std::string_view bytes) {
    check_space(bytes.size());
    bytes_.append(bytes);
  }
  /// Ambiguous: write std::string_view(&c, 1) for a string, static_cast<int>(c) for a number.
  void add(char) = delete;

  void reserve(std::size_t arguments, std::size_t bytes) {
    if (arguments > kInlinedArguments) ends_.reserve(arguments);
    bytes_.reserve(bytes);
  }
  void clear() {
    bytes_.clear();
    ends_.clear();
  }

  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  /// Returns the size of all arguments.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  /// Returns the memory that it uses on the heap.
  [[nodiscard]] std::size_t heap_bytes() const;
  /// Returns the memory that its bytes, and views() of them, use.
  [[nodiscard]] std::size_t memory_bytes() const {
    return bytes_.size() + ends_.size() * (sizeof(std::uint32_t) + sizeof(std::string_view));
  }
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    assert(index < ends_.size());
    const std::uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    return {bytes_.data() + begin, ends_[index] - begin};
  }

  /// Returns views of all arguments.
  [[nodiscard]] Views views() const {
    const std::uint32_t* const ends = ends_.data();
    return Views(ViewMaker(bytes_.data(), ends), ViewMaker(bytes_.data(), ends + ends_.size()));
  }

  friend bool operator==(const Request&, const Request&) = default;

 private:
  static constexpr std::size_t kInlinedArguments = 14;
  static constexpr std::size_t kBytesMax = std::numeric_limits<std::uint32_t>::max();

  /// Makes the views of the arguments one after the other, as an iterator, so that Views need not first
  /// be filled with empty ones.
  class ViewMaker {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    ViewMaker(const char* bytes, const std::uint32_t* end) : bytes_(bytes), end_(end) {}

    std::string_view operator*() const { return {bytes_ + begin_, *end_ - begin_}; }
    ViewMaker& operator++() {
      begin_ = *end_++;
      return *this;
    }
    friend std::ptrdiff_t operator-(const ViewMaker& a, const ViewMaker& b) {
      return a.end_ - b.end_;
    }

   private:
    const char* bytes_;
    std::uint32_t begin_ = 0;
    const std::uint32_t* end_;
  };

  void add_signed(std::int64_t value);
  void add_unsigned(std::uint64_t value);

  /// Throws if the end of an argument would not fit 32 bits.
  void check_space(std::size_t bytes) const {
    if (bytes > kBytesMax - bytes_.size()) [[unlikely]]
      fail_too_long();
  }
  [[noreturn]] static void fail_too_long() {
    throw std::length_error("a request of 4 GiB or more");
  }

  std::string bytes_;                                           // all arguments, concatenated
  absl::InlinedVector<std::uint32_t, kInlinedArguments> ends_;  // end of each argument in bytes_
};

}  // namespace rushgate
