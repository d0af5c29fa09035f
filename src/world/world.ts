/** Users of a small synthetic world: dated sessions, what was true in them, and the exam that follows. */
import type { UserStream } from '../core/annotation.ts';
import type { Scene, Session } from '../core/conversation.ts';
import { createRng, type Rng } from '../lib/rng.ts';
import { itemsOf } from './items.ts';
import { type WorldOptions, type WorldOptionsInput, worldOptionsSchema } from './options.ts';
import { tellSession } from './session.ts';
import { createUserState } from './state.ts';
import type { SessionTruth, WorldUser } from './truth.ts';

const OFFSETS = ['+00:00', '+01:00', '+02:00', '-05:00', '+05:30', '+09:00'] as const;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const FIRST_DAY_MS = Date.UTC(2023, 0, 2);

/** The streams alone, as any data source yields them. */
export function createWorld(options: WorldOptionsInput): readonly UserStream[] {
  const parsed = worldOptionsSchema.parse(options);
  return Array.from({ length: parsed.users }, (_, index) => {
    const { userId, sessions, items } = generate(parsed, index);
    return { userId, sessions, items };
  });
}

/** One user with the truth behind the stream. The same whatever `users` is. */
export function createWorldUser(options: WorldOptionsInput, index: number): WorldUser {
  return generate(worldOptionsSchema.parse(options), index);
}

function generate(options: WorldOptions, index: number): WorldUser {
  const userId = `${options.split}-${options.seed}-u${index}`;
  const rng = createRng(`world/${userId}`);
  const state = createUserState(options, sceneOf(options, index), rng.fork('pools'));
  const sessions: Session[] = [];
  const truth: SessionTruth[] = [];
  for (const [session, at] of sessionTimes(options, rng.fork('times')).entries()) {
    const told = tellSession(
      {
        state,
        rng: rng.fork(`session ${session}`),
        session,
        day: at.slice(0, 10),
        introduced: new Set(),
        referred: new Set(),
      },
      { id: `${userId}-s${session}`, userId, at },
    );
    sessions.push(told.session);
    truth.push(told.truth);
  }
  return { userId, sessions, truth, items: itemsOf(userId, truth, rng.fork('items')) };
}

const MIXED: readonly [Scene, Scene, Scene] = ['chat', 'working', 'coding'];

function sceneOf({ scene }: WorldOptions, index: number): Scene {
  return scene === 'mixed' ? MIXED[(index % 3) as 0 | 1 | 2] : scene;
}

/** Days to weeks apart, in the middle of the day, so that the local day is the UTC day too. */
function sessionTimes({ sessionsPerUser }: WorldOptions, rng: Rng): string[] {
  const offset = rng.pick(OFFSETS);
  let dayMs = FIRST_DAY_MS + rng.int(0, 600) * DAY_MS;
  return Array.from({ length: sessionsPerUser }, () => {
    dayMs += rng.int(2, 20) * DAY_MS;
    const local = new Date(dayMs + rng.int(10 * 60, 17 * 60) * MINUTE_MS);
    return local.toISOString().slice(0, 19) + offset;
  });
}
