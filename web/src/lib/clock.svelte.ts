// The time as the page shows it ("2 min ago"): one slow timer for all views.
class Now {
  date = $state.raw(new Date());

  constructor() {
    setInterval(() => (this.date = new Date()), 15_000);
  }
}

export const now = new Now();
