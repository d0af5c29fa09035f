/** `memwriter eval`: any writers on the same exam, with the two controls beside them. */
import type { Command } from 'commander';
import type { EvaluatedWindow } from '../bench/evaluate.ts';
import { type EvalConfig, type EvalFlags, evalConfigOf } from './eval-config.ts';
import { type EvalReport, evalJson, evalText } from './eval-report.ts';
import { allPairs, compare, evaluateNamed } from './evaluation.ts';
import { loadUserExams } from './exam-source.ts';
import { EXIT } from './exit-codes.ts';
import { faultShareOf, faultShareText, isTooMuch, MAX_FAULT_SHARE } from './fault-share.ts';
import { catchInterrupt } from './interrupt.ts';
import { openStack } from './stack.ts';
import { createUsageMeter, type UsageSummary } from './usage-meter.ts';
import { type NamedWriter, openControl, openEndpointWriter, openLocalWriter } from './writers.ts';

export function registerEval(program: Command): void {
  program
    .command('eval')
    .description('evaluate writers inside the real framework, with empty and verbatim controls')
    .option('-c, --config <file>', 'configuration file (JSON)')
    .option('--set <key=value...>', 'override one configuration key, e.g. --set data.world.users=8')
    .option('--harness <configuration>', 'the framework to evaluate in (`memwriter harness list`)')
    .option(
      '-w, --writer <name=dir...>',
      'a local policy: a Hugging Face directory of a Llama model',
    )
    .option(
      '--writer-url <url>',
      'a writer at an OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1',
    )
    .option('--writer-model <model>', 'model name at that endpoint')
    .option('--writer-key-env <name>', 'environment variable with its key (OPENAI_API_KEY)')
    .option('--locomo <file>', 'examine on LoCoMo instead of the synthetic world')
    .option('--conversation <index...>', 'only these LoCoMo conversations, from 0')
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      `
Examples:
  memwriter eval --writer base=models/base --writer teacher=models/teacher
  memwriter eval --harness mem0:1x --writer-url http://127.0.0.1:8000/v1 --writer-model my-writer
  memwriter eval --writer-url http://127.0.0.1:8000/v1 --writer-model my-writer --locomo locomo10.json --conversation 0
  memwriter eval --set stack.judge='{"kind":"llm","baseUrl":"https://api.example.com/v1","model":"judge"}'`,
    )
    .action(runEval);
}

async function runEval(flags: EvalFlags): Promise<void> {
  const config = evalConfigOf(flags);
  using interrupt = catchInterrupt('an evaluation starts anew: run the same command again');
  const { signal } = interrupt;
  await using stack = await openStack(config.stack, { signal, prices: config.prices });
  const { users, counts } = await loadUserExams(
    config.data,
    stack.countTokens,
    stack.harness.scenes,
  );
  const { seed, reward, ownRanking } = config;
  const request = { users, seed, reward, ownRanking, quiet: false, signal };
  const evaluations = new Map<string, EvaluatedWindow[]>();
  const usage = new Map<string, UsageSummary>();
  const startedAt = performance.now();
  for (const open of writersOf(config)) {
    await using named = await open();
    const meter = createUsageMeter();
    evaluations.set(named.name, await evaluateNamed(stack, named, { ...request, meter }));
    if (named.writer.kind === 'relay') usage.set(named.name, meter.summary());
  }
  const report: EvalReport = {
    seed,
    wallS: (performance.now() - startedAt) / 1000,
    ...compare(evaluations, allPairs([...evaluations.keys()]), seed),
    data: counts,
    exam: stack.examiners.cache.counts(),
    usage,
    faultShares: new Map([...evaluations].map(([name, found]) => [name, faultShareOf(found)])),
  };
  process.stdout.write(flags.json === true ? evalJson(report) : evalText(report));
  const tooMuch = [...report.faultShares].filter(([, share]) => isTooMuch(share));
  if (tooMuch.length === 0) return;
  const lines = tooMuch.map(([name, share]) => faultShareText(name, share));
  process.stderr.write(
    `these numbers do not stand, more than ${100 * MAX_FAULT_SHARE} % is lost. ${lines.join('; ')}\n`,
  );
  process.exitCode = EXIT.failed;
}

function* writersOf(config: EvalConfig): Generator<() => Promise<NamedWriter>> {
  for (const [name, directory] of Object.entries(config.writers)) {
    yield () => openLocalWriter({ name, directory }, config.sampling, config.stack);
  }
  for (const [name, endpoint] of Object.entries(config.endpoints)) {
    yield async () => openEndpointWriter(name, endpoint);
  }
  for (const control of config.controls) yield async () => openControl(control);
}
