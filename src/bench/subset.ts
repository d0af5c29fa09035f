/** The fixed, deterministic share of a benchmark: anyone with the ids and the salt gets the same one (definitions §9). */
import { hashJson, sha256 } from '../lib/hash.ts';

export interface SubsetItem {
  readonly id: string;
  readonly stratum: string;
  /** User or conversation, counted beside the items. */
  readonly cluster: string;
}

export interface SubsetOptions {
  readonly benchmark: string;
  readonly salt: string;
  /** Share of each stratum that is kept, rounded up. */
  readonly share: number;
}

export interface SubsetManifest extends SubsetOptions {
  /** Kept ids, sorted, by stratum. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly items: number;
  readonly clusters: number;
  /** Over everything above. */
  readonly hash: string;
}

/** Within each stratum the ⌈share · n⌉ items of lowest sha256(salt ‖ benchmark ‖ stratum ‖ id), parts joined by NUL. */
export function chooseSubset(items: readonly SubsetItem[], options: SubsetOptions): SubsetManifest {
  const { benchmark, salt, share } = options;
  if (!(share > 0 && share <= 1)) throw new Error(`subset share must be in (0, 1], not ${share}`);
  const strata = new Map<string, SubsetItem[]>();
  for (const item of items) {
    const stratum = strata.get(item.stratum);
    if (stratum === undefined) strata.set(item.stratum, [item]);
    else stratum.push(item);
  }
  const kept = [...strata].map(([stratum, members]) => {
    assertDistinct(members, stratum);
    const size = Math.ceil(Number((share * members.length).toFixed(9)));
    const ranked = members
      .map((item) => ({ item, rank: sha256([salt, benchmark, stratum, item.id].join('\u0000')) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1));
    return { stratum, members: ranked.slice(0, size).map(({ item }) => item) };
  });
  const members = kept.flatMap((stratum) => stratum.members);
  const content = {
    ...options,
    ids: Object.fromEntries(
      kept
        .map(
          ({ stratum, members: chosen }) => [stratum, chosen.map(({ id }) => id).sort()] as const,
        )
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    items: members.length,
    clusters: new Set(members.map(({ cluster }) => cluster)).size,
  };
  return { ...content, hash: hashJson(content) };
}

function assertDistinct(members: readonly SubsetItem[], stratum: string): void {
  if (new Set(members.map(({ id }) => id)).size === members.length) return;
  throw new Error(`stratum ${stratum} has two items of one id`);
}
