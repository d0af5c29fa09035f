/** What a person gets wrong: one sentence that says where, what and what to do, and never a stack trace. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandLine, startCommandLine } from './support/command-line.ts';
import { LOCOMO, NAIVE, SESSION } from './support/sample-files.ts';
import { createTinyPolicy } from './support/tiny-policy.ts';

let root: string;
let cli: CommandLine;
let policy: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-mistakes-'));
  policy = join(root, 'policy');
  await createTinyPolicy(policy);
  cli = startCommandLine();
});

afterAll(async () => {
  await cli[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

/** The smallest exam there is. */
function tiny(): string[] {
  return [
    '--set',
    `data.world.users=1`,
    'data.world.sessionsPerUser=1',
    `stack.tokenizer=${policy}`,
  ];
}

async function file(name: string, text: string): Promise<string> {
  const path = join(root, name);
  await writeFile(path, text);
  return path;
}

describe('a mistake is one sentence and exit code 2', () => {
  const cases: [string, () => Promise<string[]> | string[], RegExp][] = [
    ['unknown command', () => ['evaluate'], /unknown command 'evaluate'/],
    ['unknown option', () => ['eval', '--writers', 'x'], /unknown option '--writers'/],
    ['missing argument', () => ['runs', 'show'], /missing required argument 'run'/],
    ['unknown choice', () => ['config', 'sft'], /Allowed choices are eval, opd, rl/],
    [
      'no upstream',
      () => ['gateway', '--upstream-model', 'm'],
      /required option '--upstream <url>'/,
    ],
    [
      'upstream is no URL',
      () => ['gateway', '--upstream', 'x', '--upstream-model', 'm'],
      /upstream: Invalid URL/,
    ],
    [
      'a remote upstream without a key',
      () => [
        'gateway',
        '--upstream',
        'https://api.invalid/v1',
        '--upstream-model',
        'm',
        '--key-env',
        'NO_SUCH_KEY',
      ],
      /set the environment variable NO_SUCH_KEY/,
    ],
    [
      'a bad port',
      () => [
        'gateway',
        '--upstream',
        'http://127.0.0.1:1/v1',
        '--upstream-model',
        'm',
        '--port',
        '70000',
      ],
      /port: must be at most 65535/,
    ],
    ['--set without =', () => ['eval', '--set', 'seed'], /--set takes key=value/],
    [
      '--set of an unknown key',
      () => ['eval', '--set', 'sed=2'],
      /Unrecognized key: "sed".*memwriter config eval/,
    ],
    [
      '--set of a wrong type',
      () => ['eval', '--set', 'stack.threads=many'],
      /stack\.threads: .*number/,
    ],
    ['--set below a value', () => ['eval', '--set', 'data.kind.a=1'], /kind is not an object/],
    [
      'an unknown world field',
      () => ['eval', ...tiny(), 'data.world.user=3'],
      /data\.world of preset demo: Unrecognized key: "user"/,
    ],
    [
      'a world that contradicts itself',
      () => ['data', 'world', '--set', 'factsPerChunk.min=3', 'factsPerChunk.max=2'],
      /must not exceed/,
    ],
    ['an unknown preset', () => ['data', 'world', 'huge'], /preset: Invalid option/],
    [
      'JSONL to be scored',
      () => ['eval', '--set', 'data.kind=jsonl'],
      /holds no questions to score/,
    ],
    [
      'no configuration file',
      () => ['eval', '--config', join(root, 'none.json')],
      /none\.json: there is no such file/,
    ],
    ['a directory as configuration', () => ['eval', '--config', root], /it is a directory/],
    [
      'a configuration that is not JSON',
      async () => ['eval', '--config', await file('bad.json', '{"seed":')],
      /bad\.json is not a configuration/,
    ],
    [
      'a configuration that is a list',
      async () => ['eval', '--config', await file('list.json', '[]')],
      /one JSON object/,
    ],
    [
      'a writer without a name',
      () => ['eval', '--writer', policy],
      /--writer takes name=directory/,
    ],
    [
      'two writers of one name',
      () => ['eval', '--writer', `a=${policy}`, `a=${policy}`],
      /two writers are called a/,
    ],
    [
      'a writer named as a control',
      () => ['eval', '--writer', `empty=${policy}`],
      /two writers are called empty/,
    ],
    [
      'two differences of one name',
      () => ['eval', '--writer', `a-b=${policy}`, `c=${policy}`, `a=${policy}`, `b-c=${policy}`],
      /two differences would be called a-b-c: rename a writer/,
    ],
    ['a reward in the stack', () => ['eval', '--set', 'stack.reward.prmWeight=2'], /"reward"/],
    ['a writer that is no policy', () => ['eval', '--writer', `a=${root}`], /has no config\.json/],
    ['no writer at all', () => ['eval', '--set', 'controls=[]'], /no writer to evaluate/],
    [
      '--writer-url alone',
      () => ['eval', '--writer-url', 'http://127.0.0.1:1/v1'],
      /needs --writer-model/,
    ],
    [
      'a bad --writer-url',
      () => ['eval', '--writer-url', 'x', '--writer-model', 'm'],
      /baseUrl: Invalid URL/,
    ],
    ['--conversation alone', () => ['eval', '--conversation', '0'], /give --locomo too/],
    [
      'a conversation that is no number',
      () => ['eval', '--locomo', 'f', '--conversation', 'one'],
      /whole numbers from 0, not "one"/,
    ],
    [
      'no such data',
      () => ['eval', ...tiny(), '--locomo', join(root, 'none.json')],
      /none\.json: no such file/,
    ],
    [
      'sessions instead of LoCoMo',
      async () => ['eval', ...tiny(), '--locomo', await file('s.jsonl', SESSION)],
      /is not a LoCoMo file/,
    ],
    [
      'a conversation that is not there',
      async () => [
        'eval',
        ...tiny(),
        '--locomo',
        await file('l.json', LOCOMO),
        '--conversation',
        '3',
      ],
      /has no conversation 3/,
    ],
    [
      'a tokenizer that is not there',
      () => ['eval', '--set', `stack.tokenizer=${join(root, 'none')}`],
      /tokenizer\.json: no such file/,
    ],
    [
      'a naive time',
      async () => ['data', 'inspect', await file('naive.jsonl', NAIVE), '--tokenizer', policy],
      /naive\.jsonl:1: .*no zone/,
    ],
    [
      'a broken line',
      async () => [
        'data',
        'inspect',
        await file('cut.jsonl', `${SESSION}{"user"`),
        '--tokenizer',
        policy,
      ],
      /cut\.jsonl:2: is not JSON/,
    ],
    [
      'a directory as data',
      () => ['data', 'inspect', root, '--tokenizer', policy],
      /is a directory/,
    ],
    ['no runs folder', () => ['runs', 'list', '--root', join(root, 'none')], /there is no folder/],
    ['no such run', () => ['runs', 'show', 'none', '--root', root], /none is not a run directory/],
    ['a broken manifest', brokenRun, /not a readable manifest/],
    ['a policy with a foreign architecture', foreignPolicy, /config\.json: model_type/],
    ['a policy cut short', cutPolicy, /truncated/],
    [
      'a train configuration out of range',
      () => ['train', 'rl', '--set', 'train.steps=0'],
      /train\.steps: Too small/,
    ],
    [
      'a start policy that is not there',
      () => [
        'train',
        'rl',
        '--run',
        join(root, 'r'),
        '--set',
        `policy=${join(root, 'none')}`,
        `stack.tokenizer=${policy}`,
      ],
      /none/,
    ],
  ];

  test.each(cases)('%s', async (_, argv, sentence) => {
    const { stdout, stderr, exitCode } = await cli.run(...(await argv()));
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/\n {4}at |this is a bug/);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });

  async function brokenRun(): Promise<string[]> {
    await mkdir(join(root, 'broken'), { recursive: true });
    await file('broken/manifest.json', '{');
    return ['runs', 'show', 'broken', '--root', root];
  }

  async function foreignPolicy(): Promise<string[]> {
    await mkdir(join(root, 'foreign'), { recursive: true });
    await createTinyPolicy(join(root, 'foreign'));
    await file('foreign/config.json', '{"model_type":"mamba"}');
    return ['eval', ...tiny(), '--writer', `a=${join(root, 'foreign')}`];
  }

  async function cutPolicy(): Promise<string[]> {
    await createTinyPolicy(join(root, 'cut'));
    const weights = join(root, 'cut/model.safetensors');
    await writeFile(weights, (await readFile(weights)).subarray(0, -8));
    return ['eval', ...tiny(), '--writer', `a=${join(root, 'cut')}`];
  }
});
