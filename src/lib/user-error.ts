/** A mistake that a person can mend: the message says where, what and what to do, so nobody needs a stack trace. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
}
