import { isSidecar } from '#/api/core/pod-containers.ts'
import type { ContainerStatus, Event, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { humanDuration } from '#/api/text/duration.ts'
import { quote } from '#/api/text/quote.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Cause, Evidence } from '../diagnosis.ts'
import { eventsOf, eventWith, logKey, timeOf, type Snapshot } from '../collect/snapshot.ts'
import { diagnoseUnresolvedName } from './dns.ts'
import { explainPull } from './image-pull.ts'
import { findDeniedRequest, findUnresolvedName } from './log-hints.ts'
import { after, ageOf, kubectl, nameOf, ofEvent, ofLog, ofObject, remedy, trimmed } from './phrases.ts'
import { diagnoseDeniedRequest } from './rbac.ts'

/** A container of a pod on a node. */
export interface ContainerOfPod {
  readonly pod: Stored<Pod>
  readonly status: ContainerStatus
  readonly isInit: boolean
}

const imageReasons: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])

const configReasons: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'PreStartHookError',
  'PostStartHookError',
])

/** Why the container is not running and ready; undefined if it is, or has completed. */
export function diagnoseContainer(snapshot: Snapshot, container: ContainerOfPod): Cause | undefined {
  const { state, lastState, ready, restartCount } = container.status
  const reason = state?.waiting?.reason ?? ''
  if (imageReasons.has(reason)) return imageCause(snapshot, container)
  if (configReasons.has(reason)) return configCause(snapshot, container)
  const terminated = state?.terminated ?? lastState?.terminated
  const isCrashing = reason === 'CrashLoopBackOff' || (state?.terminated && state.terminated.exitCode !== 0)
  if (isCrashing && terminated) return crashCause(snapshot, container)
  if (!state?.running) return undefined
  if (container.isInit && !isSidecarStatus(container)) return initCause(snapshot, container)
  if (ready) return undefined
  const probe = probeCause(snapshot, container)
  // Between two crashes a container runs for a short time without being ready.
  if (probe === undefined && restartCount > 0 && lastState?.terminated) return crashCause(snapshot, container)
  return probe ?? waitingForProbe(snapshot, container)
}

function isSidecarStatus({ pod, status }: ContainerOfPod): boolean {
  return pod.spec?.initContainers?.some(each => each.name === status.name && isSidecar(each)) ?? false
}

/** The other containers start after this one, which has not completed. */
function initCause(snapshot: Snapshot, container: ContainerOfPod): Cause {
  const { pod, status } = container
  const ofLogs = diagnoseLog(snapshot, container)
  if (ofLogs) return ofLogs
  const lines = snapshot.logs.get(logKey(pod.metadata.name, status.name)) ?? []
  const age = ageOf(status.state?.running?.startedAt, snapshot.nowMs)
  const running = age === undefined ? 'is still running' : `has been running for ${age}`
  const last = trimmed(lines.at(-1) ?? '')
  return {
    code: 'Starting',
    summary: `${nameOf(pod)} waits for its init container ${status.name}, which ${running}${after(': ', last)}.`,
    evidence: ofLog(status.name, lines),
    remedies: [
      remedy(
        'See what it waits for:',
        kubectl(pod.metadata.namespace, 'logs', pod.metadata.name, '-c', status.name),
      ),
    ],
  }
}

/** What the log of a container that runs and is ready tells of failures. */
export function diagnoseLog(snapshot: Snapshot, container: ContainerOfPod): Cause | undefined {
  const { pod, status } = container
  const lines = snapshot.logs.get(logKey(pod.metadata.name, status.name)) ?? []
  const denied = lines.toReversed().flatMap(line => findDeniedRequest(line) ?? [])[0]
  if (denied)
    return diagnoseDeniedRequest(denied, { subject: nameOf(pod), evidence: ofLog(status.name, lines) })
  const unresolved = findUnresolvedName(lines)
  return unresolved && diagnoseUnresolvedName(snapshot, { pod, container: status.name, unresolved })
}

