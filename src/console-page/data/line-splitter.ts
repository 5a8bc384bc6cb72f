/** Cuts a stream of text into lines. A line longer than the maximum is cut into several. */
export class LineSplitter {
  readonly #charactersMax: number
  #rest = ''

  constructor({ charactersMax }: { readonly charactersMax: number }) {
    this.#charactersMax = charactersMax
  }

  /** Complete lines, without their ends. */
  push(text: string): string[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    while (this.#rest.length > this.#charactersMax) {
      lines.push(this.#rest.slice(0, this.#charactersMax))
      this.#rest = this.#rest.slice(this.#charactersMax)
    }
    return lines.flatMap(line => this.#cut(line))
  }

  /** The last line, which has no end; undefined if there is none. */
  end(): string | undefined {
    const rest = this.#rest
    this.#rest = ''
    return rest === '' ? undefined : rest
  }

  #cut(line: string): string[] {
    if (line.length <= this.#charactersMax) return [line]
    const pieces: string[] = []
    for (let at = 0; at < line.length; at += this.#charactersMax) {
      pieces.push(line.slice(at, at + this.#charactersMax))
    }
    return pieces
  }
}
