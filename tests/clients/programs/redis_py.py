"""Uses redis-py in all its parts. Usage: redis_py.py <socket>"""

import sys
import threading

import redis
from redis.exceptions import RedisError

SOCKET = sys.argv[1]
PATIENCE = 20  # seconds, for messages
db = redis.Redis(unix_socket_path=SOCKET, decode_responses=True)
raw = redis.Redis(unix_socket_path=SOCKET)


def show(subject, *values):
    print(subject, *(repr(value) for value in values))


def failure(call, *arguments, **options):
    """Returns the class and the message of the error that a call raises."""
    try:
        return "no error", call(*arguments, **options)
    except RedisError as error:
        return type(error).__name__, str(error)


def strings():
    show("set", db.set("k", "v"), db.get("k"), db.get("none"))
    show("set options", db.set("k", "w", nx=True), db.set("k", "w", xx=True, get=True), db.getdel("k"))
    show("several", db.mset({"a": 1, "b": 2}), db.mget("a", "none", "b"), db.msetnx({"a": 1, "c": 2}))
    show("numbers", db.incr("n", 5), db.decr("n"), db.incrbyfloat("f", 1.5), db.incrbyfloat("f", -0.25))
    show("ranges", db.append("s", "hello"), db.setrange("s", 6, "world"), db.getrange("s", -5, -1))
    every_byte = bytes(range(256))
    show("bytes", raw.set("raw", every_byte), raw.get("raw") == every_byte, raw.strlen("raw"))
    show("bits", db.setbit("bits", 7, 1), db.getbit("bits", 7), db.bitcount("bits"), db.bitpos("bits", 1))
    show("bitop", db.bitop("NOT", "inverted", "bits"), raw.get("inverted"))
    fields = db.bitfield("fields", default_overflow="SAT").set("u8", 0, 200).incrby("u8", 0, 100)
    show("bitfield", fields.get("u4", 0).execute())
    show("keys", sorted(db.keys("*")), db.type("s"), db.rename("s", "t"), db.exists("s", "t"), db.copy("t", "u"))
    show("dump", db.restore("v", 0, raw.dump("u")), db.get("v"), db.delete("u", "v"), db.unlink("t", "none"))


def expiry():
    db.set("k", "v", ex=100)
    show("ttl", 0 < db.ttl("k") <= 100, 99_000 < db.pttl("k") <= 100_000)
    show("persist", db.persist("k"), db.ttl("k"), db.ttl("none"))
    show("at", db.expireat("k", 4_000_000_000), db.expiretime("k"), db.pexpiretime("k"))
    show("conditions", db.expire("k", 10, nx=True), db.expire("k", 10, gt=True), db.expire("k", 10, lt=True))
    show("getex", db.getex("k", persist=True), db.ttl("k"))
    show("past", db.pexpireat("k", 1), db.exists("k"))


def hashes():
    show("hset", db.hset("h", mapping={"a": 1, "b": "two", "c": 3.5}), db.hset("h", "a", 2), db.hsetnx("h", "a", 3))
    show("hget", db.hget("h", "b"), db.hmget("h", "a", "none"), db.hgetall("h"), db.hlen("h"), db.hexists("h", "c"))
    show("numbers", db.hincrby("h", "a", 40), db.hincrbyfloat("h", "c", 0.25), db.hstrlen("h", "b"))
    show("parts", db.hkeys("h"), db.hvals("h"), db.hdel("h", "a", "none"))
    db.hset("one", "f", "v")
    show("random", db.hrandfield("one", -2, withvalues=True))


def lists():
    show("push", db.rpush("l", "a", "b", "c", "b"), db.lpush("l", "z"), db.rpushx("none", "x"))
    show("range", db.lrange("l", 0, -1), db.lindex("l", -1), db.llen("l"), db.lpos("l", "b", count=0))
    show("edit", db.linsert("l", "before", "c", "x"), db.lset("l", 0, "y"), db.lrem("l", -1, "b"), db.ltrim("l", 0, 3))
    show("move", db.lmove("l", "m", "LEFT", "RIGHT"), db.rpoplpush("l", "m"), db.lrange("m", 0, -1))
    show("pop", db.lpop("l", 2), db.rpop("m"), db.lmpop(2, "l", "m", direction="LEFT", count=5), db.exists("l", "m"))
    db.rpush("l", 3, 1, 2)
    show("sort", db.sort("l", desc=True), db.sort("l", store="sorted"), db.lrange("sorted", 0, -1))


