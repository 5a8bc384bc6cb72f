import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { ExitError } from '../errors.ts'
import { splitOutput } from '../printers/object-printer.ts'
import { isTable, tableOf, TablePrinter, type Table } from '../printers/table-printer.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import type { GetInvocation } from './get-flags.ts'
import { kindOf, nameTable } from './get-tables.ts'

/** `kubectl get --watch`: the objects, and then their changes until the watch is interrupted. */
export async function watchTables(invocation: GetInvocation, infos: readonly Info[]): Promise<void> {
  const { flags, factory, streams } = invocation
  const [info, ...others] = infos
  if (info === undefined || others.length > 0) throw severalWatched(others)
  const printer = new TablePrinter(text => streams.write(text))
  let columns: Table['columnDefinitions'] = []
  const print = (value: JsonObject, event: string): void => {
    const table = isTable(value) ? tableOf(value) : nameTable([value], invocation)
    // Only the first table of a watch has column definitions.
    if (table.columnDefinitions.length > 0) columns = table.columnDefinitions
    printer.print(
      { ...table, columnDefinitions: columns },
      {
        noHeaders: flags['no-headers'],
        wide: splitOutput(flags).format === 'wide',
        withNamespace: flags['all-namespaces'] && info.mapping.scope === 'Namespaced',
        showLabels: flags['show-labels'],
        labelColumns: flags['label-columns'],
        ...(flags['show-kind'] && { kind: kindOf(info) }),
        ...(flags['output-watch-events'] && { event }),
      },
    )
    printer.flush()
  }
  const signal = streams.interrupted()
  const resources = await factory.resources()
  const asTable = flags['server-print'] ?? true
  const selectors = { asTable, labelSelector: flags.selector, fieldSelector: flags['field-selector'], signal }
  const listed = await resources.get(locationOf(info), selectors)
  if (!flags['watch-only'] && (tableOf(listed).rows.length > 0 || info.name !== '')) print(listed, 'ADDED')
  const resourceVersion = metadataText(listed, 'resourceVersion') || rowVersion(listed)
  try {
    for await (const { type, object } of resources.watch(locationOf(info), {
      ...selectors,
      resourceVersion,
    })) {
      if (type !== 'BOOKMARK') print(object, type)
    }
  } catch (error) {
    if (signal.aborted) throw new ExitError(1, '', { cause: error })
    throw isApiError(error, 'Expired') ? new Error('an error on the server: the watch has expired') : error
  }
}

/** A Table of one object has the version in its row. */
function rowVersion(value: JsonObject): string {
  const object = isTable(value) ? tableOf(value).rows[0]?.object : value
  return isObject(object) ? metadataText(object, 'resourceVersion') : ''
}

/** Only one object, or the objects of one type, can be watched. */
export function severalWatched(others: readonly Info[]): Error {
  return new Error(
    others.some(({ name }) => name === '')
      ? 'you may only specify a single resource type'
      : 'you may only watch a single resource or type of resource at a time',
  )
}
