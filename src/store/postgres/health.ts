/** Whether the database does its work: as the last write said, and while it does not, as a look once a second says. */

const PROBE_INTERVAL_MS = 1_000;

export interface Health {
  /** What a write or a look came to. */
  note(is_well: boolean): void;
  healthy(): boolean;
  stop(): void;
}

/** @param probe tries whether a write would be taken now. */
export function watchHealth(probe: () => Promise<boolean>): Health {
  let is_well = true;
  let timer: NodeJS.Timeout | null = null;
  let is_stopped = false;
  const look = async (): Promise<void> => {
    timer = null;
    note(await probe().catch(() => false));
  };
  const note = (now_well: boolean): void => {
    is_well = now_well;
    if (is_well || is_stopped || timer !== null) return;
    timer = setTimeout(() => void look(), PROBE_INTERVAL_MS).unref();
  };
  return {
    note,
    healthy: () => is_well && !is_stopped,
    stop() {
      is_stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
