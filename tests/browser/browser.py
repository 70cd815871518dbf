"""Chromium, and what must hold for every page in it."""
import json
import os
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from served import eventually

# Returns the texts whose contrast with what is behind them is too low for WCAG 2.2 AA, computed from the
# colours that the page has.
CONTRAST = r'''
  const parse = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return text.startsWith('color(srgb') ? [parts[0] * 255, parts[1] * 255, parts[2] * 255, parts[3] ?? 1]
      : [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(parse(getComputedStyle(at).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faults = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest('.hidden-text, noscript, script')) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const colour = element.ownerSVGElement ? style.fill : style.color;
    const [light, dark] = [luminance(over(parse(colour), below)), luminance(below)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < (isLarge ? 3 : 4.5)) faults.push(`${walker.currentNode.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return faults;
'''

# Returns the controls that are too small to touch. A link in a text is as high as its line.
SMALL = r'''
  return [...document.querySelectorAll('button, a.button, input:not([type=checkbox]), select, summary')]
    .filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 40)
    .map((element) => element.outerHTML.slice(0, 120));
'''

# Returns the texts that stand in a column of a few letters.
NARROW = r'''
  return [...document.querySelectorAll('dd, dt, th, td, p, h1, h2, a, button, label > span')]
    .filter((element) => {
      const text = element.textContent.trim();
      if (text.length < 4 || element.children.length > 0 || !element.checkVisibility() || element.closest('.hidden-text')) return false;
      const range = document.createRange();
      range.selectNodeContents(element);
      const box = range.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(element).fontSize);
      return box.width > 0 && box.width < 3 * size && box.height > 4 * size;
    })
    .map((element) => element.textContent.trim().slice(0, 40));
'''

# Returns the first visible element with this text in it. To ask the driver about one element after the
# other would take most of the tests' time.
VISIBLE = r'''
  const [selector, text] = arguments;
  return [...document.querySelectorAll(selector)].find((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && (text === null || element.innerText.includes(text)) &&
           element.checkVisibility({checkOpacity: true, visibilityProperty: true});
  }) ?? null;
'''

