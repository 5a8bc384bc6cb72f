/** Random values for one input, deterministic for a seed. */
import { SeededRandom } from '#/base/seeded-random.ts'

export class Draw {
  readonly #random: SeededRandom

  constructor(seed: number) {
    this.#random = new SeededRandom(`fuzz/${seed}`)
  }

  /** From 0 up to, but not including, `below`. */
  integer(below: number): number {
    return this.#random.integer(below)
  }

  /** True with probability 1 / `count`. */
  oneIn(count: number): boolean {
    return this.integer(count) === 0
  }

  one<T>(values: readonly T[]): T {
    return values[this.integer(values.length)]!
  }

  /** At most `countMax` values, with repetitions. */
  some<T>(values: readonly T[], countMax: number): readonly T[] {
    return Array.from({ length: this.integer(countMax + 1) }, () => this.one(values))
  }

  bytes(length: number): Buffer {
    return Buffer.from(this.#random.bytes(length))
  }

  /** Random characters, including non-letters and invalid code points. */
  text(lengthMax: number): string {
    return this.bytes(this.integer(lengthMax + 1)).toString('latin1')
  }

  /** The text with some deletions, repetitions, moves and insertions. */
  mutate(text: string): string {
    let changed = text
    for (let times = 1 + this.integer(3); times > 0; times--) {
      const at = this.integer(changed.length + 1)
      const end = Math.min(changed.length, at + 1 + this.integer(8))
      const [before, middle, after] = [changed.slice(0, at), changed.slice(at, end), changed.slice(end)]
      switch (this.integer(6)) {
        case 0:
          changed = before + after
          break
        case 1:
          changed = before + middle + middle + after
          break
        case 2:
          changed = before + this.one(strange) + middle + after
          break
        case 3:
          changed = before + this.text(4) + after
          break
        case 4:
          changed = middle + before + after
          break
        default:
          changed = before + (this.oneIn(2) ? middle.toUpperCase() : middle.toLowerCase()) + after
      }
    }
    return changed
  }

  /** Returns different bytes, unless the input is empty. */
  mutateBytes(bytes: Uint8Array): Buffer {
    const { length } = bytes
    if (this.oneIn(4)) return Buffer.from(bytes.subarray(0, this.integer(length || 1)))
    const changed = Buffer.from(bytes)
    const places = new Set(Array.from({ length: 1 + this.integer(8) }, () => this.integer(length || 1)))
    for (const place of places) if (place < length) changed[place]! ^= 1 + this.integer(255)
    return changed
  }
}

/** Values that often cause bugs. */
export const strange: readonly string[] = [
  '',
  '.',
  '..',
  '...',
  '/',
  '//',
  '\\',
  '%',
  '%%',
  '%2',
  '%2e%2e',
  '%2F',
  '%2f..%2f',
  '%00',
  '%0a',
  '%0d%0a',
  '%c0%ae',
  '%zz',
  '%ff',
  '%u0000',
  ';',
  ';a=b',
  '?',
  '#',
  '&',
  '=',
  ',',
  ':',
  '@',
  '*',
  '**',
  '~',
  '~1',
  '$',
  '${jndi:ldap://x}',
  '{{7*7}}',
  '\0',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '\u00a0',
  '\u200b',
  '\u202e',
  '\ufeff',
  '\ufffd',
  '\ud800',
  '😀',
  'İ',
  'ß',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'null',
  'undefined',
  'true',
  'NaN',
  '-1',
  '0',
  '1e400',
  '9007199254740993',
  '99999999999999999999999',
  '0x10',
  '1.5',
  "'",
  '"',
  '`',
  '<script>',
  '[]',
  '{}',
  '()',
  'a'.repeat(64),
  'a'.repeat(300),
  'A/'.repeat(40),
  '-'.repeat(100),
  '('.repeat(60),
  'system:masters',
  'system:anonymous',
]
