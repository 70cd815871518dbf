# Uses the gem redis in all its parts. Usage: ruby_redis.rb <socket>
require 'redis'

SOCKET = ARGV[0]
PATIENCE = 20 # seconds, for blocking commands
$stdout.sync = true
Redis.raise_deprecations = false if Redis.respond_to?(:raise_deprecations=)

def open_client(**options)
  Redis.new(path: SOCKET, read_timeout: 2 * PATIENCE, **options)
end

DB = open_client

def show(subject, *values)
  puts "#{subject} #{values.map(&:inspect).join(' ')}"
end

# Returns the class and the message of the error that the block raises.
def failure
  ['no error', yield]
rescue Redis::BaseError => e
  [e.class, e.message]
end

# Returns the result of the block. `action` runs while the block's command is blocked.
def while_blocked(action)
  waiting = open_client
  thread = Thread.new { yield waiting }
  Thread.pass while thread.alive? && DB.info('clients')['blocked_clients'] == '0'
  action.call
  thread.value
ensure
  waiting.close
end

def strings
  show 'set', DB.set('k', 'v'), DB.get('k'), DB.get('none'), DB.set('k', 'w', nx: true), DB.getset('k', 'x')
  show 'several', DB.mset('a', 1, 'b', 2), DB.mget('a', 'none', 'b'), DB.mapped_mget('a', 'b'), DB.msetnx('a', 1, 'c', 2)
  show 'numbers', DB.incrby('n', 5), DB.decr('n'), DB.incrbyfloat('f', 1.5)
  show 'ranges', DB.append('s', 'hello'), DB.setrange('s', 6, 'world'), DB.getrange('s', -5, -1), DB.strlen('s')
  bytes = (0..255).to_a.pack('C*')
  show 'bytes', DB.set('bytes', bytes), DB.get('bytes').b == bytes
  show 'bits', DB.setbit('bits', 7, 1), DB.bitcount('bits'), DB.bitpos('bits', 1), DB.bitop('NOT', 'inverted', 'bits')
  show 'keys', DB.keys('*').sort, DB.type('s'), DB.rename('s', 't'), DB.exists('s', 't'), DB.exists?('s')
  show 'dump', DB.restore('u', 0, DB.dump('t')), DB.get('u'), DB.copy('u', 'v'), DB.del('u', 'v', 'none'), DB.unlink('t')
end

def expiry
  DB.set('k', 'v', ex: 100)
  show 'ttl', (1..100).cover?(DB.ttl('k')), (1..100_000).cover?(DB.pttl('k')), DB.ttl('none')
  show 'persist', DB.persist('k'), DB.ttl('k'), DB.expire('k', 10, nx: true), DB.expire('k', 5, gt: true)
  show 'kept', DB.set('k', 'w', keepttl: true), DB.ttl('k').positive?, DB.getex('k', persist: true), DB.ttl('k')
  show 'past', DB.pexpireat('k', 1), DB.exists('k')
end

def hashes
  show 'hset', DB.hset('h', 'a', 1, 'b', 'two'), DB.hsetnx('h', 'a', 3), DB.mapped_hmset('h', { 'c' => 3.5 })
  show 'hget', DB.hget('h', 'b'), DB.hmget('h', 'a', 'none'), DB.hgetall('h'), DB.hlen('h'), DB.hexists('h', 'c')
  show 'numbers', DB.hincrby('h', 'a', 40), DB.hincrbyfloat('h', 'c', 0.25), DB.hkeys('h'), DB.hvals('h')
  show 'hdel', DB.hdel('h', 'a', 'b'), DB.hrandfield('h', 1, with_values: true)
end

def lists
  show 'push', DB.rpush('l', %w[a b c b]), DB.lpush('l', 'z'), DB.rpushx('none', 'x')
  show 'range', DB.lrange('l', 0, -1), DB.lindex('l', -1), DB.llen('l')
  show 'edit', DB.linsert('l', :before, 'c', 'x'), DB.lset('l', 0, 'y'), DB.lrem('l', -1, 'b'), DB.ltrim('l', 0, 3)
  show 'move', DB.lmove('l', 'm', 'LEFT', 'RIGHT'), DB.rpoplpush('l', 'm'), DB.lpop('m', 2), DB.rpop('l')
  show 'sort', DB.rpush('n', [3, 1, 2]), DB.sort('n', order: 'DESC'), DB.sort('n', store: 'sorted'), DB.lrange('sorted', 0, -1)
end

def sets
  show 'add', DB.sadd('s', %w[a b c]), DB.sadd('t', %w[b c d]), DB.scard('s'), DB.smismember('s', 'a', 'd')
  show 'combine', DB.sinter('s', 't').sort, DB.sunion('s', 't').sort, DB.sdiff('s', 't'), DB.sinterstore('u', 's', 't')
  show 'move', DB.smove('s', 't', 'a'), DB.srem('t', %w[a x]), DB.sismember('t', 'd'), DB.spop('s', 9).sort
end

