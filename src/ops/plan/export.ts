/** The file of merchants as they are now, to begin with; its plan changes nothing. */
import { Document, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { say } from '../../locales/message.ts';
import { type Merchant, routedKinds } from '../../proxy/routing/merchant.ts';
import { defined, iso } from '../fields.ts';
import { merchantView } from '../merchants.ts';
import type { Ports } from '../ports.ts';
import { selected, whom } from '../selection.ts';
import { LONGEST_TEXT, MOST_MERCHANTS, settingNames } from './file.ts';

export const exportQuery = z.strictObject(whom(MOST_MERCHANTS));
export const exportView = z.object({ text: z.string().describe('YAML, for POST /api/plan') });

/** Secrets and addresses are left out: they may be keys. @throws PuenteError as `selected`. */
export async function exportFile(
  ports: Ports,
  query: z.infer<typeof exportQuery>,
): Promise<z.infer<typeof exportView>> {
  const merchants = await selected(ports, query, null);
  const document = new Document({ merchants: merchants.map(entryOf) });
  document.commentBefore = ` ${say('plan.exported', { made_at: iso(ports.clock.now()) }).text}`;
  for (const [nth, merchant] of merchants.entries()) {
    const entry = document.getIn(['merchants', nth]) as YAMLMap; // made two lines above
    const kept = comments(ports, merchant);
    if (kept.length > 0) entry.comment = kept.map((line) => ` ${line}`).join('\n');
  }
  const text = document.toString({ lineWidth: 0 });
  if (merchants.length <= MOST_MERCHANTS && text.length <= LONGEST_TEXT) return { text };
  const limits = { merchants: MOST_MERCHANTS, characters: LONGEST_TEXT };
  return { text: `# ${say('plan.part_it', limits).text}\n${text}` };
}

/** The settings that the merchant has for itself; all others follow their default. */
function entryOf({ id, settings }: Merchant): Record<string, unknown> {
  const { stage, share, units_in, units_out, kinds, deprecation } = settings;
  const own = Object.entries(settings).filter(([name, value]) => settingNames.includes(name) && value !== null);
  const routes = routedKinds.flatMap((kind) => {
    const route = kinds[kind];
    if (route === undefined) return [];
    return [[kind, route.stage === 'canary' ? route : { stage: route.stage }]];
  });
  const is_canary = [stage, ...routedKinds.map((kind) => kinds[kind]?.stage)].includes('canary');
  const { link = null, ...dates } = deprecation ?? {};
  return {
    id,
    ...Object.fromEntries(own),
    ...(deprecation === null
      ? {}
      : {
          deprecation: {
            ...Object.fromEntries(
              Object.entries(dates).flatMap(([name, at]) => (at === null ? [] : [[name, iso(at)]])),
            ),
            ...(link === null ? {} : { link }),
          },
        }),
    ...(stage === null ? {} : { stage }),
    ...defined({
      share: stage === 'canary' ? share : undefined,
      units_in: is_canary && units_in.length > 0 ? units_in : undefined,
      units_out: is_canary && units_out.length > 0 ? units_out : undefined,
      kinds: routes.length > 0 ? Object.fromEntries(routes) : undefined,
    }),
  };
}

/** What it has and the text does not say. */
function comments(ports: Ports, merchant: Merchant): string[] {
  const { settings, notice_secret, credential } = merchantView(ports, merchant);
  const url = settings.notice_url;
  return [
    ...(url?.from === 'merchant' ? [say('plan.url_left_out', { url: String(url.value) }).text] : []),
    ...Object.entries({ notice_secret, credential })
      .filter(([, word]) => word === 'set')
      .map(([name]) => say('plan.secret_left_out', { name }).text),
  ];
}
