// Makes hiredis's parser build Replies in place. Private to this module.
#pragma once

struct redisReader;

namespace rushgate {

/// Makes redisReaderGetReply() on `reader` return a Reply*, owned by the caller. Unlike hiredis's
/// own objects, it distinguishes a null bulk string from a null array.
void make_reader_build_replies(redisReader& reader);

}  // namespace rushgate
