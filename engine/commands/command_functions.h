// The functions of all commands, by family. Each is defined in the family's file (strings.cc,
// streams.cc, …), below its syntax.
#pragma once

#include <rushgate/reply.h>

namespace rushgate {

class CommandContext;

// ---- connection.cc ----
Reply auth_command(CommandContext&);
Reply echo_command(CommandContext&);
Reply hello_command(CommandContext&);
Reply ping_command(CommandContext&);
Reply quit_command(CommandContext&);
Reply reset_command(CommandContext&);
Reply select_command(CommandContext&);

// ---- clients.cc ----
Reply client_getname_command(CommandContext&);
Reply client_getredir_command(CommandContext&);
Reply client_help_command(CommandContext&);
Reply client_id_command(CommandContext&);
Reply client_info_command(CommandContext&);
Reply client_kill_command(CommandContext&);
Reply client_list_command(CommandContext&);
Reply client_no_evict_command(CommandContext&);
Reply client_reply_command(CommandContext&);
Reply client_setname_command(CommandContext&);
Reply client_unblock_command(CommandContext&);

// ---- pubsub.cc ----
Reply subscribe_command(CommandContext&);
Reply unsubscribe_command(CommandContext&);
Reply psubscribe_command(CommandContext&);
Reply punsubscribe_command(CommandContext&);
Reply ssubscribe_command(CommandContext&);
Reply sunsubscribe_command(CommandContext&);
Reply publish_command(CommandContext&);
Reply spublish_command(CommandContext&);
Reply pubsub_channels_command(CommandContext&);
Reply pubsub_numpat_command(CommandContext&);
Reply pubsub_numsub_command(CommandContext&);
Reply pubsub_shardchannels_command(CommandContext&);
Reply pubsub_shardnumsub_command(CommandContext&);
Reply pubsub_help_command(CommandContext&);

// ---- transactions.cc ----
Reply multi_command(CommandContext&);
Reply exec_command(CommandContext&);
Reply discard_command(CommandContext&);
Reply watch_command(CommandContext&);
Reply unwatch_command(CommandContext&);

// ---- server.cc ----
Reply time_command(CommandContext&);
Reply dbsize_command(CommandContext&);
Reply flushdb_command(CommandContext&);
Reply flushall_command(CommandContext&);
Reply swapdb_command(CommandContext&);

// ---- info.cc ----
Reply info_command(CommandContext&);

// ---- shutdown.cc ----
Reply shutdown_command(CommandContext&);

// ---- command_info.cc, command_docs.cc ----
Reply command_command(CommandContext&);
Reply command_count_command(CommandContext&);
Reply command_docs_command(CommandContext&);
Reply command_getkeys_command(CommandContext&);
Reply command_getkeysandflags_command(CommandContext&);
Reply command_help_command(CommandContext&);
Reply command_info_command(CommandContext&);
Reply command_list_command(CommandContext&);

// ---- config.cc ----
Reply config_get_command(CommandContext&);
Reply config_set_command(CommandContext&);
Reply config_resetstat_command(CommandContext&);
Reply config_rewrite_command(CommandContext&);
Reply config_help_command(CommandContext&);

// ---- keys.cc ----
Reply del_command(CommandContext&);
Reply exists_command(CommandContext&);
Reply type_command(CommandContext&);
Reply touch_command(CommandContext&);
Reply keys_command(CommandContext&);
Reply randomkey_command(CommandContext&);
Reply rename_command(CommandContext&);
Reply renamenx_command(CommandContext&);
Reply move_command(CommandContext&);
Reply copy_command(CommandContext&);

// ---- object_info.cc ----
Reply object_encoding_command(CommandContext&);
Reply object_freq_command(CommandContext&);
Reply object_idletime_command(CommandContext&);
Reply object_refcount_command(CommandContext&);
Reply object_help_command(CommandContext&);

// ---- scan.cc ----
Reply scan_command(CommandContext&);
Reply hscan_command(CommandContext&);
Reply sscan_command(CommandContext&);
Reply zscan_command(CommandContext&);

// ---- expiry.cc ----
Reply expire_command(CommandContext&);
Reply pexpire_command(CommandContext&);
Reply expireat_command(CommandContext&);
Reply pexpireat_command(CommandContext&);
Reply ttl_command(CommandContext&);
Reply pttl_command(CommandContext&);
Reply expiretime_command(CommandContext&);
Reply pexpiretime_command(CommandContext&);
Reply persist_command(CommandContext&);

// ---- strings.cc ----
Reply get_command(CommandContext&);
Reply set_command(CommandContext&);
Reply setnx_command(CommandContext&);
Reply mget_command(CommandContext&);
Reply mset_command(CommandContext&);
Reply msetnx_command(CommandContext&);
Reply setex_command(CommandContext&);
Reply psetex_command(CommandContext&);
Reply getset_command(CommandContext&);
Reply getdel_command(CommandContext&);
Reply getex_command(CommandContext&);

// ---- string_ranges.cc, lcs.cc ----
Reply strlen_command(CommandContext&);
Reply append_command(CommandContext&);
Reply setrange_command(CommandContext&);
Reply getrange_command(CommandContext&);
Reply lcs_command(CommandContext&);

// ---- string_numbers.cc ----
Reply incrbyfloat_command(CommandContext&);
Reply incr_command(CommandContext&);
Reply incrby_command(CommandContext&);
Reply decr_command(CommandContext&);
Reply decrby_command(CommandContext&);

// ---- hashes.cc ----
Reply hget_command(CommandContext&);
Reply hset_command(CommandContext&);
Reply hmget_command(CommandContext&);
Reply hgetall_command(CommandContext&);
Reply hincrby_command(CommandContext&);
Reply hdel_command(CommandContext&);
Reply hlen_command(CommandContext&);
Reply hexists_command(CommandContext&);
Reply hsetnx_command(CommandContext&);
Reply hmset_command(CommandContext&);
Reply hincrbyfloat_command(CommandContext&);
Reply hkeys_command(CommandContext&);
Reply hvals_command(CommandContext&);
Reply hstrlen_command(CommandContext&);
Reply hrandfield_command(CommandContext&);

// ---- sets.cc ----
Reply sadd_command(CommandContext&);
Reply srem_command(CommandContext&);
Reply sismember_command(CommandContext&);
Reply smismember_command(CommandContext&);
Reply scard_command(CommandContext&);
Reply smembers_command(CommandContext&);
Reply smove_command(CommandContext&);
Reply spop_command(CommandContext&);
Reply srandmember_command(CommandContext&);

// ---- set_operations.cc ----
Reply sinter_command(CommandContext&);
Reply sinterstore_command(CommandContext&);
Reply sintercard_command(CommandContext&);
Reply sunion_command(CommandContext&);
Reply sunionstore_command(CommandContext&);
Reply sdiff_command(CommandContext&);
Reply sdiffstore_command(CommandContext&);

// ---- lists.cc ----
Reply lpush_command(CommandContext&);
Reply rpush_command(CommandContext&);
Reply lpushx_command(CommandContext&);
Reply rpushx_command(CommandContext&);
Reply llen_command(CommandContext&);
Reply lindex_command(CommandContext&);
Reply lrange_command(CommandContext&);
Reply lset_command(CommandContext&);
Reply linsert_command(CommandContext&);
Reply lrem_command(CommandContext&);
Reply ltrim_command(CommandContext&);
Reply lpos_command(CommandContext&);

// ---- list_pops.cc ----
Reply lpop_command(CommandContext&);
Reply rpop_command(CommandContext&);
Reply lmpop_command(CommandContext&);
Reply lmove_command(CommandContext&);
Reply rpoplpush_command(CommandContext&);
Reply blpop_command(CommandContext&);
Reply brpop_command(CommandContext&);
Reply blmpop_command(CommandContext&);
Reply blmove_command(CommandContext&);
Reply brpoplpush_command(CommandContext&);
// ---- sorted_sets.cc ----
Reply zadd_command(CommandContext&);
Reply zincrby_command(CommandContext&);
Reply zrem_command(CommandContext&);
Reply zcard_command(CommandContext&);
Reply zscore_command(CommandContext&);
Reply zmscore_command(CommandContext&);
Reply zrank_command(CommandContext&);
Reply zrevrank_command(CommandContext&);
Reply zrandmember_command(CommandContext&);

// ---- sorted_set_ranges.cc ----
Reply zcount_command(CommandContext&);
Reply zlexcount_command(CommandContext&);
Reply zrange_command(CommandContext&);
Reply zrangestore_command(CommandContext&);
Reply zrevrange_command(CommandContext&);
Reply zrangebyscore_command(CommandContext&);
Reply zrevrangebyscore_command(CommandContext&);
Reply zrangebylex_command(CommandContext&);
Reply zrevrangebylex_command(CommandContext&);
Reply zremrangebyrank_command(CommandContext&);
Reply zremrangebyscore_command(CommandContext&);
Reply zremrangebylex_command(CommandContext&);

// ---- sorted_set_pops.cc ----
Reply zpopmin_command(CommandContext&);
Reply zpopmax_command(CommandContext&);
Reply zmpop_command(CommandContext&);
Reply bzpopmin_command(CommandContext&);
Reply bzpopmax_command(CommandContext&);
Reply bzmpop_command(CommandContext&);

// ---- sorted_set_algebra.cc ----
Reply zunion_command(CommandContext&);
Reply zunionstore_command(CommandContext&);
Reply zinter_command(CommandContext&);
Reply zinterstore_command(CommandContext&);
Reply zintercard_command(CommandContext&);
Reply zdiff_command(CommandContext&);
Reply zdiffstore_command(CommandContext&);

// ---- streams.cc ----
Reply xadd_command(CommandContext&);
Reply xsetid_command(CommandContext&);
Reply xlen_command(CommandContext&);
Reply xrange_command(CommandContext&);
Reply xrevrange_command(CommandContext&);
Reply xdel_command(CommandContext&);
Reply xtrim_command(CommandContext&);
Reply xread_command(CommandContext&);

// ---- stream_groups.cc ----
Reply xgroup_create_command(CommandContext&);
Reply xgroup_setid_command(CommandContext&);
Reply xgroup_destroy_command(CommandContext&);
Reply xgroup_createconsumer_command(CommandContext&);
Reply xgroup_delconsumer_command(CommandContext&);
Reply xgroup_help_command(CommandContext&);
Reply xreadgroup_command(CommandContext&);
Reply xack_command(CommandContext&);
Reply xpending_command(CommandContext&);
Reply xclaim_command(CommandContext&);
Reply xautoclaim_command(CommandContext&);

// ---- stream_info.cc ----
Reply xinfo_stream_command(CommandContext&);
Reply xinfo_groups_command(CommandContext&);
Reply xinfo_consumers_command(CommandContext&);
Reply xinfo_help_command(CommandContext&);

// ---- scripting.cc ----
Reply eval_command(CommandContext&);
Reply evalsha_command(CommandContext&);
Reply eval_ro_command(CommandContext&);
Reply evalsha_ro_command(CommandContext&);
Reply fcall_command(CommandContext&);
Reply script_load_command(CommandContext&);
Reply script_exists_command(CommandContext&);
Reply script_flush_command(CommandContext&);
Reply script_kill_command(CommandContext&);
Reply script_debug_command(CommandContext&);
Reply script_help_command(CommandContext&);

}  // namespace rushgate
