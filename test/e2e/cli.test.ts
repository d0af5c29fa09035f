/** The command line as people use it: help, mistakes, evaluation, Ctrl-C and resume. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setInterval } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { intervalSchema, writerSummarySchema } from '../../src/bench/writer-summary.ts';
import { openLocalWriter } from '../../src/cli/writers.ts';
import { mem0ExtractStage } from '../../src/harness/adapters/mem0/stage.ts';
import { startScriptedUpstream } from '../../src/testing/scripted-upstream.ts';
import { type CommandLine, startCommand, startCommandLine } from './support/command-line.ts';
import { LOCOMO, SESSION } from './support/sample-files.ts';
import { createTinyPolicy } from './support/tiny-policy.ts';

let root: string;
let cli: CommandLine;
let policy: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-cli-'));
  policy = join(root, 'policy');
  await createTinyPolicy(policy);
  cli = startCommandLine();
});

afterAll(async () => {
  await cli[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

/** The smallest exam there is. */
function tiny(users = 1): string[] {
  return [
    '--set',
    `data.world.users=${users}`,
    'data.world.sessionsPerUser=1',
    `stack.tokenizer=${policy}`,
  ];
}

async function file(name: string, text: string): Promise<string> {
  const path = join(root, name);
  await writeFile(path, text);
  return path;
}

describe('help', () => {
  test.each([
    [[]],
    [['demo']],
    [['train', 'opd']],
    [['train', 'rl']],
    [['eval']],
    [['runs', 'list']],
    [['runs', 'show']],
    [['data', 'inspect']],
    [['data', 'world']],
    [['gateway']],
    [['config']],
    [['doctor']],
  ])('%j has examples', async (command) => {
    const { stdout, exitCode } = await cli.run(...command, '--help');
    expect(stdout).toContain('Usage: memwriter');
    expect(stdout).toMatch(/Examples:\n {2}memwriter /);
    expect(exitCode).toBe(0);
  });
});

describe('data, config and doctor', () => {
  test('a JSONL file and a LoCoMo file are told apart and summed up', async () => {
    const schema = z.object({
      kind: z.string(),
      summary: z.looseObject({ users: z.number(), recallProbes: z.number() }),
    });
    for (const [name, text, kind, recallProbes] of [
      ['one.jsonl', SESSION, 'jsonl', 0],
      ['one.json', LOCOMO, 'locomo', 1],
    ] as const) {
      const path = await file(name, text);
      const { stdout } = await cli.run('data', 'inspect', path, '--tokenizer', policy, '--json');
      expect(schema.parse(JSON.parse(stdout))).toMatchObject({
        kind,
        summary: { users: 1, recallProbes },
      });
    }
  });

  test('the printed defaults are a configuration, and --set changes one key of it', async () => {
    const { stdout: defaults } = await cli.run('config', 'eval');
    const path = await file('defaults.json', defaults);
    const { stderr, exitCode } = await cli.run('eval', '--config', path, '--set', 'controls=[]');
    expect(stderr).toContain('no writer to evaluate');
    expect(exitCode).toBe(2);
    for (const name of ['eval', 'opd', 'rl']) {
      const { stdout } = await cli.run('config', name, '--schema');
      expect(JSON.parse(stdout)).toMatchObject({ type: 'object' });
    }
  });

  test('doctor says a line for each part', async () => {
    const { stdout } = await cli.run('doctor');
    expect(stdout.match(/^(ok|MISSING) /gm)).toHaveLength(9);
    expect(stdout).toMatch(/^ok +mem0 bank/m);
  });
});

