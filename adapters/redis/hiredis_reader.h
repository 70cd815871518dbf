// Makes hiredis's parser build Replies in place. Private to this room.
#pragma once

struct redisReader;

namespace rushgate {

/// From now on redisReaderGetReply() on `reader` yields a Reply*, owned by who asked for it.
/// Unlike hiredis's own objects these tell a null bulk string from a null array.
void make_reader_build_replies(redisReader& reader);

}  // namespace rushgate
