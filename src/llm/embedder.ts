/** Text to vectors, whoever makes them. */

export interface Embedder {
  /** Part of a bank's identity: the model name frameworks are given. */
  readonly name: string;
  readonly dimensions: number;
  /** One vector per text, in order, each of `dimensions` numbers. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}
