import type { JsonObject } from '#/api/text/json-object.ts'
import { ExitError } from '../errors.ts'
import {
  objectPrinterOf,
  splitOutput,
  unknownFormat,
  type ObjectPrinter,
} from '../printers/object-printer.ts'
import { findResources, itemsOf, requireResources } from '../resource/find-resources.ts'
import { locationOf, metadataText } from '../resource/info.ts'
import type { GetInvocation } from './get-flags.ts'
import { resourceQueryOf } from './resource-query.ts'
import { severalWatched } from './watch-tables.ts'

const otherFormats: readonly string[] = ['custom-columns', 'custom-columns-file', 'wide']

/** `kubectl get` with an output format: one object as it is, several as a List. */
export async function getObjects(invocation: GetInvocation): Promise<void> {
  const { flags, factory, streams } = invocation
  const printer = await printerOf(invocation)
  if (flags.watch || flags['watch-only']) return watchObjects(invocation, printer)
  const { infos, errors } = await findResources(factory, { ...resourceQueryOf(invocation), latest: true })
  const objects = infos.flatMap(({ object }) => (object ? [object] : []))
  const isSingle = isSingleItem(invocation, infos.length + errors.length)
  const [only] = objects
  if (isSingle && only !== undefined) streams.write(printer(only))
  else if (!isSingle) streams.write(await printList(invocation, objects, printer))
  if (errors.length > 0) throw new AggregateError(errors)
}

async function printList(
  { flags }: GetInvocation,
  objects: readonly JsonObject[],
  printer: ObjectPrinter,
): Promise<string | Uint8Array> {
  const items = [...objects]
  const sortBy = flags['sort-by']
  if (sortBy && items.length > 1) {
    const { sortObjects } = await import('./sort-rows.ts')
    items.splice(0, items.length, ...sortObjects(items, sortBy))
  }
  // With `-o name` and without objects, nothing is printed.
  return printer({ apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' } })
}

/** True if the arguments name one object. */
function isSingleItem({ args, flags }: GetInvocation, found: number): boolean {
  if (flags.filename !== undefined || flags.kustomize !== undefined) return found === 1
  if (args.some(each => each.includes('/'))) return args.length === 1
  return args.length === 2 && !args[0]!.includes(',')
}

async function printerOf({ flags, factory }: GetInvocation): Promise<ObjectPrinter> {
  const { machine } = factory
  const { format, argument } = splitOutput(flags)
  if (format.startsWith('custom-columns')) {
    const { customColumnsPrinter } = await import('./custom-columns-printer.ts')
    return customColumnsPrinter({ format, argument, machine, noHeaders: flags['no-headers'] ?? false })
  }
  const printer = await objectPrinterOf({ flags, machine, otherFormats })
  if (printer === undefined) throw unknownFormat(format, otherFormats)
  return printer
}

async function watchObjects(invocation: GetInvocation, printer: ObjectPrinter): Promise<void> {
  const { flags, factory, streams } = invocation
  const [info, ...others] = await requireResources(factory, {
    ...resourceQueryOf(invocation),
    collections: true,
  })
  if (info === undefined || others.length > 0) throw severalWatched(others)
  const signal = streams.interrupted()
  const resources = await factory.resources()
  const selectors = { labelSelector: flags.selector, fieldSelector: flags['field-selector'], signal }
  const print = (object: JsonObject, type: string): void => {
    streams.write(printer(flags['output-watch-events'] ? { object, type } : object))
  }
  const listed = await resources.get(locationOf(info), selectors)
  const { items } = listed
  if (!flags['watch-only']) {
    for (const each of Array.isArray(items) ? itemsOf(listed) : [listed]) print(each, 'ADDED')
  }
  const resourceVersion = metadataText(listed, 'resourceVersion')
  try {
    for await (const { type, object } of resources.watch(locationOf(info), {
      ...selectors,
      resourceVersion,
    })) {
      if (type !== 'BOOKMARK') print(object, type)
    }
  } catch (error) {
    throw signal.aborted ? new ExitError(1, '', { cause: error }) : error
  }
}