function imageCause(snapshot: Snapshot, { pod, status }: ContainerOfPod): Cause {
  const { reason = '', message = '' } = status.state?.waiting ?? {}
  const image = pullImage(pod, status)
  const failed = eventsOf(snapshot, pod).find(event => {
    return event.reason === 'Failed' && event.message?.includes(image) && /pull|image/i.test(event.message)
  })
  const detail = failed?.message ?? message
  const problem = explainPull(reason, detail)
  const why = `image ${quote(image)} ${problem.text}`
  return {
    code: 'ImagePull',
    summary: `${nameOf(pod)} cannot start container ${status.name}, since ${why}.`,
    evidence: [
      ofObject(pod, `container ${status.name} is waiting, ${reason}: ${message}`),
      ...(failed ? [ofEvent(failed, snapshot.nowMs)] : []),
    ],
    remedies: [
      remedy(
        problem.isDenied
          ? 'Check the name, and that the pod or its service account has imagePullSecrets for the registry:'
          : 'Check the name and the tag of the image, and change it where the pod is defined:',
        editOwner(pod),
      ),
    ],
  }
}

function pullImage({ spec }: Pod, { name, image }: ContainerStatus): string {
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
  return all.find(each => each.name === name)?.image ?? image
}

function configCause(snapshot: Snapshot, { pod, status }: ContainerOfPod): Cause {
  const { reason = '', message = '' } = status.state?.waiting ?? {}
  const event = eventWith(snapshot, pod, ['Failed', 'FailedPostStartHook'])
  const missing = /(?<kind>configmap|secret)s? "(?<name>[^"]+)" not found/.exec(message)?.groups
  const missingKey = /couldn't find key (?<key>\S+) in (?<kind>ConfigMap|Secret) (?<name>\S+)/.exec(
    message,
  )?.groups
  const kind = missing?.['kind'] === 'secret' ? 'Secret' : 'ConfigMap'
  const why = missing
    ? `${kind} ${missing['name'] ?? ''} does not exist`
    : missingKey
      ? `${missingKey['kind'] ?? ''} ${missingKey['name'] ?? ''} has no key ${missingKey['key'] ?? ''}`
      : trimmed(message || reason)
  const { namespace } = pod.metadata
  return {
    code: missing ? 'MissingObject' : 'ContainerConfig',
    summary: `${nameOf(pod)} cannot start container ${status.name}, since ${why}.`,
    evidence: [
      ofObject(pod, `container ${status.name} is waiting, ${reason}: ${message}`),
      ...(event ? [ofEvent(event, snapshot.nowMs)] : []),
    ],
    remedies: missing
      ? [
          remedy(
            `Create the ${kind}, or change the name in the pod:`,
            createCommand(namespace, kind, missing['name'] ?? ''),
          ),
        ]
      : [remedy('Change the container where the pod is defined:', editOwner(pod))],
  }
}

function createCommand(namespace: string | undefined, kind: string, name: string): string {
  const words = kind === 'Secret' ? ['create', 'secret', 'generic', name] : ['create', 'configmap', name]
  return kubectl(namespace, ...words, '--from-literal=KEY=VALUE')
}

