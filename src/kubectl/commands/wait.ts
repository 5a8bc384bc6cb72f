import { notFound } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { Deadline, DeadlineExceededError } from '../deadline.ts'
import { boolFlag, durationFlag, stringArrayFlag, stringFlag, stringSliceFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { visitResources, type ResourceQuery } from '../resource/find-resources.ts'
import { locationOf, type Info } from '../resource/info.ts'
import { watchObject } from '../resource/watch-object.ts'
import { allNamespacesFlag } from '../selection-flags.ts'
import { parseWaitCondition, type WaitCondition } from '../wait/wait-condition.ts'
import { selectorFlag } from '../write-flags.ts'

const flags = {
  ...printFlags,
  'all': boolFlag('All objects of the types in the namespace.'),
  'all-namespaces': allNamespacesFlag,
  'field-selector': stringFlag('Selector of fields, with =, == and !=: metadata.name=web-0.'),
  'filename': stringSliceFlag('Files, folders or URLs that name the objects.', { shorthand: 'f' }),
  'for': stringArrayFlag(
    "What to wait for: create, delete, condition=NAME[=STATUS] or jsonpath='{EXPRESSION}'[=VALUE]. The default " +
      'status is true; names and statuses ignore case. May be repeated: the conditions are awaited one after the ' +
      'other, create first.',
  ),
  'local': boolFlag('Do not connect to the server.'),
  'recursive': boolFlag('Include the folders below the folder given by --filename.', {
    shorthand: 'R',
    shownDefault: 'true',
  }),
  'selector': selectorFlag,
  'timeout': durationFlag('Time to wait; 0 checks once, and a negative time is a week.', {
    shownDefault: '30s',
  }),
}

type WaitInvocation = Invocation<typeof flags>

const weekMs = 7 * 24 * 60 * 60 * 1_000

export const command = defineCommand({
  usage:
    'wait ([-f FILENAME] | resource.group/resource.name | resource.group [(-l label | --all)]) ' +
    "[--for=create|--for=delete|--for condition=available|--for=jsonpath='{}'[=value]]",
  description: `Waits until objects have a condition in their status or a field with a value, or until they
are created or deleted. Then prints the objects. Fails if that takes longer than the timeout.`,
  examples: `  # Until a pod is ready
  kubectl wait --for=condition=Ready pod/web-0

  # Until it is not ready
  kubectl wait --for=condition=Ready=false pod/web-0

  # Until a field has a value
  kubectl wait --for=jsonpath='{.status.phase}'=Running pod/web-0

  # Until a field is set
  kubectl wait --for=jsonpath='{.status.loadBalancer.ingress}' service/web

  # Until a secret exists
  kubectl wait --for=create secret/credentials --timeout=30s

  # Until a pod is deleted
  kubectl wait --for=delete pod/web-0 --timeout=60s

  # Until all deployments of the namespace are available
  kubectl wait --for=condition=Available deployment --all`,
  flags,
  async run(invocation) {
    const { args, flags: given, factory } = invocation
    const { for: texts = [], timeout = 30_000 } = given
    const print = await resultPrinterOf({ flags: given, machine: factory.machine, dryRun: 'none' })
    const conditions = texts.map(parseWaitCondition)
    if (conditions.length === 0) throw new Error('unrecognized condition: []')
    if (given.local && !given.filename?.length) throw new Error(localWithoutFiles)
    const isForDelete = conditions.some(({ type }) => type === 'delete')
    const query: ResourceQuery = {
      args,
      ...(given.filename && { filenames: given.filename }),
      recursive: given.recursive ?? true,
      labelSelector: given.selector,
      fieldSelector: given['field-selector'],
      allNamespaces: given['all-namespaces'],
      all: given.all,
      ignoreNotFound: isForDelete,
      latest: true,
    }
    const timeoutMs = timeout < 0 ? weekMs : timeout
    using deadline = new Deadline(factory.machine, timeoutMs > 0 ? timeoutMs : undefined)
    if (conditions.some(({ type }) => type === 'create') && timeoutMs > 0) {
      const { waitForCreation } = await import('../wait/wait-for-creation.ts')
      await waitForCreation(factory, query, deadline.signal)
    }
    const count = await visitResources(factory, query, async info => {
      for (const condition of conditions) {
        const once = { invocation, info, condition }
        const state = timeoutMs === 0 ? checkOnce(once) : awaitCondition(once, deadline.signal)
        print(await state, 'condition met')
      }
    })
    if (count === 0 && !isForDelete) throw new Error('no matching resources found')
  },
})

const localWithoutFiles = `you must specify resources by --filename when --local is set.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'`

interface Awaited {
  readonly invocation: WaitInvocation
  readonly info: Info
  readonly condition: WaitCondition
}

/** Returns the object that fulfills the condition; the last one, when it was deleted. */
async function awaitCondition(
  { invocation, info, condition }: Awaited,
  signal: AbortSignal,
): Promise<JsonObject> {
  let { object: last = {} } = info
  if (condition.type === 'create') return last
  let isFirst = true
  const { factory } = invocation
  const { clock } = factory.machine.platform
  const resources = await factory.resources()
  try {
    for await (const { object, isDeleted } of watchObject({ resources, clock, info }, signal)) {
      if (condition.type === 'delete' && (object === undefined || isDeleted)) return last
      if (object === undefined && isFirst)
        throw notFound({ group: info.mapping.group, kind: info.mapping.plural, name: info.name })
      isFirst = false
      if (object === undefined) continue
      last = object
      if (condition.type === 'state' && condition.isMet(object)) return object
    }
  } catch (error) {
    if (!(error instanceof DeadlineExceededError)) throw error
    throw new Error(`${error.message} on ${info.mapping.plural}/${info.name}`, { cause: error })
  }
  return last
}

async function checkOnce({ invocation, info, condition }: Awaited): Promise<JsonObject> {
  const { object: found = {} } = info
  if (condition.type === 'create') return found
  const resources = await invocation.factory.resources()
  const isMet = condition.type === 'state' && condition.isMet(await resources.get(locationOf(info)))
  if (isMet) return found
  throw new Error(`condition not met for ${info.mapping.plural}/${info.name}`)
}
