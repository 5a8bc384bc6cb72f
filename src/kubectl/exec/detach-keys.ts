/** The input until the keys that detach the terminal were pressed. */
export class DetachKeys {
  readonly #sequence: readonly number[]
  /** Number of keys of the sequence that were pressed last, and are held back. */
  #matched = 0

  constructor(sequence: readonly number[]) {
    this.#sequence = sequence
  }

  /** Returns what is input, and whether the sequence is complete. */
  read(bytes: Uint8Array): { readonly input: Uint8Array; readonly isDetached: boolean } {
    const input: number[] = []
    for (const byte of bytes) {
      if (byte === this.#sequence[this.#matched]) {
        this.#matched++
        if (this.#matched === this.#sequence.length)
          return { input: Uint8Array.from(input), isDetached: true }
        continue
      }
      input.push(...this.#sequence.slice(0, this.#matched))
      this.#matched = 0
      if (byte === this.#sequence[0]) this.#matched = 1
      else input.push(byte)
    }
    return { input: Uint8Array.from(input), isDetached: false }
  }
}

export const usualDetachKeys = 'ctrl-p,ctrl-q'

const controlKeys = '@abcdefghijklmnopqrstuvwxyz[\\]^_'

/** Reads `ctrl-p,ctrl-q` or `a,DEL`. Throws Error for a key that does not exist. */
export function parseDetachKeys(text: string): readonly number[] {
  return text.split(',').map(key => {
    if (key.length === 1) return key.charCodeAt(0)
    if (key === 'DEL') return 127
    const code = key.length === 6 && key.startsWith('ctrl-') ? controlKeys.indexOf(key[5]!) : -1
    if (code === -1) throw new Error(`could not bind detach keys: Unknown character: '${key}'`)
    return code
  })
}