NAMED_ROLES = {'button', 'link', 'textbox', 'searchbox', 'checkbox', 'combobox', 'dialog', 'img', 'image',
               'spinbutton', 'tab', 'table', 'grid', 'radio', 'progressbar', 'timer'}


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        for option in ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-dev-shm-usage', 'lang=en',
                       'hide-scrollbars', 'no-first-run', 'disable-background-networking',
                       'disable-component-update'):
            options.add_argument('--' + option)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)

    def quit(self):
        self.driver.quit()

    # ---- The screen ----

    def screen(self, width, height=800, is_dark=False):
        self.shown = f'{width}-{"dark" if is_dark else "light"}'
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 600})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [
            {'name': 'prefers-color-scheme', 'value': 'dark' if is_dark else 'light'},
            {'name': 'prefers-reduced-motion', 'value': 'reduce'}]})

    def picture(self, name):
        """Saves what is seen, if RUSHGATE_PICTURES names a folder."""
        folder = os.environ.get('RUSHGATE_PICTURES')
        if folder:
            self.driver.save_screenshot(f'{folder}/{name}.png')

    def forget(self, url):
        """Removes what the browser kept of the site."""
        self.driver.execute_cdp_cmd('Storage.clearDataForOrigin', {'origin': url, 'storageTypes': 'all'})
        self.driver.get('about:blank')

    def block(self, *urls):
        """No request for these gets a reply, as if the server were away."""
        self.driver.execute_cdp_cmd('Network.enable', {})
        self.driver.execute_cdp_cmd('Network.setBlockedURLs', {'urls': urls})

    # ---- Elements ----

    def find(self, selector, text=None):
        """Returns the visible element, once it is there, with this text in it."""
        return eventually(lambda: self.run(VISIBLE, selector, text),
                          lambda: f'{selector} with {text!r}; the page has: {self.text()[:600]}')

    def has(self, selector):
        return self.run(VISIBLE, selector, None) is not None

    def click(self, selector, text=None):
        """Clicks, again if the page replaced the element meanwhile."""
        eventually(lambda: self.find(selector, text).click() or True, f'a click on {selector}')

    def type(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self):
        return self.driver.find_element(By.TAG_NAME, 'body').text

    # ---- What must hold everywhere ----

    def check_page(self, test):
        """Checks contrast, names, sizes, and that nothing is wider than the screen."""
        where = self.run('return [innerWidth, document.documentElement.lang, location.href, '
                         'matchMedia("(prefers-color-scheme: dark)").matches]')
        page = ''.join(c if c.isalnum() else '-' for c in where[2].partition('#')[2][:20])
        self.picture('-'.join([test.id().rpartition('.')[2], page, self.shown, where[1]]))
        with test.subTest(page=where):
            test.assertEqual(self.run(CONTRAST), [])
            test.assertEqual(self.run(SMALL), [])
            test.assertEqual(self.run(NARROW), [])
            test.assertEqual(self.unnamed(), [])
            test.assertLessEqual(self.run('return document.documentElement.scrollWidth - innerWidth'), 0)
            origins = self.run('return performance.getEntriesByType("resource").map((one) => new URL(one.name).origin)')
            own = self.run('return location.origin')
            test.assertEqual([one for one in origins if one != own], [], 'requests to another host')

    def check_everywhere(self, test, language_button='#language'):
        """Checks the page at both widths, in both languages and in both colour schemes."""
        for _ in range(2):
            for width, is_dark in ((360, False), (360, True), (1920, True), (1920, False)):
                self.screen(width, is_dark=is_dark)
                self.check_page(test)
            self.click(language_button)

    def check_extremes(self, test):
        """Checks the page as a phone in the dark and as a large screen show it, in a language each."""
        self.screen(360, is_dark=True)
        self.check_page(test)
        self.screen(1920)
        self.click('#language')
        self.check_page(test)
        self.click('#language')

    def unnamed(self):
        """Returns the controls without a name for a screen reader."""
        nodes = self.driver.execute_cdp_cmd('Accessibility.getFullAXTree', {})['nodes']
        unnamed = []
        for node in nodes:
            role = node.get('role', {}).get('value', '')
            if node.get('ignored') or role not in NAMED_ROLES:
                continue
            if not node.get('name', {}).get('value', '').strip():
                unnamed.append(role + ' ' + json.dumps(node.get('properties', []))[:200])
        return unnamed

    def tab_stops(self, most=60):
        """Presses Tab until the focus comes back. Returns [place in the document, has an outline] of each
        element that had it."""
        self.run('document.activeElement.blur(); window.getSelection().removeAllRanges(); '
                 'document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute("tabindex")')
        stops = []
        for _ in range(most):
            self.press(Keys.TAB)
            stop = self.run('''
              const element = document.activeElement;
              if (element === document.body || element.dataset.seenByTab) return null;
              element.dataset.seenByTab = "1";
              const style = getComputedStyle(element);
              return [[...document.querySelectorAll("*")].indexOf(element),
                      style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];''')
            if stop is None:
                break
            stops.append(stop)
        self.run('document.querySelectorAll("[data-seen-by-tab]").forEach((one) => delete one.dataset.seenByTab)')
        return stops

    def check_focus_order(self, test):
        stops = self.tab_stops()
        test.assertGreater(len(stops), 3)
        places = [place for place, _ in stops]
        test.assertEqual(places, sorted(places), 'the focus moves in the order of the page')
        test.assertTrue(all(outline for _, outline in stops), 'the focus is visible')

    def faults(self):
        """Returns what the console has of faults, except for requests that did not reach the server."""
        return [line['message'] for line in self.driver.get_log('browser')
                if line['level'] == 'SEVERE' and 'net::ERR' not in line['message']
                and 'the server responded with a status of' not in line['message']]


class PageTest(unittest.TestCase):
    """Pages of `served`, in `browser`. A subclass makes both in setUpClass()."""

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.served.remove()

    next_voucher = 1

    def setUp(self):
        self.browser.forget(self.served.url)
        self.browser.screen(1280)

    def tearDown(self):
        self.assertEqual(self.browser.faults(), [])

    def publish(self, title, stock, **terms):
        """Publishes a voucher. Returns its id, which no other test of the class has."""
        voucher = type(self).next_voucher
        type(self).next_voucher += 1
        self.served.publish(voucher, title, stock, **terms)
        return voucher
