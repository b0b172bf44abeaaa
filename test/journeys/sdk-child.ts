/** The till's side of the line to its parent: calls of an unchanged SDK one by one, with what it threw as plain data. */

export interface Asked<Call extends string = string> {
  number: number;
  /** Calls with the same name share one client object, as in a till that makes it once. */
  client: string;
  token: string;
  call: Call;
  argument: unknown;
}

export interface Told {
  number: number;
  /** What the call resolved to. */
  result?: unknown;
  /** What it threw. */
  error?: { name: string; message: string; status?: number; error?: string; causes?: unknown; cause?: string };
}

/** Does what the parent asks for until the line is cut. */
export function answerCalls<Call extends string>(run: (asked: Asked<Call>) => Promise<unknown>): void {
  process.on('message', (asked: Asked<Call>) => {
    void run(asked).then(
      (result) => process.send?.({ number: asked.number, result } satisfies Told),
      (error: unknown) => process.send?.({ number: asked.number, error: described(error) } satisfies Told),
    );
  });
}

function described(error: unknown): NonNullable<Told['error']> {
  if (!(error instanceof Error)) return { name: 'not an error', message: String(error) };
  const { status, error: code, causes } = error as Error & { status?: number; error?: string; causes?: unknown }; // what the SDK's errors carry
  return {
    name: error.name,
    message: error.message,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { error: code }),
    ...(causes === undefined ? {} : { causes }),
    cause: causeOf(error),
  };
}

/** The innermost reason, e.g. why a certificate was not trusted. */
function causeOf(error: Error): string {
  let inner: unknown = (error as Error & { __cause__?: unknown }).__cause__ ?? error; // where the SDK keeps it
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause;
  return inner instanceof Error ? `${(inner as NodeJS.ErrnoException).code ?? ''} ${inner.message}` : String(inner);
}
