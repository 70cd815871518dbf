<?php
// Uses phpredis in all its parts. Usage: phpredis.php <socket>

const PATIENCE = 20; // seconds, for blocking commands
$db = open_client();

function open_client(): Redis {
  global $argv;
  $client = new Redis();
  $client->connect($argv[1]);
  $client->setOption(Redis::OPT_READ_TIMEOUT, 2 * PATIENCE);
  return $client;
}

function show(string $subject, ...$values): void {
  echo $subject, ' ', implode(' ', array_map('json_encode', $values)), "\n";
}

// Returns the message of the error that a call causes. phpredis raises some errors and keeps others.
function failure(Redis $client, callable $call): array {
  $client->clearLastError();
  try {
    $reply = $call();
    return [$reply, $client->getLastError()];
  } catch (RedisException $error) {
    return ['raised', $error->getMessage()];
  }
}

// Returns the sorted members.
function sorted(array $members): array {
  sort($members);
  return $members;
}

// Returns the reply of `call`. Another process runs `action` while the call is blocked.
function while_blocked(callable $call, callable $action) {
  $child = pcntl_fork();
  if ($child === 0) {
    $other = open_client();
    while ($other->info('clients')['blocked_clients'] == 0);
    $action($other);
    posix_kill(posix_getpid(), SIGKILL); // without the destructors of the parent's clients
  }
  $reply = $call();
  pcntl_waitpid($child, $status);
  return $reply;
}

function strings(Redis $db): void {
  show('set', $db->set('k', 'v'), $db->get('k'), $db->get('none'), $db->set('k', 'w', ['nx']), $db->getSet('k', 'x'));
  show('several', $db->mSet(['a' => 1, 'b' => 2]), $db->mGet(['a', 'none', 'b']), $db->mSetNx(['a' => 1, 'c' => 2]));
  show('numbers', $db->incrBy('n', 5), $db->decr('n'), $db->incrByFloat('f', 1.5));
  show('ranges', $db->append('s', 'hello'), $db->setRange('s', 6, 'world'), $db->getRange('s', -5, -1), $db->strLen('s'));
  $bytes = implode('', array_map('chr', range(0, 255)));
  show('bytes', $db->set('bytes', $bytes), $db->get('bytes') === $bytes);
  show('bits', $db->setBit('bits', 7, true), $db->bitCount('bits'), $db->bitpos('bits', 1), $db->bitOp('NOT', 'inverted', 'bits'));
  show('keys', sorted($db->keys('*')), $db->type('s'), $db->rename('s', 't'), $db->exists('s', 't'));
  show('dump', $db->restore('u', 0, $db->dump('t')), $db->get('u'), $db->del('u', 'none'), $db->unlink('t'));
}

function expiry(Redis $db): void {
  $db->setEx('k', 100, 'v');
  show('ttl', $db->ttl('k') > 0, $db->pttl('k') <= 100000, $db->ttl('none'), $db->persist('k'), $db->ttl('k'));
  show('expire', $db->expire('k', 10), $db->pExpire('k', 5000), $db->ttl('k') > 0, $db->expireAt('k', 4000000000));
  show('past', $db->pExpireAt('k', 1), $db->exists('k'));
}

function hashes(Redis $db): void {
  show('set', $db->hSet('h', 'a', 1), $db->hMSet('h', ['b' => 'two', 'c' => 3.5]), $db->hSetNx('h', 'a', 3));
  show('get', $db->hGet('h', 'b'), $db->hMGet('h', ['a', 'none']), $db->hGetAll('h'), $db->hLen('h'), $db->hExists('h', 'c'));
  show('numbers', $db->hIncrBy('h', 'a', 40), $db->hIncrByFloat('h', 'c', 0.25), $db->hKeys('h'), $db->hVals('h'));
  show('delete', $db->hDel('h', 'a', 'b'), $db->hStrLen('h', 'c'));
}

