/** Terminal sizes on the resize stream: a sequence of JSON objects. */
import type { TerminalSize } from '../streams.ts'

/** Limit of one JSON object. */
const sizeBytesMax = 1_024

export function terminalSizeBytes({ columns, rows }: TerminalSize): Uint8Array {
  return Buffer.from(`${JSON.stringify({ Width: columns, Height: rows })}\n`)
}

/** Ends with the source, or at malformed data, after which the stream cannot be resynchronized. */
export async function* readTerminalSizes(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<TerminalSize, void, undefined> {
  let text = ''
  for await (const bytes of source) {
    text += Buffer.from(bytes).toString('latin1')
    for (;;) {
      const end = text.indexOf('}')
      if (end === -1) break
      const size = readSize(text.slice(0, end + 1))
      if (size === undefined) return
      text = text.slice(end + 1)
      yield size
    }
    if (text.length > sizeBytesMax) return
  }
}

function readSize(text: string): TerminalSize | undefined {
  try {
    const fields = Object.entries(JSON.parse(text) as Record<string, unknown>)
    const find = (name: string): number => {
      // Go decodes field names case-insensitively, so clients may use any case.
      const [, value] = fields.find(([each]) => each.toLowerCase() === name) ?? []
      return typeof value === 'number' && value >= 0 && value <= 65_535 ? Math.floor(value) : 0
    }
    return { columns: find('width'), rows: find('height') }
  } catch {
    return undefined
  }
}
