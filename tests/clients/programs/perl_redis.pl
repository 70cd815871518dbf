# Uses the module Redis in all its parts. Usage: perl_redis.pl <socket>
use strict;
use warnings;
use Redis;

use constant PATIENCE => 20;    # seconds, for blocking commands

my $socket = $ARGV[0];
my $db     = open_client();
$| = 1;

sub open_client { return Redis->new(sock => $socket, encoding => undef, @_) }

# Returns a value as Perl would write it. Hashes of the server are lists here.
sub shown {
    my ($value) = @_;
    return 'undef' unless defined $value;
    return '[' . join(', ', map { shown($_) } @$value) . ']' if ref $value eq 'ARRAY';
    return '{' . join(', ', map {"$_: $value->{$_}"} sort keys %$value) . '}' if ref $value eq 'HASH';
    return "'$value'";
}

sub show { my ($subject, @values) = @_; print join(' ', $subject, map { shown($_) } @values), "\n" }

# Returns the message of the error that a call raises, without the place.
sub failure {
    my ($call) = @_;
    return 'no error' if eval { $call->(); 1 };
    return $@ =~ s/,? at \S+ line \d+.*//sr;
}

# Runs `action` in another process when `condition` holds there. Returns its id.
sub meanwhile {
    my ($condition, $action) = @_;
    my $child = fork // die "fork: $!";
    return $child if $child;
    my $other = open_client();
    1 until $condition->($other);
    $action->($other);
    kill 'KILL', $$;    # without the destructors of the parent's clients
}

# Returns the reply of `call`. `action` runs while it is blocked.
sub while_blocked {
    my ($call, $action) = @_;
    my $child = meanwhile(sub { $_[0]->info('clients')->{blocked_clients} > 0 }, $action);
    my @reply = $call->();
    waitpid $child, 0;
    return \@reply;
}

sub sorted { return [sort @_] }

