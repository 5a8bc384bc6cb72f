import type { Pod } from '#/api/generated/core/v1.ts'
import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { GeneratedResource } from '../create/generated-object.ts'
import { deleteOptionsOf, gracePeriodOf, propagationPolicyOf } from '../delete/delete-flags.ts'
import { ExitError } from '../errors.ts'
import { attachOrPrintLog, printPodLog } from '../exec/attach-or-print-log.ts'
import { compareForAttach } from '../pods/pod-order.ts'
import { podTimeoutMs } from '../pods/pod-flags.ts'
import { podsOf } from '../pods/pods-of.ts'
import { metadataText } from '../resource/info.ts'
import type { RunInvocation } from './run-flags.ts'
import { isCompleted, isRunningAndReady, waitForPod } from './wait-for-pod.ts'

export interface CreatedObject {
  readonly resource: GeneratedResource
  readonly object: JsonObject
}

/**
 * Attaches to a pod that was created, or to a pod of the created workload, when it runs. Throws ExitError with the exit
 * code of its container if that is not restarted.
 */
export async function attachCreatedPod(invocation: RunInvocation, created: CreatedObject): Promise<void> {
  const { factory, flags } = invocation
  const timeoutMs = podTimeoutMs(flags['pod-running-timeout'])
  const { namespace = '', name = '' } = (await podOf(invocation, created, timeoutMs)).metadata
  const wait = { namespace, name, timeoutMs }
  const pod = await waitForPod(factory, {
    ...wait,
    until: each => isCompleted(each) || isRunningAndReady(each),
  })
  const quiet = flags.quiet ?? false
  if (isCompleted(pod)) {
    await printPodLog(factory, { pod, quiet })
  } else {
    await printPodLog(factory, { pod, quiet: true })
    const { stdin = false, tty = false, 'detach-keys': detachKeys } = flags
    await attachOrPrintLog(factory, { pod, stdin, tty, quiet, detachKeys })
  }
  const { restart = 'Always' } = flags
  const policy = restart || (flags.stdin ? 'OnFailure' : 'Always')
  if (flags['leave-stdin-open'] || policy === 'Always') return
  const until = policy === 'Never' ? isCompleted : ({ status }: Pod) => status?.phase === 'Succeeded'
  requireSuccess(await waitForPod(factory, { ...wait, until }))
}

async function podOf(
  { factory }: RunInvocation,
  { resource, object }: CreatedObject,
  timeoutMs: number,
): Promise<Pod> {
  const mapping = { ...resource, singular: '', shortNames: [], categories: [], verbs: [] }
  const { namespace } = await factory.namespace()
  const info = { mapping, namespace, name: metadataText(object, 'name'), object }
  const [pod] = await podsOf(factory, info, {
    timeoutMs,
    compare: compareForAttach,
    refusal: 'cannot attach to',
  })
  return pod
}

/** Throws ExitError with the exit code of a container that has failed. */
export function requireSuccess({ metadata, status }: Pod): void {
  const pod = `pod ${metadata.namespace}/${metadata.name}`
  if (status?.phase === 'Succeeded') return
  if (status?.phase !== 'Failed') throw new Error(`${pod} left in phase ${status?.phase}`)
  const { exitCode, reason = '', message = '' } = status.containerStatuses?.[0]?.state?.terminated ?? {}
  if (!exitCode) throw new Error(`${pod} failed with unknown exit code`)
  throw new ExitError(exitCode, `${pod} terminated (${reason})\n${message}`)
}

/** For `--rm`. Does not wait until the objects are gone. */
export async function removeCreated(
  { factory, flags, streams }: RunInvocation,
  created: readonly CreatedObject[],
): Promise<void> {
  const resources = await factory.resources()
  const options = deleteOptionsOf({
    propagationPolicy: propagationPolicyOf(flags.cascade, streams),
    gracePeriodSeconds: gracePeriodOf(flags),
  })
  for (const { resource, object } of created) {
    const name = metadataText(object, 'name')
    const namespace = metadataText(object, 'namespace')
    try {
      await resources.delete({ mapping: resource, namespace, name }, options)
    } catch (error) {
      if (isApiError(error, 'NotFound')) continue
      throw error
    }
    const { kind, group } = resource
    const type = (group === '' ? kind : `${kind}.${group}`).toLowerCase()
    if (!flags.quiet) streams.write(`${type} "${name}" deleted from ${namespace} namespace\n`)
  }
}
