// The stream of events. The browser resumes it by itself after a lost
// connection; when the hub or a proxy answers with an error it gives up, and
// then it is opened again here, from where it was.

const types = ['context', 'pin', 'agent', 'reset'];
const retry = 2000; // ms

export function follow(after, handlers) {
  let position = after;
  let source;

  function open() {
    source = new EventSource(`/api/v0/events?after=${encodeURIComponent(position)}`);
    source.addEventListener('open', () => handlers.state('live'));
    source.addEventListener('error', () => {
      handlers.state('reconnecting');
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(() => {
        handlers.closed(); // finds out whether one is still signed in
        open();
      }, retry);
    });
    for (const type of types) {
      source.addEventListener(type, (event) => {
        if (event.lastEventId) position = event.lastEventId;
        handlers[type](JSON.parse(event.data));
      });
    }
  }

  open();
  addEventListener('pagehide', () => source.close());
}
