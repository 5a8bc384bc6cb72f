/** The JSON of table rows, each of which is encoded once per version of its object, but for its ages. */
import { Age } from '#/api/age.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Cell, RowCondition } from '#/api/table-columns.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { unpooledBytes } from '#/base/unpooled-bytes.ts'
import type { Piece } from './request.ts'

export interface RowContent {
  readonly cells: readonly Cell[]
  readonly conditions?: readonly RowCondition[]
  readonly object?: KubernetesObject | null
}

export class TableRow {
  /** The bytes around the ages: one piece more than there are ages. */
  readonly #pieces: readonly Uint8Array[]
  readonly #ages: readonly Age[]

  constructor({ cells, ...rest }: RowContent) {
    const texts: string[] = []
    const ages: Age[] = []
    let text = '{"cells":['
    for (const [index, cell] of cells.entries()) {
      if (index > 0) text += ','
      if (cell instanceof Age) {
        texts.push(`${text}"`)
        ages.push(cell)
        text = '"'
      } else {
        text += stringifyJson(cell)
      }
    }
    const fields = stringifyJson(rest as unknown as JsonValue).slice(1, -1)
    this.#pieces = encodeTexts([...texts, `${text}]${fields && ','}${fields}}`])
    this.#ages = ages
  }

  /** Adds the row to the pieces of a body, with the JSON of an object if there is one. */
  addTo(pieces: Piece[], nowMs: number, object?: Uint8Array): void {
    const ageCount = this.#ages.length
    for (let index = 0; index < ageCount; index++) {
      // The text is ASCII without quotes, so that it needs no escaping.
      pieces.push(this.#pieces[index]!, this.#ages[index]!.textAt(nowMs))
    }
    const last = this.#pieces[ageCount]!
    if (object === undefined) pieces.push(last)
    else pieces.push(last.subarray(0, -1), ',"object":', object, '}')
  }
}

/** Encodes the texts in one allocation. */
function encodeTexts(texts: readonly string[]): readonly Uint8Array[] {
  const bytes = unpooledBytes(texts.join(''))
  let end = 0
  return texts.map(text => {
    const start = end
    end += Buffer.byteLength(text)
    return bytes.subarray(start, end)
  })
}

/** The cells as they are printed at a time. */
export function printCells(cells: readonly Cell[], nowMs: number): readonly JsonValue[] {
  return cells.map(cell => (cell instanceof Age ? cell.textAt(nowMs) : cell))
}
