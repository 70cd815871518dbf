// Stands in each page itself: if a file of the page does not come, because the server stops just then, the
// page is loaded again once the server is back.
addEventListener('error', ({ target }) => {
  if (!['SCRIPT', 'LINK'].includes(target.tagName)) return;
  const loadAgain = () => setTimeout(() => fetch('/v1/server').then(() => location.reload(), loadAgain), 1000);
  loadAgain();
}, { capture: true, once: true });
