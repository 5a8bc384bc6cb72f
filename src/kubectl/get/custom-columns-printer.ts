import { isObject } from '#/api/text/json-object.ts'
import type { Machine } from '../factory.ts'
import { parseCustomColumns, parseCustomColumnsFile } from '../printers/custom-columns.ts'
import { withoutManagedFields, type ObjectPrinter } from '../printers/object-printer.ts'
import { readTemplateFile } from '../printers/template-file.ts'
import { tableWidths, TabWriter } from '../printers/tab-writer.ts'

export interface CustomColumnsOptions {
  /** `custom-columns` or `custom-columns-file`. */
  readonly format: string
  /** The columns, or the path of their file. */
  readonly argument: string
  readonly machine: Machine
  readonly noHeaders: boolean
}

/** The header comes with the first object. The columns of a watch never get narrower. */
export async function customColumnsPrinter(options: CustomColumnsOptions): Promise<ObjectPrinter> {
  const { format, argument, machine, noHeaders } = options
  const columns =
    format === 'custom-columns-file'
      ? parseCustomColumnsFile(await readTemplateFile(machine, { path: argument, what: 'template' }))
      : parseCustomColumns(argument)
  let text = ''
  const writer = new TabWriter({
    ...tableWidths,
    write: piece => {
      text += piece
    },
  })
  let isFirst = !noHeaders
  return object => {
    text = ''
    if (isFirst) writer.write(`${columns.headers.join('\t')}\n`)
    isFirst = false
    const { items } = object
    for (const each of Array.isArray(items) ? items.filter(isObject) : [object]) {
      writer.write(`${columns.row(withoutManagedFields(each)).join('\t')}\n`)
    }
    writer.flush()
    return text
  }
}
