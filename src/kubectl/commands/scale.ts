import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { changeCauseOf, changeCausePatch, recordFlag } from '../change-cause.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { boolFlag, durationFlag, intFlag, stringFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { findResources, throwAny } from '../resource/find-resources.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import { dryRunFlag, dryRunOf, filenameFlags, filesOf, selectorFlag } from '../write-flags.ts'

const scaleFlags = {
  ...printFlags,
  ...filenameFlags('Files, folders or URLs that name the objects.'),
  'all': boolFlag('Select all objects of the given types in the namespace.'),
  'current-replicas': intFlag('Fail if the object has another number of replicas; -1 for no condition.', {
    shownDefault: '-1',
  }),
  'dry-run': dryRunFlag,
  'record': recordFlag,
  'replicas': intFlag('The new number of replicas. Required.', { required: true }),
  'resource-version': stringFlag('Fail if the object has another resourceVersion.'),
  'selector': selectorFlag,
  'timeout': durationFlag('Time to wait for the replicas; 0 does not wait.'),
}

type ScaleInvocation = Invocation<typeof scaleFlags>

export const command = defineCommand({
  usage:
    'scale [--resource-version=version] [--current-replicas=count] --replicas=COUNT (-f FILENAME | TYPE NAME)',
  description: `Sets the number of replicas of a deployment, replica set, replication controller or stateful
set, or of a custom resource with a scale subresource.

With --current-replicas or --resource-version the objects are compared before they are changed, and the
server rejects the change if the object has changed meanwhile.`,
  examples: `  # A deployment with three replicas
  kubectl scale --replicas=3 deployment/web

  # The object that a file names
  kubectl scale --replicas=3 -f web.yaml

  # Only if it has two replicas now
  kubectl scale --current-replicas=2 --replicas=3 deployment/web

  # Several objects
  kubectl scale --replicas=5 rs/a rs/b statefulset/db`,
  flags: scaleFlags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
    const replicas = flags.replicas ?? 0
    if (replicas < 0) {
      throw new Error('The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0')
    }
    if ((flags['current-replicas'] ?? -1) < -1) {
      throw new Error('The --current-replicas must specify an integer of -1 or greater')
    }
    const { infos, errors } = await findResources(factory, {
      ...filesOf(flags),
      args,
      allowEmptySelector: flags.all,
      labelSelector: flags.selector,
      requireObject: true,
    })
    if (flags['resource-version'] && infos.length > 1) {
      throw new Error('cannot use --resource-version with multiple resources')
    }
    if (infos.length === 0) {
      throwAny(errors)
      throw new Error('no objects passed to scale')
    }
    for (const info of infos) {
      if (dryRun === 'client') print(withReplicas(info, replicas), 'scaled')
      else {
        const scaled = await scale(invocation, { info, replicas, isDryRun: dryRun === 'server' })
        print(withReplicas(info, scaled), 'scaled')
      }
    }
    throwAny(errors)
  },
})

/** Only the built-in kinds are known to have the number at this path. */
function withReplicas({ object = {}, mapping }: Info, replicas: number): JsonObject {
  const spec = isObject(object['spec']) ? object['spec'] : {}
  return ['', 'apps'].includes(mapping.group) ? { ...object, spec: { ...spec, replicas } } : object
}

interface Scaling {
  readonly info: Info
  readonly replicas: number
  readonly isDryRun: boolean
}

/** Attempts on changes of the object by others. */
const attemptsMax = 300
const attemptIntervalMs = 1_000

/** Returns the number of replicas that was stored. */
async function scale(invocation: ScaleInvocation, scaling: Scaling): Promise<number> {
  const { flags, factory } = invocation
  const { clock } = factory.machine.platform
  const { info, replicas, isDryRun } = scaling
  let scaled: JsonObject
  for (let attempt = 1; ; attempt++) {
    try {
      scaled = await writeScale(invocation, scaling)
      break
    } catch (error) {
      if (!isApiError(error, 'Conflict') || attempt === attemptsMax) throw error
      await clock.sleep(attemptIntervalMs)
    }
  }
  if (flags.timeout && !isDryRun) await waitForReplicas(invocation, { info, replicas })
  const cause = changeCauseOf(invocation)
  if (cause !== undefined) {
    const resources = await factory.resources()
    await resources.patch(
      locationOf(info),
      { type: 'merge', body: changeCausePatch(cause) },
      { dryRun: isDryRun },
    )
  }
  return numberAt(scaled, 'spec')
}

/** Without preconditions the object is not read first. */
async function writeScale(
  { flags, factory }: ScaleInvocation,
  { info, replicas, isDryRun }: Scaling,
): Promise<JsonObject> {
  const resources = await factory.resources()
  const location = locationOf(info, 'scale')
  const size = flags['current-replicas'] ?? -1
  const version = flags['resource-version']
  if (size === -1 && !version) {
    return resources.patch(
      location,
      { type: 'merge', body: JSON.stringify({ spec: { replicas } }) },
      { dryRun: isDryRun },
    )
  }
  const current = await resources.get(location)
  requireEqual('replicas', {
    expected: size === -1 ? undefined : String(size),
    actual: String(numberAt(current, 'spec')),
  })
  requireEqual('resource version', {
    expected: version || undefined,
    actual: metadataText(current, 'resourceVersion'),
  })
  const spec = isObject(current['spec']) ? current['spec'] : {}
  return resources.replace(location, { ...current, spec: { ...spec, replicas } }, { dryRun: isDryRun })
}

function requireEqual(
  what: string,
  { expected, actual }: { readonly expected: string | undefined; readonly actual: string },
): void {
  if (expected !== undefined && expected !== actual)
    throw new Error(`Expected ${what} to be ${expected}, was ${actual}`)
}

const pollIntervalMs = 1_000

/** Ends early if the number of replicas is changed by another user. */
async function waitForReplicas(
  { flags, factory }: ScaleInvocation,
  { info, replicas }: Pick<Scaling, 'info' | 'replicas'>,
): Promise<void> {
  const { clock } = factory.machine.platform
  const resources = await factory.resources()
  const untilMs = clock.monotonicMs() + (flags.timeout ?? 0)
  while (true) {
    const current = await resources.get(locationOf(info, 'scale'))
    const isWanted = numberAt(current, 'spec') === replicas
    if (!isWanted || numberAt(current, 'status') === replicas) return
    const remainingMs = untilMs - clock.monotonicMs()
    if (remainingMs <= 0) throw new Error(`timed out waiting for ${JSON.stringify(info.name)} to be synced`)
    await clock.sleep(Math.min(pollIntervalMs, remainingMs))
  }
}

/** `spec.replicas` or `status.replicas`. */
function numberAt(scale: JsonObject, field: 'spec' | 'status'): number {
  const part: JsonValue | undefined = scale[field]
  const replicas = isObject(part) ? part['replicas'] : undefined
  return typeof replicas === 'number' ? replicas : 0
}
