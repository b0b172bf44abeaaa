/** What was handed over before a moment and is not done, how much is under way, and whose turn it is. */

/** Tells when everything that was handed over before a moment is done, while more keeps coming. */
export interface Rounds {
  /** Something was handed over. @returns its ticket, for `done`. */
  begin(): number;
  done(ticket: number): void;
  /** Resolves when all that has begun so far is done. */
  settled(): Promise<void>;
  /** Begun and not done. */
  open(): number;
}

/** Tickets are numbers of rounds: asking ends a round, and what begins afterwards is of the next one. */
export function createRounds(): Rounds {
  const open = new Map<number, number>();
  let round = 0;
  let waiting: { round: number; resolve: () => void }[] = [];
  const isOver = (asked: number): boolean => [...open.keys()].every((one) => one > asked);
  return {
    begin() {
      open.set(round, (open.get(round) ?? 0) + 1);
      return round;
    },
    done(ticket) {
      const left = (open.get(ticket) ?? 0) - 1;
      if (left > 0) return void open.set(ticket, left);
      open.delete(ticket);
      const over = waiting.filter((one) => isOver(one.round));
      waiting = waiting.filter((one) => !over.includes(one));
      for (const { resolve } of over) resolve();
    },
    settled() {
      const asked = round++;
      return isOver(asked) ? Promise.resolve() : new Promise((resolve) => waiting.push({ round: asked, resolve }));
    },
    open: () => [...open.values()].reduce((sum, count) => sum + count, 0),
  };
}

export interface Gauge {
  run<Made>(work: () => Promise<Made>): Promise<Made>;
  /** How many run now. */
  running(): number;
  /** Resolves when fewer than so many run; for one that waits at a time. */
  below(limit: number): Promise<void>;
}

/** Counts work that is under way. */
export function createGauge(): Gauge {
  let running = 0;
  let ended = (): void => undefined;
  return {
    async run(work) {
      running++;
      try {
        return await work();
      } finally {
        running--;
        ended();
      }
    },
    running: () => running,
    async below(limit) {
      while (running >= limit)
        await new Promise<void>((resolve) => {
          ended = resolve;
        });
    },
  };
}

/** Lets everything else of the process have its turn first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
