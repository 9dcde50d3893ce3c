// The frame of the page is painted before what fills it runs. This runs before anything
// is painted, so that it is the frame of the right view.
document.documentElement.dataset.view = location.hash === '#operators' && document.documentElement.dataset.operator === 'yes' ? 'operators' : location.hash.length > 2 ? 'agent' : 'fleet';
addEventListener('DOMContentLoaded', () => {
  const run = () => import('./app.js');
  if (document.hidden) run(); // nothing is painted
  else requestAnimationFrame(() => setTimeout(run));
});
