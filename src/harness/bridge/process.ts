/** One Python process: its hello, requests with deadlines, and an end that is reported. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { z } from 'zod';
import { FaultError } from '../../core/outcome.ts';
import { deferred } from '../../lib/deferred.ts';
import { makeOwnedDirectory, sweepAbandoned } from '../owned-directory.ts';
import type { BridgeSpec } from './contract.ts';
import { BRIDGES, bridgeVariables } from './environment-variables.ts';
import { type BridgeRequest, type Hello, helloSchema, replySchema } from './protocol.ts';

export interface BridgeRuntime {
  /** The environment's Python. */
  readonly interpreter: string;
  readonly environmentDirectory: string;
}

export interface RequestOptions<T> {
  readonly schema: z.ZodType<T>;
  /** Past it the process is killed. */
  readonly timeoutMs: number;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: FaultError) => void;
}

/** How long an orderly end may take before a signal, and after it before the next: frameworks need up to 9 s to leave. */
const EXIT_MS = 15_000;
const TERM_MS = 5_000;
const HOME_PREFIX = 'memwriter-bridge-';
const STDERR_LINES = 12;
const STDERR_LINE_LENGTH = 500;

/** How a process left: by itself, or after which signal. */
export type Leaving = 'by itself' | 'SIGTERM' | 'SIGKILL';

export class BridgeProcess {
  readonly #spec: BridgeSpec;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #pending = new Map<number, Pending>();
  readonly #stderr: string[] = [];
  readonly #exited: Promise<void>;
  readonly #hello = deferred<Hello>();
  #greeted = false;
  #nextId = 0;
  #failure: FaultError | undefined;

  /** Homes of processes whose parents were killed: a process removes its own when it has left. */
  static sweepHomes(): Promise<void> {
    return sweepAbandoned(tmpdir(), HOME_PREFIX);
  }

  /** Returns at once; the first request waits for the hello. Throws what the system refuses. */
  static start(spec: BridgeSpec, runtime: BridgeRuntime): BridgeProcess {
    const homeDirectory = makeOwnedDirectory(tmpdir(), HOME_PREFIX);
    const child = spawn(runtime.interpreter, [join(BRIDGES, '..', spec.script)], {
      cwd: homeDirectory,
      env: bridgeVariables({
        environmentDirectory: runtime.environmentDirectory,
        homeDirectory,
        variables: spec.variables ?? {},
      }),
      stdio: ['pipe', 'pipe', 'pipe'],
      // A process group of its own, so that whatever it started ends with it.
      detached: true,
    });
    return new BridgeProcess(spec, child, homeDirectory);
  }

  private constructor(
    spec: BridgeSpec,
    child: ChildProcessWithoutNullStreams,
    homeDirectory: string,
  ) {
    this.#spec = spec;
    this.#child = child;
    this.#hello.promise.catch(() => undefined); // heard again by every request
    this.#exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#fail(`its process ended (${signal ?? `exit code ${code}`})`);
        void rm(homeDirectory, { recursive: true, force: true }).finally(resolve);
      });
    });
    // What it started may hold its pipes open, and would keep `close` from coming.
    child.once('exit', () => this.#signal('SIGKILL'));
    child.once('error', (error) => this.#fail(`its process does not run: ${error.message}`));
    // A broken pipe is told by the process's end.
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on(
      'line',
      (line) => this.#receive(line),
    );
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#stderr.push(line.slice(0, STDERR_LINE_LENGTH));
      if (this.#stderr.length > STDERR_LINES) this.#stderr.shift();
    });
  }

  get alive(): boolean {
    return this.#failure === undefined;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Rejects with a `FaultError`; past the deadline the process is killed and every later request rejects too. */
  async request<T>(request: BridgeRequest, { schema, timeoutMs }: RequestOptions<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.kill(`"${request.op}" took longer than ${timeoutMs / 1000} s`);
    }, timeoutMs);
    try {
      await this.#hello.promise;
      if (this.#failure !== undefined) throw this.#failure;
      const id = this.#nextId++;
      const result = await new Promise<unknown>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject });
        this.#child.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
      });
      const parsed = schema.safeParse(result);
      if (parsed.success) return parsed.data;
      throw this.kill(`its answer to "${request.op}" is not valid: ${parsed.error.message}`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resident memory in bytes, where the system tells. */
  async residentBytes(): Promise<number | undefined> {
    try {
      const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
      const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
      return kilobytes === undefined ? undefined : 1024 * Number(kilobytes);
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause) return undefined;
      throw cause;
    }
  }

  /** Closes its input and waits; a process that does not leave is ended. Safe to call again. */
  async stop(): Promise<Leaving> {
    this.#child.stdin.end();
    if (await this.#leaves(EXIT_MS)) return 'by itself';
    this.#signal('SIGTERM');
    if (await this.#leaves(TERM_MS)) return 'SIGTERM';
    this.#signal('SIGKILL');
    await this.#exited;
    return 'SIGKILL';
  }

  /** Ends it in whatever it is doing; the bank's directory is as a killed process leaves it. */
  kill(reason: string): FaultError {
    const failure = this.#fail(reason);
    this.#signal('SIGKILL');
    return failure;
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (cause) {
      // Nobody of the group is left.
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'ESRCH')) throw cause;
    }
  }

  #leaves(ms: number): Promise<boolean> {
    const { promise, resolve } = deferred<boolean>();
    const timer = setTimeout(resolve, ms, false);
    void this.#exited.then(() => resolve(true));
    return promise.finally(() => clearTimeout(timer));
  }

  #receive(line: string): void {
    if (this.#failure !== undefined) return;
    let frame: unknown;
    try {
      frame = JSON.parse(line);
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      this.kill(`it sent a line that is no frame: ${line.slice(0, 200)}`);
      return;
    }
    if (this.#greeted) this.#settle(frame);
    else this.#greet(frame);
  }

  #greet(frame: unknown): void {
    this.#greeted = true;
    const { package: name, version } = this.#spec.environment;
    const hello = helloSchema.safeParse(frame);
    if (!hello.success) {
      this.kill(`its hello is not of this protocol: ${hello.error.message}`);
    } else if (hello.data.package !== name || hello.data.version !== version) {
      const found = `${hello.data.package} ${hello.data.version}`;
      this.kill(`it runs ${found}, and this adapter knows ${name} ${version}`);
    } else {
      this.#hello.resolve(hello.data);
    }
  }

  #settle(frame: unknown): void {
    const reply = replySchema.safeParse(frame);
    if (!reply.success) {
      this.kill(`it sent a frame of no known shape: ${reply.error.message}`);
      return;
    }
    const pending = this.#pending.get(reply.data.id);
    if (pending === undefined) {
      this.kill(`it answered request ${reply.data.id}, which nobody asked`);
      return;
    }
    this.#pending.delete(reply.data.id);
    if (reply.data.ok) pending.resolve(reply.data.result);
    else {
      const { boundary, type, message } = reply.data.error;
      pending.reject(new FaultError(boundary, `${this.#spec.configuration}: ${type}: ${message}`));
    }
  }

  #fail(message: string): FaultError {
    if (this.#failure === undefined) {
      const said = this.#stderr.length === 0 ? '' : `; it last said: ${this.#stderr.join(' | ')}`;
      this.#failure = new FaultError(
        'harness',
        `${this.#spec.configuration} bridge: ${message}${said}`,
      );
      this.#hello.reject(this.#failure);
      for (const { reject } of this.#pending.values()) reject(this.#failure);
      this.#pending.clear();
    }
    return this.#failure;
  }
}