const countsSchema = z.object({ asked: z.number(), saved: z.number() });
const reportSchema = z.object({
  seed: z.string(),
  wallS: z.number(),
  writers: z.record(z.string(), writerSummarySchema),
  differences: z.record(z.string(), intervalSchema),
  pairs: z.array(z.tuple([z.string(), z.string()])),
  faults: z.number(),
  data: z.object({
    users: z.number(),
    windows: z.number(),
    chunks: z.number(),
    probes: z.number(),
    traps: z.number(),
    questions: z.number(),
    unresolved: z.number(),
    unplaced: z.number(),
    notSelected: z.number(),
  }),
  exam: z.object({ answers: countsSchema, grades: countsSchema }),
  usage: z.record(z.string(), z.record(z.string(), z.number())),
  faultShares: z.record(z.string(), z.object({ boundaries: z.record(z.string(), z.number()) })),
});

describe('eval', () => {
  test('the controls stand at the two ends of the exam', async () => {
    const { stdout, exitCode } = await cli.run('eval', ...tiny(2), '--json');
    const report = reportSchema.parse(JSON.parse(stdout));
    const { writers, differences, faults, data, exam } = report;
    expect(exitCode).toBe(0);
    expect(faults).toBe(0);
    expect(writers['empty']).toMatchObject({ recall: 0, bankTokens: 0 });
    expect(writers['verbatim']?.recall).toBeGreaterThan(0.5);
    expect(Object.keys(differences)).toEqual(['empty-verbatim']);
    expect(report.pairs).toEqual([['empty', 'verbatim']]);
    expect(report.usage).toEqual({});
    expect(data).toMatchObject({ users: 2, windows: 2, chunks: 2, unresolved: 0, unplaced: 0 });
    // Both controls are asked every question once, over the framework's ranking and over ours.
    expect(exam.answers.asked).toBe(4 * (data.probes + data.traps + data.questions));
  });

  test('a person reads tables', async () => {
    const path = await file('uncited.json', LOCOMO.replace('"D1:1"],', '"D9:9"],'));
    const { stdout: uncited } = await cli.run(
      'eval',
      '--set',
      `stack.tokenizer=${policy}`,
      '--locomo',
      path,
    );
    expect(uncited).toContain('in no exam: 1 questions without a usable citation');
    const { stdout, stderr } = await cli.run('eval', ...tiny(), '--writer', `random=${policy}`);
    expect(stdout).toMatch(/^data: 1 users, 1 windows, 1 chunks; /m);
    expect(stdout).toMatch(/^exam: \d+ answers needed, \d+ of them known already; /m);
    expect(stdout).toMatch(/│ random +│ +-?\d\.\d{3} │/);
    expect(stderr).toContain('random: 1/1');
  });

  test('an endpoint is a writer like any other', async () => {
    await using upstream = await startScriptedUpstream(() => ({
      kind: 'text',
      text: mem0ExtractStage.compose(['The user likes tea.']),
      usage: { promptTokens: 10, completionTokens: 5 },
    }));
    const { stdout, stderr } = await cli.run(
      'eval',
      ...tiny(),
      '--writer-url',
      upstream.endpoint.baseUrl,
      '--writer-model',
      'tea',
      '--set',
      'prices={"tea":{"promptUsdPerMillion":1,"completionUsdPerMillion":2}}',
      '--json',
    );
    const { writers, usage } = reportSchema.parse(JSON.parse(stdout === '' ? stderr : stdout));
    expect(writers['tea']?.protocolErrorRate).toBe(0);
    expect(writers['tea']?.bankTokens).toBeGreaterThan(0);
    const calls = upstream.requests.length;
    expect(calls).toBeGreaterThan(0);
    expect(usage).toEqual({
      tea: {
        calls,
        faults: 0,
        promptTokens: 10 * calls,
        completionTokens: 5 * calls,
        callsWithoutUsage: 0,
        costUsd: expect.closeTo(20e-6 * calls, 10),
      },
    });
  });

  test('a reward is the evaluation’s own, a context the writer’s', async () => {
    const only = ['controls=["verbatim"]', 'reward.penWeight=0', 'reward.ormWeight=0'];
    const scoreOf = async (...set: string[]): Promise<number | undefined> => {
      const { stdout } = await cli.run('eval', ...tiny(), ...only, ...set, '--json');
      return reportSchema.parse(JSON.parse(stdout)).writers['verbatim']?.chunkScore.mean;
    };
    const score = await scoreOf();
    expect(score).toBeGreaterThan(0);
    expect(await scoreOf('reward.prmWeight=2')).toBeCloseTo(2 * (score ?? 0), 9);
    const sampling = { temperature: 1, maxTokens: 8, contextLength: 4096 };
    await using named = await openLocalWriter({ name: 'long', directory: policy }, sampling, {
      threads: 1,
    });
    expect(named.writer).toMatchObject({ engine: { contextLength: 4096 } });
  });

  test('numbers of an exam that was mostly lost are shown, and are a failure', async () => {
    await using upstream = await startScriptedUpstream(() => ({ kind: 'status', status: 400 }));
    const judge = { kind: 'llm', baseUrl: upstream.endpoint.baseUrl, model: 'judge' };
    const { stdout, stderr, exitCode } = await cli.run(
      'eval',
      ...tiny(),
      `stack.judge=${JSON.stringify(judge)}`,
    );
    expect(stdout).toMatch(/│ verbatim +│/);
    expect(stderr).toMatch(
      /do not stand.*verbatim: 0 of 1 windows and (\d+) of \1 items are faults \(judge \1\)/,
    );
    expect(exitCode).toBe(1);
  });
});

