"""A server with a sale on disk, which can be stopped and started again."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

NEVER = '9999-12-31T23:59:59.999Z'


def eventually(look, what, seconds=90):
    """Returns what `look()` returns as soon as that is true. `what`: a text, or a function that makes it."""
    end = time.monotonic() + seconds
    error = None
    while time.monotonic() < end:
        try:
            found = look()
            if found:
                return found
        except Exception as wrong:  # an element that is gone, for instance
            error = wrong
        time.sleep(0.02)
    raise AssertionError(f'not within {seconds} s: {what() if callable(what) else what}') from error


class Served:
    def __init__(self, *options, token=None):
        self.token = token
        self.folder = tempfile.mkdtemp(prefix='rushgate-pages-')
        self.options = options
        self.port = 0
        self.start()

    def start(self):
        """Starts the server, at the same port as before."""
        self.process = subprocess.Popen(
            [os.environ['RUSHGATE_PROGRAM'], 'serve', '--port', '0', '--http', f'127.0.0.1:{self.port}',
             '--dir', self.folder + '/sale', *self.options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ''
        for line in self.process.stdout:
            said += line
            found = re.search(r'serving on \S+ port (\d+)', line)
            if found:
                self.redis_port = int(found[1])
            found = re.search(r'serving HTTP on \S+ port (\d+)', line)
            if found:
                self.port = int(found[1])
                return
        raise AssertionError('the server did not start: ' + said)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def url(self):
        return f'http://127.0.0.1:{self.port}'

    def request(self, method, path, body=None, **fields):
        """Sends a request. Returns the status and the JSON of the reply."""
        headers = {'Content-Type': 'application/json'}
        if self.token:
            headers['Authorization'] = f'Bearer {self.token}'
        headers.update({name.replace('_', '-'): value for name, value in fields.items()})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def call(self, method, path, body=None, **fields):
        """Sends a request. Returns the JSON of the reply, which must not be a refusal."""
        status, reply = self.request(method, path, body, **fields)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {reply}')
        return reply

    def redis(self, *words):
        """Sends a command to the keyspace."""
        text = f'*{len(words)}\r\n' + ''.join(f'${len(word)}\r\n{word}\r\n' for word in words)
        with socket.create_connection(('127.0.0.1', self.redis_port)) as connection:
            connection.sendall(text.encode())
            return connection.recv(1000)

    def publish(self, voucher, title, stock, **terms):
        return self.call('PUT', f'/v1/vouchers/{voucher}',
                         {'title': title, 'stock': stock, 'begin_ms': 0, 'end_ms': NEVER, **terms})

    def buy(self, voucher, user, key=None, **body):
        """Buys, and waits until the order is stored. Returns its id."""
        fields = {'Idempotency_Key': key} if key else {}
        order = self.call('POST', f'/v1/vouchers/{voucher}/orders', {'user': user, **body}, **fields)['order']
        eventually(lambda: self.call('GET', f'/v1/orders/{order}')['state'] != 'queued', 'the order is stored')
        return order
