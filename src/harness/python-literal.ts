/** Reads Python's own notation of lists, dictionaries and strings, as frameworks print them into their prompts. */

export class LiteralError extends Error {
  override readonly name = 'LiteralError';
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  n: '\n',
  r: '\r',
  t: '\t',
};
const HEX_LENGTHS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** A list of strings, or of dictionaries from string to string. Throws `LiteralError`. */
export function parseLiteral(text: string): unknown {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    switch (this.#text[this.#at]) {
      case '[':
        return this.#list();
      case '{':
        return this.#dictionary();
      case "'":
      case '"':
        return this.#string();
      default:
        throw this.#error();
    }
  }

  end(): void {
    if (this.#at !== this.#text.length) throw this.#error();
  }

  #list(): unknown[] {
    const values: unknown[] = [];
    this.#members(']', () => values.push(this.value()));
    return values;
  }

  #dictionary(): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#members('}', () => {
      const key = this.#string();
      this.#take(': ');
      entries.push([key, this.value()]);
    });
    return Object.fromEntries(entries);
  }

  #members(close: string, member: () => void): void {
    this.#at += 1;
    if (this.#skip(close)) return;
    do member();
    while (this.#skip(', '));
    this.#take(close);
  }

  #string(): string {
    const quote = this.#text[this.#at];
    if (quote !== "'" && quote !== '"') throw this.#error();
    this.#at += 1;
    let value = '';
    while (this.#text[this.#at] !== quote) value += this.#character();
    this.#at += 1;
    return value;
  }

  #character(): string {
    const character = this.#text[this.#at];
    if (character === undefined) throw this.#error();
    this.#at += 1;
    return character === '\\' ? this.#escape() : character;
  }

  #escape(): string {
    const kind = this.#text[this.#at] ?? '';
    this.#at += 1;
    const plain = ESCAPES[kind];
    if (plain !== undefined) return plain;
    const length = HEX_LENGTHS[kind];
    const digits = this.#text.slice(this.#at, this.#at + (length ?? 0));
    if (length === undefined || digits.length !== length || !/^[0-9a-f]+$/i.test(digits)) {
      throw this.#error();
    }
    this.#at += length;
    return String.fromCodePoint(Number.parseInt(digits, 16));
  }

  #skip(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #take(token: string): void {
    if (!this.#skip(token)) throw this.#error();
  }

  #error(): LiteralError {
    return new LiteralError(`not a Python literal at character ${this.#at}`);
  }
}
