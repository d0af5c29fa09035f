/** Outgoing HTTP with the only retry loop of the project. Every failure is classified before it is repeated. */
import { Agent, type Dispatcher, request as send } from 'undici';
import { type Boundary, FaultError } from '../core/outcome.ts';
import type { Clock } from '../lib/clock.ts';
import type { Rng } from '../lib/rng.ts';
import { tryJson } from './parse-json.ts';
import { errorBodySchema } from './wire.ts';

export interface RetryOptions {
  /** The first try included. */
  readonly attempts: number;
  /** Before attempt n + 1 the wait is uniform in [0, min(maxDelayMs, baseDelayMs · 2^(n − 1))]: full jitter. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** A provider that asks for a longer pause than this has failed. */
  readonly maxRetryAfterMs: number;
}

const DEFAULT_RETRY: RetryOptions = {
  attempts: 4,
  baseDelayMs: 500,
  maxDelayMs: 20_000,
  maxRetryAfterMs: 60_000,
};

export interface HttpOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly retry?: RetryOptions;
}

export interface HttpRequest {
  readonly url: string;
  readonly apiKey: string;
  readonly body: string | Buffer;
  /** For one attempt: whole answer, or first byte and then every pause of a stream. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Who is blamed; `upstream` by default. */
  readonly boundary?: Boundary;
}

interface HttpReply<T> {
  readonly value: T;
  readonly attempts: number;
}

interface HttpStream {
  readonly contentType: string;
  /** Rejects with a `FaultError` when it breaks off. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** All attempts failed, or the failure was not worth repeating. */
export class HttpFaultError extends FaultError {
  /** Absent when no answer came. */
  readonly status: number | undefined;
  /** `error.code` of the provider's body. */
  readonly code: string | undefined;

  constructor(boundary: Boundary, message: string, { status, code }: Failure) {
    super(boundary, message);
    this.status = status;
    this.code = code;
  }
}

export interface HttpClient extends AsyncDisposable {
  /** `read` decodes a whole answer; when it throws, the answer was malformed and is asked for again. */
  post<T>(request: HttpRequest, read: (bytes: Buffer) => T): Promise<HttpReply<T>>;
  /** Retries until the first byte; a stream that has begun is never begun again. */
  stream(request: HttpRequest): Promise<HttpReply<HttpStream>>;
}

interface Failure {
  readonly message: string;
  readonly retryable: boolean;
  readonly status?: number;
  readonly code?: string | undefined;
  readonly retryAfterMs?: number;
}
type Attempt<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | ({ readonly kind: 'failed' } & Failure);

export function createHttpClient(options: HttpOptions): HttpClient {
  const agent = new Agent({ keepAliveTimeout: 30_000 });
  const post = <T>(request: HttpRequest, read: (bytes: Buffer) => T): Promise<HttpReply<T>> =>
    retrying(request, options, () =>
      attempt(agent, request, async (response, deadline) => {
        const bytes = Buffer.from(await response.body.arrayBuffer());
        deadline.release();
        return decoded(bytes, read);
      }),
    );
  const stream = (request: HttpRequest): Promise<HttpReply<HttpStream>> =>
    retrying(request, options, () =>
      attempt(agent, request, async (response, deadline) => {
        deadline.reached();
        const contentType = headerOf(response, 'content-type') ?? 'text/event-stream';
        const bytes = attributed(response.body, request, deadline);
        return { kind: 'ok', value: { contentType, bytes } };
      }),
    );
  return { post, stream, [Symbol.asyncDispose]: () => agent.destroy() };
}

async function retrying<T>(
  request: HttpRequest,
  { clock, rng, retry = DEFAULT_RETRY }: HttpOptions,
  once: () => Promise<Attempt<T>>,
): Promise<HttpReply<T>> {
  for (let attempts = 1; ; attempts++) {
    const result = await once();
    if (result.kind === 'ok') return { value: result.value, attempts };
    const jitterMs =
      rng.next() * Math.min(retry.maxDelayMs, retry.baseDelayMs * 2 ** (attempts - 1));
    const delayMs = Math.max(jitterMs, result.retryAfterMs ?? 0);
    const tooLong =
      result.retryAfterMs !== undefined && result.retryAfterMs > retry.maxRetryAfterMs;
    if (!result.retryable || tooLong || attempts >= retry.attempts || request.signal?.aborted) {
      throw finalFault(request, result, attempts);
    }
    try {
      await clock.sleep(delayMs, request.signal);
    } catch (cause) {
      throw finalFault(
        request,
        { message: `aborted: ${String(cause)}`, retryable: false },
        attempts,
      );
    }
  }
}

function finalFault(request: HttpRequest, failure: Failure, attempts: number): HttpFaultError {
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  const message = `${hostOf(request.url)}: ${failure.message} (${tries})`;
  return new HttpFaultError(request.boundary ?? 'upstream', message, failure);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'no valid URL';
}

/** One attempt's time limit joined with the caller's abort. */
interface Deadline {
  readonly signal: AbortSignal;
  /** In time; the caller's abort still counts. */
  reached(): void;
  release(): void;
}

function startDeadline({ timeoutMs, signal }: HttpRequest): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error('time-out')), timeoutMs);
  const onAbort = (): void => controller.abort(new Error('aborted'));
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    reached: () => clearTimeout(timer),
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

