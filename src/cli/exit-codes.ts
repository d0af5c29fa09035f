/** What a process says with its exit code; documented in docs/cli.md. */
export const EXIT = {
  ok: 0,
  /** A platform fault, a tripped tripwire or an aborted step: the run stopped and says why. */
  failed: 1,
  /** The command line, the configuration or an input file is wrong; nothing was started. */
  badInput: 2,
  /** A requirement of this machine is missing (`memwriter doctor` explains). */
  missing: 3,
  /** Ctrl-C: what was finished is saved, and the last line says how to resume. */
  interrupted: 130,
} as const;

/** One clear sentence: what is wrong, where, what to do. */
export class BadInputError extends Error {
  override readonly name = 'BadInputError';
}

/** Something that this command needs is not installed. */
export class MissingRequirementError extends Error {
  override readonly name = 'MissingRequirementError';
}
