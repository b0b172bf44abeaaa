/** Whom a row is about that takes several merchants: those listed, those that meet conditions, or those listed that do. */
import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { encoded, say } from '../locales/message.ts';
import { verdicts } from '../proxy/records/evidence.ts';
import { type Merchant, routedKinds, stages } from '../proxy/routing/merchant.ts';
import { stageInForce } from '../proxy/routing/stage.ts';
import { merchantId } from './fields.ts';
import { withoutNames } from './moves/typed-lists.ts';
import type { Ports } from './ports.ts';
import { merchantReadiness } from './readiness/readiness.ts';
import { knownMerchants, newMerchant, type OnPurpose, refuseUnseen } from './seen.ts';

const WRITTEN = encoded(say('input.condition', {}));

const conditions = z
  .strictObject({
    stage: z.enum(stages).exactOptional(),
    verdict: z.enum(verdicts).exactOptional(),
    site: z
      .string()
      .regex(/^M[A-Z]{2}$/)
      .exactOptional(),
    tag: z.string().min(1).max(40).exactOptional(),
  })
  // Without any, it would be the whole fleet.
  .refine((all) => Object.keys(all).length > 0, WRITTEN);
type Conditions = z.infer<typeof conditions>;

/** The fields that name merchants, in body and query: as JSON, or as people write them. @param most merchants of one call. */
export function whom(most: number) {
  return {
    merchants: z
      .preprocess((typed) => wordsIn(typed, withoutNames) ?? typed, z.array(merchantId).min(1).max(most))
      .exactOptional()
      .describe('these merchants: A,B or A B; a name in brackets may follow each id'),
    where: z
      .preprocess(conditionsIn, conditions)
      .exactOptional()
      .describe(
        'those that meet it: stage=…, verdict=ready|blocked|inconclusive, site=MLA or tag=…; all, where repeated',
      ),
  };
}
type Whom = z.infer<z.ZodObject<ReturnType<typeof whom>>>;

/** The arguments of `refine` for a row that is never about the whole fleet. */
export const names_whom = [
  ({ merchants, where }: Whom): boolean => merchants !== undefined || where !== undefined,
  encoded(say('input.whom', {})),
] as const;

/** `A,B` or `A B`, once or repeated; null for what is no text. @param cleared what is left of a text first. */
function wordsIn(typed: unknown, cleared = (text: string): string => text): string[] | null {
  const texts = [typed].flat();
  if (!texts.every((text) => typeof text === 'string')) return null;
  return texts.flatMap((text) => cleared(text).split(/[\s,;]+/)).filter((word) => word !== '');
}

/** `stage=shadow tag=centro`; one that is named twice has both values, which no condition takes. */
function conditionsIn(typed: unknown, context: z.RefinementCtx): unknown {
  const pairs = wordsIn(typed)?.map((word) => word.split('=', 2));
  if (pairs?.some(([, value]) => value === undefined)) context.addIssue({ code: 'custom', message: WRITTEN });
  const named = Map.groupBy(pairs ?? [], ([name]) => name);
  const values = [...named].map(([name, all]) => [name, all.length === 1 ? all[0]?.[1] : all]);
  return pairs === undefined ? typed : Object.fromEntries(values);
}

/**
 * The merchants, each once; without a list and conditions all that are known.
 * @param most of them. @throws PuenteError not_found for one in the list that was never seen, with those that are near
 * it; refused for none, or too many.
 */
export async function selected(
  ports: Ports,
  { merchants: ids, where }: Whom,
  purpose: OnPurpose,
  most = Number.POSITIVE_INFINITY,
): Promise<Merchant[]> {
  if (ids !== undefined) await refuseUnseen(ports, ids, purpose);
  const known = await knownMerchants(ports);
  const by_id = new Map(known.map((one) => [one.id, one]));
  const listed = ids === undefined ? known : [...new Set(ids)].map((id) => by_id.get(id) ?? newMerchant(id));
  const found = where === undefined ? listed : await meeting(ports, listed, where);
  if (where !== undefined && found.length === 0) throw new PuenteError('refused', say('refusal.nobody_selected', {}));
  refuseTooMany(found, most);
  return found;
}

/** @throws PuenteError refused. */
export function refuseTooMany({ length: count }: readonly Merchant[], most: number): void {
  if (count > most) throw new PuenteError('refused', say('refusal.selected_many', { count, most }));
}

/**
 * Those that meet every condition; the cheap ones are checked first, and only the remaining merchants are judged.
 * @param is_any true: a stage is that of any kind of work, and not of the merchant alone.
 */
export async function meeting(
  ports: Ports,
  merchants: readonly Merchant[],
  { stage, verdict, site, tag }: Conditions,
  is_any = false,
): Promise<Merchant[]> {
  const kinds = is_any ? [null, ...routedKinds] : [null];
  const isOn = (one: Merchant): boolean =>
    kinds.some((kind) => stageInForce(ports.settings, one, kind).intended === stage);
  const alike = merchants.filter(
    (one) =>
      (stage === undefined || isOn(one)) &&
      (site === undefined || one.site === site) &&
      (tag === undefined || one.settings.tags?.includes(tag) === true),
  );
  if (verdict === undefined) return alike;
  const found: Merchant[] = [];
  for (const one of alike) if ((await merchantReadiness(ports, one.id)).verdict === verdict) found.push(one);
  return found;
}
