/**
 * What is written on sandboxes and containers, so that a kubelet that starts finds out whose they are and how they are
 * to be stopped, without asking anybody. The names are Kubernetes': tools such as crictl and log collectors read them.
 */
import { createHash } from 'node:crypto'
import type { Container, LifecycleHandler, Pod } from '#/api/generated/core/v1.ts'

type Texts = Readonly<Record<string, string>>

const podName = 'io.kubernetes.pod.name'
const podNamespace = 'io.kubernetes.pod.namespace'
const podUid = 'io.kubernetes.pod.uid'
const containerName = 'io.kubernetes.container.name'

const hash = 'io.kubernetes.container.hash'
const restartCount = 'io.kubernetes.container.restartCount'
const messagePath = 'io.kubernetes.container.terminationMessagePath'
const messagePolicy = 'io.kubernetes.container.terminationMessagePolicy'
const preStopHandler = 'io.kubernetes.container.preStopHandler'
const ports = 'io.kubernetes.container.ports'
const deletionGrace = 'io.kubernetes.pod.deletionGracePeriod'
const terminationGrace = 'io.kubernetes.pod.terminationGracePeriod'

export interface LabelledPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  /** Undefined on a sandbox. */
  readonly container?: string
}

export interface AnnotatedContainer {
  readonly hash: string
  readonly restartCount: number
  readonly terminationMessagePath: string
  readonly terminationMessagePolicy: string
  readonly deletionGraceSeconds?: number
  readonly terminationGraceSeconds?: number
  readonly preStop?: LifecycleHandler
}

/** The pod's own labels, and whose sandbox it is. */
export function sandboxLabels(pod: Pod): Texts {
  return { ...pod.metadata?.labels, ...identity(pod) }
}

export function containerLabels(pod: Pod, container: Container): Texts {
  return { ...identity(pod), [containerName]: container.name }
}

export function containerAnnotations(pod: Pod, container: Container, attempt: number): Texts {
  const { deletionGracePeriodSeconds } = pod.metadata ?? {}
  const { terminationGracePeriodSeconds } = pod.spec ?? {}
  const { preStop } = container.lifecycle ?? {}
  return {
    [hash]: containerHash(container),
    [restartCount]: String(attempt),
    [messagePath]: container.terminationMessagePath ?? '',
    [messagePolicy]: container.terminationMessagePolicy ?? '',
    ...(deletionGracePeriodSeconds !== undefined && { [deletionGrace]: String(deletionGracePeriodSeconds) }),
    ...(terminationGracePeriodSeconds !== undefined && {
      [terminationGrace]: String(terminationGracePeriodSeconds),
    }),
    ...(preStop && { [preStopHandler]: JSON.stringify(preStop) }),
    ...(container.ports?.length && { [ports]: JSON.stringify(container.ports) }),
  }
}

/** Whose container or sandbox it is; undefined when it is none of Kubernetes'. */
export function podOfLabels(labels: Texts): LabelledPod | undefined {
  const { [podName]: name, [podNamespace]: namespace, [podUid]: uid, [containerName]: container } = labels
  if (!name || !namespace || !uid) return undefined
  return { name, namespace, uid, ...(container !== undefined && { container }) }
}

/** What is missing or damaged is as if it had not been said. */
export function containerOfAnnotations(annotations: Texts): AnnotatedContainer {
  const deletionGraceSeconds = wholeNumber(annotations[deletionGrace])
  const terminationGraceSeconds = wholeNumber(annotations[terminationGrace])
  const preStop = parseHandler(annotations[preStopHandler])
  return {
    hash: annotations[hash] ?? '',
    restartCount: wholeNumber(annotations[restartCount]) ?? 0,
    terminationMessagePath: annotations[messagePath] ?? '',
    terminationMessagePolicy: annotations[messagePolicy] ?? '',
    ...(deletionGraceSeconds !== undefined && { deletionGraceSeconds }),
    ...(terminationGraceSeconds !== undefined && { terminationGraceSeconds }),
    ...(preStop && { preStop }),
  }
}

/**
 * Differs when a running container no longer is what the spec asks for. Of what may change in a running pod only the
 * image counts: a container is not restarted because the kubelet or the API server knows a new field.
 */
export function containerHash({ name, image = '' }: Container): string {
  return createHash('sha256')
    .update(JSON.stringify([name, image]))
    .digest('hex')
    .slice(0, 16)
}

function identity(pod: Pod): Texts {
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {}
  return { [podName]: name, [podNamespace]: namespace, [podUid]: uid }
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?[0-9]{1,15}$/.test(text) ? Number(text) : undefined
}

function parseHandler(text: string | undefined): LifecycleHandler | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