def sets():
    show("add", db.sadd("s", "a", "b", "c"), db.sadd("t", "b", "c", "d"), db.scard("s"), db.smismember("s", ["a", "d"]))
    show("combine", sorted(db.sinter("s", "t")), sorted(db.sunion("s", "t")), sorted(db.sdiff("s", "t")))
    show("store", db.sinterstore("u", "s", "t"), db.sintercard(2, ["s", "t"], limit=1), db.smove("s", "t", "a"))
    show("members", sorted(db.smembers("t")), db.srem("t", "a", "none"), sorted(db.srandmember("s", 5)))
    show("pop", sorted(db.spop("s", 9)), db.exists("s"))


def sorted_sets():
    show("add", db.zadd("z", {"a": 1, "b": 2.5, "c": "+inf"}), db.zadd("z", {"a": 5}, gt=True, ch=True))
    show("scores", db.zscore("z", "b"), db.zmscore("z", ["a", "none"]), db.zincrby("z", 0.5, "b"), db.zrank("z", "c"))
    show("range", db.zrange("z", 0, -1, withscores=True), db.zrevrange("z", 0, 0), db.zcount("z", "(3", "+inf"))
    show("by score", db.zrange("z", "+inf", 3, desc=True, byscore=True, offset=1, num=2), db.zrangebyscore("z", 0, 5))
    db.zadd("x", dict.fromkeys("abcde", 0))
    show("by name", db.zrangebylex("x", "[b", "(e"), db.zlexcount("x", "-", "+"), db.zremrangebylex("x", "-", "[b"))
    show("combine", db.zunion({"z": 2, "x": 1}, aggregate="MAX", withscores=True), db.zinter(["z", "x"]))
    show("store", db.zrangestore("y", "z", 0, 1), db.zdiffstore("w", ["z", "x"]), db.zintercard(2, ["z", "x"]))
    show("pop", db.zpopmin("z"), db.zpopmax("z", 5), db.zmpop(2, ["z", "x"], min=True, count=2))
    show("places", db.geoadd("g", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")))
    show("distance", db.geodist("g", "Palermo", "Catania", "km"), db.geohash("g", "Palermo"))
    show("near", db.geosearch("g", longitude=15, latitude=37, radius=100, unit="km", withdist=True))
    show("estimate", db.pfadd("p", "a", "b"), db.pfadd("q", "b", "c"), db.pfcount("p", "q"), db.pfmerge("r", "p", "q"))


def streams():
    show("add", [db.xadd("s", {"n": n}, id=f"{n}-0") for n in range(1, 6)], db.xlen("s"))
    show("range", db.xrange("s", "2", "(4"), db.xrevrange("s", count=1), db.xread({"s": "3"}, count=1))
    show("group", db.xgroup_create("s", "g", "0"), db.xgroup_create("new", "g", "$", mkstream=True))
    show("read", db.xreadgroup("g", "alice", {"s": ">"}, count=3), db.xreadgroup("g", "bob", {"s": ">"}))
    show("acknowledge", db.xack("s", "g", "1-0", "9-0"), db.xpending("s", "g"))
    pending = db.xpending_range("s", "g", "-", "+", 10, consumername="alice")
    show("pending", [(one["message_id"], one["consumer"], one["times_delivered"]) for one in pending])
    show("claim", db.xclaim("s", "g", "carol", 0, ["2-0"]), db.xautoclaim("s", "g", "carol", 0, count=1, justid=True))
    show("history", db.xreadgroup("g", "carol", {"s": "0"}), db.xdel("s", "2-0"), db.xtrim("s", maxlen=2, approximate=False))
    show("deleted", db.xreadgroup("g", "carol", {"s": "0"}))
    show("info", db.xinfo_stream("s")["last-generated-id"], db.xinfo_groups("s"))
    show("consumers", [(one["name"], one["pending"]) for one in db.xinfo_consumers("s", "g")])
    show("end", db.xgroup_delconsumer("s", "g", "carol"), db.xgroup_setid("s", "g", "0"), db.xgroup_destroy("s", "g"))
    show("blocked", while_blocked(lambda: db.xread({"s": "$"}, block=PATIENCE * 1000), lambda: db.xadd("s", {"a": 1}, id="9-9")))


def pipelines():
    with db.pipeline(transaction=False) as pipe:
        pipe.set("a", 1).incr("a").lpush("a", "x").get("a")
        replies = pipe.execute(raise_on_error=False)
        show("pipeline", replies[:2], str(replies[2]), replies[3])
    with db.pipeline(transaction=False) as pipe:
        for n in range(1_000):
            pipe.incrby("sum", n)
        show("long pipeline", pipe.execute()[-1])


def transactions():
    with db.pipeline() as pipe:
        show("exec", pipe.set("a", 1).incr("a").sadd("s", "x").execute())
        pipe.incr("a").lpush("s", "x").incr("a")
        show("failing command", failure(pipe.execute), db.get("a"))
        pipe.watch("a")
        db.set("a", 7)
        pipe.multi()
        pipe.set("a", 8)
        show("watch", failure(pipe.execute)[0], db.get("a"))
        pipe.watch("a")
        pipe.multi()
        show("unchanged", pipe.set("a", 8).get("a").execute())
    show("retried", db.transaction(lambda pipe: pipe.multi() or pipe.incrby("a", 2), "a"))
    pipe = db.pipeline().execute_command("NOSUCH").set("a", 9)
    show("aborted", failure(pipe.execute), db.get("a"))


def scripts():
    script = db.register_script("redis.call('SET', KEYS[1], ARGV[1]); return {1, 'two', false, {3.9}}")
    show("loaded", script(keys=["k"], args=["v"]), db.get("k"), db.script_exists(script.sha, "0" * 40))
    show("reloaded", db.script_flush(), failure(db.evalsha, script.sha, 0)[0], script(keys=["k"], args=["w"]), db.get("k"))
    show("in a pipeline", script_in_pipeline(script))
    show("error", failure(db.eval, "return redis.call('LPUSH', KEYS[1], 'x')", 1, "k"))
    show("raised", failure(db.eval, "return redis.error_reply('MINE no')", 0), failure(db.eval, "return {", 0)[0])
    show("status", db.eval("return redis.status_reply('FINE')", 0), db.eval("return cjson.encode({a = {1, 2}})", 0))
    show("read only", failure(db.eval_ro, "return redis.call('SET', KEYS[1], 'x')", 1, "k"))


def script_in_pipeline(script):
    db.script_flush()
    with db.pipeline() as pipe:
        script(keys=["k"], args=["x"], client=pipe)
        return pipe.get("k").execute()


def functions():
    library = """#!lua name=shop
redis.register_function('buy', function(keys, args) return redis.call('DECRBY', keys[1], args[1]) end)
redis.register_function{function_name='stock', flags={'no-writes'},
                        callback=function(keys) return redis.call('GET', keys[1]) end}"""
    show("load", db.function_load(library), failure(db.function_load, library), db.function_load(library, replace=True))
    db.set("stock", 10)
    show("call", db.fcall("buy", 1, "stock", 3), db.fcall_ro("stock", 1, "stock"), failure(db.fcall_ro, "buy", 1, "stock", 1))
    payload = db.function_dump()
    show("delete", db.function_delete("shop"), failure(db.fcall, "buy", 1, "stock", 1), db.function_list("shop"))
    show("restore", db.function_restore(payload), db.fcall("buy", 1, "stock", 1), db.function_flush())


def messages():
    with db.pubsub() as listener:
        listener.subscribe("news", "sport")
        listener.psubscribe("n*")
        show("subscribe", [listener.get_message(timeout=PATIENCE) for _ in range(3)])
        show("publish", db.publish("news", "first"), db.publish("none", "lost"))
        show("messages", [listener.get_message(timeout=PATIENCE) for _ in range(3)])
        show("numbers", db.pubsub_channels("s*"), db.pubsub_numsub("news", "none"), db.pubsub_numpat())
        listener.unsubscribe("news")
        show("unsubscribe", listener.get_message(timeout=PATIENCE), db.publish("news", "second"))
        show("pattern", listener.get_message(timeout=PATIENCE))


def notifications():
    show("config", db.config_set("notify-keyspace-events", "KEA"), db.config_get("notify-keyspace-events"))
    with db.pubsub(ignore_subscribe_messages=True) as listener:
        listener.psubscribe("__key*__:*")
        listener.get_message(timeout=PATIENCE)
        db.set("k", "v")
        db.lpush("l", "x")
        db.lpop("l")
        db.rename("k", "renamed")
        db.set("short", "v", px=1)
        events = []
        while not events or events[-1] != ("__keyevent@0__:expired", "short"):
            message = listener.get_message(timeout=PATIENCE)
            events.append((message["channel"], message["data"]))
        show("events", *events)
    db.config_set("notify-keyspace-events", "")


def iterators():
    db.mset({f"key:{n}": n for n in range(500)})
    db.sadd("members", *range(600))
    db.zadd("scores", {str(n): n for n in range(600)})
    db.hset("fields", mapping={str(n): n for n in range(600)})
    show("keys", len(set(db.scan_iter("key:*", count=50))), sorted(db.scan_iter("key:49?")))
    show("types", sorted(db.scan_iter(_type="zset")), sorted(db.scan_iter(_type="hash", count=1_000)))
    show("members", sum(int(member) for member in set(db.sscan_iter("members"))))
    show("scores", sum(score for _, score in set(db.zscan_iter("scores"))))
    show("fields", sum(int(value) for _, value in set(db.hscan_iter("fields", match="1*"))))


def while_blocked(call, then):
    """Returns the reply of a blocking call. `then` runs while it is blocked."""
    replies = []
    thread = threading.Thread(target=lambda: replies.append(call()))
    thread.start()
    while thread.is_alive() and db.info("clients")["blocked_clients"] == 0:
        pass
    then()
    thread.join()
    return replies[0]


def blocking():
    show("blpop", while_blocked(lambda: db.blpop(["l", "m"], PATIENCE), lambda: db.rpush("m", "x", "y")))
    show("brpop", db.brpop("m", PATIENCE), db.brpop("m", 0.001))
    show("blmove", while_blocked(lambda: db.blmove("l", "m", PATIENCE), lambda: db.rpush("l", "moved")), db.lrange("m", 0, -1))
    show("blmpop", while_blocked(lambda: db.blmpop(PATIENCE, 2, "l", "n", direction="RIGHT"), lambda: db.rpush("n", 1)))
    show("bzpopmin", while_blocked(lambda: db.bzpopmin("z", PATIENCE), lambda: db.zadd("z", {"a": 1.5, "b": 2})))
    lock = db.lock("lock", timeout=100)
    other = db.lock("lock", timeout=100)
    show("lock", lock.acquire(), other.acquire(blocking=False), lock.reacquire(), lock.release(), other.acquire())
    show("lost lock", db.delete("lock"), failure(other.release))


def errors():
    db.set("k", "v")
    show("type", failure(db.lpush, "k", "x"), failure(db.incr, "k"))
    show("arguments", failure(db.execute_command, "GET"), failure(db.execute_command, "NOSUCH", "a"))
    show("syntax", failure(db.execute_command, "SET", "k", "v", "EX", "0"), failure(db.execute_command, "SET", "k", "v", "ZZ"))
    show("group", failure(db.xreadgroup, "g", "c", {"none": ">"}), failure(db.rename, "none", "k"))
    show("script", failure(db.evalsha, "0" * 40, 0))
    show("password", failure(redis.Redis(unix_socket_path=SOCKET, username="reader", password="wrong").ping))


def connections():
    named = redis.Redis(unix_socket_path=SOCKET, db=3, client_name="named", decode_responses=True)
    show("database", named.set("here", 1), db.exists("here"), named.dbsize(), named.move("here", 0), db.get("here"))
    show("clients", named.client_getname(), [one["db"] for one in db.client_list() if one["name"] == "named"])
    show("server", db.ping(), db.echo("hi"), db.object("encoding", "here"), db.info("keyspace"), db.lastsave() is not None)
    with db.monitor() as monitor:
        named.get("seen")
        show("monitor", next(one["command"] for one in monitor.listen() if one["db"] == 3))


for part in (strings, expiry, hashes, lists, sets, sorted_sets, streams, pipelines, transactions, scripts,
             functions, messages, notifications, iterators, blocking, errors, connections):
    print(f"== {part.__name__}")
    db.flushall()
    part()