def sorted_sets
  show 'add', DB.zadd('z', [[1, 'a'], [2.5, 'b'], ['+inf', 'c']]), DB.zadd('z', 5, 'a', gt: true, ch: true)
  show 'scores', DB.zscore('z', 'b'), DB.zmscore('z', 'a', 'none'), DB.zincrby('z', 0.5, 'b'), DB.zrank('z', 'c')
  show 'range', DB.zrange('z', 0, -1, with_scores: true), DB.zrevrange('z', 0, 0), DB.zcount('z', '(3', '+inf')
  show 'by score', DB.zrange('z', '+inf', 3, by_score: true, rev: true, limit: [1, 2]), DB.zrangebyscore('z', 0, 5)
  DB.zadd('x', %w[a b c d e].map { |member| [0, member] })
  show 'by name', DB.zrangebylex('x', '[b', '(e'), DB.zlexcount('x', '-', '+')
  show 'combine', DB.zunion('z', 'x', weights: [2, 1], aggregate: 'max', with_scores: true), DB.zinter('z', 'x'), DB.zdiff('z', 'x')
  show 'store', DB.zrangestore('y', 'z', 0, 1), DB.zunionstore('w', %w[z x]), DB.zremrangebyrank('w', 0, 1), DB.zcard('w')
  show 'pop', DB.zpopmin('z'), DB.zpopmax('z', 5)
  show 'places', DB.geoadd('g', 13.361389, 38.115556, 'Palermo', 15.087269, 37.502669, 'Catania'), DB.geodist('g', 'Palermo', 'Catania', 'km')
  show 'estimate', DB.pfadd('p', %w[a b]), DB.pfadd('q', %w[b c]), DB.pfcount('p', 'q'), DB.pfmerge('r', 'p', 'q')
end

def streams
  show 'add', (1..5).map { |n| DB.xadd('s', { n: n }, id: "#{n}-0") }, DB.xlen('s')
  show 'range', DB.xrange('s', '2', '(4'), DB.xrevrange('s', count: 1), DB.xread('s', '3', count: 1)
  show 'group', DB.xgroup(:create, 's', 'g', '0'), DB.xgroup(:create, 'new', 'g', '$', mkstream: true)
  show 'read', DB.xreadgroup('g', 'alice', 's', '>', count: 3), DB.xreadgroup('g', 'bob', 's', '>')
  show 'acknowledge', DB.xack('s', 'g', '1-0', '9-0'), DB.xpending('s', 'g')
  show 'pending', DB.xpending('s', 'g', '-', '+', 10, 'alice').map { |one| one.values_at('entry_id', 'consumer', 'count') }
  show 'claim', DB.xclaim('s', 'g', 'carol', 0, '2-0'), DB.xautoclaim('s', 'g', 'carol', 0, '0-0', count: 1, justid: true)
  show 'history', DB.xreadgroup('g', 'carol', 's', '0'), DB.xdel('s', '2-0'), DB.xtrim('s', 2)
  show 'info', DB.xinfo(:stream, 's')['last-generated-id'], DB.xinfo(:groups, 's')
  show 'end', DB.xgroup(:delconsumer, 's', 'g', 'carol'), DB.xgroup(:destroy, 's', 'g')
  show 'blocked', while_blocked(-> { DB.xadd('s', { a: 1 }, id: '9-9') }) { |waiting| waiting.xread('s', '$', block: PATIENCE * 1_000) }
end

def pipelines
  show 'pipeline', DB.pipelined { |pipe| pipe.set('a', 1); pipe.incr('a'); pipe.hset('h', 'f', 'v'); pipe.hgetall('h') }
  show 'long pipeline', DB.pipelined { |pipe| 1_000.times { |n| pipe.incrby('sum', n) } }.last
  show 'error', failure { DB.pipelined { |pipe| pipe.lpush('a', 'x'); pipe.incr('a') } }, DB.get('a')
end

def transactions
  show 'exec', DB.multi { |tx| tx.set('a', 1); tx.incr('a'); tx.sadd('s', ['x']) }
  show 'failing command', failure { DB.multi { |tx| tx.incr('a'); tx.lpush('s', 'x'); tx.incr('a') } }, DB.get('a')
  other = open_client
  changed = DB.watch('a') { other.set('a', 7); DB.multi { |tx| tx.set('a', 8) } }
  show 'watch', changed, DB.get('a'), DB.watch('a') { DB.multi { |tx| tx.set('a', 8); tx.get('a') } }
  show 'unwatch', DB.watch('a') { DB.unwatch }
  show 'aborted', failure { DB.multi { |tx| tx.call([:nosuch]); tx.set('a', 9) } }, DB.get('a')
end

def scripts
  sha = DB.script(:load, "redis.call('SET', KEYS[1], ARGV[1]); return {1, 'two', false, {3.9}}")
  show 'loaded', DB.evalsha(sha, ['k'], ['v']), DB.get('k'), DB.script(:exists, [sha, '0' * 40])
  show 'flushed', DB.script(:flush), failure { DB.evalsha(sha, ['k'], ['w']) }
  source = "redis.call('SET', KEYS[1], ARGV[1]); return {1, 'two', false, {3.9}}"
  show 'reloaded', DB.eval(source, keys: ['k'], argv: ['w']), DB.evalsha(sha, keys: ['k'], argv: ['x']), DB.get('k')
  show 'error', failure { DB.eval("return redis.call('LPUSH', KEYS[1], 'x')", ['k']) }, failure { DB.eval("return redis.error_reply('MINE no')") }