my @parts = (
    strings => sub {
        show('set', $db->set(k => 'v'), $db->get('k'), $db->get('none'), $db->set(k => 'w', 'NX'), $db->getset(k => 'x'));
        show('several', $db->mset(a => 1, b => 2), [$db->mget('a', 'none', 'b')], $db->msetnx(a => 1, c => 2));
        show('numbers', $db->incrby(n => 5), $db->decr('n'), $db->incrbyfloat(f => 1.5));
        show('ranges', $db->append(s => 'hello'), $db->setrange(s => 6, 'world'), $db->getrange(s => -5, -1), $db->strlen('s'));
        my $bytes = join '', map {chr} 0 .. 255;
        show('bytes', $db->set(bytes => $bytes), $db->get('bytes') eq $bytes);
        show('bits', $db->setbit(bits => 7, 1), $db->bitcount('bits'), $db->bitpos(bits => 1), $db->bitop('NOT', 'inverted', 'bits'));
        show('fields', [$db->bitfield('fields', 'OVERFLOW', 'SAT', 'SET', 'u8', 0, 200, 'INCRBY', 'u8', 0, 100)]);
        show('keys', sorted($db->keys('*')), $db->type('s'), $db->rename(s => 't'), $db->exists('s', 't'));
        show('dump', $db->restore(u => 0, $db->dump('t')), $db->get('u'), $db->copy(u => 'v'), $db->del('u', 'v', 'none'), $db->unlink('t'));
    },
    expiry => sub {
        $db->setex(k => 100, 'v');
        show('ttl', $db->ttl('k') > 0, $db->pttl('k') <= 100_000, $db->ttl('none'), $db->persist('k'), $db->ttl('k'));
        show('expire', $db->expire(k => 10, 'NX'), $db->expire(k => 5, 'GT'), $db->expireat(k => 4_000_000_000), $db->expiretime('k'));
        show('past', $db->pexpireat(k => 1), $db->exists('k'));
    },
    hashes => sub {
        show('set', $db->hset(h => a => 1, b => 'two', c => 3.5), $db->hsetnx(h => a => 3), $db->hincrby(h => a => 41));
        show('get', $db->hget(h => 'b'), [$db->hmget(h => 'a', 'none')], {$db->hgetall('h')}, $db->hlen('h'), $db->hexists(h => 'c'));
        show('parts', [$db->hkeys('h')], [$db->hvals('h')], $db->hdel(h => 'a', 'b'), [$db->hrandfield(h => 1, 'WITHVALUES')]);
    },
    lists => sub {
        show('push', $db->rpush(l => 'a', 'b', 'c', 'b'), $db->lpush(l => 'z'), $db->rpushx(none => 'x'));
        show('range', [$db->lrange(l => 0, -1)], $db->lindex(l => -1), $db->llen('l'), [$db->lpos(l => 'b', 'COUNT', 0)]);
        show('edit', $db->linsert(l => 'BEFORE', 'c', 'x'), $db->lset(l => 0, 'y'), $db->lrem(l => -1, 'b'), $db->ltrim(l => 0, 3));
        show('move', $db->lmove('l', 'm', 'LEFT', 'RIGHT'), $db->rpoplpush('l', 'm'), [$db->lpop(m => 2)], $db->rpop('l'));
        show('pop', [$db->lmpop(2, 'l', 'm', 'LEFT', 'COUNT', 5)], [$db->lmpop(1, 'none', 'LEFT')]);
        show('sort', $db->rpush(n => 3, 1, 2), [$db->sort('n', 'DESC')], $db->sort('n', 'STORE', 'sorted'), [$db->lrange('sorted', 0, -1)]);
    },
    sets => sub {
        show('add', $db->sadd(s => 'a', 'b', 'c'), $db->sadd(t => 'b', 'c', 'd'), $db->scard('s'), [$db->smismember(s => 'a', 'd')]);
        show('combine', sorted($db->sinter('s', 't')), sorted($db->sunion('s', 't')), [$db->sdiff('s', 't')], $db->sintercard(2, 's', 't'));
        show('move', $db->smove(s => 't', 'a'), $db->srem(t => 'a', 'x'), $db->sismember(t => 'd'), sorted($db->spop(s => 9)));
    },
    sorted_sets => sub {
        show('add', $db->zadd(z => 1, 'a', 2.5, 'b', '+inf', 'c'), $db->zadd(z => 'GT', 'CH', 5, 'a'));
        show('scores', $db->zscore(z => 'b'), [$db->zmscore(z => 'a', 'none')], $db->zincrby(z => 0.5, 'b'), $db->zrank(z => 'c'));
        show('range', [$db->zrange(z => 0, -1, 'WITHSCORES')], [$db->zrevrange(z => 0, 0)], $db->zcount(z => '(3', '+inf'));
        show('by score', [$db->zrange(z => '+inf', 3, 'BYSCORE', 'REV', 'LIMIT', 1, 2)], [$db->zrangebyscore(z => 0, 5)]);
        show('by name', $db->zadd(x => map { (0, $_) } 'a' .. 'e'), [$db->zrangebylex(x => '[b', '(e')], $db->zlexcount(x => '-', '+'));
        show('combine', [$db->zunion(2, 'z', 'x', 'WEIGHTS', 2, 1, 'AGGREGATE', 'MAX', 'WITHSCORES')], [$db->zinter(2, 'z', 'x')]);
        show('store', $db->zrangestore('y', 'z', 0, 1), $db->zunionstore('w', 2, 'z', 'x'), $db->zremrangebyrank(w => 0, 1), $db->zcard('w'));
        show('pop', [$db->zpopmin('z')], [$db->zpopmax(z => 5)], [$db->zmpop(2, 'z', 'x', 'MIN', 'COUNT', 2)]);
        show('places', $db->geoadd(g => 13.361389, 38.115556, 'Palermo', 15.087269, 37.502669, 'Catania'), $db->geodist(g => 'Palermo', 'Catania', 'km'));
        show('near', [$db->geosearch('g', 'FROMLONLAT', 15, 37, 'BYRADIUS', 100, 'km', 'WITHDIST')], [$db->geohash(g => 'Palermo')]);
        show('estimate', $db->pfadd(p => 'a', 'b'), $db->pfadd(q => 'b', 'c'), $db->pfcount('p', 'q'), $db->pfmerge('r', 'p', 'q'));
    },
    streams => sub {
        show('add', [map { $db->xadd('s', "$_-0", n => $_) } 1 .. 5], $db->xlen('s'));
        show('range', [$db->xrange('s', '2', '(4')], [$db->xrevrange('s', '+', '-', 'COUNT', 1)], [$db->xread('COUNT', 1, 'STREAMS', 's', '3')]);
        show('group', $db->xgroup('CREATE', 's', 'g', '0'), $db->xgroup('CREATE', 'new', 'g', '$', 'MKSTREAM'));
        show('read', [$db->xreadgroup('GROUP', 'g', 'alice', 'COUNT', 3, 'STREAMS', 's', '>')], [$db->xreadgroup('GROUP', 'g', 'bob', 'STREAMS', 's', '>')]);
        show('acknowledge', $db->xack('s', 'g', '1-0', '9-0'), [$db->xpending('s', 'g')]);
        show('pending', [map { [@$_[0, 1, 3]] } $db->xpending('s', 'g', '-', '+', 10, 'alice')]);
        show('claim', [$db->xclaim('s', 'g', 'carol', 0, '2-0')], [$db->xautoclaim('s', 'g', 'carol', 0, '0-0', 'COUNT', 1, 'JUSTID')]);
        show('trim', $db->xdel('s', '2-0'), $db->xtrim('s', 'MAXLEN', 2), [$db->xreadgroup('GROUP', 'g', 'carol', 'STREAMS', 's', '0')]);
        show('info', [$db->xinfo('GROUPS', 's')], {$db->xinfo('STREAM', 's')}->{'last-generated-id'});
        show('end', $db->xgroup('DELCONSUMER', 's', 'g', 'carol'), $db->xgroup('DESTROY', 's', 'g'));
        show('blocked', while_blocked(sub { $db->xread('BLOCK', PATIENCE * 1_000, 'STREAMS', 's', '$') }, sub { $_[0]->xadd('s', '9-9', a => 1) }));
    },
    pipelines => sub {
        my @replies;
        my $keep = sub { my ($reply, $error) = @_; push @replies, $error // $reply };
        $db->set(a => 1, $keep);
        $db->incr('a', $keep);
        $db->lpush(a => 'x', $keep);
        $db->get('a', $keep);
        $db->wait_all_responses;
        show('pipeline', @replies);
        $db->incrby(sum => $_, $keep) for 0 .. 999;
        $db->wait_all_responses;
        show('long pipeline', $replies[-1]);
    },
    transactions => sub {
        my $other = open_client();
        show('queued', $db->multi, $db->set(a => 1), $db->incr('a'), $db->sadd(s => 'x'), [$db->exec]);
        $db->multi;
        $db->incr('a');
        $db->incr('a');
        $db->lpush(s => 'x');    # last: the client reads nothing after an error
        show('failing command', failure(sub { $db->exec }), $db->get('a'));
        $db->watch('a');
        $other->set(a => 7);
        show('watch', $db->multi, $db->set(a => 8), [$db->exec], $db->get('a'));
        $db->watch('a');
        show('unchanged', $db->multi, $db->set(a => 8), [$db->exec], $db->unwatch);
        show('discard', $db->multi, $db->set(a => 9), $db->discard, $db->get('a'));
        show('aborted', $db->multi, failure(sub { $db->nosuch }), failure(sub { $db->exec }));
    },
    scripts => sub {
        my $source = "redis.call('SET', KEYS[1], ARGV[1]); return {1, 'two', false, {3.9}}";
        my $sha    = $db->script_load($source);
        show('loaded', [$db->evalsha($sha, 1, 'k', 'v')], $db->get('k'), [$db->script_exists($sha, '0' x 40)]);
        show('flushed', $db->script_flush, failure(sub { $db->evalsha($sha, 1, 'k', 'w') }));
        show('reloaded', [$db->eval($source, 1, 'k', 'w')], [$db->evalsha($sha, 1, 'k', 'x')], $db->get('k'));
        show('error', failure(sub { $db->eval("return redis.call('LPUSH', KEYS[1], 'x')", 1, 'k') }));
        show('raised', failure(sub { $db->eval("return redis.error_reply('MINE no')", 0) }));
    },
    functions => sub {
        my $library = "#!lua name=shop\n"
            . "redis.register_function('buy', function(keys, args) return redis.call('DECRBY', keys[1], args[1]) end)";
        show('load', $db->function_load($library), failure(sub { $db->function_load($library) }));
        show('call', $db->set(stock => 10), $db->fcall('buy', 1, 'stock', 3), failure(sub { $db->fcall_ro('buy', 1, 'stock', 1) }));
        show('delete', $db->function_delete('shop'), [$db->function_list('LIBRARYNAME', 'shop')]);
    },
    messages => sub {
        my $listener = open_client();
        my @heard;
        my $keep = sub { push @heard, [@_] };
        $listener->subscribe('news', 'sport', $keep);
        $listener->psubscribe('n*', $keep);
        show('publish', $db->publish(news => 'first'), $db->publish(none => 'lost'));
        $listener->wait_for_messages(0.05) while @heard < 2;
        show('heard', @heard);
        show('numbers', [$db->pubsub('CHANNELS', 's*')], [$db->pubsub('NUMSUB', 'news', 'none')], $db->pubsub('NUMPAT'));
        $listener->unsubscribe('news', $keep);
        show('unsubscribed', $db->publish(news => 'second'));
    },
    notifications => sub {
        show('config', $db->config_set('notify-keyspace-events', 'KEA'), [$db->config_get('notify-keyspace-events')]);
        my $listener = open_client();
        my @events;
        $listener->psubscribe('__key*__:*', sub { push @events, [@_[1, 0]] });
        $db->set(k => 'v');
        $db->lpush(l => 'x');
        $db->lpop('l');
        $db->psetex(short => 1, 'v');
        $listener->wait_for_messages(0.05) until @events && shown($events[-1]) =~ /expired.*short/;
        show('events', @events);
        $db->config_set('notify-keyspace-events', '');
    },
    iterators => sub {
        $db->mset(map { ("key:$_", $_) } 0 .. 499);
        $db->sadd(members => 0 .. 599);
        $db->zadd(scores => map { ($_, $_) } 0 .. 599);
        $db->hset(fields => map { ($_, $_) } 0 .. 599);
        my %found;
        my ($cursor, $page) = (0);
        do {
            ($cursor, $page) = $db->scan($cursor, 'MATCH', 'key:*', 'COUNT', 50);
            $found{$_} = 1 for @$page;
        } while ($cursor ne '0');
        show('keys', scalar keys %found);
        my $sum_of = sub {
            my ($command, $key) = @_;
            my %sums;
            do {
                ($cursor, $page) = $db->$command($key, $cursor);
                $sums{$_} = $_ for @$page;
            } while ($cursor ne '0');
            my $sum = 0;
            $sum += $_ for values %sums;
            return $sum;
        };
        show('sums', $sum_of->('sscan', 'members'), $sum_of->('zscan', 'scores'), $sum_of->('hscan', 'fields'));
    },
    blocking => sub {
        show('blpop', while_blocked(sub { $db->blpop('l', 'm', PATIENCE) }, sub { $_[0]->rpush(m => 'x', 'y') }));
        show('brpop', [$db->brpop('m', PATIENCE)], [$db->brpop('m', 0.001)]);
        show('blmove', while_blocked(sub { $db->blmove('l', 'm', 'LEFT', 'LEFT', PATIENCE) }, sub { $_[0]->rpush(l => 'moved') }));
        show('bzpopmin', while_blocked(sub { $db->bzpopmin('z', PATIENCE) }, sub { $_[0]->zadd(z => 1.5, 'a', 2, 'b') }));
        show('blmpop', while_blocked(sub { $db->blmpop(PATIENCE, 2, 'x', 'y', 'RIGHT') }, sub { $_[0]->rpush(y => 1) }));
    },
    errors => sub {
        $db->set(k => 'v');
        show('type', failure(sub { $db->lpush(k => 'x') }), failure(sub { $db->incr('k') }));
        show('arguments', failure(sub { $db->get }), failure(sub { $db->nosuch('a') }), failure(sub { $db->set(k => 'v', 'EX', 0) }));
        show('groups', failure(sub { $db->xreadgroup('GROUP', 'g', 'c', 'STREAMS', 'none', '>') }), failure(sub { $db->rename('none', 'k') }));
        show('password', failure(sub { open_client()->auth('reader', 'wrong') }));
    },
    connections => sub {
        my $named = open_client(name => 'named');
        show('database', $named->select(3), $named->set(here => 1), $db->exists('here'), $named->dbsize, $named->move(here => 0), $db->get('here'));
        show('clients', $named->client_getname, $db->client_list =~ / name=named .* db=3 / ? 'listed' : 'not listed');
        show('server', $db->ping, $db->echo('hi'), $db->object('ENCODING', 'here'), $db->info('keyspace'));
    },
);

while (my ($name, $part) = splice @parts, 0, 2) {
    print "== $name\n";
    $db->flushall;
    $part->();
}