async function attempt<T>(
  agent: Agent,
  request: HttpRequest,
  finish: (response: Dispatcher.ResponseData, deadline: Deadline) => Promise<Attempt<T>>,
): Promise<Attempt<T>> {
  const deadline = startDeadline(request);
  try {
    const response = await send(request.url, {
      dispatcher: agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${request.apiKey}`,
        'content-type': 'application/json',
      },
      body: request.body,
      signal: deadline.signal,
      // Our deadline covers the headers; between two chunks of a stream undici's own timer does.
      headersTimeout: 0,
      bodyTimeout: request.timeoutMs,
    });
    if (response.statusCode >= 200 && response.statusCode <= 299) {
      return await finish(response, deadline);
    }
    const failure = await refused(response);
    deadline.release();
    return failure;
  } catch (error) {
    deadline.release();
    return thrown(error, request, deadline.signal);
  }
}

function decoded<T>(bytes: Buffer, read: (bytes: Buffer) => T): Attempt<T> {
  try {
    return { kind: 'ok', value: read(bytes) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `malformed answer: ${brief(why)}: ${brief(bytes.toString('utf8', 0, 400))}`;
    return { kind: 'failed', message, retryable: true };
  }
}

async function refused(response: Dispatcher.ResponseData): Promise<Attempt<never>> {
  const text = await response.body.text();
  const { statusCode: status } = response;
  const { code, message } = errorOf(text);
  const outOfQuota = code === 'insufficient_quota';
  const retryable = (status === 408 || status === 429 || status >= 500) && !outOfQuota;
  const retryAfterMs = retryAfterOf(response);
  return {
    kind: 'failed',
    message: `HTTP ${status}: ${brief(message)}`,
    status,
    code,
    retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function thrown(error: unknown, { signal }: HttpRequest, own: AbortSignal): Attempt<never> {
  if (signal?.aborted) return { kind: 'failed', message: 'aborted', retryable: false };
  if (own.aborted) return { kind: 'failed', message: 'time-out', retryable: true };
  if (!(error instanceof Error)) throw error;
  const code = 'code' in error ? String(error.code) : error.name;
  const ours = code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG';
  const message = `connection failed: ${code} ${error.message}`;
  return { kind: 'failed', message, retryable: !ours };
}

async function* attributed(
  bytes: AsyncIterable<Uint8Array>,
  request: HttpRequest,
  deadline: Deadline,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `${hostOf(request.url)}: the stream broke off: ${why}`;
    throw new FaultError(request.boundary ?? 'upstream', message, { cause });
  } finally {
    deadline.release();
  }
}

/** Seconds, or an HTTP date, which is read on the provider's own clock. */
function retryAfterOf(response: Dispatcher.ResponseData): number | undefined {
  const value = headerOf(response, 'retry-after');
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const waitMs = Date.parse(value) - Date.parse(headerOf(response, 'date') ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

function errorOf(text: string): { readonly code: string | undefined; readonly message: string } {
  const parsed = errorBodySchema.safeParse(tryJson(text));
  if (!parsed.success) return { code: undefined, message: text };
  const { code, type, message } = parsed.data.error;
  const name = code ?? type ?? undefined;
  return { code: name === undefined ? undefined : String(name), message: message ?? text };
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function brief(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 300);
}
