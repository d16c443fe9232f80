// The time as the page shows it ("2 min ago"): one slow tick for everybody, so that no view needs a timer of its own.
class Now {
  date = $state.raw(new Date());

  constructor() {
    setInterval(() => (this.date = new Date()), 15_000);
  }
}

export const now = new Now();