function lists(Redis $db): void {
  show('push', $db->rPush('l', 'a', 'b', 'c', 'b'), $db->lPush('l', 'z'), $db->rPushx('none', 'x'));
  show('range', $db->lRange('l', 0, -1), $db->lIndex('l', -1), $db->lLen('l'));
  show('edit', $db->lInsert('l', Redis::BEFORE, 'c', 'x'), $db->lSet('l', 0, 'y'), $db->lRem('l', 'b', -1), $db->lTrim('l', 0, 3));
  show('move', $db->rPopLPush('l', 'm'), $db->rPopLPush('l', 'm'), $db->lPop('m'), $db->rPop('l'));
  show('sort', $db->rPush('n', 3, 1, 2), $db->sort('n', ['sort' => 'desc']), $db->sort('n', ['store' => 'sorted']), $db->lRange('sorted', 0, -1));
}

function sets(Redis $db): void {
  show('add', $db->sAdd('s', 'a', 'b', 'c'), $db->sAddArray('t', ['b', 'c', 'd']), $db->sCard('s'), $db->sMisMember('s', 'a', 'd'));
  show('combine', sorted($db->sInter('s', 't')), sorted($db->sUnion('s', 't')), $db->sDiff('s', 't'), $db->sInterStore('u', 's', 't'));
  show('move', $db->sMove('s', 't', 'a'), $db->sRem('t', 'a', 'x'), $db->sIsMember('t', 'd'), sorted($db->sPop('s', 9)));
}

function sorted_sets(Redis $db): void {
  show('add', $db->zAdd('z', 1, 'a', 2.5, 'b', 9, 'c'), $db->zAdd('z', ['GT', 'CH'], 5, 'a'));
  show('scores', $db->zScore('z', 'b'), $db->zIncrBy('z', 0.5, 'b'), $db->zRank('z', 'c'));
  show('range', $db->zRange('z', 0, -1, true), $db->zRevRange('z', 0, 0), $db->zCount('z', '(3', '+inf'));
  show('by score', $db->zRevRangeByScore('z', '+inf', 3, ['limit' => [1, 2], 'withscores' => true]), $db->zRangeByScore('z', 0, 5));
  foreach (str_split('abcde') as $member) $db->zAdd('x', 0, $member);
  show('by name', $db->zRangeByLex('x', '[b', '(e'), $db->zLexCount('x', '-', '+'), $db->zRemRangeByLex('x', '-', '[b'));
  show('combine', $db->zUnionStore('u', ['z', 'x'], [2, 1], 'MAX'), $db->zRange('u', 0, -1, true), $db->zInterStore('i', ['z', 'x']));
  show('pop', $db->zPopMin('z'), $db->zPopMax('z', 5));
  show('places', $db->geoAdd('g', 13.361389, 38.115556, 'Palermo', 15.087269, 37.502669, 'Catania'), $db->geoDist('g', 'Palermo', 'Catania', 'km'));
  show('near', $db->geoRadius('g', 15, 37, 100, 'km', ['WITHDIST']), $db->geoHash('g', 'Palermo'));
  show('estimate', $db->pfAdd('p', ['a', 'b']), $db->pfAdd('q', ['b', 'c']), $db->pfCount(['p', 'q']), $db->pfMerge('r', ['p', 'q']));
}

function streams(Redis $db): void {
  show('add', array_map(fn($n) => $db->xAdd('s', "$n-0", ['n' => $n]), range(1, 5)), $db->xLen('s'));
  show('range', $db->xRange('s', '2', '(4'), $db->xRevRange('s', '+', '-', 1), $db->xRead(['s' => '3'], 1));
  show('group', $db->xGroup('CREATE', 's', 'g', '0'), $db->xGroup('CREATE', 'new', 'g', '$', true));
  show('read', $db->xReadGroup('g', 'alice', ['s' => '>'], 3), $db->xReadGroup('g', 'bob', ['s' => '>']));
  show('acknowledge', $db->xAck('s', 'g', ['1-0', '9-0']), $db->xPending('s', 'g'));
  show('pending', array_map(fn($one) => [$one[0], $one[1], $one[3]], $db->xPending('s', 'g', '-', '+', 10, 'alice')));
  show('claim', $db->xClaim('s', 'g', 'carol', 0, ['2-0'], []), $db->xReadGroup('g', 'carol', ['s' => '0']));
  show('trim', $db->xDel('s', ['2-0']), $db->xTrim('s', 2), $db->xInfo('STREAM', 's')['last-generated-id'], $db->xInfo('GROUPS', 's'));
  show('end', $db->xGroup('DELCONSUMER', 's', 'g', 'carol'), $db->xGroup('DESTROY', 's', 'g'));
  show('blocked', while_blocked(
    fn() => $db->xRead(['s' => '$'], -1, PATIENCE * 1000),
    fn($other) => $other->xAdd('s', '9-9', ['a' => 1])));
}