function crashCause(snapshot: Snapshot, container: ContainerOfPod): Cause {
  const { pod, status } = container
  const terminated = status.state?.terminated ?? status.lastState?.terminated
  const { exitCode = 0, reason = '', message = '', finishedAt } = terminated ?? {}
  const lines = snapshot.logs.get(logKey(pod.metadata.name, status.name)) ?? []
  const age = ageOf(finishedAt, snapshot.nowMs)
  const ago = age === undefined ? '' : `, ${age} ago`
  const count = status.restartCount
  const evidence: readonly Evidence[] = [
    ofObject(
      pod,
      `container ${status.name} exited with code ${exitCode}${reason && ` (${reason})`}${ago}, ${count} restarts`,
    ),
    ...(message ? [ofObject(pod, `termination message of container ${status.name}: ${message}`)] : []),
    ...ofLog(status.name, lines),
  ]
  const { namespace, name } = pod.metadata
  const logs = kubectl(namespace, 'logs', name, '-c', status.name, '--previous')
  if (reason === 'OOMKilled') return memoryCause(container, evidence)
  const killed = livenessKill(snapshot, container)
  if (killed) return killed
  const texts = [...message.split('\n'), ...lines]
  const denied = texts.toReversed().flatMap(line => findDeniedRequest(line) ?? [])[0]
  if (denied) return diagnoseDeniedRequest(denied, { subject: nameOf(pod), evidence })
  const unresolved = findUnresolvedName(texts)
  if (unresolved) {
    const cause = diagnoseUnresolvedName(snapshot, { pod, container: status.name, unresolved })
    return { ...cause, evidence: [...evidence.slice(0, 1), ...cause.evidence] }
  }
  if (startReasons.has(reason)) return startCause(container, { message, evidence })
  const last = trimmed(message || (lines.at(-1) ?? ''))
  const verb = status.restartCount > 0 ? 'keeps crashing' : 'has failed'
  const role = container.isInit ? 'Init container' : 'Container'
  const exit = `exit code ${exitCode}${exitMeaning(exitCode)}${after(': ', last)}`
  return {
    code: 'CrashLoop',
    summary: `${role} ${status.name} of ${nameOf(pod)} ${verb} with ${exit}.`,
    evidence,
    remedies: [
      remedy('Read what it printed before it exited:', logs),
      remedy('Correct its command, settings or image:', editOwner(pod)),
    ],
  }
}

const startReasons: ReadonlySet<string> = new Set(['StartError', 'ContainerCannotRun'])

interface FailedStart {
  /** Of the container runtime. */
  readonly message: string
  readonly evidence: readonly Evidence[]
}

/** The runtime could not start the program, such as a command that does not exist. */
function startCause({ pod, status }: ContainerOfPod, { message, evidence }: FailedStart): Cause {
  const why = /(?:exec|chdir|mount)\b.*$/s.exec(message)?.[0] ?? message
  return {
    code: 'ContainerConfig',
    summary: `Container ${status.name} of ${nameOf(pod)} cannot be started: ${trimmed(why.replace(/: unknown$/, ''))}.`,
    evidence,
    remedies: [remedy('Correct its command, working directory or image:', editOwner(pod))],
  }
}

function exitMeaning(exitCode: number): string {
  const meanings: Readonly<Record<number, string>> = {
    126: ' (the command is not executable)',
    127: ' (the command was not found)',
    137: ' (SIGKILL)',
    139: ' (segmentation fault)',
    143: ' (SIGTERM)',
  }
  return meanings[exitCode] ?? ''
}

function memoryCause({ pod, status }: ContainerOfPod, evidence: readonly Evidence[]): Cause {
  const limit = pod.spec?.containers.find(({ name }) => name === status.name)?.resources?.limits?.['memory']
  const than = limit === undefined ? 'memory ran out' : `it used more than its memory limit of ${limit}`
  return {
    code: 'OutOfMemory',
    summary: `Container ${status.name} of ${nameOf(pod)} was killed (OOMKilled), since ${than}.`,
    evidence,
    remedies: [remedy('Raise resources.limits.memory of the container, or lower its use:', editOwner(pod))],
  }
}

function livenessKill(snapshot: Snapshot, { pod, status }: ContainerOfPod): Cause | undefined {
  const events = eventsOf(snapshot, pod)
  const killing = events.find(({ reason, message = '' }) => {
    return (
      reason === 'Killing' && message.includes(`ontainer ${status.name} failed `) && message.includes('probe')
    )
  })
  if (killing === undefined) return undefined
  // A crash after the last such kill has another cause.
  const finishedMs =
    parseTime((status.state?.terminated ?? status.lastState?.terminated)?.finishedAt ?? '') ?? 0
  if (finishedMs - timeOf(killing) > killToExitMaxMs) return undefined
  const kind = killing.message?.includes('startup') ? 'startup' : 'liveness'
  const probe = probeEvent(events, kind)
  return probeFailure(snapshot, { container: { pod, status, isInit: false }, kind, event: probe, killing })
}

/** More than the longest usual grace period. */
const killToExitMaxMs = 120_000

