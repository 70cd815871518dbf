"""The buyer's page."""
import json
import os
import subprocess
import tempfile
import time

from selenium.webdriver.common.keys import Keys

from browser import Browser, PageTest
from served import Served, eventually

HOSTILE = '</h2><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>{{7*7}}\u202e'
QUARTER_HOUR_MS = 900_000


class BuyerPageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.served = Served('--payment-url', 'test', '--currency', 'EUR', '--entrance-rate', '2')
        cls.browser = Browser()

    def publish(self, title, stock, **terms):
        voucher = super().publish(title, stock, **terms)
        return f'[data-voucher="{voucher}"]', voucher

    def open(self, user=None, path='/'):
        if user:
            self.browser.driver.get(self.served.url + '/pages/icon.svg')
            self.browser.run('localStorage.setItem("rushgate.user", arguments[0])', user)
        self.browser.driver.get(self.served.url + path)

    def order_on_page(self):
        return eventually(lambda: self.browser.run(
            'return /^#order\\/(\\d+)$/.exec(location.hash)?.[1]'), 'an order is shown')

    # ---- Buying ----

    def test_purchase_by_clicks_ends_with_ticket(self):
        card, _ = self.publish('Concert in the old harbour', 100, price_cents=4500, payment_ms=QUARTER_HOUR_MS)
        self.open()
        self.browser.click(card + ' .main', '€45.00')
        self.browser.type('#user-name', 'no good')
        self.browser.press(Keys.ENTER)
        self.browser.find('.fault', 'Without spaces')
        self.browser.type('#user-name', 'anna')
        self.browser.press(Keys.ENTER)
        self.browser.find('h1', 'Reserved for you')
        self.browser.find('.countdown', '14:5')
        order = self.order_on_page()
        self.browser.check_extremes(self)
        self.browser.screen(1280)
        self.browser.click('#pay')
        self.browser.find('.countdown', '€45.00')
        self.browser.check_page(self)
        self.browser.click('#pay')
        self.browser.find('h1', 'Paid')
        self.assertEqual(self.served.call('GET', f'/v1/orders/{order}')['state'], 'paid')
        self.browser.check_extremes(self)
        self.browser.picture('ticket')
        self.assertEqual(self.scan('.ticket svg'), f'{self.served.url}/operator#orders/{order}')
        self.served.call('POST', f'/v1/orders/{order}/use', {})
        self.browser.find('h1', 'Used')

    def scan(self, selector):
        """Returns the contents of a QR code on the page, as a scanner sees it."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, 'code.png')
            self.browser.find(selector).screenshot(file)
            return subprocess.run(['zbarimg', '--quiet', '--raw', '--nodbus', file], check=True,
                                  capture_output=True, text=True).stdout.strip()

    def test_purchase_by_keys_takes_quantity(self):
        card, voucher = self.publish('Green tea', 10, price_cents=1250, limits={'per_user': 3})
        self.open('bert')
        self.browser.find(card)
        self.browser.run('document.querySelector(arguments[0] + " .stepper button:last-child").focus()', card)
        self.browser.press(Keys.SPACE, Keys.SPACE)
        self.browser.find(card + ' .main', '€37.50')
        self.browser.press(Keys.TAB, Keys.ENTER)
        self.browser.find('h1', 'It is yours')
        self.assertEqual(self.served.call('GET', f'/v1/vouchers/{voucher}')['free'], 7)

    def test_refusal_is_said_in_words(self):
        card, voucher = self.publish('One each', 10)
        self.served.buy(voucher, 'carl')
        self.open('carl')
        self.browser.click(card + ' .main')
        self.browser.find(card + ' .message.bad', 'You have as many as one person may buy.')
        self.browser.click('#language')
        self.browser.find(card + ' .message.bad', '您已达到每人限购数量')

    def test_unpaid_order_cancelled_after_question(self):
        card, _ = self.publish('To be cancelled', 1, price_cents=100, payment_ms=QUARTER_HOUR_MS)
        self.open('dora')
        self.browser.click(card + ' .main')
        self.browser.click('#cancel')
        self.browser.check_page(self)
        self.browser.press(Keys.ESCAPE)
        order = self.order_on_page()
        self.assertEqual(self.served.call('GET', f'/v1/orders/{order}')['state'], 'unpaid')
        self.browser.click('#cancel')
        self.browser.click('dialog .danger')
        self.browser.find('h1', 'Cancelled')
        self.assertEqual(self.served.call('GET', f'/v1/orders/{order}')['state'], 'cancelled')

    # ---- Waiting ----

    def test_waiting_user_gets_returned_piece(self):
        card, voucher = self.publish('Few', 1, price_cents=100, payment_ms=QUARTER_HOUR_MS, waiting_max=5)
        first = self.served.buy(voucher, 'erik')
        self.open('fred')
        self.browser.click(card + ' .main', 'Join the waiting list')
        self.browser.find(card + ' .message.good', 'number 1')
        self.served.call('POST', f'/v1/orders/{first}/cancel', {})
        self.browser.find('h1', 'Reserved for you')

    def test_user_queues_at_entrance_then_buys(self):
        card, voucher = self.publish('Behind the entrance', 50, needs_token=True)
        for user in range(4):
            self.served.call('POST', f'/v1/vouchers/{voucher}/entrance', {'user': f'early{user}'})
        self.open('olga')
        self.browser.click(card + ' .main')
        self.browser.find(card + ' .message.good', 'in the queue')
        self.browser.check_page(self)
        self.browser.find('h1', 'It is yours')

    # ---- Faults ----

    def test_purchase_during_restart_is_made_once(self):
        card, voucher = self.publish('During a restart', 5, limits={'per_user': 5})
        self.open('gina')
        self.browser.find(card + ' .main', 'Buy')
        self.served.stop()
        self.browser.find('#connection', 'The connection is lost')
        self.browser.click(card + ' .main')
        self.browser.find(card + ' .message.warn', 'being finished')
        self.browser.check_page(self)
        kept = json.loads(self.browser.run('return localStorage.getItem("rushgate.purchases")'))
        self.assertNotIn('order', kept[-1])
        self.served.start()
        self.browser.find('h1', 'It is yours')
        self.assertEqual(self.served.call('GET', f'/v1/vouchers/{voucher}')['admitted'], 1)
        eventually(lambda: not self.browser.has('#connection'), 'the notice is gone')
        self.served.buy(voucher, 'other')
        self.browser.click('.back a')
        self.browser.find(card, '3 of 5 left')

    def test_page_without_a_file_loads_again(self):
        card, _ = self.publish('Loaded while the server stopped', 5)
        self.browser.block(self.served.url + '/pages/dom.js')
        self.open()
        self.assertEqual(self.browser.run('return document.getElementById("clock").textContent'), '')
        self.browser.block()
        self.browser.find(card + ' .main', 'Buy')

    def test_purchase_without_reply_is_found_again(self):
        card, voucher = self.publish('Reply lost', 5, limits={'per_user': 5})
        order = self.served.buy(voucher, 'hugo', key='lost-1')
        self.open('hugo')
        kept = [{'key': 'lost-1', 'voucher': str(voucher), 'title': 'Reply lost', 'user': 'hugo', 'quantity': 1,
                 'at': int(time.time() * 1000)}]
        self.browser.run('localStorage.setItem("rushgate.purchases", arguments[0])', json.dumps(kept))
        self.browser.driver.refresh()
        self.assertEqual(self.order_on_page(), order)
        self.browser.find('h1', 'It is yours')
        self.assertEqual(self.served.call('GET', f'/v1/vouchers/{voucher}')['admitted'], 1)

    def test_countdown_ignores_clock_of_browser(self):
        begin = int(time.time() * 1000) + 2 * 3_600_000
        card, _ = self.publish('Later', 5, begin_ms=begin)
        script = self.browser.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', {
            'source': 'const real = Date.now; Date.now = () => real() + 86400000;'})
        self.open()
        self.browser.find(card + ' .countdown', '01:59:')
        self.browser.driver.execute_cdp_cmd('Page.removeScriptToEvaluateOnNewDocument', script)
        self.browser.run('window.kept = document.querySelector(arguments[0])', card)
        self.served.publish(int(card[15:-2]), 'Later', 5, begin_ms=0)
        self.browser.find(card + ' .main:enabled', 'Buy')
        self.assertTrue(self.browser.run('return window.kept.isConnected'), 'the card stays, with its focus')

    def test_hostile_title_and_reference_stay_text(self):
        card, voucher = self.publish(HOSTILE, 5)
        order = self.served.buy(voucher, 'ida', reference=HOSTILE[:50])
        self.open('ida')
        self.assertIn('<img src=x', self.browser.find(card + ' h2').get_attribute('textContent'))
        self.browser.click(card + ' .main')
        self.browser.find(card + ' .message.bad')
        self.open('ida', f'/#order/{order}')
        self.browser.driver.refresh()
        self.browser.find('dd', '<img src=x')
        self.assertIsNone(self.browser.run('return window.hurt ?? null'))
        self.assertEqual(self.browser.run('return document.querySelectorAll("main img, main script").length'), 0)

    # ---- The look ----

    def test_page_is_legible_everywhere(self):
        self.publish('这是一个很长的中文标题，用来测试在窄屏幕上是否能够正确换行显示', 50, price_cents=100)
        self.publish('W' * 80, 3, begin_ms=int(time.time() * 1000) + 90_000_000)
        self.open('jane')
        self.browser.find('.voucher', '中文')
        self.browser.check_everywhere(self)
        self.browser.check_focus_order(self)
        self.browser.screen(1920, 1080)
        self.browser.picture('buyer')
