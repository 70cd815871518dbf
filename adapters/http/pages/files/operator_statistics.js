// The figures of the server, read every second, and what they say a second.
import { call } from './server.js';

/** Outcomes in the order in which the chart of refusals stacks them; all others are "others". */
export const REFUSALS = ['sold_out', 'limit_reached', 'not_started', 'overloaded', 'unavailable'];

export class Statistics {
  last = null;      // GET /v1/statistics
  rates = null;     // {accepted, refused, …}: a second
  isReady = true;
  listeners = new Set();

  async read() {
    const [statistics, ready] = await Promise.all([call('GET', '/v1/statistics'),
      call('GET', '/readyz').then(() => true, (error) => { if (error.type === 'no-reply') throw error; return false; })]);
    const before = this.last;
    this.last = statistics;
    this.isReady = ready;
    this.rates = before === null || before.opened_at !== statistics.opened_at ? null : ratesBetween(before, statistics);
    if (this.rates) for (const listener of this.listeners) listener(Date.parse(statistics.at), this.rates, statistics);
  }

  get refused() { return this.last ? refusedOf(this.last.purchases.all) : 0; }
}

const outcomesOf = (counts) => Object.entries(counts).filter(([name]) => name !== 'repeated' && name !== 'voucher');
const refusedOf = (counts) => outcomesOf(counts).reduce((sum, [name, count]) => (name === 'accepted' ? sum : sum + count), 0);

function ratesBetween(before, after) {
  const seconds = Math.max(0.2, (Date.parse(after.at) - Date.parse(before.at)) / 1000);
  const rates = { others: 0 };
  for (const [name, count] of outcomesOf(after.purchases.all)) {
    const rate = Math.max(0, count - (before.purchases.all[name] ?? 0)) / seconds;
    if (name === 'accepted' || REFUSALS.includes(name)) rates[name] = rate;
    else rates.others += rate;
  }
  rates.refused = rates.others + REFUSALS.reduce((sum, name) => sum + (rates[name] ?? 0), 0);
  return rates;
}
