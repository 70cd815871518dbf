"""The pages of `rushgate demo --http`."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from selenium.webdriver.common.keys import Keys

from browser import Browser
from served import eventually


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='rushgate-demo-')
        self.demo = subprocess.Popen(
            [os.environ['RUSHGATE_PROGRAM'], 'demo', '--http', '127.0.0.1:0', '--fast', '--requests', '50000',
             '--dir', self.folder + '/demo'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.browser = Browser()

    def tearDown(self):
        self.browser.quit()
        self.demo.kill()
        self.demo.wait()
        self.demo.stdout.close()
        shutil.rmtree(self.folder)

    def test_visitor_buys_and_pays_while_demo_runs(self):
        said = ''
        for line in self.demo.stdout:
            said += line
            found = re.search(r'buy at (http://127\.0\.0\.1:\d+/), look on at \S+/operator$', line.strip())
            if found:
                break
        self.assertIsNotNone(found, said)
        self.browser.screen(1280)
        self.browser.driver.get(found[1])
        # The server ends and starts with each act of the demo, and the page goes on.
        # Cards change places as vouchers sell out, so a click may miss.
        buy = lambda: self.browser.find('[data-voucher="5"] .main', '€25.00').click()
        eventually(lambda: self.browser.has('#user-name') or buy(), 'the page does not ask for a name')
        self.browser.type('#user-name', 'visitor')
        self.browser.press(Keys.ENTER)
        self.browser.find('h1', 'Reserved for you')
        for line in self.demo.stdout:
            said += line
            if 'the pages stay open until Ctrl+C' in line:
                break
        self.browser.click('#pay')
        self.browser.click('#pay', 'Pay')
        self.browser.find('.ticket svg')
        self.demo.send_signal(signal.SIGINT)
        self.demo.wait(20)
        self.assertEqual(self.demo.returncode, 0, said)