test('a reader that has seen enough ends the command without a word', async () => {
  const child = spawn('bash', [
    '-c',
    'node --import tsx src/cli/main.ts doctor | true; echo $PIPESTATUS',
  ]);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(stdout).toBe('0\n');
  expect(stderr).toBe('');
});

test('a writer that cannot be reached is a fault with its reason, never a score', async () => {
  const { stdout, stderr, exitCode } = await cli.run(
    'eval',
    ...tiny(),
    '--writer-url',
    'http://127.0.0.1:9/v1',
    '--writer-model',
    'gone',
  );
  expect(stderr).toMatch(/upstream failed: no window was scored.*ECONNREFUSED/);
  expect(stderr).not.toMatch(/\n {4}at /);
  expect(stdout).toBe('');
  expect(exitCode).toBe(1);
});

test('gateway relays whole answers and streams, records them and adds up what they used', async () => {
  await using upstream = await startScriptedUpstream(() => ({
    kind: 'text',
    text: 'I will remember 🫖 tea.',
    usage: { promptTokens: 10, completionTokens: 5 },
  }));
  const record = join(root, 'calls.jsonl');
  const gateway = startCommand([
    'gateway',
    '--upstream',
    upstream.endpoint.baseUrl,
    '--upstream-model',
    'tea',
    '--record',
    record,
    '--prompt-usd',
    '1',
    '--completion-usd',
    '2',
    '--json',
  ]);
  const { baseUrl, apiKey, model } = z
    .object({ baseUrl: z.url(), apiKey: z.string(), model: z.string() })
    .parse(JSON.parse(await gateway.line()));
  const ask = async (stream: boolean, key = apiKey): Promise<string> => {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Tea?' }] }),
    });
    return `${response.status} ${await response.text()}`;
  };
  expect(await ask(false)).toMatch(/^200 .*I will remember 🫖 tea\./);
  expect(await ask(true)).toMatch(/^200 data: .*\[DONE\]\s*$/s);
  expect(await ask(false, 'wrong')).toMatch(/^403 /);
  gateway.interrupt();
  const { stdout, exitCode } = await gateway.ended;
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
    calls: 2,
    faults: 0,
    promptTokens: 20,
    completionTokens: 10,
    costUsd: 40e-6,
    refused: 1,
  });
  const calls = (await readFile(record, 'utf8')).trim().split('\n');
  expect(calls.map((line) => z.object({ text: z.string() }).parse(JSON.parse(line)).text)).toEqual([
    'I will remember 🫖 tea.',
    'I will remember 🫖 tea.',
  ]);
});

