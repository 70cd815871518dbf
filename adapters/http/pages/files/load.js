// Stands in each page itself: if a file of the page does not come, because the server stops just then, the
// page is loaded again once the server is back. If that does not help, ever later.
{
  let waitMs = 1000 * 2 ** Math.min(Number(sessionStorage.getItem('rushgate.loads') ?? 0), 6);
  let isWaiting = false;
  const loadAgain = async () => {
    await new Promise((resolve) => { setTimeout(resolve, waitMs); });
    try {
      if ((await fetch('/v1/server')).ok) {
        sessionStorage.setItem('rushgate.loads', Number(sessionStorage.getItem('rushgate.loads') ?? 0) + 1);
        location.reload();
        return;
      }
    } catch { /* it is still away */ }
    loadAgain();
  };
  addEventListener('error', ({ target }) => {
    if (isWaiting || !['SCRIPT', 'LINK'].includes(target.tagName)) return;
    isWaiting = true;
    loadAgain();
  }, true);
  addEventListener('load', () => { if (!isWaiting) sessionStorage.removeItem('rushgate.loads'); });
}
