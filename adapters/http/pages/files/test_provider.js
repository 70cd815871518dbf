// A page that pretends to be a payment provider. A real one tells the shop's program by a webhook; this
// one records the payment itself, which only an operator may.
import { setText } from './dom.js';
import { money, t, useTexts } from './language.js';
import { call, readServer } from './server.js';

const texts = {
  en: { pretend: 'This page pretends to be a payment provider. No money moves.', title: 'Payment', pay: 'Pay', back: 'Back', order: 'Order {order}', failed: 'The payment was not recorded: {detail}', noReply: 'The server did not reply. Pay again in a moment: the payment is recorded only once.' },
  zh: { pretend: '本页仅模拟支付平台，不会发生真实扣款。', title: '付款', pay: '确认付款', back: '返回', order: '订单 {order}', failed: '付款未能记录：{detail}', noReply: '服务器没有响应。请稍后重试，付款只会记录一次。' },
};

const get = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const order = query.get('order') ?? '';
const cents = Number(query.get('amount'));
// Only back to this site.
const back = new URL(query.get('return') ?? '/', location.origin);
const returnTo = back.origin === location.origin ? back.href : '/';

async function pay() {
  get('pay').disabled = true;
  try {
    await call('POST', `/v1/orders/${encodeURIComponent(order)}/payments`, { body: { payment: `test-${order}`, amount_cents: cents } });
    location.replace(returnTo);
  } catch (error) {
    setText(get('note'), error.type === 'no-reply' ? t('noReply') : t('failed', { detail: error.message }));
    get('pay').disabled = false;
  }
}

useTexts(texts);
get('back').href = returnTo;
get('pay').addEventListener('click', pay);
setText(get('what'), t('order', { order }));
const server = await readServer().catch(() => ({}));
setText(get('amount'), money(cents, server.currency));
