// A seckill server as it is commonly built: Node's http, ioredis, and the script of
// tests/bench/seckill_script.h. Arguments: the socket of the redis-server, the SHA1 of the script,
// its three keys, the number of processes, and whether ioredis makes pipelines. The first process
// prints the port.
'use strict';
const cluster = require('node:cluster');
const http = require('node:http');
const Redis = require('ioredis');

const [socket, sha, stock, buyers, orders, processes, pipelines] = process.argv.slice(2);
const redis = new Redis({path: socket, enableAutoPipelining: pipelines === 'true'});
const kRoute = /^\/v1\/vouchers\/(\d+)\/orders$/;
const kRefusals = {1: 'sold out', 2: 'already bought'};
let next = 0;  // of this process alone, which costs less than ids that are unique in a shop

function reply(response, status, body) {
  const bytes = JSON.stringify(body);
  response.writeHead(status, {'Content-Type': 'application/json',
                              'Content-Length': Buffer.byteLength(bytes)});
  response.end(bytes);
}

async function buy(voucher, bytes, response) {
  try {
    const {user} = JSON.parse(bytes);
    const order = ++next;
    const code = await redis.evalsha(sha, 3, stock, buyers, orders, voucher, user, order);
    if (code !== 0) return reply(response, 409, {title: kRefusals[code]});
    reply(response, 201, {order: String(order), user: String(user), voucher: Number(voucher),
                          state: 'queued', quantity: 1});
  } catch (error) {
    reply(response, 400, {title: String(error)});
  }
}

const server = http.createServer((request, response) => {
  const route = kRoute.exec(request.url);
  if (route === null || request.method !== 'POST') return reply(response, 404, {title: 'unknown'});
  let bytes = '';
  request.setEncoding('utf8');
  request.on('data', (part) => { bytes += part; });
  request.on('end', () => buy(route[1], bytes, response));
});

if (cluster.isPrimary && Number(processes) > 1) {
  let listening = 0;
  cluster.on('listening', (worker, address) => {
    if (++listening === Number(processes)) console.log(address.port);
  });
  for (let i = 0; i < Number(processes); ++i) cluster.fork();
} else {
  server.listen(0, '127.0.0.1', () => {
    if (cluster.isPrimary) console.log(server.address().port);
  });
}