function pipelines(Redis $db): void {
  show('pipeline', $db->pipeline()->set('a', 1)->incr('a')->lPush('a', 'x')->hSet('h', 'f', 'v')->hGetAll('h')->exec());
  $db->pipeline();
  for ($n = 0; $n < 1000; ++$n) $db->incrBy('sum', $n);
  $replies = $db->exec();
  show('long pipeline', end($replies));
}

function transactions(Redis $db): void {
  $other = open_client();
  show('exec', $db->multi()->set('a', 1)->incr('a')->sAdd('s', 'x')->exec());
  show('failing command', $db->multi()->incr('a')->lPush('s', 'x')->incr('a')->exec(), $db->get('a'));
  $db->watch('a');
  $other->set('a', 7);
  show('watch', $db->multi()->set('a', 8)->exec(), $db->get('a'));
  $db->watch('a');
  show('unchanged', $db->multi()->set('a', 8)->get('a')->exec(), $db->unwatch());
  show('discard', $db->multi()->set('a', 9)->discard(), $db->get('a'));
}

function scripts(Redis $db): void {
  $source = "redis.call('SET', KEYS[1], ARGV[1]); return {1, 'two', false, {3.9}}";
  $sha = $db->script('load', $source);
  show('loaded', $sha === sha1($source), $db->evalSha($sha, ['k', 'v'], 1), $db->get('k'), $db->script('exists', $sha, str_repeat('0', 40)));
  show('flushed', $db->script('flush'), failure($db, fn() => $db->evalSha($sha, ['k', 'w'], 1)));
  show('reloaded', $db->eval($source, ['k', 'w'], 1), $db->evalSha($sha, ['k', 'x'], 1), $db->get('k'));
  show('error', failure($db, fn() => $db->eval("return redis.call('LPUSH', KEYS[1], 'x')", ['k'], 1)));
  show('raised', failure($db, fn() => $db->eval("return redis.error_reply('MINE no')")), failure($db, fn() => $db->eval('return x')));
}

function functions(Redis $db): void {
  $library = "#!lua name=shop\n" .
    "redis.register_function('buy', function(keys, args) return redis.call('DECRBY', keys[1], args[1]) end)";
  show('load', $db->rawCommand('FUNCTION', 'LOAD', $library), failure($db, fn() => $db->rawCommand('FUNCTION', 'LOAD', $library)));
  show('call', $db->set('stock', 10), $db->rawCommand('FCALL', 'buy', 1, 'stock', 3));
  show('delete', $db->rawCommand('FUNCTION', 'DELETE', 'shop'), $db->rawCommand('FUNCTION', 'LIST', 'LIBRARYNAME', 'shop'));
}

// Subscribes a client and calls `heard` with each message until it returns true. Another process runs
// `action` when `is_ready` holds.
function listen(string $command, array $channels, callable $heard, callable $is_ready, callable $action): void {
  $child = pcntl_fork();
  if ($child === 0) {
    $other = open_client();
    while (!$is_ready($other));
    $action($other);
    posix_kill(posix_getpid(), SIGKILL); // without the destructors of the parent's clients
  }
  try {
    open_client()->$command($channels, function (Redis $client, string ...$message) use ($heard) {
      show('message', ...$message);
      if ($heard(...$message)) $client->close();
    });
  } catch (RedisException) {
    // The closed connection ends the subscription.
  }
  pcntl_waitpid($child, $status);
}

