// Stands in each page itself: if a file of the page does not come, because the server stops just then, the
// page is loaded again once the server is back. Each time in a row, it waits longer before that.
{
  const COUNT = 'rushgate.loads';
  const count = Number(sessionStorage.getItem(COUNT) ?? 0);
  const loadAgain = async () => {
    await new Promise((resolve) => { setTimeout(resolve, 1000 * 2 ** Math.min(count, 6)); });
    const reply = await fetch('/v1/server').catch(() => null);  // null: it is still away
    if (!reply?.ok) return loadAgain();
    sessionStorage.setItem(COUNT, count + 1);
    location.reload();
  };
  let isWhole = true;
  addEventListener('error', ({ target }) => {
    if (!isWhole || !['SCRIPT', 'LINK'].includes(target.tagName)) return;
    isWhole = false;
    loadAgain();
  }, true);
  addEventListener('load', () => { if (isWhole) sessionStorage.removeItem(COUNT); });
}
