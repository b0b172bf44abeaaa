/** The child's side of the channel to its parent: runs calls of an unchanged SDK; sends results and errors as data. */

export interface Asked<Call extends string = string> {
  number: number;
  /** Calls with the same name share one client object, as in a till that creates its client once. */
  client: string;
  token: string;
  call: Call;
  argument: unknown;
}

export interface Told {
  number: number;
  result?: unknown;
  error?: { name: string; message: string; status?: number; error?: string; causes?: unknown; cause?: string };
}

/** Runs the parent's calls until the channel closes. */
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
  const { status, error: code, causes } = error as Error & { status?: number; error?: string; causes?: unknown }; // fields of the SDK's errors
  return {
    name: error.name,
    message: error.message,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { error: code }),
    ...(causes === undefined ? {} : { causes }),
    cause: causeOf(error),
  };
}

/** The innermost cause, such as why a certificate was not trusted. */
function causeOf(error: Error): string {
  let inner: unknown = (error as Error & { __cause__?: unknown }).__cause__ ?? error; // where the SDK stores it
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause;
  return inner instanceof Error ? `${(inner as NodeJS.ErrnoException).code ?? ''} ${inner.message}` : String(inner);
}