describe('Ctrl-C', () => {
  test('an evaluation ends with 130, says how to go on, and leaves nothing behind', async () => {
    const scratch = join(root, 'scratch');
    await mkdir(scratch);
    const running = startCommand(['eval', ...tiny(400)], {
      MEMWRITER_SCRATCH: scratch,
      TMPDIR: scratch,
    });
    await running.printed('empty: ');
    expect(await memwriterFolders(scratch)).not.toEqual([]);
    running.interrupt();
    const { stderr, exitCode } = await running.ended;
    expect(exitCode).toBe(130);
    expect(stderr).toContain('run the same command again');
    expect(stderr).not.toMatch(/\n {4}at /);
    expect(await memwriterFolders(scratch)).toEqual([]);
  });

  test('a judge that does not answer is not waited for', async () => {
    await using upstream = await startScriptedUpstream(() => ({ kind: 'hang' }));
    const { baseUrl } = upstream.endpoint;
    const judge = { kind: 'llm', baseUrl, model: 'judge', timeoutMs: 10_000 };
    const running = startCommand(['eval', ...tiny(), `stack.judge=${JSON.stringify(judge)}`]);
    for await (const _ of setInterval(20)) if (upstream.requests.length > 0) break;
    running.interrupt();
    const { exitCode } = await running.ended;
    expect(exitCode).toBe(130);
    const asked = upstream.requests.map(({ body }) => JSON.stringify(body));
    expect(new Set(asked).size, 'no question is asked again').toBe(asked.length);
  });

  test('a training run that was interrupted is finished by the same command', async () => {
    const run = join(root, 'run');
    const argv = [
      'train',
      'opd',
      '--run',
      run,
      '--json',
      '--set',
      'data.world.users=2',
      'data.world.sessionsPerUser=2',
      `stack.tokenizer=${policy}`,
      `policy=${policy}`,
      `teacher=${policy}`,
      'sampling.maxTokens=8',
      'train.steps=12',
      'train.rowsPerStep=1',
      'train.maxTeacherFaultShare=1',
    ];
    const running = startCommand(argv);
    await firstStep(run);
    running.interrupt();
    const stopped = await running.ended;
    expect(stopped.exitCode).toBe(130);
    expect(stopped.stderr).toContain(`memwriter train opd --run ${run}`);

    const { stdout, stderr, exitCode } = await cli.run(...argv);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ run, kind: 'finished' });

    const { stdout: shown } = await cli.run('runs', 'show', run, '--json');
    expect(JSON.parse(shown)).toMatchObject({ kind: 'opd', stepsDone: 12, state: 'finished' });
    const again = await cli.run(...argv);
    expect(again.stderr).toContain('the run already has its 12 steps');
    expect(again.exitCode).toBe(2);
    const other = await cli.run(...argv, '--set', 'train.seed="9"');
    expect(other.stderr).toMatch(/was started with another .*config/);
    expect(other.exitCode).toBe(2);
    const teacher = join(root, 'teacher');
    await createTinyPolicy(teacher, '2');
    const taught = await cli.run(...argv, '--set', `teacher=${teacher}`);
    expect(taught.stderr).toContain('was started with another teacherWeightsHash:');
    expect(taught.exitCode).toBe(2);
  });

  async function memwriterFolders(directory: string): Promise<string[]> {
    return (await readdir(directory)).filter((name) => name.startsWith('memwriter-'));
  }

  /** Progress lines come every few seconds only; the step's own line is there at once. */
  async function firstStep(run: string): Promise<void> {
    for await (const _ of setInterval(50)) {
      const steps = join(run, 'steps.jsonl');
      if (existsSync(steps) && (await readFile(steps, 'utf8')).includes('\n')) return;
    }
  }
});
