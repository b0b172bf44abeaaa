/** A create that legacy has answered, beside the verdict that its shadow predicts. */
import type { ShadowFinding } from '../evidence/exchange.ts';
import type { DifferenceSeen } from '../records/evidence.ts';
import type { ShadowTask } from '../runtime.ts';
import { signatureOf } from './difference.ts';

/**
 * The difference between what legacy did and what orders would do; null when they agree or can't be compared.
 *
 * Three kinds count: legacy took what orders would refuse; legacy refused what orders would take; both refuse, and the
 * till is told another error. What hangs on the state of things is no difference, because no rule can know it: legacy's
 * 401 and 403 (whose token, whose terminal), 404 (no such till), 409 (busy), 429, and every 5xx. So a busy terminal on
 * legacy is not held against orders, and that an order would meet a busy terminal is not predicted. Nor is a till that left
 * before it was told anything, or an answer that broke off.
 */
export function compareCreate(task: ShadowTask, finding: ShadowFinding): DifferenceSeen | null {
  const { status, error, operation, outcome } = task.exchange;
  const taken = status < 300;
  if (operation === null || outcome === 'fault' || status >= 500 || (!taken && (status < 400 || STATE.has(status))))
    return null;
  // Errors of legacy Point are mostly their status again, which is said once.
  const told = error === null || error === String(status) ? String(status) : `${status} ${error}`;
  if (finding.verdict === 'accepted') {
    if (taken) return null;
    return difference(operation, 'verdict', told, 'accepted', `refused ${told}, accepted`);
  }
  const refusal = [finding.verdict, finding.status, finding.code, finding.error, finding.detail];
  const said = refusal.filter((part) => part !== null).join(' ');
  if (taken) return difference(operation, 'verdict', told, said, `taken, ${said}`);
  return finding.error === error ? null : difference(operation, 'error', told, said, `${told}, ${said}`);
}

const STATE = new Set([401, 403, 404, 409, 429]);
/** Kept of each side (`DifferenceSeen`). */
const MAX_SHOWN = 500;

/** The words of a refusal are rules and fields, no values; they tell differences apart. */
function difference(
  operation: string,
  what: DifferenceSeen['what'],
  legacy: string,
  orders: string,
  kind: string,
): DifferenceSeen {
  return {
    signature: signatureOf({ operation, what, path: '', kind }),
    operation,
    what,
    path: '',
    legacy: legacy.slice(0, MAX_SHOWN),
    orders: orders.slice(0, MAX_SHOWN),
  };
}
