"""The operator's page."""
import os
import shutil
import tempfile
import time

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import Browser, PageTest
from served import Served, eventually

HOSTILE = '</h1><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'
TOKEN = 'a-token-of-operators'
QUARTER_HOUR_MS = 900_000

# Draws a list of 10,000 rows. Returns how many elements it has at its top and at its end, and the text there.
LONG_LIST = r'''
  const done = arguments[0];
  import("/pages/long_list.js").then(({ LongList }) => {
    const list = new LongList({ label: "Rows", rowRem: 4, key: (at) => at, row: (at) => Object.assign(document.createElement("p"), { textContent: `row ${at}` }) });
    document.getElementById("main").append(list.element);
    list.items = Array.from({ length: 10000 }, (_, at) => at);
    const top = list.inner.children.length;
    list.element.scrollTop = list.element.scrollHeight;
    requestAnimationFrame(() => requestAnimationFrame(() =>
      done([top, list.inner.children.length, list.inner.lastElementChild.textContent])));
  });
'''


class OperatorPageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile('w', delete=False) as file:
            file.write(TOKEN + '\n')
        cls.token_file = file.name
        cls.backups = tempfile.mkdtemp(prefix='rushgate-backups-')
        cls.served = Served('--token-file', file.name, '--currency', 'EUR', '--backups', cls.backups, token=TOKEN)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        os.remove(cls.token_file)
        shutil.rmtree(cls.backups)

    def open(self, section=''):
        """Opens a section, signed in."""
        self.browser.driver.get(self.served.url + '/pages/icon.svg')
        self.browser.run('sessionStorage.setItem("rushgate.operatorToken", arguments[0])', TOKEN)
        self.browser.driver.get(f'{self.served.url}/operator#{section}')
        self.browser.find('#tabs')

    # ---- Signing in ----

    def test_token_opens_page_until_sign_out(self):
        self.browser.driver.get(self.served.url + '/operator')
        self.browser.find('#token')
        self.browser.check_page(self)
        self.browser.type('#token', 'wrong')
        self.browser.press(Keys.ENTER)
        self.browser.find('.fault', 'This is not the token.')
        self.browser.type('#token', TOKEN)
        self.browser.press(Keys.ENTER)
        self.browser.find('#health', 'Selling')
        self.browser.driver.refresh()
        self.browser.find('#tabs')
        self.browser.click('#leave')
        self.browser.find('#token')
        self.assertIsNone(self.browser.run('return sessionStorage.getItem("rushgate.operatorToken")'))

    # ---- The overview ----

    def test_overview_counts_purchases_and_refusals(self):
        voucher = self.publish('Counted', 2)
        self.open()
        accepted = self.count_of('perSecond')
        refused = self.count_of('refusedPerSecond')
        for user in ('a', 'b', 'c', 'd'):
            self.served.request('POST', f'/v1/vouchers/{voucher}/orders', {'user': user})
        eventually(lambda: self.count_of('perSecond') == accepted + 2, 'two purchases are counted')
        eventually(lambda: self.count_of('refusedPerSecond') == refused + 2, 'two refusals are counted')
        self.browser.find('.legend', 'Sold out')
        self.browser.find('.chart path.line')
        self.browser.find('table', 'Purchases in the engine')
        self.browser.find('.alert.good', 'Everything works.')
        self.browser.check_everywhere(self)
        self.browser.check_focus_order(self)

    def count_of(self, tile):
        """Returns the number of "1,234 in all"."""
        return int(self.browser.find(f'#tile-{tile} .detail', 'in all').text.split()[0].replace(',', ''))

    def test_restart_is_seen_and_survived(self):
        self.open()
        self.browser.find('#health', 'Selling')
        self.served.stop()
        self.browser.find('#health', 'No connection')
        self.browser.check_page(self)
        self.served.start()
        self.browser.find('#health', 'Selling')
        eventually(lambda: not self.browser.has('#connection'), 'the notice is gone')

    # ---- Vouchers ----

    def test_voucher_published_changed_and_closed(self):
        self.open('vouchers')
        self.browser.click('main a', 'Publish a voucher')
        number = self.browser.find('#field-number').get_attribute('value')
        OperatorPageTest.next_voucher = int(number) + 1
        self.browser.type('#field-title', 'By hand')
        self.browser.find('.fault', 'A time to pay needs a price.')
        self.browser.type('#field-price', '12.5')
        self.browser.find('table', '€12.50')
        self.browser.type('#field-stock', 'ten')
        self.browser.find('.fault', 'Not a number')
        self.assertFalse(self.browser.find('button[type=submit]').is_enabled())
        self.browser.type('#field-stock', '10')
        self.browser.check_extremes(self)
        self.browser.screen(1280)
        self.browser.click('button[type=submit]')
        self.browser.find('h1', 'By hand')
        voucher = self.served.call('GET', f'/v1/vouchers/{number}')
        self.assertEqual((voucher['stock'], voucher['price_cents'], voucher['payment_ms']), (10, 1250, QUARTER_HOUR_MS))

        self.browser.click('main a', 'Change')
        self.browser.type('#field-stock', '4')
        self.browser.find('.alert.warn', '6 pieces leave the sale')
        self.served.publish(number, 'By another', 20)
        self.browser.click('button[type=submit]', 'Publish 1 change')
        self.browser.find('.alert.warn', 'Another change came first')
        self.assertEqual(self.browser.find('#field-title').get_attribute('value'), 'By another')
        self.browser.type('#field-stock', '25')
        self.browser.find('td.was', '20')
        self.browser.click('button[type=submit]')
        self.browser.find('h1', 'By another')
        self.assertEqual(self.served.call('GET', f'/v1/vouchers/{number}')['stock'], 25)

        self.browser.click('#close')
        self.browser.press(Keys.ESCAPE)
        self.assertGreater(self.served.call('GET', f'/v1/vouchers/{number}')['end_ms'], time.time() * 1000)
        self.browser.click('#close')
        self.browser.click('dialog .danger')
        self.browser.find('#refund-all')
        self.browser.check_extremes(self)

    def test_voucher_list_is_filtered_and_live(self):
        voucher = self.publish('Needle 42', 5)
        self.publish('Hay', 5)
        self.open('vouchers')
        self.browser.type('#voucher-filter', 'needle')
        row = f'a[href="#vouchers/{voucher}"]'
        self.browser.find(row, '5 of 5 left')
        self.assertEqual(len(self.browser.driver.find_elements('css selector', '.long-row')), 1)
        self.served.buy(voucher, 'x')
        self.browser.find(row, '4 of 5 left')
        self.browser.check_extremes(self)

    def test_list_of_10000_rows_has_few_elements(self):
        self.open()
        top, end, last = self.browser.driver.execute_async_script(LONG_LIST)
        self.assertLess(top, 60)
        self.assertLess(end, 60)
        self.assertEqual(last, 'row 9999')

    # ---- Orders ----

    def test_order_found_refunded_and_confirmed(self):
        voucher = self.publish('Paid once', 5, price_cents=500, payment_ms=QUARTER_HOUR_MS)
        order = self.served.buy(voucher, 'kim', reference='till 4')
        self.served.call('POST', f'/v1/orders/{order}/payments', {'payment': f'pay-{order}', 'amount_cents': 500})
        self.open('orders')
        for kind, words in (('user', 'kim'), ('reference', 'till 4')):
            Select(self.browser.find('#search-kind')).select_by_value(kind)
            self.browser.type('#search-words', words)
            self.browser.press(Keys.ENTER)
            eventually(lambda: [one.get_attribute('href').rsplit('/')[-1] for one in self.browser.driver.find_elements(
                'css selector', '.long-row a')] == [order], f'found by {kind}')
        self.browser.check_extremes(self)
        Select(self.browser.find('#search-kind')).select_by_value('order')
        self.browser.type('#search-words', order)
        self.browser.press(Keys.ENTER)
        self.browser.find('h1', order)
        self.browser.find('.history', f'payment pay-{order}')
        self.browser.click('#refund')
        self.browser.press(Keys.ENTER)  # without a reason
        self.assertEqual(self.served.call('GET', f'/v1/orders/{order}')['state'], 'paid')
        self.browser.check_page(self)
        self.browser.type('#reason', 'bought twice')
        self.browser.press(Keys.ENTER)
        self.browser.find('.history', 'bought twice')
        self.browser.click('main button', 'Money was returned')
        self.browser.click('dialog .main')
        eventually(lambda: self.served.call('GET', f'/v1/orders/{order}')['payments'][0]['state'] == 'refunded',
                   'the refund is confirmed')
        self.browser.check_extremes(self)

    def test_scanned_ticket_is_used_once(self):
        order = self.served.buy(self.publish('Entrance', 5), 'lena')
        self.open(f'orders/{order}')
        self.browser.click('#use')
        self.browser.click('dialog .main')
        self.browser.find('.alert.good', 'Used')
        self.assertEqual(self.served.call('GET', f'/v1/orders/{order}')['state'], 'used')
        eventually(lambda: not self.browser.has('#use'), 'it cannot be used again')

    def test_order_stays_when_action_gets_no_reply(self):
        order = self.served.buy(self.publish('Rained off', 5), 'olga')
        self.open(f'orders/{order}')
        self.browser.find('#refund')
        self.served.stop()
        self.refund('rained off')
        self.browser.find('.alert', 'did not reply')
        self.browser.find('h1', order)
        self.served.start()
        self.browser.find('#health', 'Selling')
        self.refund('rained off')
        self.browser.find('.history', 'rained off')
        self.assertEqual(self.served.call('GET', f'/v1/orders/{order}')['state'], 'refunded')

    def refund(self, reason):
        self.browser.click('#refund')
        self.browser.type('#reason', reason)
        self.browser.press(Keys.ENTER)

    def test_hostile_title_and_reference_stay_text(self):
        voucher = self.publish(HOSTILE, 5)
        order = self.served.buy(voucher, '<b>mia</b>', reference=HOSTILE[:60])
        self.open('vouchers')
        self.browser.find('.long-row', '<img src=x')
        self.open(f'orders/{order}')
        self.browser.find('dd', '<img src=x')
        self.browser.find('dd', '<b>mia</b>')
        self.assertIsNone(self.browser.run('return window.hurt ?? null'))
        self.assertEqual(self.browser.run('return document.querySelectorAll("main img, main script, main b:not(.numbers)").length'), 0)
        self.open(f'vouchers/{voucher}')
        self.browser.find('dd', '<img src=x')
        self.browser.check_extremes(self)

    # ---- Dead letters, audit ----

    def test_dead_letter_discarded_for_a_reason(self):
        self.served.redis('XADD', 'stream.orders', '*', 'no', 'order')
        self.browser.screen(1280)
        eventually(lambda: self.served.call('GET', '/v1/dead-letters')['dead_letters'], 'the letter is dead')
        self.open('letters')
        self.browser.click('main button', 'Try again')
        self.browser.find('.alert')
        self.browser.check_extremes(self)
        eventually(lambda: self.served.call('GET', '/v1/dead-letters')['dead_letters'], 'the letter is dead again')
        self.browser.driver.refresh()
        self.browser.click('main button', 'Discard')
        self.browser.type('#reason', 'no order')
        self.browser.press(Keys.ENTER)
        self.browser.find('.card', 'No dead letters')
        self.assertEqual(self.served.call('GET', '/v1/dead-letters')['dead_letters'], [])

    def test_audit_shows_its_verdict(self):
        self.served.buy(self.publish('Audited', 5), 'nora')
        self.open('audit')
        self.browser.click('#begin-audit')
        self.browser.find('.alert.good', 'Passed')
        self.browser.find('table', '#')
        self.browser.check_extremes(self)

    def test_backup_shows_its_name_and_size(self):
        self.open('audit')
        self.browser.click('#begin-backup')
        said = self.browser.find('.alert.good', 'is complete').text
        self.assertIn(said.split()[0], os.listdir(self.backups))
        self.browser.check_extremes(self)