end

def functions
  library = "#!lua name=shop\n" \
            "redis.register_function('buy', function(keys, args) return redis.call('DECRBY', keys[1], args[1]) end)"
  show 'load', DB.call('FUNCTION', 'LOAD', library), failure { DB.call('FUNCTION', 'LOAD', library) }
  show 'call', DB.set('stock', 10), DB.call('FCALL', 'buy', 1, 'stock', 3), failure { DB.call('FCALL_RO', 'buy', 1, 'stock', 1) }
  show 'delete', DB.call('FUNCTION', 'DELETE', 'shop'), DB.call('FUNCTION', 'LIST', 'LIBRARYNAME', 'shop')
end

def messages
  events = []
  publisher = open_client
  DB.subscribe('news', 'sport') do |on|
    on.subscribe do |channel, count|
      events << [:subscribe, channel, count]
      publisher.publish('news', 'first') if count == 2
    end
    on.message { |channel, message| events << [channel, message]; DB.unsubscribe('news', 'sport') }
    on.unsubscribe { |channel, count| events << [:unsubscribe, channel, count] }
  end
  show 'channels', *events
  events.clear
  DB.psubscribe('n*') do |on|
    on.psubscribe { events << publisher.publish('news', 'second') }
    on.pmessage { |*message| events << message; DB.punsubscribe }
  end
  show 'patterns', *events, publisher.pubsub(:numpat), publisher.pubsub(:channels)
end

def notifications
  show 'config', DB.config(:set, 'notify-keyspace-events', 'KEA'), DB.config(:get, 'notify-keyspace-events')
  writer = open_client
  events = []
  DB.psubscribe('__key*__:*') do |on|
    on.psubscribe { writer.set('k', 'v'); writer.lpush('l', 'x'); writer.lpop('l'); writer.set('short', 'v', px: 1) }
    on.pmessage { |_, channel, data| events << [channel, data]; DB.punsubscribe if events.last == %w[__keyevent@0__:expired short] }
  end
  show 'events', *events
  DB.config(:set, 'notify-keyspace-events', '')
end

def iterators
  DB.mapped_mset((0...500).to_h { |n| ["key:#{n}", n] })
  numbers = (0...600).to_a
  DB.sadd('members', numbers)
  DB.zadd('scores', numbers.map { |n| [n, n] })
  DB.hset('fields', numbers.to_h { |n| [n, n] })
  show 'keys', DB.scan_each(match: 'key:*', count: 50).to_a.uniq.size, DB.scan_each(match: 'key:49?').to_a.uniq.sort
  show 'types', DB.scan_each(type: 'zset').to_a.uniq, DB.scan_each(type: 'hash', count: 1_000).to_a.uniq
  show 'members', DB.sscan_each('members').to_a.uniq.sum(&:to_i), DB.zscan_each('scores').to_a.uniq.sum(&:last)
  show 'fields', DB.hscan_each('fields', match: '1*').to_a.uniq.sum { |_, value| value.to_i }
end

def blocking
  show 'blpop', while_blocked(-> { DB.rpush('m', %w[x y]) }) { |waiting| waiting.blpop('l', 'm', timeout: PATIENCE) }
  show 'brpop', DB.brpop('m', timeout: PATIENCE), DB.brpop('m', timeout: 0.001)
  show 'blmove', while_blocked(-> { DB.rpush('l', 'moved') }) { |waiting| waiting.blmove('l', 'm', 'LEFT', 'LEFT', timeout: PATIENCE) }
  show 'bzpopmin', while_blocked(-> { DB.zadd('z', [[1.5, 'a'], [2, 'b']]) }) { |waiting| waiting.bzpopmin('z', timeout: PATIENCE) }
end

def errors
  DB.set('k', 'v')
  show 'type', failure { DB.lpush('k', 'x') }, failure { DB.incr('k') }
  show 'arguments', failure { DB.call('GET') }, failure { DB.call('NOSUCH', 'a') }, failure { DB.set('k', 'v', ex: 0) }
  show 'groups', failure { DB.xreadgroup('g', 'c', 'none', '>') }, failure { DB.rename('none', 'k') }
  show 'password', failure { open_client(username: 'reader', password: 'wrong').ping }
end

def connections
  named = open_client(db: 3, id: 'named')
  show 'database', named.set('here', 1), DB.exists('here'), named.dbsize, named.move('here', 0), DB.get('here')
  show 'clients', named.client(:setname, 'named'), named.client(:getname), DB.client(:list).find { |one| one['name'] == 'named' }['db']
  show 'server', DB.ping, DB.echo('hi'), DB.object('encoding', 'here'), DB.info('keyspace')
end

%i[strings expiry hashes lists sets sorted_sets streams pipelines transactions scripts functions messages
   notifications iterators blocking errors connections].each do |part|
  puts "== #{part}"
  DB.flushall
  send(part)
end
