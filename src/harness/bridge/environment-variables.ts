/** A bridge's environment, built from nothing: what a developer happens to have exported never reaches a framework. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Holds protocol.py and one folder a framework; the same place seen from `src` and from `dist`. */
export const BRIDGES = fileURLToPath(new URL('../../../bridges/', import.meta.url));

/** Nobody listens there: a framework that turns to the network is refused at once. */
const DEAD_PROXY = 'http://127.0.0.1:9';
const LOOPBACK = '127.0.0.1,localhost';

export interface VariableSources {
  /** Where `<environment>/tiktoken` holds the tokenizer files. */
  readonly environmentDirectory: string;
  /** Private to the process: home and temporary files. */
  readonly homeDirectory: string;
  /** The adapter's own. */
  readonly variables: Readonly<Record<string, string>>;
}

export function bridgeVariables(sources: VariableSources): Record<string, string> {
  const { environmentDirectory, homeDirectory, variables } = sources;
  return {
    PATH: `${join(environmentDirectory, 'bin')}:/usr/bin:/bin`,
    HOME: homeDirectory,
    TMPDIR: homeDirectory,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    PYTHONPATH: BRIDGES,
    PYTHONUNBUFFERED: '1',
    PYTHONHASHSEED: '0',
    PYTHONDONTWRITEBYTECODE: '1',
    HTTP_PROXY: DEAD_PROXY,
    HTTPS_PROXY: DEAD_PROXY,
    http_proxy: DEAD_PROXY,
    https_proxy: DEAD_PROXY,
    NO_PROXY: LOOPBACK,
    no_proxy: LOOPBACK,
    TIKTOKEN_CACHE_DIR: join(environmentDirectory, 'tiktoken'),
    HF_HUB_OFFLINE: '1',
    TRANSFORMERS_OFFLINE: '1',
    ANONYMIZED_TELEMETRY: 'False',
    DO_NOT_TRACK: '1',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    // Many banks share few cores: a pool of threads in each would only fight.
    OMP_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
    ...variables,
  };
}
