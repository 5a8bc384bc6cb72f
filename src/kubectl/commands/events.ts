import type { Event } from '#/api/generated/core/v1.ts'
import { apiVersionOf } from '#/api/resource.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { Deadline } from '../deadline.ts'
import { NoResourceMatchError } from '../discovery/rest-mapper.ts'
import { UnprefixedError } from '../errors.ts'
import { eventHeader, eventRow, sortEvents } from '../events/event-table.ts'
import { boolFlag, stringFlag, stringSliceFlag } from '../flag-types.ts'
import { objectPrinterOf, printFlags, type ObjectPrinter } from '../printers/object-printer.ts'
import { tableWidths, TabWriter } from '../printers/tab-writer.ts'
import { builtInResources } from '../resource/built-in-resources.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { allNamespacesFlag, chunkSizeFlag } from '../selection-flags.ts'

const flags = {
  ...printFlags,
  'all-namespaces': allNamespacesFlag,
  'chunk-size': chunkSizeFlag,
  'for': stringFlag('Only events about this object: TYPE/NAME.'),
  'no-headers': boolFlag('Omit the header.'),
  'types': stringSliceFlag('Only events of these types: Normal, Warning.'),
  'watch': boolFlag('After the events, show those that follow.', { shorthand: 'w' }),
}

type EventsInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage: 'events [(-o|--output=)FORMAT] [--for TYPE/NAME] [--watch] [--types=Normal,Warning]',
  description: `Lists the events of a namespace, of all namespaces, or about an object, the latest last.`,
  examples: `  # The events of the namespace
  kubectl events

  # Of all namespaces
  kubectl events --all-namespaces

  # About a pod, and those that follow
  kubectl events --for pod/web-0 --watch

  # As YAML
  kubectl events -oyaml

  # Only warnings
  kubectl events --types=Warning`,
  flags,
  async run(invocation) {
    const { flags: given, factory } = invocation
    const fieldSelector = await involvedObjectSelector(invocation)
    const printer = await objectPrinterOf({ flags: given, machine: factory.machine, keepsFieldOrder: true })
    const { types = [] } = given
    if (!types.every(type => /^(?:normal|warning)$/i.test(type))) {
      throw new Error('valid --types are Normal or Warning')
    }
    return given.watch
      ? watchEvents(invocation, { printer, fieldSelector })
      : listEvents(invocation, { printer, fieldSelector })
  },
})

/** The type is accepted in any form that discovery knows. */
async function involvedObjectSelector({
  flags: given,
  factory,
}: EventsInvocation): Promise<string | undefined> {
  const { for: target = '' } = given
  if (target === '') return undefined
  const [type = '', name = '', ...more] = target.split('/')
  if (more.length > 0) throw new Error('arguments in resource/name form may not have more than one slash')
  if (!target.includes('/')) throw new Error('--for must be in resource/name form')
  const mapper = await factory.restMapper()
  const mapping = await mapper.resourceFor(type).catch((error: unknown) => {
    throw error instanceof NoResourceMatchError ? new UnprefixedError(error.message, { cause: error }) : error
  })
  if (name === '') return undefined
  const fields = { kind: mapping.kind, apiVersion: apiVersionOf(mapping), name }
  return Object.entries(fields)
    .map(([field, value]) => `involvedObject.${field}=${value}`)
    .join(',')
}

interface EventsOptions {
  readonly printer: ObjectPrinter | undefined
  readonly fieldSelector: string | undefined
}

async function listEvents(
  invocation: EventsInvocation,
  { printer, fieldSelector }: EventsOptions,
): Promise<void> {
  const { flags: given, factory, streams } = invocation
  const location = await locationOf(invocation)
  const resources = await factory.resources()
  const events: JsonObject[] = []
  let token: string | undefined
  do {
    const limit = given['chunk-size'] ?? 500
    const page = await resources.get(location, { fieldSelector, limit, continue: token })
    events.push(...itemsOf(page).filter(event => isSelected(invocation, event)))
    token = (page['metadata'] as { readonly continue?: string } | undefined)?.continue
  } while (token)
  if (events.length === 0) {
    const place = given['all-namespaces'] ? '.' : ` in ${location.namespace} namespace.`
    streams.stderr.write(`No events found${place}\n`)
    return
  }
  const sorted = sortEvents(events as unknown as readonly Event[])
  if (printer !== undefined) {
    const items = sorted as unknown as JsonObject[]
    streams.write(printer({ kind: 'EventList', apiVersion: 'v1', metadata: {}, items }))
    return
  }
  const table = tableOf(invocation)
  for (const event of sorted) table.print(event)
  table.flush()
}

async function watchEvents(
  invocation: EventsInvocation,
  { printer, fieldSelector }: EventsOptions,
): Promise<void> {
  const { factory, streams } = invocation
  using deadline = new Deadline(factory.machine)
  const resources = await factory.resources()
  const table = tableOf(invocation)
  const { signal } = deadline
  for await (const { type, object } of resources.watch(await locationOf(invocation), {
    fieldSelector,
    signal,
  })) {
    if (type === 'DELETED' || type === 'BOOKMARK' || !isSelected(invocation, object)) continue
    if (printer !== undefined) {
      streams.write(printer(object))
      continue
    }
    table.print(object as unknown as Event)
    table.flush()
  }
}

async function locationOf({ flags: given, factory }: EventsInvocation) {
  const mapping = builtInResources.events
  return given['all-namespaces'] ? { mapping } : { mapping, namespace: (await factory.namespace()).namespace }
}

function isSelected({ flags: given }: EventsInvocation, { type }: JsonObject): boolean {
  const { types = [] } = given
  return (
    types.length === 0 ||
    types.some(each => typeof type === 'string' && each.toLowerCase() === type.toLowerCase())
  )
}

function tableOf({ flags: given, factory, streams }: EventsInvocation) {
  const writer = new TabWriter({ ...tableWidths, write: text => streams.write(text) })
  const { clock } = factory.machine.platform
  const withNamespace = given['all-namespaces'] ?? false
  let isFirst = !given['no-headers']
  return {
    print(event: Event): void {
      const options = { withNamespace, nowMs: clock.now() }
      if (isFirst) writer.write(eventHeader(options))
      isFirst = false
      writer.write(eventRow(event, options))
    },
    flush: () => writer.flush(),
  }
}