function messages(Redis $db): void {
  listen('subscribe', ['news', 'sport'], fn($channel) => $channel === 'sport',
    fn($other) => $other->pubsub('numsub', ['sport'])['sport'] == 1,
    function ($other) {
      $other->publish('news', 'first');
      $other->publish('sport', 'second');
    });
  listen('psubscribe', ['n*'], fn() => true, fn($other) => $other->pubsub('numpat') == 1, fn($other) => $other->publish('news', 'third'));
  show('numbers', $db->pubsub('numsub', ['news', 'none']));
}

function notifications(Redis $db): void {
  show('config', $db->config('SET', 'notify-keyspace-events', 'KEA'), $db->config('GET', 'notify-keyspace-events'));
  listen('psubscribe', ['__key*__:*'], fn($pattern, $channel) => $channel === '__keyevent@0__:expired',
    fn($other) => $other->pubsub('numpat') == 1,
    function ($other) {
      $other->set('k', 'v');
      $other->lPush('l', 'x');
      $other->lPop('l');
      $other->pSetEx('short', 1, 'v');
    });
  $db->config('SET', 'notify-keyspace-events', '');
}

function iterators(Redis $db): void {
  $numbers = range(0, 599);
  $db->mSet(array_combine(array_map(fn($n) => "key:$n", $numbers), $numbers));
  $db->sAdd('members', ...$numbers);
  $db->hMSet('fields', $numbers);
  foreach ($numbers as $n) $db->pipeline()->zAdd('scores', $n, "m$n")->exec();
  $db->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
  $keys = [];
  $cursor = null;
  while ($found = $db->scan($cursor, 'key:*', 50)) foreach ($found as $key) $keys[$key] = true;
  $members = [];
  $cursor = null;
  while ($found = $db->sScan('members', $cursor)) foreach ($found as $member) $members[$member] = $member;
  $fields = [];
  $cursor = null;
  while ($found = $db->hScan('fields', $cursor, '1*')) $fields = $found + $fields;
  $scores = [];
  $cursor = null;
  while ($found = $db->zScan('scores', $cursor)) $scores = $found + $scores;
  show('found', count($keys), array_sum($members), array_sum($fields), array_sum($scores));
}

function blocking(Redis $db): void {
  show('blpop', while_blocked(fn() => $db->blPop(['l', 'm'], PATIENCE), fn($other) => $other->rPush('m', 'x', 'y')));
  show('brpop', $db->brPop(['m'], PATIENCE));
  show('brpoplpush', while_blocked(fn() => $db->brpoplpush('l', 'm', PATIENCE), fn($other) => $other->rPush('l', 'moved')));
  show('bzpopmin', while_blocked(fn() => $db->bzPopMin(['z'], PATIENCE), fn($other) => $other->zAdd('z', 1.5, 'a', 2, 'b')));
}

function errors(Redis $db): void {
  $db->set('k', 'v');
  show('type', failure($db, fn() => $db->lPush('k', 'x')), failure($db, fn() => $db->incr('k')));
  show('arguments', failure($db, fn() => $db->rawCommand('GET')), failure($db, fn() => $db->rawCommand('NOSUCH', 'a')));
  show('values', failure($db, fn() => $db->rawCommand('SET', 'k', 'v', 'EX', 0)), failure($db, fn() => $db->rename('none', 'k')));
  show('groups', failure($db, fn() => $db->xReadGroup('g', 'c', ['none' => '>'])));
  show('password', failure($db, fn() => open_client()->auth(['reader', 'wrong'])));
}

function connections(Redis $db): void {
  $named = open_client();
  show('database', $named->select(3), $named->set('here', 1), $db->exists('here'), $named->dbSize(), $named->move('here', 0), $db->get('here'));
  show('clients', $named->client('setname', 'named'), $named->client('getname'));
  show('server', $db->ping(), $db->echo('hi'), $db->object('encoding', 'here'), $db->info('keyspace'));
}

foreach (['strings', 'expiry', 'hashes', 'lists', 'sets', 'sorted_sets', 'streams', 'pipelines', 'transactions', 'scripts',
          'functions', 'messages', 'notifications', 'iterators', 'blocking', 'errors', 'connections'] as $part) {
  echo "== $part\n";
  $db->flushAll();
  $part($db);
}
