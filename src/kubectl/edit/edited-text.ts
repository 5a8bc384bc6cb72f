import type { JsonObject } from '#/api/text/json-object.ts'
import type { Machine } from '../factory.ts'
import {
  objectPrinterOf,
  splitOutput,
  unknownFormat,
  type PrintFlagValues,
} from '../printers/object-printer.ts'

type EditFormat = 'json' | 'yaml'

/**
 * The format of `--output`, in which objects are also edited. Throws Error for a format that cannot be
 * edited.
 */
export function editFormatOf(flags: PrintFlagValues): EditFormat {
  const { format } = splitOutput(flags)
  if (format === '' || format === 'yaml') return 'yaml'
  if (format === 'json') return format
  throw unknownFormat(format, ['json', 'kyaml', 'yaml'])
}

/** Objects as a text to edit; several ones as a list. */
export async function editedText(
  objects: readonly JsonObject[],
  { format, machine }: { readonly format: EditFormat; readonly machine: Machine },
): Promise<string> {
  const print = await objectPrinterOf({ flags: { output: format }, machine })
  const [first = {}, ...others] = objects
  const list = { apiVersion: 'v1', items: [...objects], kind: 'List', metadata: {} }
  const text = print?.(others.length === 0 ? first : list)
  return typeof text === 'string' ? text : ''
}
