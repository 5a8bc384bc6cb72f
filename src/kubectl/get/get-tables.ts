import { humanDuration } from '#/api/text/duration.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { splitOutput } from '../printers/object-printer.ts'
import { isTable, tableOf, TablePrinter, type Table, type TableRow } from '../printers/table-printer.ts'
import { requireResources, findResources, itemsOf, selectorError } from '../resource/find-resources.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import type { ResourceClient } from '../resource/resource-client.ts'
import type { GetInvocation } from './get-flags.ts'
import { resourceQueryOf } from './resource-query.ts'

/** `kubectl get` without an output format, or with `wide`. */
export async function getTables(invocation: GetInvocation): Promise<void> {
  const { flags, factory } = invocation
  const query = { ...resourceQueryOf(invocation), collections: true }
  if (flags.watch || flags['watch-only']) {
    const { watchTables } = await import('./watch-tables.ts')
    return watchTables(invocation, await requireResources(factory, query))
  }
  const { infos, errors: missing } = await findResources(factory, query)
  const errors = [...missing]
  const found: FoundTable[] = []
  for (const info of infos) {
    try {
      found.push({ info, table: await readTable(invocation, info) })
    } catch (error) {
      if (!(flags['ignore-not-found'] && (error as { readonly reason?: unknown }).reason === 'NotFound'))
        errors.push(error)
    }
  }
  const shown = found.filter(({ table }) => table.rows.length > 0)
  printTables(invocation, { shown, hasSeveralKinds: new Set(found.map(({ info }) => kindOf(info))).size > 1 })
  if (shown.length === 0 && errors.length === 0 && !flags['ignore-not-found'])
    await printNothingFound(invocation, infos)
  if (errors.length > 0) throw new AggregateError(errors)
}

interface FoundTable {
  readonly info: Info
  readonly table: Table
}

/** Tables of several kinds are separated by an empty line, and names have the kind as prefix. */
function printTables(
  { flags, streams }: GetInvocation,
  { shown, hasSeveralKinds }: { readonly shown: readonly FoundTable[]; readonly hasSeveralKinds: boolean },
): void {
  let printer: TablePrinter | undefined
  let previous: string | undefined
  let withNamespace = false
  for (const { info, table } of shown) {
    // As upstream, once a namespaced kind was printed, all further tables have the column.
    withNamespace ||= Boolean(flags['all-namespaces']) && info.mapping.scope === 'Namespaced'
    const kind = kindOf(info)
    if (previous !== kind) {
      printer?.flush()
      if (printer !== undefined) streams.write('\n')
      printer = new TablePrinter(text => streams.write(text))
      previous = kind
    }
    printer?.print(table, {
      noHeaders: flags['no-headers'],
      wide: splitOutput(flags).format === 'wide',
      withNamespace,
      showLabels: flags['show-labels'],
      labelColumns: flags['label-columns'],
      ...((flags['show-kind'] || hasSeveralKinds) && { kind }),
    })
  }
  printer?.flush()
}

/** `deployment.apps`. */
export function kindOf({ mapping: { kind, group } }: Info): string {
  return (group === '' ? kind : `${kind}.${group}`).toLowerCase()
}

/** All pages as one table. */
async function readTable(invocation: GetInvocation, info: Info): Promise<Table> {
  const { flags, factory } = invocation
  const resources = await factory.resources()
  const first = await readPage({ invocation, resources, info, token: undefined })
  const rows = [...first.table.rows]
  let { token } = first
  while (token !== '') {
    const page = await readPage({ invocation, resources, info, token })
    for (const row of page.table.rows) rows.push(row)
    token = page.token
  }
  const sortBy = flags['sort-by']
  if (!sortBy) return { ...first.table, rows }
  const { sortRows } = await import('./sort-rows.ts')
  try {
    return { ...first.table, rows: sortRows(rows, sortBy) }
  } catch {
    // As upstream: objects that cannot be sorted are not shown.
    return { ...first.table, rows: [] }
  }
}

interface PageRequest {
  readonly invocation: GetInvocation
  readonly resources: ResourceClient
  readonly info: Info
  readonly token: string | undefined
}

async function readPage({ invocation, resources, info, token }: PageRequest) {
  const { flags } = invocation
  const isCollection = info.name === ''
  const asTable = flags['server-print'] ?? true
  const query = {
    asTable,
    includeObject: asTable && Boolean(flags['sort-by']),
    ...(isCollection && {
      labelSelector: flags.selector,
      fieldSelector: flags['field-selector'],
      limit: flags['chunk-size'] ?? 500,
      continue: token,
    }),
  }
  const page = await resources
    .get(locationOf(info, flags.subresource), query)
    .catch(error => Promise.reject(selectorError(error, info, query)))
  const { metadata } = page
  const next = isObject(metadata) && typeof metadata['continue'] === 'string' ? metadata['continue'] : ''
  return {
    table: isTable(page) ? tableOf(page) : nameTable(isCollection ? itemsOf(page) : [page], invocation),
    token: next,
  }
}

/** For servers and flags without tables: only names and ages. */
export function nameTable(objects: readonly JsonObject[], { factory }: GetInvocation): Table {
  const nowMs = factory.machine.platform.clock.now()
  return {
    columnDefinitions: [{ name: 'Name', format: 'name' }, { name: 'Age' }],
    rows: objects.map((object): TableRow => ({
      cells: [metadataText(object, 'name'), ageOf(object, nowMs)],
      object,
    })),
  }
}

function ageOf({ metadata }: JsonObject, nowMs: number): string {
  const created = isObject(metadata) ? metadata['creationTimestamp'] : undefined
  return typeof created === 'string' ? humanDuration(nowMs - Date.parse(created)) : '<unknown>'
}

async function printNothingFound(
  { flags, factory, streams }: GetInvocation,
  infos: readonly Info[],
): Promise<void> {
  const isNamespaced = infos.every(({ mapping }) => mapping.scope === 'Namespaced')
  const place =
    flags['all-namespaces'] || !isNamespaced ? '' : ` in ${(await factory.namespace()).namespace} namespace.`
  streams.stderr.write(`No resources found${place}\n`)
}
