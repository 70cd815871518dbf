// MessagePack's first bytes, each of which defines the type that follows. Private to the script
// module. The format: https://github.com/msgpack/msgpack/blob/master/spec.md
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate::message_pack {

inline constexpr std::uint8_t kNil = 0xC0;
inline constexpr std::uint8_t kFalse = 0xC2;
inline constexpr std::uint8_t kTrue = 0xC3;
inline constexpr std::uint8_t kFloat32 = 0xCA;
inline constexpr std::uint8_t kFloat64 = 0xCB;
inline constexpr std::uint8_t kUint8 = 0xCC;
inline constexpr std::uint8_t kUint16 = 0xCD;
inline constexpr std::uint8_t kUint32 = 0xCE;
inline constexpr std::uint8_t kUint64 = 0xCF;
inline constexpr std::uint8_t kInt8 = 0xD0;
inline constexpr std::uint8_t kInt16 = 0xD1;
inline constexpr std::uint8_t kInt32 = 0xD2;
inline constexpr std::uint8_t kInt64 = 0xD3;
inline constexpr std::uint8_t kText8 = 0xD9;
inline constexpr std::uint8_t kText16 = 0xDA;
inline constexpr std::uint8_t kText32 = 0xDB;
inline constexpr std::uint8_t kArray16 = 0xDC;
inline constexpr std::uint8_t kArray32 = 0xDD;
inline constexpr std::uint8_t kMap16 = 0xDE;
inline constexpr std::uint8_t kMap32 = 0xDF;

// Small numbers and lengths are part of the first byte.
inline constexpr std::uint8_t kSmallMap = 0x80;
inline constexpr std::uint8_t kSmallArray = 0x90;
inline constexpr std::uint8_t kSmallText = 0xA0;
inline constexpr std::size_t kSmallLengthMax = 0x0F;
inline constexpr std::size_t kSmallTextMax = 0x1F;
inline constexpr std::int64_t kSmallIntegerMin = -32;
inline constexpr std::int64_t kSmallIntegerMax = 127;

}  // namespace rushgate::message_pack
