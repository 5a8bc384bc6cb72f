/** Lines on a terminal, where the last is rewritten as things change, or in a file, where it is repeated. */
export class Screen {
  readonly #stream: NodeJS.WriteStream
  #shown = ''

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  print(line: string): void {
    this.#clear()
    this.#stream.write(`${line}\n`)
  }

  /** Shows what `describe` says until it is disposed of. */
  follow(describe: () => string): Disposable {
    const { isTTY } = this.#stream
    const show = (): void => (isTTY ? this.#rewrite(describe()) : this.print(describe()))
    const timer = setInterval(show, isTTY ? rewriteMs : printMs)
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer)
        this.#clear()
      },
    }
  }

  #rewrite(line: string): void {
    this.#clear()
    this.#shown = line.slice(0, this.#stream.columns - 1)
    this.#stream.write(this.#shown)
  }

  #clear(): void {
    if (this.#shown !== '') this.#stream.write('\r\u001B[2K')
    this.#shown = ''
  }
}

const rewriteMs = 500
const printMs = 30_000