function probeCause(snapshot: Snapshot, container: ContainerOfPod): Cause | undefined {
  const { pod, status } = container
  const kinds =
    status.started === false ? (['startup', 'liveness'] as const) : (['readiness', 'liveness'] as const)
  const events = eventsOf(snapshot, pod)
  const startedMs = parseTime(status.state?.running?.startedAt ?? '') ?? 0
  for (const kind of kinds) {
    const event = probeEvent(events, kind)
    if (event && timeOf(event) >= startedMs) return probeFailure(snapshot, { container, kind, event })
  }
  return undefined
}

type ProbeKind = 'liveness' | 'readiness' | 'startup'

function probeEvent<E extends Event>(events: readonly E[], kind: ProbeKind): E | undefined {
  return events.find(({ reason, message = '' }) => {
    return reason === 'Unhealthy' && message.toLowerCase().startsWith(`${kind} probe`)
  })
}

interface FailedProbe {
  readonly container: ContainerOfPod
  readonly kind: ProbeKind
  readonly event: Event | undefined
  /** The event of the kill that followed. */
  readonly killing?: Event
}

function probeFailure({ nowMs }: Snapshot, { container, kind, event, killing }: FailedProbe): Cause {
  const { pod, status } = container
  const said = trimmed((event?.message ?? '').replace(/^\w+ probe (?:failed|errored)[^:]*: ?/i, ''))
  const effect = killing
    ? 'is restarted repeatedly'
    : kind === 'readiness'
      ? 'is not ready'
      : kind === 'startup'
        ? 'has not started'
        : 'is not ready'
  return {
    code: 'Probe',
    summary: `Container ${status.name} of ${nameOf(pod)} ${effect}, since its ${kind} probe fails${after(': ', said)}.`,
    evidence: [
      ...(event ? [ofEvent(event, nowMs)] : []),
      ...(killing ? [ofEvent(killing, nowMs)] : []),
      ...probeDefinition(pod, status.name, kind),
    ],
    remedies: [
      remedy(
        'See what the program does:',
        kubectl(pod.metadata.namespace, 'logs', pod.metadata.name, '-c', status.name),
      ),
      remedy('Correct the program, or the path, port and times of the probe:', editOwner(pod)),
    ],
  }
}

function probeDefinition(pod: Stored<Pod>, container: string, kind: ProbeKind): readonly Evidence[] {
  const probe = pod.spec?.containers.find(({ name }) => name === container)?.[`${kind}Probe`]
  return probe ? [ofObject(pod, `${kind}Probe of container ${container} is ${JSON.stringify(probe)}`)] : []
}

function waitingForProbe(snapshot: Snapshot, { pod, status }: ContainerOfPod): Cause {
  const startedMs = parseTime(status.state?.running?.startedAt ?? '')
  const since =
    startedMs === undefined ? '' : ` It has been running for ${humanDuration(snapshot.nowMs - startedMs)}.`
  const kind: ProbeKind = status.started === false ? 'startup' : 'readiness'
  const definition = probeDefinition(pod, status.name, kind)
  const summary = `Container ${status.name} of ${nameOf(pod)} runs and is not ready`
  return {
    code: 'Probe',
    summary:
      definition.length > 0 ? `${summary}, since its ${kind} probe has not succeeded yet.` : `${summary}.`,
    evidence: [ofObject(pod, `container ${status.name} is running and not ready.${since}`), ...definition],
    remedies: [
      remedy(
        'See what the program does:',
        kubectl(pod.metadata.namespace, 'logs', pod.metadata.name, '-c', status.name),
      ),
    ],
  }
}

/** The command with which the definition of a pod is changed: that of its controller if it has one. */
function editOwner({ metadata }: Stored<Pod>): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  if (owner === undefined) return kubectl(metadata.namespace, 'edit', 'pod', metadata.name)
  // The hash at the end of a ReplicaSet's name is that of the Deployment's pod template.
  const hash = metadata.labels?.['pod-template-hash']
  const isOfDeployment = owner.kind === 'ReplicaSet' && hash && owner.name.endsWith(`-${hash}`)
  return isOfDeployment
    ? kubectl(metadata.namespace, 'edit', 'deployment', owner.name.slice(0, -hash.length - 1))
    : kubectl(metadata.namespace, 'edit', owner.kind.toLowerCase(), owner.name)
}
